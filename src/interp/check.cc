// Compares a run's memory with the oracle on a sample of every output.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/numeric.h"
#include "base/philox.h"
#include "interp/oracle.h"

namespace hc::interp {
namespace {

/// Deterministic numbers below a bound.
class Draw {
 public:
  explicit Draw(uint64_t seed) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}
  int64_t below(int64_t bound) {
    const auto words = philox4x32({counter_++, 0, 0, 0}, key_);
    const uint64_t wide = (static_cast<uint64_t>(words[0]) << 32) | words[1];
    return static_cast<int64_t>(wide % static_cast<uint64_t>(bound));
  }

 private:
  std::array<uint32_t, 2> key_;
  uint32_t counter_ = 0;
};

/// `count` of [0, size): the first two, the last three, then short runs at random places.
std::vector<int64_t> choose(int64_t size, int64_t count, int64_t run, Draw& draw) {
  if (size <= count) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) all[static_cast<size_t>(i)] = i;
    return all;
  }
  std::set<int64_t> chosen;
  for (int64_t i : {int64_t{0}, size - 1, int64_t{1}, size - 2, size - 3}) {
    if (static_cast<int64_t>(chosen.size()) < count && i >= 0) chosen.insert(i);
  }
  while (static_cast<int64_t>(chosen.size()) < count) {
    const int64_t begin = draw.below(size);
    for (int64_t i = begin; i < std::min(size, begin + run) && static_cast<int64_t>(chosen.size()) < count; ++i) {
      chosen.insert(i);
    }
  }
  return {chosen.begin(), chosen.end()};
}

int64_t offset_of(const ir::Tensor& tensor, int64_t number) {
  int64_t offset = tensor.offset;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    offset += number % tensor.shape[d] * tensor.strides[d];
    number /= tensor.shape[d];
  }
  return offset;
}

void find_stored(const ir::Program& program, const ir::Region& region, std::set<ir::TensorId>* tensors) {
  for (const ir::Op& op : region.ops) {
    if (op.kind == ir::OpKind::store) tensors->insert(op.tensor);
    for (const ir::Region& inner : op.regions) find_stored(program, inner, tensors);
  }
}

/// Returned tensors, then the views through which mutated parameters are written.
std::vector<ir::TensorId> outputs(const ir::Program& program) {
  std::vector<ir::TensorId> out;
  std::set<ir::StorageId> returned;
  for (const ir::Returned& r : program.returned) {
    if (r.kind != ir::Returned::Kind::tensor) continue;
    out.push_back(r.tensor);
    returned.insert(program.tensor(r.tensor).storage);
  }
  std::set<ir::TensorId> stored;
  for (const ir::Step& step : program.steps) {
    if (step.kind == ir::Step::Kind::fill) stored.insert(step.fill_tensor);
    find_stored(program, step.launch.body, &stored);
  }
  for (ir::TensorId t : stored) {
    const ir::StorageId s = program.tensor(t).storage;
    const bool mutated = std::find(program.mutated.begin(), program.mutated.end(), s) != program.mutated.end();
    if (mutated && !returned.contains(s)) out.push_back(t);
  }
  return out;
}

void compare(const ir::Program& program, ir::TensorId id, std::span<const int64_t> numbers,
             const std::vector<Element>& want, const void* bytes, CheckOutcome* outcome) {
  const ir::Tensor& tensor = program.tensor(id);
  const bool allocated = program.storage(tensor.storage).role == ir::StorageRole::alloc;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const Element& element = want[k];
    if (!element.written && allocated) continue;  // its content is undefined
    const int64_t offset = offset_of(tensor, numbers[k]);
    ++outcome->checked;
    const double got = load_double(bytes, tensor.dtype, offset);
    const double distance = std::fabs(got - element.value);
    if (element.bound > 0 && std::isfinite(element.bound) && std::isfinite(distance)) {
      outcome->worst = std::max(outcome->worst, distance / element.bound);
    }
    if (agrees(element, tensor.dtype, bytes, offset)) continue;
    if (outcome->wrong++ == 0) outcome->first = {id, numbers[k], got, element};
  }
}

}  // namespace

std::vector<int64_t> sample_numbers(const ir::Tensor& tensor, int64_t samples, uint64_t seed) {
  const int64_t total = tensor.numel();
  std::vector<int64_t> out;
  if (total <= samples) {
    for (int64_t i = 0; i < total; ++i) out.push_back(i);
    return out;
  }
  constexpr int64_t kRows = 48, kRun = 8;
  const int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  const int64_t rows = total / columns;
  Draw draw(seed);
  const int64_t wanted_rows = std::min(rows, std::max(kRows, samples / columns));
  const std::vector<int64_t> some_rows = choose(rows, wanted_rows, columns >= samples / kRows ? 1 : kRun, draw);
  const auto per_row = std::max<int64_t>(1, samples / static_cast<int64_t>(some_rows.size()));
  const std::vector<int64_t> some_columns = choose(columns, per_row, kRun, draw);
  for (int64_t r : some_rows) {
    for (int64_t c : some_columns) out.push_back(r * columns + c);
  }
  return out;
}

bool agrees(const Element& want, DType dtype, const void* storage, int64_t offset) {
  if (std::isinf(want.bound)) return true;
  if (!is_floating(dtype)) {
    if (dtype == DType::boolean && static_cast<const uint8_t*>(storage)[offset] > 1) return false;
    const int64_t got = load_int(storage, dtype, offset);
    if (want.bound == 0) return got == want.exact;
    return std::fabs(static_cast<double>(got) - static_cast<double>(want.exact)) <= want.bound;
  }
  const double got = load_double(storage, dtype, offset);
  if (std::isnan(want.value)) return std::isnan(got);
  if (std::isinf(want.value)) return got == want.value;
  return std::fabs(got - want.value) <= want.bound;
}

Result<Sample> sample(Oracle& oracle, const ir::Program& program, ir::TensorId tensor, const CheckOptions& options) {
  const std::vector<int64_t> numbers = sample_numbers(program.tensor(tensor), options.samples, options.seed);
  Sample out;
  // In pieces, the first and the last one first, so that a cut by the work limit still sees the corners.
  const size_t pieces = std::clamp<size_t>(numbers.size() / 64, 1, 16);
  for (size_t turn = 0; turn < pieces; ++turn) {
    if (turn > 1 && options.work_limit > 0 && oracle.work() > options.work_limit) break;
    const size_t piece = turn == 0 ? 0 : (turn == 1 ? pieces - 1 : turn - 1);
    const size_t begin = numbers.size() * piece / pieces, end = numbers.size() * (piece + 1) / pieces;
    const std::span<const int64_t> part(numbers.data() + begin, end - begin);
    const std::vector<Element> elements = HC_TRY(oracle.elements(tensor, part));
    out.numbers.insert(out.numbers.end(), part.begin(), part.end());
    out.elements.insert(out.elements.end(), elements.begin(), elements.end());
  }
  return out;
}

Result<CheckOutcome> check(const ir::Program& program, const std::vector<const void*>& initial_params,
                           const std::vector<const void*>& final_storages, const CheckOptions& options) {
  Oracle oracle(program, initial_params);
  CheckOutcome outcome;
  for (ir::TensorId id : outputs(program)) {
    CheckOptions own = options;
    own.seed += static_cast<uint64_t>(id);
    const Sample taken = HC_TRY(sample(oracle, program, id, own));
    const void* bytes = final_storages[static_cast<size_t>(program.tensor(id).storage)];
    compare(program, id, taken.numbers, taken.elements, bytes, &outcome);
  }
  return outcome;
}

}  // namespace hc::interp
