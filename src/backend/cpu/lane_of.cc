// Substitutes a lane's number for an axis in the nodes that a value is made of.
#include "backend/cpu/lane_of.h"

#include <algorithm>

namespace hc::backend::cpu {

bool LaneOf::possible(ValId v) const {
  if (!has_axis(graph_.val(v).axes, axis_)) return true;
  const NodeId def = graph_.val(v).def;
  if (def == kNone) return false;
  const Node& node = graph_.node(def);
  switch (node.kind) {
    case NodeKind::index:
    case NodeKind::elementwise:
    case NodeKind::reduce:
      break;
    case NodeKind::load: {
      const auto s = static_cast<size_t>(node.storage);
      if (s < written_.size() && written_[s]) return false;
      break;
    }
    default:
      return false;
  }
  const std::vector<ValId> reads = graph_.reads(def);
  return std::all_of(reads.begin(), reads.end(), [&](ValId arg) { return possible(arg); });
}

std::optional<ValId> LaneOf::value(ValId v) {
  if (!possible(v)) return std::nullopt;
  return make(v);
}

Index LaneOf::index(const Index& source) const {
  Index out;
  out.constant = source.constant;
  out.values = source.values;
  for (const auto& [axis, scale] : source.lanes) {
    if (axis == axis_) {
      out.constant += scale * number_;
    } else {
      out.lanes.emplace_back(axis, scale);
    }
  }
  return out;
}

std::optional<Index> LaneOf::with_values(const Index& source) {
  Index out = index(source);
  out.values.clear();
  for (const auto& [v, scale] : source.values) {
    const auto lane = value(v);
    if (!lane) return std::nullopt;
    Index term;
    term.values.emplace_back(*lane, 1);
    out.add(term, scale);
  }
  return out;
}

/// Whether a bool is known: a compare of equal or unequal numbers.
std::optional<bool> LaneOf::truth(ValId v) const {
  const NodeId def = graph_.val(v).def;
  if (def == kNone) return std::nullopt;
  const Node& node = graph_.node(def);
  if (node.kind != NodeKind::elementwise || node.op != ir::OpKind::eq) return std::nullopt;
  int64_t numbers[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const NodeId arg = graph_.val(node.args[i]).def;
    if (arg == kNone) return std::nullopt;
    const Node& number = graph_.node(arg);
    if (number.kind == NodeKind::constant) {
      numbers[i] = number.literal.i;
    } else if (number.kind == NodeKind::index && number.index.lanes.empty() && number.index.values.empty()) {
      numbers[i] = number.index.constant;
    } else {
      return std::nullopt;
    }
  }
  return numbers[0] == numbers[1];
}

ValId LaneOf::make(ValId v) {
  if (!has_axis(graph_.val(v).axes, axis_)) return v;
  if (const auto it = made_.find(v); it != made_.end()) return it->second;
  Node copy = graph_.node(graph_.val(v).def);
  for (ValId& arg : copy.args) arg = make(arg);
  if (copy.mask != kNone) copy.mask = make(copy.mask);
  if (const auto with = with_values(copy.index)) copy.index = *with;
  if (copy.kind == NodeKind::elementwise && copy.op == ir::OpKind::where) {
    if (const auto known = truth(copy.args[0])) return made_[v] = copy.args[*known ? 1 : 2];
  }
  const auto without = [&](std::vector<AxisId> axes) {
    axes.erase(std::remove(axes.begin(), axes.end(), axis_), axes.end());
    return axes;
  };
  copy.axes = without(copy.axes);
  copy.results.clear();
  const NodeId id = graph_.add_node(std::move(copy));
  const ValId fresh = graph_.add_val(graph_.val(v).dtype, without(graph_.val(v).axes), id);
  graph_.node(id).results = {fresh};
  graph_.body(body_).nodes.push_back(id);
  return made_[v] = fresh;
}

}  // namespace hc::backend::cpu
