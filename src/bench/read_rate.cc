// Streams over a large buffer: one per core, and four per core, since which of them is faster depends on the machine.
#include "bench/read_rate.h"

#include <omp.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "bench/timer.h"
#include "target/target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hc::bench {
namespace {

constexpr size_t kLeast = size_t{64} << 20;
constexpr size_t kMost = size_t{512} << 20;
constexpr size_t kBlock = 4096;  ///< each stream reads a block of this before the next one has its turn
constexpr size_t kStreams = 4;
constexpr int kMostCaches = 8;  ///< index0, index1, ... that a core is asked for

std::string sysfs_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "4096K", "260M" in bytes.
int64_t size_of(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return 0;
  const int64_t number = std::strtoll(text.c_str(), nullptr, 10);
  return text.back() == 'K' ? number << 10 : text.back() == 'M' ? number << 20 : number;
}

using BlockRead = uint64_t (*)(const char* from);

uint64_t read_plain(const char* from) {
  uint64_t sum[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < kBlock; i += 32) {
    uint64_t words[4];
    std::memcpy(words, from + i, sizeof words);
    for (size_t j = 0; j < 4; ++j) sum[j] += words[j];
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint64_t read_avx2(const char* from) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  const auto at = [from](size_t i) __attribute__((target("avx2"))) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i));
  };
  for (size_t i = 0; i < kBlock; i += 128) {
    a = _mm256_xor_si256(a, at(i));
    b = _mm256_xor_si256(b, at(i + 32));
    c = _mm256_xor_si256(c, at(i + 64));
    d = _mm256_xor_si256(d, at(i + 96));
  }
  const __m256i all = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 2));
}
#endif

BlockRead block_read() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
  return read_plain;
}

/// All of `data` once, every thread its own contiguous part in `streams` streams; seconds.
double read_once(const char* data, size_t bytes, size_t streams) {
  static const BlockRead kRead = block_read();
  uint64_t sum = 0;
  const double begin = hillclimb_timer_now();
#pragma omp parallel reduction(+ : sum)
  {
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    const size_t part = bytes / threads / streams / kBlock * kBlock;
    const char* mine = data + part * streams * static_cast<size_t>(omp_get_thread_num());
    for (size_t i = 0; i < part; i += kBlock) {
      for (size_t s = 0; s < streams; ++s) sum += kRead(mine + s * part + i);
    }
  }
  const double seconds = hillclimb_timer_now() - begin;
  asm volatile("" : : "r"(sum) : "memory");
  return seconds;
}

/// What read_once really reads: parts are whole blocks.
size_t bytes_read(size_t bytes, size_t streams) {
  const auto threads = static_cast<size_t>(omp_get_max_threads());
  return bytes / threads / streams / kBlock * kBlock * threads * streams;
}

}  // namespace

int64_t cache_bytes_here() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::set<std::string> seen;  // "level:cores that share it"
  int64_t sum = 0;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    for (int i = 0; i < kMostCaches; ++i) {
      const std::string folder =
          "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(i) + "/";
      const std::string level = sysfs_line(folder + "level");
      if (level.empty()) break;
      if (level == "1" || !seen.insert(level + ":" + sysfs_line(folder + "shared_cpu_list")).second) continue;
      sum += size_of(sysfs_line(folder + "size"));
    }
  }
  const target::Target host = target::host();
  return sum > 0 ? sum : host.l3_bytes + host.l2_bytes * host.cores;
}

ReadRate::ReadRate() {
  const auto memory = static_cast<size_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES))) *
                      static_cast<size_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  const size_t wanted = std::clamp(4 * static_cast<size_t>(cache_bytes_here()), kLeast, kMost);
  bytes_ = std::min(wanted, std::max(memory / 8, kLeast)) / kBlock * kBlock;
  void* data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    bytes_ = 0;
    return;
  }
  data_ = static_cast<char*>(data);
  (void)::madvise(data_, bytes_, MADV_HUGEPAGE);
  // each thread touches first what it reads, so that it lies in its own memory
  const auto blocks = static_cast<int64_t>(bytes_ / kBlock);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < blocks; ++i) std::memset(data_ + static_cast<size_t>(i) * kBlock, 1, kBlock);
}

ReadRate::~ReadRate() {
  if (data_) ::munmap(data_, bytes_);
}

double ReadRate::measure(int times) {
  if (!data_) return 0;
  for (int i = 0; i < times; ++i) {
    for (const size_t streams : {size_t{1}, kStreams}) {
      const double seconds = read_once(data_, bytes_, streams);
      best_gbs_ = std::max(best_gbs_, static_cast<double>(bytes_read(bytes_, streams)) / seconds * 1e-9);
    }
  }
  return best_gbs_;
}

}  // namespace hc::bench
