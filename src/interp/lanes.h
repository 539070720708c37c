// A value at run time: one number per lane, in row-major order of the lanes that run.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "interp/number.h"
#include "ir/tile_ir.h"

namespace hc::interp {

/// Memory of lanes: blocks of big tiles are kept for the next op, since the system would clear every page of a new one.
void* lane_allocate(size_t bytes);
void lane_free(void* block, size_t bytes);
/// Gives kept blocks of this thread back.
void lane_release();

/// Elements without a value given stay as the memory has them: every op writes all its lanes.
template <typename T>
struct LaneAllocator {
  using value_type = T;
  LaneAllocator() = default;
  template <typename U>
  LaneAllocator(const LaneAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(lane_allocate(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { lane_free(p, n * sizeof(T)); }
  template <typename U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <typename U, typename... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const LaneAllocator&) const { return true; }
};

template <typename T>
using LaneVector = std::vector<T, LaneAllocator<T>>;

/// Floating dtypes use `v`, integers and bool use `i`. `e` is empty where every lane is certain.
struct Lanes {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  LaneVector<double> v;
  LaneVector<int64_t> i;
  LaneVector<double> e;

  int64_t count() const;
  bool floating() const { return is_floating(dtype); }
  Num num(size_t k) const { return {v[k], e.empty() ? 0 : e[k]}; }
  double bound(size_t k) const { return e.empty() ? 0 : e[k]; }
};

using LanesPtr = std::shared_ptr<const Lanes>;

/// Lanes whose numbers are not set yet.
std::shared_ptr<Lanes> make_lanes(DType dtype, std::vector<int64_t> sizes);
LanesPtr scalar_int(DType dtype, int64_t value);

/// Steps (in lanes of the operand) of each result dimension; `map` as in ir::Operand.
std::vector<int64_t> operand_steps(const Lanes& operand, const std::vector<int8_t>& map,
                                   const std::vector<int64_t>& sizes);

/// Calls fn(result lane, operand lane) for every lane of `sizes`.
template <typename Fn>
void for_each_lane(const std::vector<int64_t>& sizes, const std::vector<int64_t>& steps, Fn fn) {
  int64_t total = 1;
  for (int64_t size : sizes) total *= size;
  if (total == 0) return;
  const size_t rank = sizes.size();
  const int64_t inner = rank == 0 ? 1 : sizes[rank - 1];
  const int64_t inner_step = rank == 0 ? 0 : steps[rank - 1];
  std::vector<int64_t> index(rank, 0);
  int64_t base = 0;
  for (int64_t lane = 0; lane < total; lane += inner) {
    for (int64_t k = 0; k < inner; ++k) fn(static_cast<size_t>(lane + k), static_cast<size_t>(base + k * inner_step));
    for (size_t d = rank < 2 ? 0 : rank - 1; d-- > 0;) {
      base += steps[d];
      if (++index[d] < sizes[d]) break;
      base -= steps[d] * sizes[d];
      index[d] = 0;
    }
  }
}

/// The operand with a lane for each lane of `sizes`; a single lane stays single.
LanesPtr broadcast(const LanesPtr& operand, const std::vector<int8_t>& map, const std::vector<int64_t>& sizes);

/// An elementwise op on operands already mapped; operands have one lane or as many as `sizes`.
LanesPtr elementwise(ir::OpKind kind, const std::vector<LanesPtr>& operands, DType dtype,
                     const std::vector<int64_t>& sizes);

/// Combines along `axis`; `valid[k]` tells whether lane k of the axis counts (empty: all do).
LanesPtr reduce(ir::ReduceKind kind, const Lanes& operand, int axis, DType dtype, const std::vector<uint8_t>& valid);

LanesPtr permute(const Lanes& operand, const std::vector<int32_t>& order);
/// The same lanes under other sizes.
LanesPtr reshape(const Lanes& operand, std::vector<int64_t> sizes);
/// Lanes with index `half` of the last dimension, which has two.
LanesPtr split(const Lanes& operand, int half);
LanesPtr join(const Lanes& a, const Lanes& b);

}  // namespace hc::interp
