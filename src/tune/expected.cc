// Samples output elements, asks the oracle for them and compares a run's bytes.
#include "tune/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/numeric.h"
#include "base/philox.h"

namespace hc::tune {
namespace {

constexpr int64_t kPerRow = 16;

/// Deterministic numbers below `bound` from a counter.
struct Draw {
  std::array<uint32_t, 2> key;
  uint32_t counter = 0;
  int64_t below(int64_t bound) {
    const std::array<uint32_t, 4> words = philox4x32({counter++, 0, 0, 0}, key);
    const uint64_t wide = (static_cast<uint64_t>(words[0]) << 32) | words[1];
    return static_cast<int64_t>(wide % static_cast<uint64_t>(bound));
  }
};

std::string index_text(const ir::Tensor& tensor, int64_t number) {
  std::string out;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    out = fmt::format("{}{}{}", number % tensor.shape[d], out.empty() ? "" : ", ", out);
    number /= tensor.shape[d];
  }
  return fmt::format("{}[{}]", tensor.name, out);
}

}  // namespace

std::vector<int64_t> sample_numbers(const ir::Tensor& tensor, int64_t samples, uint64_t seed) {
  const int64_t total = tensor.numel();
  std::vector<int64_t> out;
  if (total <= samples) {
    for (int64_t i = 0; i < total; ++i) out.push_back(i);
    return out;
  }
  const int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  const int64_t rows = total / columns;
  const int64_t wanted_rows = std::clamp<int64_t>(samples / kPerRow, 1, rows);
  const int64_t per_row = std::min(columns, (samples + wanted_rows - 1) / wanted_rows);
  Draw draw{{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  std::set<int64_t> chosen_rows = {0, rows - 1};
  while (static_cast<int64_t>(chosen_rows.size()) < std::max<int64_t>(wanted_rows, std::min<int64_t>(2, rows))) {
    chosen_rows.insert(draw.below(rows));
  }
  std::set<int64_t> numbers;
  for (const int64_t row : chosen_rows) {
    numbers.insert(row * columns);
    numbers.insert(row * columns + columns - 1);
    for (int64_t i = 2; i < per_row; ++i) numbers.insert(row * columns + draw.below(columns));
  }
  out.assign(numbers.begin(), numbers.end());
  return out;
}

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
    ExpectedTensor want{id, tensor.name, sample_numbers(tensor, samples, seed + static_cast<uint64_t>(id)), {}};
    want.elements = HC_TRY(oracle.elements(id, want.numbers));
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
