// Memory for one run under check: written storages end at a page that cannot be touched, and carry a mark behind their
// end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/tile_ir.h"
#include "runtime/manifest.h"

namespace hc::tune {

/// Bytes aligned to 64 whose end lies within 63 bytes of a page without access; the gap holds a pattern.
class GuardedBytes {
 public:
  GuardedBytes() = default;
  explicit GuardedBytes(int64_t bytes);
  GuardedBytes(GuardedBytes&& other) noexcept;
  GuardedBytes& operator=(GuardedBytes&& other) noexcept;
  ~GuardedBytes();
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Nothing was written between the end and the page.
  bool whole() const;

 private:
  void* data_ = nullptr;
  void* mapping_ = nullptr;
  int64_t mapped_ = 0;
  int64_t bytes_ = 0;
};

/// Storages of one run: the inputs as they are, written parameters copied, allocations poisoned.
struct RunBuffers {
  std::vector<GuardedBytes> own;  ///< by storage; empty where the run reads an input in place
  std::vector<void*> storages;
  /// Name of the first storage behind whose end something was written, or empty.
  std::string overrun(const ir::Program& program) const;
};

/// `params[i]` are the bytes of parameter storages, null for allocations.
RunBuffers make_run_buffers(const ir::Program& program, const std::vector<const void*>& params,
                            const std::vector<runtime::StorageInfo>& infos);

}  // namespace hc::tune
