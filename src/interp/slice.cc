// Finds what of a launch matters to the stores of one storage, and which dimensions need not run all their lanes.
#include "interp/slice.h"

#include <algorithm>
#include <numeric>

namespace hc::interp {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::ValueId;

Slice::Slice(const ir::Program& program, const ir::Launch& launch, ir::StorageId storage)
    : program_(program), launch_(launch), definitions_(launch.values.size()), live_values_(launch.values.size(), 0) {
  index_region(launch.body, nullptr);
  for (size_t i = 0; i < launch.body.args.size(); ++i) {
    definitions_[static_cast<size_t>(launch.body.args[i])].argument = static_cast<int>(i);
  }
  mark_stores(storage);
  find_own_stores();
  make_classes();
  find_loop_classes();
  find_last_uses();
  find_sites(storage);
  find_independent();
}

void Slice::index_region(const Region& region, const Op* parent) {
  for (const Op& op : region.ops) {
    order_.push_back(&op);
    parents_[&op] = parent;
    for (size_t i = 0; i < op.results.size(); ++i) {
      definitions_[static_cast<size_t>(op.results[i])] = {&op, static_cast<int>(i), -1, parent};
    }
    for (const Region& inner : op.regions) {
      for (size_t i = 0; i < inner.args.size(); ++i) {
        definitions_[static_cast<size_t>(inner.args[i])] = {&op, -1, static_cast<int>(i), &op};
      }
      index_region(inner, &op);
    }
  }
}

void Slice::mark_value(ValueId v) {
  char& live = live_values_[static_cast<size_t>(v)];
  if (live) return;
  live = 1;
  pending_.push_back(v);
}

/// An op that runs needs the loops and branches around it, and those need their bounds or condition.
void Slice::mark_op(const Op& op) {
  if (!live_ops_.insert(&op).second) return;
  size_t control = op.operands.size();
  if (op.kind == OpKind::for_tile) control = 2;
  if (op.kind == OpKind::for_grid) control = 3;
  if (op.kind == OpKind::yield) control = 0;
  for (size_t i = 0; i < control; ++i) mark_value(op.operands[i].value);
  for (const Region& region : op.regions) {
    if (!region.ops.empty() && region.ops.back().kind == OpKind::yield) live_ops_.insert(&region.ops.back());
  }
  if (const Op* parent = parents_.at(&op)) mark_op(*parent);
}

void Slice::drain() {
  while (!pending_.empty()) {
    const ValueId v = pending_.back();
    pending_.pop_back();
    const Definition& def = definitions_[static_cast<size_t>(v)];
    if (def.op == nullptr) continue;  // an axis
    const Op& op = *def.op;
    mark_op(op);
    if (op.kind == OpKind::if_else) {
      for (const Region& region : op.regions) {
        mark_value(region.ops.back().operands[static_cast<size_t>(def.result)].value);
      }
    } else if (op.kind == OpKind::for_tile || op.kind == OpKind::for_grid) {
      const int carried = def.result >= 0 ? def.result : def.argument - 1;
      if (carried < 0) continue;  // the loop's own index
      const size_t bounds = op.kind == OpKind::for_tile ? 2 : 3;
      const auto k = static_cast<size_t>(carried);
      mark_value(op.operands[bounds + k].value);
      mark_value(op.regions[0].args[k + 1]);
      mark_value(op.regions[0].ops.back().operands[k].value);
    }
  }
}

void Slice::mark_stores(ir::StorageId storage) {
  for (const Op* op : order_) {
    if (op->kind == OpKind::store && program_.tensor(op->tensor).storage == storage) mark_op(*op);
  }
  drain();
}

/// A load sees stores of its own program that ran before it: those earlier in the text, or later in a loop around both.
void Slice::find_own_stores() {
  const auto outermost_loop = [&](const Op* op) {
    const Op* outer = nullptr;
    for (const Op* p = parents_.at(op); p != nullptr; p = parents_.at(p)) {
      if (p->kind != OpKind::if_else) outer = p;
    }
    return outer;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i]->kind != OpKind::load || !live(*order_[i])) continue;
      const ir::StorageId storage = program_.tensor(order_[i]->tensor).storage;
      if (own_.contains(storage)) continue;
      for (size_t j = 0; j < order_.size(); ++j) {
        if (order_[j]->kind != OpKind::store || program_.tensor(order_[j]->tensor).storage != storage) continue;
        const Op* loop = outermost_loop(order_[i]);
        if (j > i && (loop == nullptr || loop != outermost_loop(order_[j]))) continue;
        own_.insert(storage);
        mark_stores(storage);
        changed = true;
        break;
      }
    }
  }
}

size_t Slice::root(size_t slot) {
  while (union_[slot] != slot) slot = union_[slot] = union_[union_[slot]];
  return slot;
}

void Slice::unite(ValueId a, size_t i, ValueId b, size_t j) {
  const ir::Dim& x = launch_.type(a).dims[i];
  const ir::Dim& y = launch_.type(b).dims[j];
  if (x != y) return;  // a stretched dimension keeps its single lane
  union_[root(slot(a, i))] = root(slot(b, j));
}

void Slice::unite_all(ValueId a, ValueId b) {
  for (size_t i = 0; i < launch_.type(a).dims.size(); ++i) unite(a, i, b, i);
}

void Slice::unite_mapped(const ir::Operand& operand, ValueId result) {
  for (size_t i = 0; i < launch_.type(operand.value).dims.size(); ++i) {
    unite(operand.value, i, result, operand.map.empty() ? i : static_cast<size_t>(operand.map[i]));
  }
}

void Slice::hold_whole(ValueId v, size_t dim) { slot_whole_[slot(v, dim)] = 1; }

/// A reshape that only adds or drops dimensions of size 1 keeps the others; any other one needs every lane.
void Slice::unite_reshape(ValueId from, ValueId to) {
  std::vector<size_t> kept[2];
  const ValueId values[2] = {from, to};
  for (int side = 0; side < 2; ++side) {
    const auto& dims = launch_.type(values[side]).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != ir::Dim{}) kept[side].push_back(d);
    }
  }
  bool same = kept[0].size() == kept[1].size();
  for (size_t i = 0; same && i < kept[0].size(); ++i) {
    same = launch_.type(from).dims[kept[0][i]] == launch_.type(to).dims[kept[1][i]];
  }
  for (size_t i = 0; i < kept[0].size(); ++i) {
    if (same) {
      unite(from, kept[0][i], to, kept[1][i]);
    } else {
      hold_whole(from, kept[0][i]);
    }
  }
  for (size_t i = 0; !same && i < kept[1].size(); ++i) hold_whole(to, kept[1][i]);
}

void Slice::unite_op(const Op& op) {
  const ValueId result = op.results.empty() ? ir::kNone : op.results[0];
  const size_t bounds = op.kind == OpKind::for_tile ? 2 : 3;
  switch (op.kind) {
    case OpKind::load:
      for (const ir::Operand& operand : op.operands) unite_mapped(operand, result);
      return;
    case OpKind::store:
      for (size_t i = 1; i < op.operands.size(); ++i) unite_mapped(op.operands[i], op.operands[0].value);
      return;
    case OpKind::reduce: {
      const ValueId from = op.operands[0].value;
      for (size_t i = 0; i < launch_.type(from).dims.size(); ++i) {
        const auto axis = static_cast<size_t>(op.axis);
        if (i == axis) hold_whole(from, i);
        if (i != axis) unite(from, i, result, i < axis ? i : i - 1);
      }
      return;
    }
    case OpKind::permute:
      for (size_t i = 0; i < op.ints.size(); ++i) {
        unite(op.operands[0].value, static_cast<size_t>(op.ints[i]), result, i);
      }
      return;
    case OpKind::reshape:
      return unite_reshape(op.operands[0].value, result);
    case OpKind::split:
      for (ValueId half : op.results) {
        for (size_t i = 0; i < launch_.type(half).dims.size(); ++i) unite(op.operands[0].value, i, half, i);
      }
      return hold_whole(op.operands[0].value, launch_.type(result).dims.size());
    case OpKind::join:
      for (const ir::Operand& side : op.operands) {
        for (size_t i = 0; i < launch_.type(side.value).dims.size(); ++i) unite(side.value, i, result, i);
      }
      return hold_whole(result, launch_.type(result).dims.size() - 1);
    case OpKind::for_tile:
    case OpKind::for_grid:
      for (size_t k = 0; k < op.results.size(); ++k) {
        unite_all(op.operands[bounds + k].value, op.results[k]);
        unite_all(op.regions[0].args[k + 1], op.results[k]);
        unite_all(op.regions[0].ops.back().operands[k].value, op.results[k]);
      }
      return;
    case OpKind::if_else:
      for (const Region& region : op.regions) {
        for (size_t k = 0; k < op.results.size(); ++k) unite_all(region.ops.back().operands[k].value, op.results[k]);
      }
      return;
    default:
      if (!ir::is_elementwise(op.kind)) return;
      for (const ir::Operand& operand : op.operands) unite_mapped(operand, result);
  }
}

void Slice::make_classes() {
  size_t slots = 0;
  for (const ir::Value& value : launch_.values) {
    first_slot_.push_back(slots);
    slots += value.type.dims.size();
  }
  union_.resize(slots);
  std::iota(union_.begin(), union_.end(), size_t{0});
  slot_whole_.assign(slots, 0);
  for (const Op* op : order_) {
    if (live(*op)) unite_op(*op);
  }
  // A block that an inner loop tiles has another tile in each iteration, so that lanes asked for are not known.
  std::vector<char> inner(program_.blocks.size(), 1);
  for (const ir::GridAxis& axis : launch_.axes) {
    if (axis.block != ir::kNone) inner[static_cast<size_t>(axis.block)] = 0;
  }
  class_of_root_.assign(slots, -1);
  for (size_t v = 0; v < launch_.values.size(); ++v) {
    const auto& dims = launch_.values[v].type.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const size_t at = slot(static_cast<ValueId>(v), d), top = root(at);
      if (class_of_root_[top] < 0) {
        class_of_root_[top] = static_cast<ClassId>(classes_.size());
        classes_.push_back({false, dims[d].size});
      }
      LaneClass& lanes = classes_[static_cast<size_t>(class_of_root_[top])];
      // A stretched dimension's single lane belongs to no lane that is asked for, and always runs.
      lanes.whole = lanes.whole || slot_whole_[at] || dims[d].size == 1 ||
                    (dims[d].block != ir::kNone && inner[static_cast<size_t>(dims[d].block)]);
    }
  }
  for (size_t i = 0; i < slots; ++i) union_[i] = root(i);
}

ClassId Slice::lane_class(ValueId v, int dim) const {
  return class_of_root_[union_[slot(v, static_cast<size_t>(dim))]];
}

void Slice::find_last_uses() {
  std::unordered_map<ValueId, const Op*> last;
  for (const Op* op : order_) {
    for (const ir::Operand& operand : op->operands) {
      const Definition& def = definitions_[static_cast<size_t>(operand.value)];
      if (def.result < 0) continue;  // arguments live as long as their region
      // Climb to the op that stands at the level where the value was made.
      const Op* user = op;
      while (parents_.at(user) != def.parent) user = parents_.at(user);
      last[operand.value] = user;
    }
  }
  for (const auto& [value, user] : last) {
    if (user->kind != OpKind::yield) last_uses_[user].push_back(value);
  }
}

const std::vector<ValueId>& Slice::last_uses(const Op& op) const {
  static const std::vector<ValueId> none;
  const auto it = last_uses_.find(&op);
  return it == last_uses_.end() ? none : it->second;
}

}  // namespace hc::interp
