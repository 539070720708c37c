// The oracle: tile IR executed in float64 with a bound on what a correct implementation may differ by.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "diag/diag.h"
#include "ir/tile_ir.h"

namespace hc::interp {

/// One element as it stands in memory after the program: `value` is the ideal one rounded by its store, an
/// implementation's element x is right when |x - value| <= bound (or both are NaN, or the same infinity). Integers:
/// `exact`, bound 0.
struct Element {
  double value = 0;
  double bound = 0;
  int64_t exact = 0;
  bool written = false;  ///< false: no tile stored here (an allocation's content is then undefined)
};

/// Runs the tiles and lanes that reach the elements asked for; what was run is remembered. Not safe for concurrent use.
class Oracle {
 public:
  /// `params[i]` are the initial bytes of storages with role param, by StorageId (null for allocations). Both must
  /// outlive it.
  Oracle(const ir::Program& program, std::vector<const void*> params);
  ~Oracle();
  /// Final elements of a tensor at these row-major element numbers.
  Result<std::vector<Element>> elements(ir::TensorId tensor, std::span<const int64_t> numbers);
  /// Lanes of all ops run so far, over all calls: what an answer has cost.
  int64_t work() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether element `number` (row-major) of a tensor in memory lies inside the oracle's bound.
bool agrees(const Element& want, DType dtype, const void* storage, int64_t offset);

/// Row-major element numbers of a sample, sorted: all of them when there are at most `samples`. Otherwise some rows
/// (along the last dimension) crossed with some columns, first and last ones among both, so that few tiles reach them.
std::vector<int64_t> sample_numbers(const ir::Tensor& tensor, int64_t samples, uint64_t seed);

struct CheckOptions {
  int64_t samples = 4096;  ///< elements per output tensor; all of them when the tensor has no more
  uint64_t seed = 0;
  /// Once the oracle has run this many lanes, a tensor's remaining sample is cut to its ends (0: never).
  int64_t work_limit = 200'000'000;
};

/// Row-major element numbers of a tensor and what stands there.
struct Sample {
  std::vector<int64_t> numbers;
  std::vector<Element> elements;
};

/// The oracle's elements at the sample numbers of a tensor, or at a part of them with both ends where work is limited.
Result<Sample> sample(Oracle& oracle, const ir::Program& program, ir::TensorId tensor, const CheckOptions& options);

struct Mismatch {
  ir::TensorId tensor = ir::kNone;
  int64_t number = 0;
  double got = 0;
  Element want;
};

struct CheckOutcome {
  int64_t checked = 0;
  int64_t wrong = 0;
  Mismatch first{};
  double worst = 0;  ///< largest |x - value| / bound seen
};

/// Compares every returned and every mutated tensor with the oracle: corners, last rows, and random elements.
/// `final_storages[i]` are the bytes of storage i after the run under test.
Result<CheckOutcome> check(const ir::Program& program, const std::vector<const void*>& initial_params,
                           const std::vector<const void*>& final_storages, const CheckOptions& options);

}  // namespace hc::interp
