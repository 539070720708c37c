// Lanes: broadcasting and the ops that only move lanes.
#include "interp/lanes.h"

#include <map>

namespace hc::interp {
namespace {

/// `from[at[k]]` for every k, of whichever of the vectors is in use.
constexpr size_t kKeptBlock = 256 << 10;  ///< smaller blocks are the system allocator's business
constexpr size_t kKeptTotal = 512 << 20;  ///< bytes that one thread may keep

/// Blocks that a thread has freed and may use again, by size.
struct Kept {
  std::multimap<size_t, void*> blocks;
  size_t total = 0;
  ~Kept() { clear(); }
  void clear() {
    for (const auto& [bytes, block] : blocks) ::operator delete(block);
    blocks.clear();
    total = 0;
  }
};
thread_local Kept kept;

template <typename T>
void gather(const LaneVector<T>& from, const LaneVector<size_t>& at, LaneVector<T>* to) {
  if (from.empty()) return;
  to->resize(at.size());
  for (size_t k = 0; k < at.size(); ++k) (*to)[k] = from[at[k]];
}

LanesPtr gathered(const Lanes& operand, std::vector<int64_t> sizes, const LaneVector<size_t>& at) {
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

void* lane_allocate(size_t bytes) {
  if (bytes < kKeptBlock) return ::operator new(bytes);
  const auto it = kept.blocks.find(bytes);
  if (it == kept.blocks.end()) return ::operator new(bytes);
  void* block = it->second;
  kept.blocks.erase(it);
  kept.total -= bytes;
  return block;
}

void lane_free(void* block, size_t bytes) {
  if (bytes < kKeptBlock || kept.total + bytes > kKeptTotal) return ::operator delete(block);
  kept.blocks.emplace(bytes, block);
  kept.total += bytes;
}

void lane_release() { kept.clear(); }

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
  LaneVector<size_t> at(static_cast<size_t>(product(sizes)));
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
  LaneVector<size_t> at(static_cast<size_t>(operand.count()));
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
  LaneVector<size_t> at(static_cast<size_t>(operand.count() / 2));
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
