// Which axes may be looped over around a loop or branch: rows that do not know of each other run one by one, so that
// what the loop carries for a row stays in registers.
#include <algorithm>

#include "backend/cpu/loops.h"

namespace hc::backend::cpu {
namespace {

/// Whether accesses of one storage inside meet in a way that the order of lanes could matter.
bool order_matters(const Graph& graph, const std::vector<Access>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (all[i].storage != all[j].storage || !(all[i].write || all[j].write)) continue;
      if (!(*all[i].index == *all[j].index) && !disjoint(graph, *all[i].index, *all[j].index)) return true;
    }
  }
  return false;
}

class Hoister {
 public:
  Hoister(Graph& graph, const LoopOptions& options) : graph_(graph), options_(options) {}

  void run(BodyId body) {
    for (NodeId n : graph_.body(body).nodes) {
      for (BodyId inner : graph_.node(n).bodies) run(inner);
      if (!graph_.node(n).bodies.empty()) graph_.node(n).axes = hoistable(n);
    }
  }

 private:
  std::vector<AxisId> hoistable(NodeId region) {
    if (order_matters(graph_, accesses(graph_, region))) return {};
    std::vector<NodeId> nodes = nodes_within(graph_, region);
    std::vector<AxisId> axes, barred;
    for (NodeId n : nodes) {
      const Node& node = graph_.node(n);
      axes = join_axes(axes, node.axes);
      if (node.kind == NodeKind::reduce) barred = join_axes(barred, {node.axis});
      std::vector<AxisId> group = node.group;
      std::sort(group.begin(), group.end());
      barred = join_axes(barred, group);
    }
    const AxisId lanes = lane_axis(graph_, nodes, {}, options_.vector_bytes);
    if (lanes != kNone && !is_strip(options_, graph_.axis(lanes).size)) barred = join_axes(barred, {lanes});
    nodes.push_back(region);
    std::vector<AxisId> out;
    for (AxisId a : axes) {
      if (!has_axis(barred, a) && !own_tile(nodes, a) && reaches(nodes, a)) out.push_back(a);
    }
    return out;
  }

  /// Whether the axis belongs to the tile of one of these loops.
  bool own_tile(const std::vector<NodeId>& nodes, AxisId a) const {
    const ir::BlockId block = graph_.axis(a).block;
    if (block == kNone) return false;
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return graph_.node(n).block == block; });
  }

  /// Whether every store and at least half of the other work has the axis.
  bool reaches(const std::vector<NodeId>& nodes, AxisId a) const {
    int with = 0, without = 0;
    for (NodeId n : nodes) {
      const Node& node = graph_.node(n);
      const bool has = has_axis(node.axes, a);
      if (node.kind == NodeKind::store && !has) return false;
      if (node.kind == NodeKind::load || node.kind == NodeKind::store || node.kind == NodeKind::reduce) {
        ++(has ? with : without);
      }
    }
    return with >= without;
  }

  Graph& graph_;
  const LoopOptions& options_;
};

}  // namespace

void hoist_axes(Graph& graph, const LoopOptions& options) { Hoister(graph, options).run(0); }

}  // namespace hc::backend::cpu
