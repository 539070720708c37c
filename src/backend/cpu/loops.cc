// Loop trees: queries shared by the passes that make and use them.
#include "backend/cpu/loops.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace hc::backend::cpu {

bool LoopTree::encloses(int32_t outer, int32_t inner) const {
  while (inner != kNone && inner != outer) inner = at(inner).parent;
  return inner == outer;
}

int LoopTree::depth(int32_t c) const {
  int depth = 0;
  while ((c = at(c).parent) != kNone) ++depth;
  return depth;
}

int32_t LoopTree::common(int32_t a, int32_t b) const {
  while (!encloses(a, b)) a = at(a).parent;
  return a;
}

std::vector<AxisId> LoopTree::open_axes(int32_t c) const {
  std::vector<AxisId> axes;
  for (; c != kNone; c = at(c).parent) {
    if (at(c).axis != kNone) axes.push_back(at(c).axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

int32_t LoopTree::home(const Graph& graph, ValId v) const {
  const NodeId def = graph.val(v).def;
  if (def == kNone) {
    for (size_t b = 0; b < graph.bodies.size(); ++b) {
      if (graph.bodies[b].begin == v) return body_container[b];
    }
    return 0;
  }
  int32_t c = node_container[static_cast<size_t>(def)];
  if (graph.node(def).kind != NodeKind::reduce) return c;
  while (at(c).axis != graph.node(def).axis) c = at(c).parent;
  return at(c).parent;
}

std::vector<NodeId> nodes_within(const Graph& graph, NodeId n) {
  std::vector<NodeId> out;
  for (BodyId b : graph.node(n).bodies) {
    for (NodeId inner : graph.body(b).nodes) {
      out.push_back(inner);
      const std::vector<NodeId> deeper = nodes_within(graph, inner);
      out.insert(out.end(), deeper.begin(), deeper.end());
    }
  }
  return out;
}

std::vector<Access> accesses(const Graph& graph, NodeId n) {
  std::vector<Access> out;
  std::vector<NodeId> nodes = nodes_within(graph, n);
  nodes.push_back(n);
  for (NodeId inner : nodes) {
    const Node& node = graph.node(inner);
    if (node.kind != NodeKind::load && node.kind != NodeKind::store) continue;
    out.push_back({node.storage, &node.index, node.kind == NodeKind::store});
  }
  return out;
}

bool disjoint(const Graph& graph, const Index& a, const Index& b) {
  const int64_t distance = std::abs(a.constant - b.constant);
  if (distance == 0 || a.lanes != b.lanes || a.values != b.values) return false;
  // Lanes with strides up to the distance reach `reach` elements; the others move by multiples of `unit`.
  int64_t reach = 0, unit = 0;
  for (const auto& [axis, scale] : a.lanes) {
    if (std::abs(scale) <= distance) {
      reach += std::abs(scale) * (graph.axis(axis).size - 1);
    } else {
      unit = std::gcd(unit, scale);
    }
  }
  return distance > reach && (unit == 0 || distance + reach < unit);
}

std::vector<bool> written_storages(const Graph& graph) {
  std::vector<bool> written;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::store) continue;
    const auto s = static_cast<size_t>(node.storage);
    if (written.size() <= s) written.resize(s + 1);
    written[s] = true;
  }
  return written;
}

AxisId lane_axis(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<AxisId>& open,
                 int vector_bytes) {
  std::vector<double> votes(graph.axes.size(), 0);
  const auto weight = [&](AxisId a) {
    const double lanes = vector_bytes / 4.0;
    return std::min(lanes, static_cast<double>(graph.axis(a).size)) / lanes;
  };
  for (NodeId n : nodes) {
    const Node& node = graph.node(n);
    const bool access = node.kind == NodeKind::load || node.kind == NodeKind::store;
    for (AxisId a : node.axes) {
      if (has_axis(open, a)) continue;
      double vote = 0.01;
      if (access) {
        const int64_t scale = node.index.lane_scale(a);
        vote = scale == 1 ? 4 : scale == 0 ? 0.01 : -1;
      }
      votes[static_cast<size_t>(a)] += vote > 0 ? vote * weight(a) : vote;
    }
  }
  const auto best = std::max_element(votes.begin(), votes.end());
  return best == votes.end() || *best <= 0 ? kNone : static_cast<AxisId>(best - votes.begin());
}

bool is_strip(const LoopOptions& options, int64_t lanes) {
  return options.reduction_chunk > 0 || lanes <= options.vector_bytes / 4 * kStripVectors;
}

}  // namespace hc::backend::cpu
