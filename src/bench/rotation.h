// Over how many copies of inputs and outputs launches in a row go in turn, so that each finds them cold.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "diag/diag.h"

namespace hc::bench {

/// More copies than this cost more to prepare than to measure.
inline constexpr int64_t kMostCopies = 4096;

/// How many copies of `set_bytes` together exceed `cache_bytes` (twice the L2): one where one alone does, or where
/// there is nothing to rotate. measurement_failed when that takes more than kMostCopies.
inline Result<int64_t> rotation_copies(int64_t set_bytes, int64_t cache_bytes) {
  if (set_bytes <= 0 || cache_bytes <= 0) return int64_t{1};
  const int64_t copies = cache_bytes / set_bytes + 1;
  if (copies <= kMostCopies) return copies;
  return Diagnostic{
      .code = Code::measurement_failed,
      .message = fmt::format("inputs and outputs of {} bytes need {} copies to exceed {} bytes of cache, and {} are "
                             "the most that launches in a row go over",
                             set_bytes, copies, cache_bytes, kMostCopies)}
      .fix("measure single launches, which evict the caches in another way");
}

}  // namespace hc::bench
