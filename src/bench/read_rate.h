// How fast this machine reads memory: no reading of a kernel may claim more for what lies beyond the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hc::bench {

/// Bytes of all second- and third-level caches of this process's cores, each cache counted once; 0 if unknown.
int64_t cache_bytes_here();

/// A buffer of four times the caches (64 to 512 MiB, at most an eighth of the memory), read by all cores. Where it is
/// less than twice the caches, what it measures may be above the memory's rate, and never below.
class ReadRate {
 public:
  ReadRate();
  ~ReadRate();
  ReadRate(const ReadRate&) = delete;
  ReadRate& operator=(const ReadRate&) = delete;
  /// Reads it `times` times over in each of two access patterns; the best rate since construction, in GB/s; 0 without a
  /// buffer.
  double measure(int times);
  /// The best rate so far; 0 before the first.
  double best_gbs() const { return best_gbs_; }
  /// Of the buffer; 0 when there is none.
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
  double best_gbs_ = 0;
};

}  // namespace hc::bench
