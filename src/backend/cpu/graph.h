// A launch as a graph over axes: the first step of lowering. Dimensions become axes, operand maps and index arithmetic
// vanish.
//
// Dimensions of values that any op ties together are one axis: one loop later. Dimensions of one lane have no axis.
// Subscripts become an Index, linear in lanes and in scalars as far as they can.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/tile_ir.h"

namespace hc::backend::cpu {

using ir::kNone;
using AxisId = int32_t;
using ValId = int32_t;
using NodeId = int32_t;
using BodyId = int32_t;
using SlotId = int32_t;

/// One loop to be. `full`: lanes outside the active tile are observable, so that they are computed as well.
struct Axis {
  ir::BlockId block = kNone;
  int64_t size = 1;
  bool full = false;
};

/// constant + sum scale * lane(axis) + sum scale * value; values may have axes themselves (gathers).
struct Index {
  int64_t constant = 0;
  std::vector<std::pair<AxisId, int64_t>> lanes;
  std::vector<std::pair<ValId, int64_t>> values;
  bool operator==(const Index&) const = default;
  void add(const Index& other, int64_t scale);
  int64_t lane_scale(AxisId axis) const;
};

/// A value; `axes` are sorted. A value without some axis is the same in all its lanes.
struct Val {
  DType dtype = DType::f32;
  std::vector<AxisId> axes;
  NodeId def = kNone;  ///< kNone: the begin of a loop or of a launch axis
};

enum class NodeKind : uint8_t {
  constant,  ///< not in a body: made where it is used
  index,     ///< `index` as an integer
  elementwise,
  load,
  store,
  reduce,      ///< over `axis`
  relayout,    ///< the operand at element `index` of its lanes along `group`, row-major
  loop,        ///< bodies: first values of the slots, the loop's
  branch,      ///< bodies: then, otherwise
  slot_init,   ///< first value of a slot
  slot_read,   ///< value of a slot at the begin of an iteration
  slot_write,  ///< value of a slot for the next iteration, or a branch's result
};

struct Node {
  NodeKind kind = NodeKind::constant;
  ir::OpKind op = ir::OpKind::copy;
  std::vector<ValId> args;
  std::vector<ValId> results;
  std::vector<AxisId> axes;  ///< sorted: the loops that the node needs around it
  ir::Literal literal{};
  ir::ReduceKind reduce = ir::ReduceKind::sum;
  AxisId axis = kNone;            // reduce
  Index index;                    // index, load, store, relayout; loop: begin
  Index end;                      // loop
  int64_t step = 1;               // loop
  ir::BlockId block = kNone;      // loop
  std::vector<AxisId> group;      // relayout: outermost first
  ir::StorageId storage = kNone;  // load, store
  ir::TensorId tensor = kNone;    // load, store
  ValId mask = kNone;             // load, store
  std::vector<BodyId> bodies;     // loop, branch
  std::vector<SlotId> slots;      // loop, branch: one per result; slot_*: the slot
  diag::Span span;
};

struct Body {
  std::vector<NodeId> nodes;
  NodeId owner = kNone;
  ValId begin = kNone;  ///< loop: the variable
};

/// A value that a loop carries or a branch yields.
struct Slot {
  DType dtype = DType::f32;
  std::vector<AxisId> axes;
  NodeId owner = kNone;
};

struct Graph {
  std::vector<Axis> axes;
  std::vector<Val> vals;
  std::vector<Node> nodes;
  std::vector<Body> bodies;  ///< 0 is the launch's
  std::vector<Slot> slots;
  std::vector<ValId> begins;  ///< of the launch's axes

  Val& val(ValId v) { return vals[static_cast<size_t>(v)]; }
  const Val& val(ValId v) const { return vals[static_cast<size_t>(v)]; }
  Node& node(NodeId n) { return nodes[static_cast<size_t>(n)]; }
  const Node& node(NodeId n) const { return nodes[static_cast<size_t>(n)]; }
  Body& body(BodyId b) { return bodies[static_cast<size_t>(b)]; }
  const Body& body(BodyId b) const { return bodies[static_cast<size_t>(b)]; }
  const Axis& axis(AxisId a) const { return axes[static_cast<size_t>(a)]; }
  const Slot& slot(SlotId s) const { return slots[static_cast<size_t>(s)]; }
  ValId add_val(DType dtype, std::vector<AxisId> axes, NodeId def);
  NodeId add_node(Node node);
  /// Every value that a node reads: operands, mask, values in its index and bounds; not those of nested bodies.
  std::vector<ValId> reads(NodeId n) const;
};

bool has_axis(const std::vector<AxisId>& axes, AxisId axis);
/// Sorted union.
std::vector<AxisId> join_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

/// backend_unsupported where a value would need one loop for two of its dimensions.
Result<Graph> build_graph(const ir::Program& program, const ir::Launch& launch);

}  // namespace hc::backend::cpu
