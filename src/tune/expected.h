// The oracle's answers for a sample of output elements, computed once per program and compared with many runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "interp/oracle.h"
#include "ir/tile_ir.h"

namespace hc::tune {

/// One output tensor's sample.
struct ExpectedTensor {
  ir::TensorId tensor = ir::kNone;
  std::string name;
  std::vector<int64_t> numbers;
  std::vector<interp::Element> elements;
};

/// Where a comparison stands.
struct Comparison {
  int64_t checked = 0;
  int64_t wrong = 0;
  double worst = 0;
  std::string first_wrong;  ///< a sentence about the first wrong element
};

/// Returned tensors in order, then mutated parameters that are not returned. Element numbers of one view per storage.
std::vector<ir::TensorId> output_tensors(const ir::Program& program);
/// Offset in elements of a row-major element number in the tensor's storage.
int64_t storage_offset(const ir::Tensor& tensor, int64_t number);
Result<std::vector<ExpectedTensor>> expect(const ir::Program& program, const std::vector<const void*>& params,
                                           int64_t samples, uint64_t seed);
/// Adds one tensor's comparison; `bytes` are its storage, `offset_of` turns element numbers into element offsets there.
void compare(const ir::Program& program, const ExpectedTensor& want, const void* bytes,
             const std::function<int64_t(int64_t)>& offset_of, Comparison* comparison);

}  // namespace hc::tune
