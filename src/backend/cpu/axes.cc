// Union of dimensions over the ops of a launch.
#include "backend/cpu/axes.h"

#include <algorithm>

namespace hc::backend::cpu {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Type;
using ir::ValueId;

bool is_unit(const ir::Dim& dim) { return dim.size == 1; }

/// Dimensions of more than one lane, with their positions.
std::vector<int> real_dims(const Type& type) {
  std::vector<int> dims;
  for (int i = 0; i < type.rank(); ++i) {
    if (!is_unit(type.dims[static_cast<size_t>(i)])) dims.push_back(i);
  }
  return dims;
}

}  // namespace

KeptDims kept_dims(const Type& from, const Type& to) {
  const std::vector<int> a = real_dims(from), b = real_dims(to);
  const auto same = [&](size_t i, size_t j) {
    return from.dims[static_cast<size_t>(a[i])] == to.dims[static_cast<size_t>(b[j])];
  };
  KeptDims kept;
  const size_t n = std::min(a.size(), b.size());
  size_t front = 0, back = 0;
  while (front < n && same(front, front)) ++front;
  while (front + back < n && same(a.size() - 1 - back, b.size() - 1 - back)) ++back;
  kept.front = static_cast<int>(front);
  kept.back = static_cast<int>(back);
  return kept;
}

AxisMap::AxisMap(const ir::Program& program, const ir::Launch& launch) : program_(program), launch_(launch) {
  int slots = 0;
  for (const ir::Value& value : launch.values) {
    first_.push_back(slots);
    slots += value.type.rank();
    for (const ir::Dim& dim : value.type.dims) sizes_.push_back(dim.size);
  }
  for (int i = 0; i < slots; ++i) parents_.push_back(i);
  index_.assign(launch.values.size(), false);
  defs_.assign(launch.values.size(), nullptr);
  find_indices(launch.body);
  visit(launch.body);
  divide_axes();
  number();
}

int AxisMap::root(int slot) const {
  while (parents_[static_cast<size_t>(slot)] != slot) {
    parents_[static_cast<size_t>(slot)] = parents_[static_cast<size_t>(parents_[static_cast<size_t>(slot)])];
    slot = parents_[static_cast<size_t>(slot)];
  }
  return slot;
}

void AxisMap::join(ValueId a, int dim_a, ValueId b, int dim_b) {
  if (is_unit(launch_.type(a).dims[static_cast<size_t>(dim_a)])) return;
  if (is_unit(launch_.type(b).dims[static_cast<size_t>(dim_b)])) return;
  const int root_a = root(slot(a, dim_a)), root_b = root(slot(b, dim_b));
  parents_[static_cast<size_t>(std::max(root_a, root_b))] = std::min(root_a, root_b);
}

void AxisMap::join_all(ValueId a, ValueId b) {
  for (int i = 0; i < launch_.type(a).rank() && i < launch_.type(b).rank(); ++i) join(a, i, b, i);
}

void AxisMap::find_indices(const Region& region) {
  for (const Op& op : region.ops) {
    for (ValueId v : op.results) defs_[static_cast<size_t>(v)] = &op;
    for (const Region& inner : op.regions) find_indices(inner);
    if (op.results.size() != 1) continue;
    const Type& type = launch_.type(op.results[0]);
    if (type.rank() != 1 || !is_integer(type.dtype)) continue;
    bool index = op.kind == OpKind::arange || op.kind == OpKind::tile_index;
    if (ir::is_elementwise(op.kind)) {
      index = std::all_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
        const Type& t = launch_.type(operand.value);
        return is_integer(t.dtype) && (t.rank() == 0 || is_index(operand.value));
      });
    }
    index_[static_cast<size_t>(op.results[0])] = index;
  }
}

void AxisMap::visit(const Region& region) {
  for (const Op& op : region.ops) {
    for (const Region& inner : op.regions) visit(inner);
    visit_op(op);
  }
}

/// Operands from `first` on follow the dimensions of `shape` by their maps.
void AxisMap::visit_mapped(const Op& op, ValueId shape, size_t first) {
  for (size_t i = first; i < op.operands.size(); ++i) {
    const ir::Operand& operand = op.operands[i];
    if (is_index(operand.value)) continue;
    for (int d = 0; d < launch_.type(operand.value).rank(); ++d) {
      join(operand.value, d, shape, operand.map.empty() ? d : operand.map[static_cast<size_t>(d)]);
    }
  }
}

void AxisMap::mark_full(ValueId v, ir::BlockId block) {
  const Type& type = launch_.type(v);
  for (int i = 0; i < type.rank(); ++i) {
    const ir::Dim& dim = type.dims[static_cast<size_t>(i)];
    if (dim.block != kNone && (block == kNone || dim.block == block)) full_.emplace_back(v, i);
  }
}

void AxisMap::visit_loop(const Op& op, size_t bounds) {
  const Region& region = op.regions[0];
  for (size_t i = 0; i < op.results.size(); ++i) {
    join_all(op.results[i], op.operands[bounds + i].value);
    join_all(op.results[i], region.args[i + 1]);
    join_all(op.results[i], region.ops.back().operands[i].value);
    if (op.kind == OpKind::for_tile) mark_full(op.results[i], op.block);
  }
}

void AxisMap::visit_reshape(const Op& op) {
  const ValueId from = op.operands[0].value, to = op.results[0];
  const std::vector<int> a = real_dims(launch_.type(from)), b = real_dims(launch_.type(to));
  const KeptDims kept = kept_dims(launch_.type(from), launch_.type(to));
  const auto front = static_cast<size_t>(kept.front), back = static_cast<size_t>(kept.back);
  for (size_t i = 0; i < front; ++i) join(from, a[i], to, b[i]);
  for (size_t i = 0; i < back; ++i) join(from, a[a.size() - 1 - i], to, b[b.size() - 1 - i]);
  std::vector<int> inner_a, inner_b;
  bool constant = true;
  for (size_t i = front; i + back < a.size(); ++i) {
    inner_a.push_back(slot(from, a[i]));
    if (launch_.type(from).dims[static_cast<size_t>(a[i])].block == kNone) continue;
    constant = false;
    full_.emplace_back(from, a[i]);
  }
  for (size_t i = front; i + back < b.size(); ++i) {
    inner_b.push_back(slot(to, b[i]));
    constant = constant && launch_.type(to).dims[static_cast<size_t>(b[i])].block == kNone;
  }
  if (!constant || is_index(from)) return;
  if (inner_a.size() == 1 && inner_b.size() > 1) divisions_.push_back({inner_a[0], inner_b});
  if (inner_b.size() == 1 && inner_a.size() > 1) divisions_.push_back({inner_b[0], inner_a});
}

/// Whether `part` is, or lies in the parts of, `whole`; both are roots.
bool AxisMap::inside(int part, int whole) const {
  if (part == whole) return true;
  const auto it = parts_.find(whole);
  if (it == parts_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](int p) { return inside(part, root(p)); });
}

/// Gives every dimension that reshapes take apart in one way its parts. Dimensions tied to it are taken apart likewise,
/// so that most reshapes move nothing.
void AxisMap::divide_axes() {
  bool changed = true;
  while (changed) {  // joining parts may join dimensions that have parts themselves
    changed = false;
    parts_.clear();
    for (const Division& division : divisions_) {
      const int whole = root(division.whole);
      const bool needed = std::any_of(undivided_.begin(), undivided_.end(), [&](int s) { return root(s) == whole; });
      const bool cyclic = std::any_of(division.parts.begin(), division.parts.end(),
                                      [&](int part) { return inside(whole, root(part)); });
      if (needed || cyclic) continue;
      const auto [it, fresh] = parts_.emplace(whole, division.parts);
      if (fresh || it->second.size() != division.parts.size()) continue;
      bool same = true;
      for (size_t i = 0; i < division.parts.size(); ++i) {
        same = same && sizes_[static_cast<size_t>(it->second[i])] == sizes_[static_cast<size_t>(division.parts[i])];
      }
      for (size_t i = 0; same && i < division.parts.size(); ++i) {
        const int x = root(it->second[i]), y = root(division.parts[i]);
        if (x == y) continue;
        parents_[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
        changed = true;
      }
      if (changed) break;
    }
  }
}

void AxisMap::list_axes(int slot, std::vector<AxisId>& out) const {
  const int r = root(slot);
  if (const auto it = parts_.find(r); it != parts_.end()) {
    for (int part : it->second) list_axes(part, out);
  } else if (const auto id = ids_.find(r); id != ids_.end()) {
    out.push_back(id->second);
  }
}

void AxisMap::visit_op(const Op& op) {
  if (ir::is_elementwise(op.kind)) {
    if (!is_index(op.results[0])) visit_mapped(op, op.results[0], 0);
    return;
  }
  switch (op.kind) {
    case OpKind::load:
      return visit_mapped(op, op.results[0], 0);
    case OpKind::store:
      return visit_mapped(op, op.operands[0].value, 1);
    case OpKind::reduce:
      if (op.reduce == ir::ReduceKind::argmax || op.reduce == ir::ReduceKind::argmin) {
        undivided_.push_back(slot(op.operands[0].value, op.axis));
      }
      for (int d = 0, to = 0; d < launch_.type(op.operands[0].value).rank(); ++d) {
        if (d != op.axis) join(op.operands[0].value, d, op.results[0], to++);
      }
      return;
    case OpKind::permute:
      for (size_t i = 0; i < op.ints.size(); ++i)
        join(op.operands[0].value, op.ints[i], op.results[0], static_cast<int>(i));
      return;
    case OpKind::reshape:
      return visit_reshape(op);
    case OpKind::split:
      for (ValueId result : op.results) join_all(result, op.operands[0].value);
      return;
    case OpKind::join:
      for (const ir::Operand& operand : op.operands) join_all(operand.value, op.results[0]);
      return;
    case OpKind::for_tile:
      return visit_loop(op, 2);
    case OpKind::for_grid:
      return visit_loop(op, 3);
    case OpKind::if_else:
      for (size_t i = 0; i < op.results.size(); ++i) {
        for (const Region& region : op.regions) join_all(op.results[i], region.ops.back().operands[i].value);
      }
      return;
    default:
      return;
  }
}

void AxisMap::number() {
  for (size_t v = 0; v < launch_.values.size(); ++v) {
    const Type& type = launch_.values[v].type;
    for (int d = 0; d < type.rank(); ++d) {
      const ir::Dim& dim = type.dims[static_cast<size_t>(d)];
      if (is_unit(dim) || parts_.count(root(slot(static_cast<ValueId>(v), d))) != 0) continue;
      const auto [it, fresh] = ids_.emplace(root(slot(static_cast<ValueId>(v), d)), static_cast<AxisId>(axes_.size()));
      if (fresh) axes_.push_back({dim.block, dim.size, false});
    }
  }
  for (const auto& [v, d] : full_) {
    for (AxisId a : axes_of(v, d)) axes_[static_cast<size_t>(a)].full = true;
  }
}

std::vector<AxisId> AxisMap::axes_of(ValueId v, int dim) const {
  std::vector<AxisId> out;
  if (!is_unit(launch_.type(v).dims[static_cast<size_t>(dim)])) list_axes(slot(v, dim), out);
  return out;
}

Index AxisMap::lane(ValueId v, int dim) const {
  Index out;
  int64_t scale = 1;
  const std::vector<AxisId> axes = axes_of(v, dim);
  for (size_t i = axes.size(); i-- > 0;) {
    Index one;
    one.lanes.emplace_back(axes[i], 1);
    out.add(one, scale);
    scale *= axes_[static_cast<size_t>(axes[i])].size;
  }
  return out;
}

std::vector<AxisId> AxisMap::axes_of(ValueId v) const {
  std::vector<AxisId> axes;
  for (int d = 0; d < launch_.type(v).rank(); ++d) {
    const std::vector<AxisId> more = axes_of(v, d);
    axes.insert(axes.end(), more.begin(), more.end());
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

Status AxisMap::check() const {
  for (size_t v = 0; v < launch_.values.size(); ++v) {
    if (is_index(static_cast<ValueId>(v))) continue;
    const std::vector<AxisId> axes = axes_of(static_cast<ValueId>(v));
    if (std::adjacent_find(axes.begin(), axes.end()) == axes.end()) continue;
    Diagnostic refusal{Code::backend_unsupported, "one dimension is used as two dimensions of the same value"};
    const Op* op = def(static_cast<ValueId>(v));
    return std::move(refusal).at(op ? op->span : Span{});
  }
  return success();
}

}  // namespace hc::backend::cpu
