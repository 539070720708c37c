// Lanes: broadcasting and the ops that only move lanes.
#include "interp/lanes.h"

namespace hc::interp {
namespace {

/// `from[at[k]]` for every k, of whichever of the vectors is in use.
template <typename T>
void gather(const std::vector<T>& from, const std::vector<size_t>& at, std::vector<T>* to) {
  if (from.empty()) return;
  to->resize(at.size());
  for (size_t k = 0; k < at.size(); ++k) (*to)[k] = from[at[k]];
}

LanesPtr gathered(const Lanes& operand, std::vector<int64_t> sizes, const std::vector<size_t>& at) {
  auto out = std::make_shared<Lanes>();
  out->dtype = operand.dtype;
  out->sizes = std::move(sizes);
  gather(operand.v, at, &out->v);
  gather(operand.i, at, &out->i);
  gather(operand.e, at, &out->e);
  return out;
}

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

int64_t Lanes::count() const { return product(sizes); }

std::shared_ptr<Lanes> make_lanes(DType dtype, std::vector<int64_t> sizes) {
  auto lanes = std::make_shared<Lanes>();
  lanes->dtype = dtype;
  lanes->sizes = std::move(sizes);
  const auto count = static_cast<size_t>(lanes->count());
  if (is_floating(dtype)) {
    lanes->v.resize(count);
  } else {
    lanes->i.resize(count);
  }
  return lanes;
}

LanesPtr scalar_int(DType dtype, int64_t value) {
  auto lanes = make_lanes(dtype, {});
  lanes->i[0] = value;
  return lanes;
}

std::vector<int64_t> operand_steps(const Lanes& operand, const std::vector<int8_t>& map,
                                   const std::vector<int64_t>& sizes) {
  std::vector<int64_t> steps(sizes.size(), 0);
  const std::vector<int64_t> own = contiguous_strides(operand.sizes);
  for (size_t d = 0; d < operand.sizes.size(); ++d) {
    const size_t to = map.empty() ? d : static_cast<size_t>(map[d]);
    // One lane stretches over the result's; where the result has one lane too the step does not matter.
    steps[to] = operand.sizes[d] == 1 ? 0 : own[d];
  }
  return steps;
}

LanesPtr broadcast(const LanesPtr& operand, const std::vector<int8_t>& map, const std::vector<int64_t>& sizes) {
  if (operand->count() == 1) return operand;
  bool identity = operand->sizes == sizes;
  for (size_t d = 0; d < map.size(); ++d) identity = identity && map[d] == static_cast<int8_t>(d);
  if (identity) return operand;
  std::vector<size_t> at(static_cast<size_t>(product(sizes)));
  for_each_lane(sizes, operand_steps(*operand, map, sizes), [&](size_t lane, size_t from) { at[lane] = from; });
  return gathered(*operand, sizes, at);
}

LanesPtr permute(const Lanes& operand, const std::vector<int32_t>& order) {
  std::vector<int64_t> sizes, steps;
  const std::vector<int64_t> own = contiguous_strides(operand.sizes);
  for (int32_t dim : order) {
    sizes.push_back(operand.sizes[static_cast<size_t>(dim)]);
    steps.push_back(own[static_cast<size_t>(dim)]);
  }
  std::vector<size_t> at(static_cast<size_t>(operand.count()));
  for_each_lane(sizes, steps, [&](size_t lane, size_t from) { at[lane] = from; });
  return gathered(operand, sizes, at);
}

LanesPtr reshape(const Lanes& operand, std::vector<int64_t> sizes) {
  auto out = std::make_shared<Lanes>(operand);
  out->sizes = std::move(sizes);
  return out;
}

LanesPtr split(const Lanes& operand, int half) {
  std::vector<int64_t> sizes = operand.sizes;
  sizes.pop_back();
  std::vector<size_t> at(static_cast<size_t>(operand.count() / 2));
  for (size_t k = 0; k < at.size(); ++k) at[k] = 2 * k + static_cast<size_t>(half);
  return gathered(operand, std::move(sizes), at);
}

LanesPtr join(const Lanes& a, const Lanes& b) {
  auto out = std::make_shared<Lanes>();
  out->dtype = a.dtype;
  out->sizes = a.sizes;
  out->sizes.push_back(2);
  const auto count = static_cast<size_t>(a.count());
  for (size_t k = 0; k < count; ++k) {
    for (const Lanes* side : {&a, &b}) {
      if (a.floating()) {
        out->v.push_back(side->v[k]);
      } else {
        out->i.push_back(side->i[k]);
      }
      if (!a.e.empty() || !b.e.empty()) out->e.push_back(side->bound(k));
    }
  }
  return out;
}

}  // namespace hc::interp
