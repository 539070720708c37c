// Float64 answers on sampled rows, for a worker's own check of what its launch left.
#pragma once

#include "base/json.h"
#include "cuda/call.h"

namespace hc::baselines {

/// The outcome for one output: error is relative to the size of the row's terms.
struct Verdict {
  int64_t rows = 0;
  double worst_error = 0;
  int64_t wrong = 0;  ///< elements beyond the tolerance of the output's type
  int64_t nonfinite = 0;
};
Json to_json(const Verdict& verdict);

/// Compares rows 0, the last, and some between (at most 48) of the call's output with float64 arithmetic.
Verdict compare(const Call& call, const std::vector<const void*>& inputs, const void* output);

}  // namespace hc::baselines
