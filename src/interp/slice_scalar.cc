// Evaluates the integer scalars that a launch computes from one axis, to know which tiles an index can come from.
#include "interp/lanes.h"
#include "interp/slice.h"

namespace hc::interp {

std::optional<int64_t> Slice::evaluate(ir::ValueId v, int64_t begin) const {
  const Definition& def = definitions_[static_cast<size_t>(v)];
  if (def.op == nullptr) return begin;
  const ir::Op& op = *def.op;
  if (op.kind == ir::OpKind::constant) return op.literal.i;
  std::vector<LanesPtr> operands;
  for (const ir::Operand& operand : op.operands) {
    const auto value = evaluate(operand.value, begin);
    if (!value) return std::nullopt;
    operands.push_back(scalar_int(launch_.type(operand.value).dtype, *value));
  }
  const LanesPtr result = elementwise(op.kind, operands, launch_.type(v).dtype, {});
  if (!result->e.empty()) return std::nullopt;
  return result->i[0];
}

}  // namespace hc::interp
