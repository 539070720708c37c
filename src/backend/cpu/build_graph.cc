// Tile IR to a graph over axes.
#include <algorithm>
#include <map>

#include "backend/cpu/axes.h"
#include "backend/cpu/graph.h"
#include "backend/cpu/lane_of.h"

namespace hc::backend::cpu {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Region;
using ir::ValueId;

class GraphBuilder {
 public:
  GraphBuilder(const ir::Program& program, const ir::Launch& launch)
      : program_(program), launch_(launch), map_(program, launch), vals_(launch.values.size(), kNone) {}

  Result<Graph> build() {
    HC_TRY(map_.check());
    written_.assign(program_.storages.size(), false);
    find_written(launch_.body);
    graph_.axes = map_.axes();
    graph_.bodies.emplace_back();
    for (ValueId v : launch_.body.args) {
      vals_[at(v)] = graph_.add_val(DType::i64, {}, kNone);
      graph_.begins.push_back(vals_[at(v)]);
    }
    HC_TRY(region(launch_.body, 0));
    return std::move(graph_);
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v); }

  void find_written(const Region& source) {
    for (const Op& op : source.ops) {
      if (op.kind == OpKind::store) written_[at(program_.tensor(op.tensor).storage)] = true;
      for (const Region& inner : op.regions) find_written(inner);
    }
  }

  ValId emit(Node node, DType dtype, std::vector<AxisId> axes) {
    const NodeId id = static_cast<NodeId>(graph_.nodes.size());
    const ValId v = graph_.add_val(dtype, std::move(axes), id);
    node.results.push_back(v);
    push(std::move(node));
    return v;
  }

  void push(Node node) {
    const bool listed = node.kind != NodeKind::constant;
    const NodeId id = graph_.add_node(std::move(node));
    if (listed) graph_.body(body_).nodes.push_back(id);
  }

  ValId emit_index(Index index, DType dtype, const Op& op) {
    Node node;
    node.kind = NodeKind::index;
    for (const auto& [axis, scale] : index.lanes) node.axes.push_back(axis);
    node.index = std::move(index);
    node.span = op.span;
    std::vector<AxisId> axes = node.axes;
    return emit(std::move(node), dtype, std::move(axes));
  }

  /// An index value whose lanes have these numbers.
  ValId instantiate(ValueId v, const Index& lane) {
    const Op& op = *map_.def(v);
    const DType dtype = launch_.type(v).dtype;
    if (!ir::is_elementwise(op.kind)) {
      Index index = lane;
      if (op.kind == OpKind::tile_index) index.add(index_of(vals_[at(op.operands[0].value)]), 1);
      return emit_index(std::move(index), dtype, op);
    }
    std::vector<ValId> args;
    for (const Operand& operand : op.operands) {
      args.push_back(map_.is_index(operand.value) ? instantiate(operand.value, lane) : vals_[at(operand.value)]);
    }
    return elementwise(op, std::move(args), dtype);
  }

  /// The value in the place of an operand whose dimensions follow those of `shape`.
  ValId use(const Operand& operand, ValueId shape) {
    if (!map_.is_index(operand.value)) return vals_[at(operand.value)];
    const int dim = operand.map.empty() ? 0 : operand.map[0];
    if (launch_.type(operand.value).dims[0].size == 1) return instantiate(operand.value, {});
    return instantiate(operand.value, map_.lane(shape, dim));
  }

  /// The value with its dimensions on its own axes.
  ValId use(ValueId v) { return map_.is_index(v) ? instantiate(v, map_.lane(v, 0)) : vals_[at(v)]; }

  ValId elementwise(const Op& op, std::vector<ValId> args, DType dtype) {
    if (op.kind == OpKind::copy) return args[0];
    Node node;
    node.kind = NodeKind::elementwise;
    node.op = op.kind;
    node.span = op.span;
    for (ValId arg : args) node.axes = join_axes(node.axes, graph_.val(arg).axes);
    node.args = std::move(args);
    std::vector<AxisId> axes = node.axes;
    return emit(std::move(node), dtype, std::move(axes));
  }

  bool integer_constant(ValId v, int64_t* value) const {
    const NodeId def = graph_.val(v).def;
    if (def == kNone || graph_.node(def).kind != NodeKind::constant) return false;
    *value = graph_.node(def).literal.i;
    return true;
  }

  /// The linear form of an integer; the value itself where it has none.
  Index index_of(ValId v) const {
    Index out;
    const NodeId def = graph_.val(v).def;
    const Node* node = def == kNone ? nullptr : &graph_.node(def);
    if (node && node->kind == NodeKind::constant) {
      out.constant = node->literal.i;
      return out;
    }
    if (node && node->kind == NodeKind::index) return node->index;
    if (node && node->kind == NodeKind::elementwise && is_integer(graph_.val(v).dtype)) {
      int64_t factor = 0;
      const bool from_integer = is_integer(graph_.val(node->args[0]).dtype);
      switch (node->op) {
        case OpKind::add:
        case OpKind::sub:
          out.add(index_of(node->args[0]), 1);
          out.add(index_of(node->args[1]), node->op == OpKind::add ? 1 : -1);
          return out;
        case OpKind::neg:
          out.add(index_of(node->args[0]), -1);
          return out;
        case OpKind::mul:
          for (size_t i = 0; i < 2; ++i) {
            if (!integer_constant(node->args[1 - i], &factor)) continue;
            out.add(index_of(node->args[i]), factor);
            return out;
          }
          break;
        case OpKind::cast:
        case OpKind::promote:
          if (from_integer && dtype_bytes(graph_.val(v).dtype) >= 4) return index_of(node->args[0]);
          break;
        default:
          break;
      }
    }
    out.values.emplace_back(v, 1);
    return out;
  }

  std::vector<AxisId> index_axes(const Index& index) const {
    std::vector<AxisId> axes;
    for (const auto& [axis, scale] : index.lanes) axes.push_back(axis);
    for (const auto& [value, scale] : index.values) axes = join_axes(axes, graph_.val(value).axes);
    return axes;
  }

  /// Element offset in the storage from the index operands of a load or store.
  Index element(const Op& op, size_t first, ValueId shape) {
    const ir::Tensor& tensor = program_.tensor(op.tensor);
    Index index;
    index.constant = tensor.offset;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      const ValId v = use(op.operands[first + d], shape);
      if (tensor.strides[d] != 0) index.add(index_of(v), tensor.strides[d]);
    }
    return index;
  }

  void access(const Op& op, size_t first, ValueId shape, Node& node) {
    node.tensor = op.tensor;
    node.storage = program_.tensor(op.tensor).storage;
    node.index = element(op, first, shape);
    node.axes = index_axes(node.index);
    node.span = op.span;
    if (op.masked) {
      node.mask = use(op.operands.back(), shape);
      node.axes = join_axes(node.axes, graph_.val(node.mask).axes);
    }
  }

  void load(const Op& op) {
    Node node;
    node.kind = NodeKind::load;
    access(op, 0, op.results[0], node);
    // A dimension that the element does not depend on matters only through its lanes outside the tile, which are 0.
    for (AxisId a : map_.axes_of(op.results[0])) {
      if (graph_.axis(a).full) node.axes = join_axes(node.axes, {a});
    }
    std::vector<AxisId> axes = node.axes;
    vals_[at(op.results[0])] = emit(std::move(node), launch_.type(op.results[0]).dtype, std::move(axes));
  }

  void store(const Op& op) {
    Node node;
    node.kind = NodeKind::store;
    const ValueId value = op.operands[0].value;
    access(op, 1, value, node);
    node.args.push_back(use(value));
    node.axes = join_axes(node.axes, graph_.val(node.args[0]).axes);
    for (AxisId a : joined_) {
      if (has_axis(node.axes, a) && store_lanes(node, a)) return;
    }
    push(std::move(node));
  }

  /// Stores each of the two lanes of a joined axis by itself; false where they cannot be told apart.
  bool store_lanes(const Node& both, AxisId axis) {
    std::vector<Node> halves;
    for (int half = 0; half < 2; ++half) {
      LaneOf lane(graph_, body_, written_, axis, half);
      const auto value = lane.value(both.args[0]);
      const auto index = lane.with_values(both.index);
      const auto mask = both.mask == kNone ? std::optional<ValId>(kNone) : lane.value(both.mask);
      if (!value || !index || !mask) return false;
      Node node = both;
      node.args = {*value};
      node.index = *index;
      node.mask = *mask;
      node.axes.erase(std::find(node.axes.begin(), node.axes.end(), axis));
      halves.push_back(std::move(node));
    }
    for (Node& node : halves) push(std::move(node));
    return true;
  }

  void reduce(const Op& op) {
    const ValueId from = op.operands[0].value;
    ValId arg = use(from);
    const std::vector<AxisId> along = map_.axes_of(from, op.axis);
    const DType dtype = launch_.type(op.results[0]).dtype;
    if (along.empty()) arg = reduce_one_lane(op, arg, dtype);
    for (size_t i = along.size(); i-- > 0;) arg = reduce_axis(op, arg, along[i], dtype);
    vals_[at(op.results[0])] = arg;
  }

  ValId reduce_axis(const Op& op, ValId arg, AxisId axis, DType dtype) {
    Node node;
    node.kind = NodeKind::reduce;
    node.reduce = op.reduce;
    node.axis = axis;
    node.axes = join_axes(graph_.val(arg).axes, {axis});
    node.args = {arg};
    node.span = op.span;
    std::vector<AxisId> axes = node.axes;
    axes.erase(std::find(axes.begin(), axes.end(), axis));
    return emit(std::move(node), dtype, std::move(axes));
  }

  ValId convert(ValId v, DType dtype, const Op& op) {
    if (graph_.val(v).dtype == dtype) return v;
    Op promote;
    promote.kind = OpKind::promote;
    promote.span = op.span;
    return elementwise(promote, {v}, dtype);
  }

  ValId constant(DType dtype, ir::Literal literal, const Op& op) {
    Node node;
    node.kind = NodeKind::constant;
    node.literal = literal;
    node.span = op.span;
    return emit(std::move(node), dtype, {});
  }

  ValId reduce_one_lane(const Op& op, ValId arg, DType dtype) {
    if (op.reduce == ir::ReduceKind::argmax || op.reduce == ir::ReduceKind::argmin) return constant(dtype, {}, op);
    if (dtype == DType::boolean && graph_.val(arg).dtype != DType::boolean) {
      Op compare;
      compare.kind = OpKind::ne;
      compare.span = op.span;
      return elementwise(compare, {arg, constant(graph_.val(arg).dtype, {}, op)}, dtype);
    }
    return convert(arg, dtype, op);
  }

  /// Lanes of `axes` in row-major order, the last one contiguous, as an element number; returns their count.
  int64_t row_major(const std::vector<AxisId>& axes, int64_t scale, Index& index) const {
    for (size_t i = axes.size(); i-- > 0;) {
      Index lane;
      lane.lanes.emplace_back(axes[i], 1);
      index.add(lane, scale);
      scale *= graph_.axis(axes[i]).size;
    }
    return scale;
  }

  /// Axes of all dimensions, outermost first.
  std::vector<AxisId> ordered_axes(ValueId v) const {
    std::vector<AxisId> axes;
    for (int d = 0; d < launch_.type(v).rank(); ++d) {
      const std::vector<AxisId> more = map_.axes_of(v, d);
      axes.insert(axes.end(), more.begin(), more.end());
    }
    return axes;
  }

  /// A copy of `arg` that has every axis of `group`, read at element `index` of these lanes.
  ValId relayout(const Op& op, ValId arg, std::vector<AxisId> group, Index index, std::vector<AxisId> axes) {
    Node copy;
    copy.kind = NodeKind::elementwise;
    copy.op = OpKind::copy;
    copy.args = {arg};
    copy.axes = graph_.val(arg).axes;
    for (AxisId a : group) copy.axes = join_axes(copy.axes, {a});
    copy.span = op.span;
    std::vector<AxisId> copy_axes = copy.axes;
    const DType dtype = graph_.val(arg).dtype;
    const ValId whole = emit(std::move(copy), dtype, std::move(copy_axes));
    Node node;
    node.kind = NodeKind::relayout;
    node.args = {whole};
    node.group = std::move(group);
    node.index = std::move(index);
    node.axes = axes;
    node.span = op.span;
    return emit(std::move(node), dtype, std::move(axes));
  }

  void reshape(const Op& op) {
    const ValueId from = op.operands[0].value, to = op.results[0];
    const ValId arg = use(from);
    std::vector<AxisId> group = ordered_axes(from), fresh = ordered_axes(to);
    while (!group.empty() && !fresh.empty() && group.front() == fresh.front()) {
      group.erase(group.begin());
      fresh.erase(fresh.begin());
    }
    while (!group.empty() && !fresh.empty() && group.back() == fresh.back()) {
      group.pop_back();
      fresh.pop_back();
    }
    if (group.empty() && fresh.empty()) {
      vals_[at(to)] = arg;
      return;
    }
    Index index;
    row_major(fresh, 1, index);
    std::vector<AxisId> axes = graph_.val(arg).axes;
    for (AxisId a : group) axes.erase(std::remove(axes.begin(), axes.end(), a), axes.end());
    for (AxisId a : fresh) axes = join_axes(axes, {a});
    vals_[at(to)] = relayout(op, arg, std::move(group), std::move(index), std::move(axes));
  }

  void split(const Op& op) {
    const ValueId from = op.operands[0].value;
    const ValId arg = use(from);
    const AxisId pair = map_.axes_of(from, launch_.type(from).rank() - 1)[0];
    std::vector<AxisId> axes = graph_.val(arg).axes;
    axes.erase(std::remove(axes.begin(), axes.end(), pair), axes.end());
    for (int half = 0; half < 2; ++half) {
      ValId& result = vals_[at(op.results[static_cast<size_t>(half)])];
      if (const auto lane = LaneOf(graph_, body_, written_, pair, half).value(arg)) {
        result = *lane;
        continue;
      }
      Index index;
      index.constant = half;
      result = relayout(op, arg, {pair}, std::move(index), axes);
    }
  }

  /// The second operand in the odd lanes of the new axis.
  void join(const Op& op) {
    const ValueId to = op.results[0];
    const Index lane = map_.lane(to, launch_.type(to).rank() - 1);
    joined_ = join_axes(joined_, {lane.lanes[0].first});
    const ValId number = emit_index(lane, DType::i32, op);
    Op compare;
    compare.kind = OpKind::eq;
    compare.span = op.span;
    const ValId first = elementwise(compare, {number, constant(DType::i32, {}, op)}, DType::boolean);
    Op select;
    select.kind = OpKind::where;
    select.span = op.span;
    vals_[at(to)] =
        elementwise(select, {first, use(op.operands[0].value), use(op.operands[1].value)}, launch_.type(to).dtype);
  }

  SlotId add_slot(ValueId v, NodeId owner) {
    graph_.slots.push_back({launch_.type(v).dtype, map_.axes_of(v), owner});
    return static_cast<SlotId>(graph_.slots.size() - 1);
  }

  void push_slot(NodeKind kind, SlotId slot, ValId arg, const Op& op) {
    Node node;
    node.kind = kind;
    node.slots = {slot};
    node.axes = graph_.slot(slot).axes;
    node.args = {arg};
    node.span = op.span;
    push(std::move(node));
  }

  ValId slot_read(SlotId slot, const Op& op) {
    Node node;
    node.kind = NodeKind::slot_read;
    node.slots = {slot};
    node.axes = graph_.slot(slot).axes;
    node.span = op.span;
    const Slot s = graph_.slot(slot);
    return emit(std::move(node), s.dtype, s.axes);
  }

  BodyId add_body(NodeId owner) {
    graph_.bodies.emplace_back();
    graph_.bodies.back().owner = owner;
    return static_cast<BodyId>(graph_.bodies.size() - 1);
  }

  /// The node of a loop or branch with a slot per result; it joins the current body.
  NodeId region_node(const Op& op, NodeKind kind) {
    Node node;
    node.kind = kind;
    node.span = op.span;
    const NodeId id = static_cast<NodeId>(graph_.nodes.size());
    for (ValueId v : op.results) {
      node.slots.push_back(add_slot(v, id));
      vals_[at(v)] = graph_.add_val(launch_.type(v).dtype, map_.axes_of(v), id);
      node.results.push_back(vals_[at(v)]);
    }
    push(std::move(node));
    return id;
  }

  Status write_slots(const Op& op, const Region& inner, NodeId id) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValId v = use(inner.ops.back().operands[i].value);
      push_slot(NodeKind::slot_write, graph_.node(id).slots[i], v, op);
    }
    return success();
  }

  Status loop(const Op& op) {
    const bool tile = op.kind == OpKind::for_tile;
    const size_t bounds = tile ? 2 : 3;
    const Region& inner = op.regions[0];
    int64_t step = 0;
    if (!tile && !integer_constant(vals_[at(op.operands[2].value)], &step)) {
      return Diagnostic{Code::backend_unsupported, "the step of this loop is not a constant"}.at(op.span);
    }
    const Index begin = index_of(vals_[at(op.operands[0].value)]), end = index_of(vals_[at(op.operands[1].value)]);
    const BodyId outer = body_;
    const NodeId id = region_node(op, NodeKind::loop);
    graph_.node(id).index = begin;
    graph_.node(id).end = end;
    graph_.node(id).step = tile ? program_.block(op.block).size : step;
    graph_.node(id).block = tile ? op.block : kNone;
    const BodyId first = add_body(id), main = add_body(id);
    graph_.node(id).bodies = {first, main};
    body_ = first;
    for (size_t i = 0; i < op.results.size(); ++i) {
      push_slot(NodeKind::slot_init, graph_.node(id).slots[i], use(op.operands[bounds + i].value), op);
    }
    body_ = main;
    graph_.body(main).begin = vals_[at(inner.args[0])] = graph_.add_val(DType::i64, {}, kNone);
    for (size_t i = 0; i < op.results.size(); ++i) {
      vals_[at(inner.args[i + 1])] = slot_read(graph_.node(id).slots[i], op);
    }
    HC_TRY(region(inner, main));
    HC_TRY(write_slots(op, inner, id));
    body_ = outer;
    return success();
  }

  Status branch(const Op& op) {
    const ValId condition = vals_[at(op.operands[0].value)];
    const BodyId outer = body_;
    const NodeId id = region_node(op, NodeKind::branch);
    graph_.node(id).args = {condition};
    for (const Region& inner : op.regions) {
      body_ = add_body(id);
      graph_.node(id).bodies.push_back(body_);
      HC_TRY(region(inner, body_));
      HC_TRY(write_slots(op, inner, id));
    }
    body_ = outer;
    return success();
  }

  Status region(const Region& source, BodyId body) {
    body_ = body;
    for (const Op& op : source.ops) {
      HC_TRY(visit(op));
      body_ = body;
    }
    return success();
  }

  Status visit(const Op& op) {
    if (ir::is_elementwise(op.kind)) {
      if (map_.is_index(op.results[0])) return success();
      std::vector<ValId> args;
      for (const Operand& operand : op.operands) args.push_back(use(operand, op.results[0]));
      vals_[at(op.results[0])] = elementwise(op, std::move(args), launch_.type(op.results[0]).dtype);
      return success();
    }
    switch (op.kind) {
      case OpKind::constant:
        vals_[at(op.results[0])] = constant(launch_.type(op.results[0]).dtype, op.literal, op);
        return success();
      case OpKind::load:
        load(op);
        return success();
      case OpKind::store:
        store(op);
        return success();
      case OpKind::reduce:
        reduce(op);
        return success();
      case OpKind::permute:
        vals_[at(op.results[0])] = use(op.operands[0].value);
        return success();
      case OpKind::reshape:
        reshape(op);
        return success();
      case OpKind::split:
        split(op);
        return success();
      case OpKind::join:
        join(op);
        return success();
      case OpKind::for_tile:
      case OpKind::for_grid:
        return loop(op);
      case OpKind::if_else:
        return branch(op);
      default:
        return success();  // arange and tile_index are made where they are used, yield by its loop
    }
  }

  const ir::Program& program_;
  const ir::Launch& launch_;
  AxisMap map_;
  Graph graph_;
  std::vector<ValId> vals_;
  BodyId body_ = 0;
  std::vector<bool> written_;   // by StorageId
  std::vector<AxisId> joined_;  // axes of two lanes that joins have made
};

}  // namespace

Result<Graph> build_graph(const ir::Program& program, const ir::Launch& launch) {
  return GraphBuilder(program, launch).build();
}

}  // namespace hc::backend::cpu
