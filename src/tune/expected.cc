// Samples output elements, asks the oracle for them and compares a run's bytes.
#include "tune/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/numeric.h"

namespace hc::tune {
namespace {

std::string index_text(const ir::Tensor& tensor, int64_t number) {
  std::string out;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    out = fmt::format("{}{}{}", number % tensor.shape[d], out.empty() ? "" : ", ", out);
    number /= tensor.shape[d];
  }
  return fmt::format("{}[{}]", tensor.name, out);
}

}  // namespace

std::vector<ir::TensorId> output_tensors(const ir::Program& program) {
  std::vector<ir::TensorId> out;
  std::set<ir::StorageId> seen;
  for (const ir::Returned& returned : program.returned) {
    if (returned.kind != ir::Returned::Kind::tensor) continue;
    out.push_back(returned.tensor);
    seen.insert(program.tensor(returned.tensor).storage);
  }
  for (const ir::StorageId storage : program.mutated) {
    if (seen.contains(storage)) continue;
    for (size_t t = 0; t < program.tensors.size(); ++t) {
      if (program.tensors[t].storage != storage) continue;
      out.push_back(static_cast<ir::TensorId>(t));
      break;
    }
  }
  return out;
}

int64_t storage_offset(const ir::Tensor& tensor, int64_t number) {
  int64_t offset = tensor.offset;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    offset += number % tensor.shape[d] * tensor.strides[d];
    number /= tensor.shape[d];
  }
  return offset;
}

Result<std::vector<ExpectedTensor>> expect(const ir::Program& program, const std::vector<const void*>& params,
                                           int64_t samples, uint64_t seed) {
  interp::Oracle oracle(program, params);
  std::vector<ExpectedTensor> out;
  for (const ir::TensorId id : output_tensors(program)) {
    const ir::Tensor& tensor = program.tensor(id);
    interp::Sample sample = HC_TRY(interp::sample(oracle, program, id, {samples, seed + static_cast<uint64_t>(id)}));
    ExpectedTensor want{id, tensor.name, std::move(sample.numbers), std::move(sample.elements)};
    out.push_back(std::move(want));
  }
  return out;
}

void compare(const ir::Program& program, const ExpectedTensor& want, const void* bytes,
             const std::function<int64_t(int64_t)>& offset_of, Comparison* comparison) {
  const ir::Tensor& tensor = program.tensor(want.tensor);
  for (size_t i = 0; i < want.numbers.size(); ++i) {
    const interp::Element& element = want.elements[i];
    const bool allocated = program.storage(tensor.storage).role == ir::StorageRole::alloc;
    if (!element.written && allocated) continue;  // the content of an allocation is undefined there
    const int64_t offset = offset_of(want.numbers[i]);
    ++comparison->checked;
    const double got = load_double(bytes, tensor.dtype, offset);
    const double distance = std::fabs(got - element.value);
    if (element.bound > 0 && std::isfinite(distance)) {
      comparison->worst = std::max(comparison->worst, distance / element.bound);
    }
    if (interp::agrees(element, tensor.dtype, bytes, offset)) continue;
    if (comparison->wrong++ == 0) {
      comparison->first_wrong = fmt::format("{} is {} and {} +- {:.3g} was expected",
                                            index_text(tensor, want.numbers[i]), got, element.value, element.bound);
    }
  }
}

}  // namespace hc::tune
