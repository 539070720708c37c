// The interpreter's walk over ops, loops and branches of one tile.
#include "interp/machine.h"

#include <algorithm>

namespace hc::interp {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::ValueId;

Machine::Machine(const ir::Program& program, const ir::Launch& launch, const Slice& slice, ir::StorageId target,
                 MemoryPort& port)
    : program_(program), launch_(launch), slice_(slice), target_(target), port_(port) {}

Status Machine::run(const TileRun& tile) {
  tile_ = &tile;
  lanes_ = tile.lanes;
  whole_ = tile.whole;
  values_.assign(launch_.values.size(), nullptr);
  active_.clear();
  own_.clear();
  uncertain_ = 0;
  for (size_t i = 0; i < launch_.axes.size(); ++i) {
    const ir::GridAxis& axis = launch_.axes[i];
    set(launch_.body.args[i], scalar_int(DType::i64, tile.begins[i]));
    if (axis.block != ir::kNone) active_.push_back({axis.block, tile.begins[i], axis.end});
  }
  return run_region(launch_.body);
}

void Machine::set(ValueId v, LanesPtr lanes) {
  work_ += lanes->count();
  values_[static_cast<size_t>(v)] = std::move(lanes);
}

std::vector<int64_t> Machine::sizes_of(ValueId v) const {
  const auto& dims = launch_.type(v).dims;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto id = static_cast<size_t>(slice_.lane_class(v, static_cast<int>(d)));
    sizes.push_back(whole_[id] ? dims[d].size : static_cast<int64_t>(lanes_[id].size()));
  }
  return sizes;
}

std::vector<int64_t> Machine::lane_numbers(ValueId v, int dim) const {
  const auto id = static_cast<size_t>(slice_.lane_class(v, dim));
  if (!whole_[id]) return lanes_[id];
  std::vector<int64_t> all(static_cast<size_t>(launch_.type(v).dims[static_cast<size_t>(dim)].size));
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  return all;
}

std::vector<uint8_t> Machine::validity(ValueId v, int dim) const {
  const ir::Dim& d = launch_.type(v).dims[static_cast<size_t>(dim)];
  if (d.block == ir::kNone) return {};
  for (const ActiveTile& tile : active_) {
    if (tile.block != d.block || tile.begin + d.size <= tile.end) continue;
    std::vector<uint8_t> valid;
    for (int64_t lane : lane_numbers(v, dim)) valid.push_back(tile.begin + lane < tile.end);
    return valid;
  }
  return {};
}

Status Machine::run_region(const Region& region) {
  for (const Op& op : region.ops) {
    if (op.kind == OpKind::yield || !slice_.live(op)) continue;
    HC_TRY(run_op(op));
    for (ValueId v : slice_.last_uses(op)) values_[static_cast<size_t>(v)] = nullptr;
  }
  return success();
}

Status Machine::run_op(const Op& op) {
  if (!ir::is_elementwise(op.kind)) return run_structured(op);
  const ValueId result = op.results[0];
  const std::vector<int64_t> sizes = sizes_of(result);
  std::vector<LanesPtr> operands;
  for (const ir::Operand& operand : op.operands)
    operands.push_back(broadcast(value(operand.value), operand.map, sizes));
  set(result, elementwise(op.kind, operands, launch_.type(result).dtype, sizes));
  return success();
}

Status Machine::run_structured(const Op& op) {
  const ValueId result = op.results.empty() ? ir::kNone : op.results[0];
  switch (op.kind) {
    case OpKind::constant: {
      auto lanes = make_lanes(launch_.type(result).dtype, {});
      if (lanes->floating()) {
        // A literal is a number of its dtype, which an implementation holds rounded.
        lanes->v[0] = op.literal.f;
        const Num rounded = round_num(lanes->dtype, {op.literal.f, 0});
        const double apart = rounded.v == op.literal.f ? 0 : std::fabs(rounded.v - op.literal.f);
        if (apart > 0) lanes->e = {apart};
      } else {
        lanes->i[0] = op.literal.i;
      }
      set(result, std::move(lanes));
      return success();
    }
    case OpKind::arange:
    case OpKind::tile_index: {
      auto lanes = make_lanes(launch_.type(result).dtype, {});
      const std::vector<int64_t> numbers = lane_numbers(result, 0);
      lanes->i.assign(numbers.begin(), numbers.end());
      lanes->sizes = {static_cast<int64_t>(lanes->i.size())};
      const int64_t begin = op.kind == OpKind::arange ? 0 : value(op.operands[0].value)->i[0];
      for (int64_t& i : lanes->i) i += begin;
      set(result, std::move(lanes));
      return success();
    }
    case OpKind::load:
      return run_load(op);
    case OpKind::store:
      return run_store(op);
    case OpKind::reduce:
      work_ += value(op.operands[0].value)->count();
      set(result, reduce(op.reduce, *value(op.operands[0].value), op.axis, launch_.type(result).dtype,
                         validity(op.operands[0].value, op.axis)));
      return success();
    case OpKind::permute:
      set(result, permute(*value(op.operands[0].value), op.ints));
      return success();
    case OpKind::reshape:
      set(result, reshape(*value(op.operands[0].value), sizes_of(result)));
      return success();
    case OpKind::split:
      for (int half = 0; half < 2; ++half) {
        set(op.results[static_cast<size_t>(half)], split(*value(op.operands[0].value), half));
      }
      return success();
    case OpKind::join:
      set(result, join(*value(op.operands[0].value), *value(op.operands[1].value)));
      return success();
    case OpKind::for_tile:
    case OpKind::for_grid:
      return run_loop(op);
    case OpKind::if_else:
      return run_branch(op);
    default:
      diag::bug("an op has no meaning in the oracle");
  }
}

/// Hands yielded values on: to the region's arguments for the next iteration, or to the op's results.
void Machine::carry(const Region& region, const Op& op, bool to_arguments, bool uncertain) {
  const Op& yield = region.ops.back();
  std::vector<LanesPtr> next;
  for (const ir::Operand& operand : yield.operands) next.push_back(value(operand.value));
  for (size_t k = 0; k < next.size(); ++k) {
    if (!next[k]) continue;  // nobody needs it
    if (uncertain) {
      auto lanes = std::make_shared<Lanes>(*next[k]);
      lanes->e.assign(static_cast<size_t>(lanes->count()), kInfinite);
      next[k] = std::move(lanes);
    }
    set(to_arguments ? region.args[k + 1] : op.results[k], std::move(next[k]));
  }
}

bool Machine::narrow(const Op& loop, int64_t begin, int64_t end) {
  const auto asked = tile_->asked.find(&loop);
  if (asked == tile_->asked.end()) return true;
  const std::vector<int64_t>& all = asked->second;
  const auto first = std::lower_bound(all.begin(), all.end(), begin), last = std::lower_bound(first, all.end(), end);
  if (first == last) return false;
  for (size_t c = 0; c < slice_.classes().size(); ++c) {
    if (slice_.classes()[c].loop != &loop) continue;
    whole_[c] = 0;
    lanes_[c].assign(first, last);
    for (int64_t& lane : lanes_[c]) lane -= begin;
  }
  return true;
}

Status Machine::run_loop(const Op& op) {
  const Region& region = op.regions[0];
  const bool tiles = op.kind == OpKind::for_tile;
  const size_t bounds = tiles ? 2 : 3;
  int64_t limits[3] = {0, 0, 0};
  bool uncertain = false;
  for (size_t i = 0; i < bounds; ++i) {
    const Lanes& bound = *value(op.operands[i].value);
    limits[i] = bound.i[0];
    uncertain = uncertain || bound.bound(0) > 0;
  }
  const int64_t step = tiles ? program_.block(op.block).size : limits[2];
  if (step < 1) return Diagnostic{Code::ir_invalid, "a loop's step is below 1"}.at(op.span);
  for (size_t k = 0; k < op.results.size(); ++k) {
    const LanesPtr initial = value(op.operands[bounds + k].value);
    if (initial && slice_.live_value(region.args[k + 1])) set(region.args[k + 1], initial);
  }
  uncertain_ += uncertain;
  for (int64_t begin = limits[0]; begin < limits[1]; begin += step) {
    if (tiles && !narrow(op, begin, begin + step)) continue;
    set(region.args[0], scalar_int(DType::i64, begin));
    if (tiles) active_.push_back({op.block, begin, limits[1]});
    HC_TRY(run_region(region));
    if (tiles) active_.pop_back();
    carry(region, op, true, uncertain);
  }
  uncertain_ -= uncertain;
  for (size_t k = 0; k < op.results.size(); ++k) {
    LanesPtr last = value(region.args[k + 1]);
    if (!last) continue;
    if (uncertain && last->e.empty()) {
      auto lanes = std::make_shared<Lanes>(*last);
      lanes->e.assign(static_cast<size_t>(lanes->count()), kInfinite);
      last = std::move(lanes);
    }
    set(op.results[k], std::move(last));
  }
  return success();
}

Status Machine::run_branch(const Op& op) {
  const Lanes& condition = *value(op.operands[0].value);
  const bool uncertain = condition.bound(0) > 0;
  const Region& region = op.regions[condition.i[0] != 0 ? 0 : 1];
  uncertain_ += uncertain;
  HC_TRY(run_region(region));
  uncertain_ -= uncertain;
  carry(region, op, false, uncertain);
  return success();
}

}  // namespace hc::interp
