// Branches on values that only the device knows, and the merging of what their sides assign.
#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

/// What two sides of a branch (or the value before and after a loop body) must have in common.
Diagnostic mismatch(Tracer& tracer, const std::string& name, const Value& a, const Value& b, const Span& span) {
  const auto text = [&](const Value& v) {
    const auto* device = v.get<Device>();
    if (!device) return describe(v);
    return fmt::format("{}{}", dtype_torch_name(device->dtype), dims_text(tracer.program(), device->dims));
  };
  return Diagnostic{Code::control_flow_mismatch,
                    fmt::format("{} is {} in one branch and {} in the other", name, text(a), text(b))}
      .at(span)
      .fix("give it the same shape and dtype in both branches");
}

/// Makes a number of one side a device value of the other side's type.
Status harmonise(Tracer& tracer, ir::Region& region, Value& number, const Value& other, const Span& span) {
  if (!is_number(number) || !other.is<Device>()) return success();
  const Device& model = *other.get<Device>();
  if (!model.dims.empty()) return success();
  tracer.emit().open(region);
  Result<Device> made = to_device(tracer, number, model.dtype, span);
  tracer.emit().close();
  if (!made.ok()) return std::move(made).error();
  number = Value(made.value());
  return success();
}

}  // namespace

/// Names that both sides know: those they agree on are rebound, the others are returned as device values of one type.
Result<std::vector<Merged>> Tracer::merge_sides(ir::Op& op, std::map<std::string, Value>* sides, const Span& span) {
  std::vector<Merged> merged;
  for (auto& [name, left] : sides[0]) {
    const auto other = sides[1].find(name);
    if (other == sides[1].end()) continue;
    Value& right = other->second;
    const auto *a = left.get<Device>(), *b = right.get<Device>();
    const bool same_value = a && b && a->value == b->value && a->dims == b->dims;
    const bool same_number = !a && !b && equal(left, right).value_or(false);
    if (same_value || same_number || (left.tile() && left.tile() == right.tile())) {
      frame().device[name] = left;
      continue;
    }
    HC_TRY(harmonise(*this, op.regions[0], left, right, span));
    HC_TRY(harmonise(*this, op.regions[1], right, left, span));
    a = left.get<Device>();
    b = right.get<Device>();
    if (!a || !b || a->dims != b->dims || a->dtype != b->dtype) return mismatch(*this, name, left, right, span);
    merged.push_back({name, {*a, *b}});
  }
  return merged;
}

Result<Flow> Tracer::exec_device_if(const Stmt& stmt, const Device& condition) {
  if (!condition.dims.empty()) {
    return Diagnostic{Code::type_error, fmt::format("the condition has shape {}; a branch needs a scalar",
                                                    dims_text(program_, condition.dims))}
        .at(stmt.value->span)
        .fix("use torch.where to choose lane by lane");
  }
  Device flag = condition;
  if (flag.dtype != DType::boolean) {
    flag = *HC_TRY(apply(*this, ir::OpKind::ne, {Value(condition), make_int(0)}, stmt.value->span)).get<Device>();
  }
  ir::Op op;
  op.kind = ir::OpKind::if_else;
  op.operands = {{flag.value, {}}};
  op.span = stmt.span;
  op.regions.resize(2);
  const std::map<std::string, Value> before = frame().device;
  std::map<std::string, Value> sides[2];
  for (size_t i = 0; i < 2; ++i) {
    emit().open(op.regions[i]);
    ++device_->depth;
    Result<Flow> flow = exec(i == 0 ? stmt.body : stmt.orelse);
    --device_->depth;
    emit().close();
    if (!flow.ok()) return std::move(flow).error();
    sides[i] = std::move(frame().device);
    frame().device = before;
  }
  std::vector<Merged> merged = HC_TRY(merge_sides(op, sides, stmt.span));
  std::vector<ir::ValueId> yields[2];
  std::vector<ir::Type> types;
  for (const Merged& name : merged) {
    types.push_back({name.sides[0].dtype, name.sides[0].dims});
    for (size_t i = 0; i < 2; ++i) {
      emit().open(op.regions[i]);
      yields[i].push_back(emit().materialize(name.sides[i], stmt.span));
      emit().close();
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    emit().open(op.regions[i]);
    emit().builder().yield(yields[i], stmt.span);
    emit().close();
  }
  const std::vector<ir::ValueId> results = emit().builder().append(std::move(op), std::move(types));
  for (size_t i = 0; i < merged.size(); ++i) {
    const Device result = emit().whole(results[i]);
    frame().device[merged[i].name] = Value(result);
    emit().name(result, merged[i].name);
  }
  return Flow::next;
}

}  // namespace hc::lang
