// The form of each index of a slice's stores, which tells where an element can come from.
#include <algorithm>

#include "interp/lanes.h"
#include "interp/slice.h"

namespace hc::interp {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

constexpr int64_t kLongestTable = 1 << 20;

}  // namespace

void Slice::find_sites(ir::StorageId storage) {
  for (const Op* op : order_) {
    if (op->kind == OpKind::load && live(*op)) live_loads_.push_back(op);
    if (op->kind != OpKind::store || program_.tensor(op->tensor).storage != storage) continue;
    StoreSite site{op, {}};
    const size_t end = op->operands.size() - (op->masked ? 1 : 0);
    for (size_t i = 1; i < end; ++i) {
      const ValueId v = op->operands[i].value;
      IndexForm form = form_of(v);
      if (!form.known && launch_.type(v).rank() == 0) form = tabulated(v);
      site.indices.push_back(std::move(form));
    }
    stores_.push_back(std::move(site));
  }
}

bool Slice::inside(const Op* op, const Op& loop) const {
  for (; op != nullptr; op = parents_.at(op)) {
    if (op == &loop) return true;
  }
  return false;
}

/// A class whose values all live inside one loop over its block may run other lanes in each iteration.
void Slice::find_loop_classes() {
  std::vector<char> open(classes_.size(), 1);
  for (size_t v = 0; v < launch_.values.size(); ++v) {
    for (size_t d = 0; d < launch_.values[v].type.dims.size(); ++d) {
      const auto id = static_cast<size_t>(lane_class(static_cast<ValueId>(v), static_cast<int>(d)));
      const Definition& def = definitions_[v];
      const ir::BlockId block = launch_.values[v].type.dims[d].block;
      const Op* loop = def.parent;
      while (loop != nullptr && !(loop->kind == OpKind::for_tile && loop->block == block)) loop = parents_.at(loop);
      LaneClass& lanes = classes_[id];
      // Arguments and results of an inner loop have it as parent or op; what is held whole stays so.
      if (loop == nullptr || block == ir::kNone || slot_whole_[slot(static_cast<ValueId>(v), d)]) open[id] = 0;
      if (lanes.loop != nullptr && lanes.loop != loop) open[id] = 0;
      lanes.loop = loop;
    }
  }
  for (size_t c = 0; c < classes_.size(); ++c) {
    if (!open[c]) classes_[c].loop = nullptr;
  }
}

void Slice::find_independent() {
  for (const Op* loop : order_) {
    if (loop->kind != OpKind::for_tile || !live(*loop)) continue;
    const auto& args = loop->regions[0].args;
    bool alone = std::none_of(args.begin() + 1, args.end(), [&](ValueId v) { return live_value(v); });
    for (const StoreSite& site : stores_) {
      if (!inside(site.op, *loop)) continue;
      alone = alone && std::any_of(site.indices.begin(), site.indices.end(),
                                   [&](const IndexForm& form) { return form.known && form.loop == loop; });
    }
    if (alone && !any_own()) independent_.insert(loop);
  }
}

/// The tile of a loop: its bounds are constants, or follow from one axis, or are not known before it runs.
IndexForm Slice::loop_form(const Op& loop) const {
  IndexForm form{true, -1, -1, 0, {}, &loop, {}, {}, false};
  int axis = -1;
  if (!only_axis(loop.operands[0].value, &axis) || !only_axis(loop.operands[1].value, &axis)) return form;
  const int64_t count = axis < 0 ? 1 : launch_.axes[static_cast<size_t>(axis)].count();
  if (count > kLongestTable) return form;
  for (int64_t k = 0; k < count; ++k) {
    const ir::GridAxis* a = axis < 0 ? nullptr : &launch_.axes[static_cast<size_t>(axis)];
    const int64_t begin = a == nullptr ? 0 : a->begin + k * a->step;
    const auto low = evaluate(loop.operands[0].value, begin), high = evaluate(loop.operands[1].value, begin);
    if (!low || !high) {
      form.low.clear();
      form.high.clear();
      return form;
    }
    form.low.push_back(*low);
    form.high.push_back(*high);
  }
  form.axis = axis;
  form.ordered = std::is_sorted(form.low.begin(), form.low.end()) && std::is_sorted(form.high.begin(), form.high.end());
  return form;
}

IndexForm Slice::sum_of(const IndexForm& a, const IndexForm& b, int sign) const {
  if (!a.known || !b.known || (a.loop != nullptr && b.axis >= 0) || (b.loop != nullptr && a.axis >= 0)) return {};
  if (sign < 0 && (b.axis >= 0 || b.lane_class >= 0)) return {};
  if ((a.axis >= 0 && b.axis >= 0) || (a.lane_class >= 0 && b.lane_class >= 0)) return {};
  IndexForm sum = a;
  if (b.axis >= 0) sum.axis = b.axis;
  if (b.lane_class >= 0) sum.lane_class = b.lane_class;
  if (b.loop != nullptr) {
    sum.loop = b.loop;
    sum.low = b.low;
    sum.high = b.high;
    sum.ordered = b.ordered;
  }
  sum.add += sign * b.add;
  return sum;
}

IndexForm Slice::form_of(ValueId v) const {
  const Definition& def = definitions_[static_cast<size_t>(v)];
  IndexForm form{true, -1, -1, 0, {}, nullptr, {}, {}, false};
  if (def.op == nullptr) {
    form.axis = def.argument;
    return form;
  }
  if (def.result < 0) return {};
  const Op& op = *def.op;
  switch (op.kind) {
    case OpKind::constant:
      form.add = op.literal.i;
      return form;
    case OpKind::arange:
      form.lane_class = lane_class(v, 0);
      return form;
    case OpKind::tile_index: {
      const Definition& begin = definitions_[static_cast<size_t>(op.operands[0].value)];
      form = begin.op != nullptr && begin.op->kind == OpKind::for_tile ? loop_form(*begin.op)
                                                                       : form_of(op.operands[0].value);
      if (!form.known) return {};
      form.lane_class = lane_class(v, 0);
      return form;
    }
    case OpKind::copy:
    case OpKind::promote:
    case OpKind::cast:
      if (!is_integer(launch_.type(op.operands[0].value).dtype)) return {};
      return form_of(op.operands[0].value);
    case OpKind::add:
      return sum_of(form_of(op.operands[0].value), form_of(op.operands[1].value), 1);
    case OpKind::sub:
      return sum_of(form_of(op.operands[0].value), form_of(op.operands[1].value), -1);
    case OpKind::reshape:
      return form_of(op.operands[0].value);
    default:
      return {};
  }
}

/// Whether a scalar is made from constants and one axis alone.
bool Slice::only_axis(ValueId v, int* axis) const {
  const Definition& def = definitions_[static_cast<size_t>(v)];
  if (def.op == nullptr) {
    if (*axis >= 0 && *axis != def.argument) return false;
    *axis = def.argument;
    return true;
  }
  if (def.result < 0 || launch_.type(v).rank() != 0 || is_floating(launch_.type(v).dtype)) return false;
  if (def.op->kind == OpKind::constant) return true;
  if (!ir::is_elementwise(def.op->kind)) return false;
  return std::all_of(def.op->operands.begin(), def.op->operands.end(),
                     [&](const ir::Operand& operand) { return only_axis(operand.value, axis); });
}

IndexForm Slice::tabulated(ValueId v) const {
  IndexForm form;
  if (!only_axis(v, &form.axis) || form.axis < 0) return {};
  const ir::GridAxis& axis = launch_.axes[static_cast<size_t>(form.axis)];
  if (axis.count() > kLongestTable) return {};
  for (int64_t k = 0; k < axis.count(); ++k) {
    const auto value = evaluate(v, axis.begin + k * axis.step);
    if (!value) return {};
    form.table.push_back(*value);
  }
  form.known = !form.table.empty();
  return form;
}

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
