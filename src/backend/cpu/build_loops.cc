// Loop fusion: axis by axis from the outside in, a list of nodes becomes alternating gaps and loops over the axis, and
// each of them is treated likewise with the axes that are left.
#include <algorithm>

#include "backend/cpu/loops.h"

namespace hc::backend::cpu {
namespace {

/// How one node waits for an earlier one.
struct Wait {
  size_t on = 0;         ///< position in the list
  ValId value = kNone;   ///< the value that passes, or kNone: order of memory accesses
  bool lanewise = true;  ///< lane i waits for lane i only (where both have the axis)
};

class LoopBuilder {
 public:
  LoopBuilder(const Graph& graph, const LoopOptions& options) : graph_(graph), options_(options) {
    tree_.body_container.assign(graph.bodies.size(), kNone);
    tree_.node_container.assign(graph.nodes.size(), kNone);
  }

  LoopTree build() {
    open_body(0, kNone, {}, false);
    return std::move(tree_);
  }

 private:
  using List = std::vector<NodeId>;
  using Axes = std::vector<AxisId>;

  int32_t add_container(int32_t parent) {
    tree_.containers.emplace_back();
    tree_.containers.back().parent = parent;
    return static_cast<int32_t>(tree_.containers.size() - 1);
  }

  void open_body(BodyId body, int32_t parent, const Axes& open, bool vector) {
    const int32_t c = add_container(parent);
    tree_.at(c).body = body;
    tree_.body_container[static_cast<size_t>(body)] = c;
    schedule(graph_.body(body).nodes, c, open, vector);
  }

  void schedule(const List& list, int32_t container, const Axes& open, bool vector) {
    Axes wanted;
    for (NodeId n : list) {
      for (AxisId a : graph_.node(n).axes) {
        if (!has_axis(open, a)) wanted = join_axes(wanted, {a});
      }
    }
    if (wanted.empty()) {
      for (NodeId n : list) place(n, container, open, vector);
      return;
    }
    const Choice choice = choose(list, wanted, open, vector);
    std::vector<List> gaps, loops;
    split(list, choice.axis, gaps, loops);
    const Axes inner = join_axes(open, {choice.axis});
    for (size_t i = 0; i < gaps.size(); ++i) {
      if (!gaps[i].empty()) schedule(gaps[i], container, open, vector);
      if (i >= loops.size() || loops[i].empty()) continue;
      const int32_t loop = add_container(container);
      tree_.at(loop).axis = choice.axis;
      if (choice.vector) set_lanes(loop, loops[i], choice);
      tree_.at(container).items.push_back({true, loop});
      schedule(loops[i], loop, inner, vector || choice.vector);
    }
  }

  void place(NodeId n, int32_t container, const Axes& open, bool vector) {
    tree_.node_container[static_cast<size_t>(n)] = container;
    tree_.at(container).items.push_back({false, n});
    for (BodyId body : graph_.node(n).bodies) open_body(body, container, open, vector);
  }

  struct Choice {
    AxisId axis = kNone;
    bool vector = false;
    bool strip = false;  ///< a vector loop around others
  };

  /// Axes that some node of the list combines over or cannot have around it.
  Axes combined(const List& list) const {
    Axes out;
    for (NodeId n : list) {
      const Node& node = graph_.node(n);
      if (node.kind == NodeKind::reduce) out = join_axes(out, {node.axis});
      Axes group = node.group;
      std::sort(group.begin(), group.end());
      out = join_axes(out, group);
      for (NodeId inner : nodes_within(graph_, n)) {
        for (AxisId a : graph_.node(inner).axes) {
          if (!has_axis(node.axes, a)) out = join_axes(out, {a});
        }
      }
    }
    return out;
  }

  /// Largest distance in memory of neighbours along an axis: outer loops take the far ones.
  int64_t distance(const List& list, AxisId a) const {
    int64_t far = 0;
    for (NodeId n : list) {
      for (const Access& access : accesses(graph_, n)) far = std::max(far, std::abs(access.index->lane_scale(a)));
    }
    return far;
  }

  Choice choose(const List& list, const Axes& wanted, const Axes& open, bool vector) const {
    List all = list;
    for (NodeId n : list) {
      const List inner = nodes_within(graph_, n);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    AxisId lanes = vector ? kNone : lane_axis(graph_, all, open, options_.vector_bytes);
    if (lanes != kNone && !has_axis(wanted, lanes)) lanes = kNone;
    const Axes closed = combined(list);
    AxisId free = kNone, other = kNone;
    for (AxisId a : wanted) {
      if (a == lanes) continue;
      AxisId& best = has_axis(closed, a) ? other : free;
      if (best == kNone || distance(list, a) > distance(list, best)) best = a;
    }
    if (free != kNone) return {free, false, false};
    if (lanes == kNone) return {other, false, false};
    const bool strip = !has_axis(closed, lanes) && is_strip(options_, graph_.axis(lanes).size);
    if (other == kNone || strip) return {lanes, true, strip};
    return {other, false, false};
  }

  void set_lanes(int32_t loop, const List& list, const Choice& choice) {
    int width = 8;
    for (NodeId n : list) {
      List all = nodes_within(graph_, n);
      all.push_back(n);
      for (NodeId inner : all) {
        const Node& node = graph_.node(inner);
        if (!has_axis(node.axes, choice.axis)) continue;
        std::vector<ValId> vals = node.args;
        vals.insert(vals.end(), node.results.begin(), node.results.end());
        for (ValId v : vals) {
          const DType dtype = graph_.val(v).dtype;
          if (is_floating(dtype) ? dtype != DType::f64 : dtype_bytes(dtype) < 8 && dtype != DType::boolean) width = 4;
        }
      }
    }
    int64_t lanes = options_.vector_bytes / width;
    const int64_t size = graph_.axis(choice.axis).size;
    while (lanes > 2 && lanes / 2 >= size) lanes /= 2;
    tree_.at(loop).lanes = static_cast<int>(std::max<int64_t>(lanes, 2));
    int64_t unroll = options_.unroll;
    if (choice.strip) {
      unroll = options_.reduction_chunk > 0 ? std::max<int64_t>(options_.reduction_chunk / lanes, 1) : kStripVectors;
    }
    while (unroll > 1 && lanes * unroll > size) unroll /= 2;
    tree_.at(loop).unroll = static_cast<int>(unroll);
  }

  /// Values that a node reads from outside of itself, those of its bodies included.
  std::vector<ValId> outer_reads(NodeId n) const {
    std::vector<ValId> out = graph_.reads(n);
    for (NodeId inner : nodes_within(graph_, n)) {
      const std::vector<ValId> more = graph_.reads(inner);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  std::vector<std::vector<Wait>> waits(const List& list) const {
    std::vector<int32_t> position(graph_.nodes.size(), kNone);
    std::vector<std::vector<Access>> touched;
    for (size_t i = 0; i < list.size(); ++i) {
      position[static_cast<size_t>(list[i])] = static_cast<int32_t>(i);
      touched.push_back(accesses(graph_, list[i]));
    }
    std::vector<std::vector<Wait>> out(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      for (ValId v : outer_reads(list[i])) {
        const NodeId def = graph_.val(v).def;
        const int32_t at = def == kNone ? kNone : position[static_cast<size_t>(def)];
        if (at == kNone || static_cast<size_t>(at) == i) continue;
        out[i].push_back({static_cast<size_t>(at), v, true});
      }
      for (size_t j = 0; j < i; ++j) memory_waits(touched[j], touched[i], j, out[i]);
    }
    slot_waits(list, out);
    return out;
  }

  void memory_waits(const std::vector<Access>& before, const std::vector<Access>& after, size_t on,
                    std::vector<Wait>& out) const {
    for (const Access& a : before) {
      for (const Access& b : after) {
        if (a.storage != b.storage || !(a.write || b.write) || disjoint(graph_, *a.index, *b.index)) continue;
        out.push_back({on, kNone, before.size() == 1 && after.size() == 1 && *a.index == *b.index});
      }
    }
  }

  /// A slot is written after everything that reads its old value.
  void slot_waits(const List& list, std::vector<std::vector<Wait>>& out) const {
    for (size_t i = 0; i < list.size(); ++i) {
      const Node& write = graph_.node(list[i]);
      if (write.kind != NodeKind::slot_write) continue;
      for (size_t j = 0; j < list.size(); ++j) {
        const Node& read = graph_.node(list[j]);
        if (read.kind != NodeKind::slot_read || read.slots[0] != write.slots[0]) continue;
        for (size_t k = 0; k < list.size(); ++k) {
          const std::vector<ValId> reads = outer_reads(list[k]);
          const bool uses = std::find(reads.begin(), reads.end(), read.results[0]) != reads.end();
          if (k != i && (uses || k == j)) out[i].push_back({k, kNone, true});
        }
      }
    }
  }

  /// Assigns every node the earliest loop over `a` (nodes with the axis) or gap before a loop (nodes without).
  void split(const List& list, AxisId a, std::vector<List>& gaps, std::vector<List>& loops) const {
    const std::vector<std::vector<Wait>> all = waits(list);
    std::vector<size_t> phase(list.size(), 0);
    const auto in = [&](size_t i) { return has_axis(graph_.node(list[i]).axes, a); };
    bool changed = true;
    while (changed) {  // slots may wait for each other; otherwise one round is enough
      changed = false;
      for (size_t i = 0; i < list.size(); ++i) {
        for (const Wait& wait : all[i]) {
          bool next = in(wait.on);
          if (next && in(i)) next = !passes_lanewise(wait, list[i], a);
          const size_t least = phase[wait.on] + (next ? 1 : 0);
          if (phase[i] >= least) continue;
          phase[i] = least;
          changed = true;
        }
      }
    }
    for (size_t i = 0; i < list.size(); ++i) {
      std::vector<List>& lists = in(i) ? loops : gaps;
      if (lists.size() <= phase[i]) lists.resize(phase[i] + 1);
      lists[phase[i]].push_back(list[i]);
    }
    gaps.resize(std::max(gaps.size(), loops.size() + 1));
    order_slot_writes(gaps);
    order_slot_writes(loops);
  }

  bool passes_lanewise(const Wait& wait, NodeId reader, AxisId a) const {
    const Node& node = graph_.node(reader);
    if (std::find(node.group.begin(), node.group.end(), a) != node.group.end()) return false;
    if (wait.value == kNone) return wait.lanewise;
    return has_axis(graph_.val(wait.value).axes, a);
  }

  /// In one list every read of a slot comes before the writes.
  void order_slot_writes(std::vector<List>& lists) const {
    for (List& list : lists) {
      std::stable_partition(list.begin(), list.end(),
                            [&](NodeId n) { return graph_.node(n).kind != NodeKind::slot_write; });
    }
  }

  const Graph& graph_;
  const LoopOptions& options_;
  LoopTree tree_;
};

}  // namespace

LoopTree build_loops(const Graph& graph, const LoopOptions& options) { return LoopBuilder(graph, options).build(); }

}  // namespace hc::backend::cpu
