// Loop ranges and blocks, launches from top-level loops and for_tile/for_grid ops from nested ones.
#include "lang/loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"

namespace hc::lang {
namespace {

bool mentions_tile(const Value& value) {
  if (value.tile()) return true;
  const Values* items = items_of(value);
  return items && std::any_of(items->begin(), items->end(), mentions_tile);
}

/// The part of a per-dimension argument that belongs to dimension i; a scalar or None belongs to each.
Result<Value> part(const Value& value, size_t i, size_t rank, std::string_view what, const Span& span) {
  const Values* items = items_of(value);
  if (!items) return value;
  if (items->size() != rank) {
    return Diagnostic{Code::api_usage, fmt::format("{} has {} values for {} dimensions", what, items->size(), rank)}.at(
        span);
  }
  return (*items)[i];
}

/// Loop variables of a `for` statement and of those in its body.
void loop_targets(const Stmt& stmt, std::vector<std::string>& out) {
  if (stmt.kind == StmtKind::for_) {
    Stmt only;
    only.targets = stmt.targets;
    for (std::string& name : assigned_names({std::make_shared<Stmt>(std::move(only))})) out.push_back(std::move(name));
  }
  for (const auto* body : {&stmt.body, &stmt.orelse}) {
    for (const StmtPtr& inner : *body) loop_targets(*inner, out);
  }
}

int64_t default_block(size_t i, size_t rank) { return i + 1 == rank ? 32 : 4; }

}  // namespace

std::string LoopTracer::base_name(size_t i) const {
  const Expr& target = *stmt_.targets[0];
  const bool unpacked = target.kind == ExprKind::tuple || target.kind == ExprKind::list;
  if (unpacked) return i < target.children.size() ? target.children[i]->text : "";
  return ranges_.size() == 1 ? target.text : fmt::format("{}.{}", target.text, i);
}

Status LoopTracer::read_ranges(const Values& args, const std::vector<std::string>& names) {
  const bool tiles = kind_ == LoopKind::tile;
  const Span& span = stmt_.value->span;
  Value first, second, option;
  size_t position = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_option = names[i] == (tiles ? "block_size" : "step") || (names[i].empty() && position == 2);
    if (is_option) {
      option = args[i];
    } else if (names[i].empty() && position < 2) {
      (position == 0 ? first : second) = args[i];
      ++position;
    } else {
      return Diagnostic{Code::api_usage,
                        fmt::format("{} takes no argument {}", tiles ? "hl.tile" : "hl.grid", names[i])}
          .at(span);
    }
  }
  if (mentions_tile(first) || mentions_tile(second)) {
    return Diagnostic{Code::tile_of_tile, "a tile is used as the bound of another tile"}.at(span).fix(
        "use tile.begin and tile.end as bounds");
  }
  const bool bounded = !second.is<None>();
  const Value& end = bounded ? second : first;
  const Values* list = items_of(end);
  is_list_ = list != nullptr;
  const size_t rank = list ? list->size() : 1;
  if (first.is<None>() || rank == 0) {
    return Diagnostic{Code::api_usage, fmt::format("{} needs an extent", tiles ? "hl.tile" : "hl.grid")}.at(span);
  }
  for (size_t i = 0; i < rank; ++i) {
    LoopRange range;
    range.end = HC_TRY(part(end, i, rank, "end", span));
    range.begin = bounded ? HC_TRY(part(first, i, rank, "begin", span)) : make_int(0);
    const Value chosen = HC_TRY(part(option, i, rank, tiles ? "block_size" : "step", span));
    (tiles ? range.block_size : range.step) = chosen;
    if (!tiles && chosen.is<None>()) range.step = make_int(1);
    if (!tiles && int_of(range.step).value_or(1) < 1) {
      return Diagnostic{Code::unsupported_feature, "a loop with a negative or zero step is not supported on the device"}
          .at(span);
    }
    ranges_.push_back(std::move(range));
  }
  HC_TRY(check_targets());
  for (size_t i = 0; i < rank; ++i) {
    ranges_[i].name = base_name(i);
    HC_TRY(check_bounds(ranges_[i]));
  }
  return success();
}

Status LoopTracer::check_targets() const {
  const Expr& target = *stmt_.targets[0];
  const bool unpacked = target.kind == ExprKind::tuple || target.kind == ExprKind::list;
  if (!unpacked) return success();
  if (is_list_ && target.children.size() == ranges_.size()) return success();
  return Diagnostic{Code::failed_to_unpack_tile,
                    fmt::format("{} for a range of {}", count_text(target.children.size(), "name"),
                                count_text(ranges_.size(), "dimension"))}
      .at(target.span)
      .fix(is_list_ ? "give one name for each extent" : "write the extents as a list: hl.tile([m, n])");
}

Status LoopTracer::check_bounds(LoopRange& range) const {
  const Span& span = stmt_.value->span;
  for (Value* bound : {&range.begin, &range.end}) {
    const auto* device = bound->get<Device>();
    const bool scalar = device && device->dims.empty() && !is_floating(device->dtype);
    if (int_of(*bound) || (scalar && tracer_.on_device())) continue;
    if (bound->is<HostTensor>()) {
      return Diagnostic{Code::unsupported_feature, "a loop bound that is a host tensor is not supported"}.at(span).fix(
          "load the bound in an outer device loop");
    }
    return Diagnostic{Code::api_usage, fmt::format("{} cannot bound a loop", describe(*bound))}.at(span);
  }
  const std::optional<int64_t> begin = int_of(range.begin), end = int_of(range.end);
  if (begin && end && *begin > *end) {
    return Diagnostic{Code::invalid_tile_range,
                      fmt::format("the range ends before it begins: begin={}, end={}", *begin, *end)}
        .at(span)
        .fix("hl.tile(begin, end) takes bounds; write hl.tile([m, n]) for two dimensions");
  }
  return success();
}

/// Inside a parent's tile, the largest block that makes sense: now that of the parent, and ever that of its largest
/// choice.
void LoopTracer::bound_by_parent(const LoopRange& range, BlockRequest* request) const {
  const auto* begin = range.begin.get<Device>();
  if (!begin) return;
  for (const auto& axis : tracer_.device().active_tiles) {
    if (axis->begin.value != begin->value) continue;
    request->max =
        axis->block == ir::kNone ? axis->size : tracer_.program().blocks[static_cast<size_t>(axis->block)].max;
    request->cap = axis->size;
  }
}

Result<ir::BlockId> LoopTracer::make_block(size_t i) {
  const LoopRange& range = ranges_[i];
  const Span& span = stmt_.value->span;
  const std::optional<int64_t> begin = int_of(range.begin), end = int_of(range.end);
  const int64_t extent = begin && end ? *end - *begin : -1;
  if (const Int* size = range.block_size.get<Int>(); size && size->block != ir::kNone) {
    ir::Block& known = tracer_.program().blocks[static_cast<size_t>(size->block)];
    if (tracer_.on_device() &&
        std::count(tracer_.device().active.begin(), tracer_.device().active.end(), size->block) > 0) {
      return Diagnostic{Code::incorrect_tile_usage,
                        fmt::format("the block size {} is already used by an enclosing loop", known.name)}
          .at(span)
          .fix("register a second block size for the inner loop");
    }
    known.extent = std::max(known.extent, extent);
    return size->block;
  }
  BlockRequest request;
  request.name = tracer_.blocks().name_of(range.name, stmt_.span);
  request.extent = extent;
  request.default_size = default_block(i, ranges_.size());
  request.max = extent >= 0 ? extent : 1024;
  if (extent < 0 && tracer_.on_device()) {
    bound_by_parent(range, &request);
  }
  if (const std::optional<int64_t> fixed = int_of(range.block_size)) {
    if (*fixed < 1)
      return Diagnostic{Code::api_usage, fmt::format("a block size of {} makes no sense", *fixed)}.at(span);
    request.fixed_size = *fixed;
  } else if (!range.block_size.is<None>()) {
    return Diagnostic{Code::api_usage, fmt::format("{} cannot be a block size", describe(range.block_size))}.at(span);
  }
  return tracer_.blocks().make(&stmt_, static_cast<int>(i), request, span);
}

Status LoopTracer::make_blocks() {
  if (kind_ != LoopKind::tile) return success();
  for (size_t i = 0; i < ranges_.size(); ++i) ranges_[i].block = HC_TRY(make_block(i));
  return success();
}

Result<Device> LoopTracer::scalar(const Value& value) const {
  Device device = HC_TRY(to_device(tracer_, value, DType::i64, stmt_.value->span));
  device.strength = Strength::python_number;
  return device;
}

Status LoopTracer::bind_target(const Values& variables) {
  const Expr& target = *stmt_.targets[0];
  const bool unpacked = target.kind == ExprKind::tuple || target.kind == ExprKind::list;
  if (unpacked || (is_list_ && variables.size() > 1)) return tracer_.assign(target, make_tuple(variables));
  return tracer_.assign(target, variables[0]);
}

Status LoopTracer::body() {
  ++tracer_.device().depth;
  Result<Flow> flow = tracer_.exec(stmt_.body);
  --tracer_.device().depth;
  if (!flow.ok()) return std::move(flow).error();
  return success();
}

Result<Flow> LoopTracer::trace_launch(const std::string& name) {
  HC_TRY(make_blocks());
  tracer_.open_launch(name);
  Values variables;
  for (const LoopRange& range : ranges_) {
    const int64_t begin = *int_of(range.begin), end = *int_of(range.end);
    if (kind_ == LoopKind::tile) {
      variables.emplace_back(tracer_.add_tile_axis(range.block, range.name, begin, end));
      continue;
    }
    const std::optional<int64_t> step = int_of(range.step);
    if (!step || *step < 1)
      return Diagnostic{Code::api_usage, "the step of hl.grid must be a positive int"}.at(stmt_.value->span);
    ir::Launch& launch = tracer_.device().launch;
    launch.axes.push_back({range.name, ir::kNone, begin, end, *step});
    const ir::ValueId index = tracer_.emit().builder().add_value({DType::i64, {}}, range.name);
    launch.body.args.push_back(index);
    variables.emplace_back(tracer_.emit().whole(index, Strength::python_number));
  }
  HC_TRY(bind_target(variables));
  HC_TRY(body());
  HC_TRY(tracer_.check_dependency(stmt_.span));
  HC_TRY(tracer_.close_launch(stmt_.span));
  return Flow::next;
}

Result<Flow> LoopTracer::trace_nested() {
  HC_TRY(make_blocks());
  Values variables;
  HC_TRY(nest(0, variables));
  return Flow::next;
}

Status LoopTracer::nest(size_t i, Values& variables) {
  if (i < ranges_.size()) return one_loop(i, variables);
  HC_TRY(bind_target(variables));
  return body();
}

/// The loop of dimension i with the inner ones in it. Names that the body assigns and that exist before are carried.
Status LoopTracer::one_loop(size_t i, Values& variables) {
  Emitter& emit = tracer_.emit();
  Frame& frame = tracer_.frame();
  DeviceContext& context = tracer_.device();
  const LoopRange& range = ranges_[i];
  const bool tiles = kind_ == LoopKind::tile;
  ir::Op op;
  op.kind = tiles ? ir::OpKind::for_tile : ir::OpKind::for_grid;
  op.block = range.block;
  op.span = stmt_.span;
  op.regions.resize(1);
  const Device begin = HC_TRY(scalar(range.begin)), end = HC_TRY(scalar(range.end));
  op.operands = {{begin.value, {}}, {end.value, {}}};
  if (!tiles) op.operands.push_back({HC_TRY(scalar(range.step)).value, {}});

  const std::map<std::string, Value> before = frame.device;
  const ir::ValueId index = emit.builder().add_value({DType::i64, {}}, range.name);
  op.regions[0].args.push_back(index);
  std::vector<std::string> carried;
  std::vector<Device> initial;
  std::vector<ir::Type> types;
  for (const std::string& name : assigned_names(stmt_.body)) {
    const auto it = before.find(name);
    if (it == before.end() || !it->second.is<Device>()) continue;
    const Device& old = *it->second.get<Device>();
    const ir::ValueId value = emit.materialize(old, stmt_.span);
    carried.push_back(name);
    initial.push_back(old);
    types.push_back({old.dtype, old.dims});
    op.operands.push_back({value, {}});
    const ir::ValueId argument = emit.builder().add_value(types.back(), name);
    op.regions[0].args.push_back(argument);
    frame.device[name] = Value(emit.whole(argument, old.strength));
  }
  emit.open(op.regions[0]);
  const Device place = emit.whole(index, Strength::python_number);
  if (tiles) {
    auto tile = std::make_shared<Tile>();
    tile->block = range.block;
    tile->size = tracer_.program().block(range.block).size;
    tile->begin = place;
    tile->loop_begin = begin;
    tile->loop_end = end;
    tile->depth = emit.depth();
    tile->first = int_of(range.begin);
    tile->last = int_of(range.end);
    context.active.push_back(range.block);
    context.active_tiles.push_back(tile);
    variables.emplace_back(std::shared_ptr<const Tile>(tile));
  } else {
    variables.emplace_back(place);
  }
  HC_TRY(nest(i + 1, variables));
  if (tiles) {
    context.active.pop_back();
    context.active_tiles.pop_back();
  }
  return finish_loop(std::move(op), before, carried, initial, std::move(types));
}

/// Yields what is carried, closes the region and rebinds the names; names born in the body end with it.
Status LoopTracer::finish_loop(ir::Op op, const std::map<std::string, Value>& before,
                               const std::vector<std::string>& carried, const std::vector<Device>& initial,
                               std::vector<ir::Type> types) {
  Emitter& emit = tracer_.emit();
  Frame& frame = tracer_.frame();
  std::vector<ir::ValueId> yields;
  for (size_t i = 0; i < carried.size(); ++i) {
    Value value = frame.device[carried[i]];
    if (is_number(value) && initial[i].dims.empty())
      value = Value(HC_TRY(to_device(tracer_, value, initial[i].dtype, stmt_.span)));
    const auto* device = value.get<Device>();
    if (!device || device->dims != initial[i].dims || device->dtype != initial[i].dtype) {
      return changed_type(carried[i], initial[i], value);
    }
    yields.push_back(emit.materialize(*device, stmt_.span));
  }
  std::vector<std::string> targets;
  loop_targets(stmt_, targets);
  const std::vector<std::string> assigned_here = assigned_names(stmt_.body);
  for (const auto& [name, old] : before) {
    const bool target = std::find(targets.begin(), targets.end(), name) != targets.end();
    const bool assigned = std::find(assigned_here.begin(), assigned_here.end(), name) != assigned_here.end();
    if (target || !assigned || old.is<Device>() || equal(old, frame.device[name]).value_or(false)) continue;
    if (!is_number(old)) {
      return Diagnostic{
          Code::unsupported_feature,
          fmt::format("{} is {} that changes in a device loop, which is not supported yet", name, describe(old))}
          .at(stmt_.span);
    }
    return Diagnostic{Code::control_flow_mismatch, fmt::format("the number {} changes in a device loop", name)}
        .at(stmt_.span)
        .fix("carry a device value instead: hl.full([], value, dtype)");
  }
  emit.builder().yield(yields, stmt_.span);
  emit.close();
  const std::vector<ir::ValueId> results = emit.builder().append(std::move(op), std::move(types));
  frame.device = before;
  for (const std::string& name : targets) frame.device.erase(name);
  for (size_t i = 0; i < carried.size(); ++i) {
    Device result = emit.whole(results[i], initial[i].strength);
    frame.device[carried[i]] = Value(result);
    emit.name(result, carried[i]);
  }
  return success();
}

Diagnostic LoopTracer::changed_type(const std::string& name, const Device& before, const Value& after) const {
  const auto text = [&](const Value& v) {
    const auto* device = v.get<Device>();
    if (!device) return describe(v);
    return fmt::format("{}{}", dtype_torch_name(device->dtype), dims_text(tracer_.program(), device->dims));
  };
  return Diagnostic{Code::control_flow_mismatch, fmt::format("{} is {} before the loop and {} at the end of its body",
                                                             name, text(Value(before)), text(after))}
      .at(stmt_.span)
      .fix("start it with the shape and dtype that the body gives it, or convert with .to(dtype)");
}

}  // namespace hc::lang
