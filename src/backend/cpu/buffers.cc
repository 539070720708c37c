// Decides which values need memory, and lays it out.
#include "backend/cpu/buffers.h"

#include <fmt/format.h>

#include <algorithm>

namespace hc::backend::cpu {
namespace {

constexpr int64_t kSlack = 64;  ///< elements that whole vectors may touch behind the last lane

class BufferAssigner {
 public:
  BufferAssigner(const Graph& graph, const LoopTree& tree, std::vector<ir::Local>& locals)
      : graph_(graph), tree_(tree), locals_(locals) {
    out_.of_val.resize(graph.vals.size());
    out_.of_slot.resize(graph.slots.size());
  }

  Buffers run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (tree_.node_container[i] != kNone) visit(static_cast<NodeId>(i));
    }
    for (size_t v = 0; v < out_.of_val.size(); ++v)
      lay_out(out_.of_val[v], graph_.vals[v].dtype, fmt::format("v{}", v));
    for (size_t s = 0; s < out_.of_slot.size(); ++s) {
      lay_out(out_.of_slot[s], graph_.slots[s].dtype, fmt::format("carried{}", s));
    }
    return std::move(out_);
  }

 private:
  void visit(NodeId n) {
    const Node& node = graph_.node(n);
    const int32_t at = tree_.node_container[static_cast<size_t>(n)];
    for (ValId v : graph_.reads(n)) read(v, at, node.kind == NodeKind::relayout);
    if (node.kind == NodeKind::relayout) pack(out_.of_val[static_cast<size_t>(node.args[0])], node.group);
    if (node.kind == NodeKind::reduce) {
      const ValId result = node.results[0];
      keep(out_.of_val[static_cast<size_t>(result)], graph_.val(result).axes, at, tree_.home(graph_, result), true);
    }
    if (node.kind != NodeKind::loop && node.kind != NodeKind::branch) return;
    for (SlotId s : node.slots) {
      const std::vector<AxisId> open = tree_.open_axes(at);
      for (AxisId a : graph_.slot(s).axes) {
        if (!has_axis(open, a)) add_axis(out_.of_slot[static_cast<size_t>(s)], a);
      }
      if (out_.of_slot[static_cast<size_t>(s)].used) {
        keep_lanes(out_.of_slot[static_cast<size_t>(s)], graph_.slot(s).axes, at);
      }
    }
  }

  /// A reader in container `at` of a value that may come from a loop beside it.
  void read(ValId v, int32_t at, bool always) {
    const NodeId def = graph_.val(v).def;
    if (def != kNone && graph_.node(def).kind == NodeKind::constant) return;
    const int32_t home = tree_.home(graph_, v);
    if (!always && tree_.encloses(home, at)) return;
    Buffer* buffer = &out_.of_val[static_cast<size_t>(v)];
    if (def != kNone && !graph_.node(def).slots.empty() && graph_.node(def).kind != NodeKind::slot_read) {
      const Node& region = graph_.node(def);
      const auto i = std::find(region.results.begin(), region.results.end(), v) - region.results.begin();
      buffer = &out_.of_slot[static_cast<size_t>(region.slots[static_cast<size_t>(i)])];
    }
    keep(*buffer, graph_.val(v).axes, home, tree_.common(home, at), false);
  }

  /// Adds the axes of loops from `inner` out to, but without, `outer`.
  void keep(Buffer& buffer, const std::vector<AxisId>& axes, int32_t inner, int32_t outer, bool only_if_any) {
    if (!only_if_any) buffer.used = true;
    for (int32_t c = inner; c != outer; c = tree_.at(c).parent) {
      const AxisId a = tree_.at(c).axis;
      if (a != kNone && has_axis(axes, a)) add_axis(buffer, a);
    }
    if (buffer.used) keep_lanes(buffer, axes, outer);
  }

  /// A value made inside of a vector loop has as many lanes as the loop, each with a place of its own.
  void keep_lanes(Buffer& buffer, const std::vector<AxisId>& axes, int32_t at) {
    for (int32_t c = at; c != kNone; c = tree_.at(c).parent) {
      if (tree_.at(c).lanes > 1 && has_axis(axes, tree_.at(c).axis)) add_axis(buffer, tree_.at(c).axis);
    }
  }

  static void add_axis(Buffer& buffer, AxisId a) {
    buffer.used = true;
    if (std::find(buffer.axes.begin(), buffer.axes.end(), a) == buffer.axes.end()) buffer.axes.push_back(a);
  }

  /// Puts the axes of a relayout last, in its order.
  static void pack(Buffer& buffer, const std::vector<AxisId>& group) {
    std::erase_if(buffer.axes, [&](AxisId a) { return std::find(group.begin(), group.end(), a) != group.end(); });
    buffer.axes.insert(buffer.axes.end(), group.begin(), group.end());
    buffer.packed = true;
  }

  bool is_vector_axis(AxisId a) const {
    return std::any_of(tree_.containers.begin(), tree_.containers.end(),
                       [&](const Container& c) { return c.axis == a && c.lanes > 1; });
  }

  void lay_out(Buffer& buffer, DType dtype, std::string name) {
    if (!buffer.used) return;
    if (!buffer.packed) {
      std::sort(buffer.axes.begin(), buffer.axes.end());
      std::stable_partition(buffer.axes.begin(), buffer.axes.end(), [&](AxisId a) { return !is_vector_axis(a); });
    }
    buffer.strides.assign(buffer.axes.size(), 1);
    int64_t numel = 1;
    for (size_t i = buffer.axes.size(); i-- > 0;) {
      buffer.strides[i] = numel;
      int64_t size = graph_.axis(buffer.axes[i]).size;
      if (!buffer.packed && i + 1 == buffer.axes.size()) size = (size + kSlack - 1) / kSlack * kSlack;
      numel *= size;
    }
    buffer.local = static_cast<int32_t>(locals_.size());
    locals_.push_back({std::move(name), register_dtype(dtype), numel + kSlack});
  }

  const Graph& graph_;
  const LoopTree& tree_;
  std::vector<ir::Local>& locals_;
  Buffers out_;
};

}  // namespace

Buffers assign_buffers(const Graph& graph, const LoopTree& tree, std::vector<ir::Local>& locals) {
  return BufferAssigner(graph, tree, locals).run();
}

DType register_dtype(DType dtype) {
  const bool narrow = is_floating(dtype) && dtype_bytes(dtype) < 4;
  return narrow ? DType::f32 : dtype;
}

}  // namespace hc::backend::cpu
