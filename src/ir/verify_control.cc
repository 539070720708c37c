// The verifier's rules of loops and branches: bounds, carried values, region arguments and yields.
#include <fmt/format.h>

#include "ir/verify.h"

namespace hc::ir {
namespace {

std::string typed(const Launch& launch, ValueId v) {
  return fmt::format("{} is {}", value_text(launch, v), to_text(launch.type(v)));
}

bool known(const Launch& launch, ValueId v) { return v >= 0 && static_cast<size_t>(v) < launch.values.size(); }

Status verify_yield(const OpContext& c, const Op& op, const Region& region) {
  if (region.ops.empty() || region.ops.back().kind != OpKind::yield) {
    return broken(c.launch, op, "a region does not end with `yield`");
  }
  const Op& yield = region.ops.back();
  if (yield.operands.size() != op.results.size()) {
    return broken(c.launch, op,
                  fmt::format("a region yields {} values, {} needed", yield.operands.size(), op.results.size()));
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId v = yield.operands[i].value;
    if (!known(c.launch, v)) return broken(c.launch, yield, fmt::format("there is no value %{}", v));
    if (c.launch.type(v) == c.launch.type(op.results[i])) continue;
    return broken(c.launch, op,
                  fmt::format("yielded {}, but result {}", typed(c.launch, v), typed(c.launch, op.results[i])));
  }
  return success();
}

Status verify_loop(const OpContext& c, const Op& op, size_t bounds) {
  const Region& region = op.regions[0];
  for (size_t i = 0; i < bounds; ++i) {
    const Type& type = c.launch.type(op.operands[i].value);
    if (type.rank() != 0 || !is_integer(type.dtype)) {
      return broken(c.launch, op,
                    fmt::format("bound {}, not an integer scalar", typed(c.launch, op.operands[i].value)));
    }
  }
  if (region.args.size() != op.results.size() + 1) {
    return broken(c.launch, op,
                  fmt::format("the region has {} arguments, {} needed", region.args.size(), op.results.size() + 1));
  }
  for (ValueId v : region.args) {
    if (!known(c.launch, v)) return broken(c.launch, op, fmt::format("there is no value %{}", v));
  }
  if (c.launch.type(region.args[0]) != Type{DType::i64, {}}) {
    return broken(c.launch, op, fmt::format("argument {}, not i64", typed(c.launch, region.args[0])));
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId initial = op.operands[bounds + i].value;
    for (ValueId v : {region.args[i + 1], op.results[i]}) {
      if (c.launch.type(v) == c.launch.type(initial)) continue;
      return broken(c.launch, op, fmt::format("carried {}, but {}", typed(c.launch, initial), typed(c.launch, v)));
    }
  }
  return success();
}

Status verify_branch(const OpContext& c, const Op& op) {
  const ValueId condition = op.operands[0].value;
  if (c.launch.type(condition) != Type{DType::boolean, {}}) {
    return broken(c.launch, op, fmt::format("condition {}, not a scalar bool", typed(c.launch, condition)));
  }
  for (const Region& region : op.regions) {
    if (!region.args.empty()) return broken(c.launch, op, "a branch has arguments");
  }
  return success();
}

}  // namespace

Status verify_control(const OpContext& c, const Op& op) {
  for (const Operand& operand : op.operands) {
    if (operand.map.empty()) continue;
    return broken(c.launch, op, fmt::format("operand {} has a map", value_text(c.launch, operand.value)));
  }
  if (op.kind == OpKind::if_else) {
    HC_TRY(verify_branch(c, op));
  } else {
    HC_TRY(verify_loop(c, op, op.kind == OpKind::for_tile ? 2 : 3));
  }
  for (const Region& region : op.regions) HC_TRY(verify_yield(c, op, region));
  return success();
}

}  // namespace hc::ir
