// Prefetches: while the last of several sweeps over a row computes, the memory system fetches the next row.
#include <algorithm>
#include <map>

#include "backend/cpu/emitter.h"

namespace hc::backend::cpu {
namespace {

/// A load of whole vectors from a place that moves with the rows.
struct RowLoad {
  NodeId node = kNone;
  int32_t loop = kNone;  ///< the vector loop
  int32_t rows = kNone;  ///< the loop over rows around it
};

}  // namespace

void Emitter::plan_prefetches() {
  std::map<std::pair<int32_t, ir::StorageId>, std::vector<RowLoad>> by_row;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const int32_t loop = tree_.node_container[i];
    if (node.kind != NodeKind::load || loop == kNone || tree_.at(loop).lanes == 1) continue;
    if (node.index.lane_scale(tree_.at(loop).axis) != 1 || node.mask != kNone) continue;
    for (int32_t c = tree_.at(loop).parent; c != kNone; c = tree_.at(c).parent) {
      if (tree_.at(c).axis == kNone || node.index.lane_scale(tree_.at(c).axis) == 0) continue;
      by_row[{c, node.storage}].push_back({static_cast<NodeId>(i), loop, c});
      break;
    }
  }
  for (auto& [key, loads] : by_row) {
    std::sort(loads.begin(), loads.end(), [](const RowLoad& a, const RowLoad& b) { return a.loop < b.loop; });
    if (loads.front().loop == loads.back().loop) continue;  // one sweep: the hardware sees it coming
    std::vector<int32_t> sweeps;
    std::vector<NodeId> last;
    for (const RowLoad& load : loads) {
      if (sweeps.empty() || sweeps.back() != load.loop) sweeps.push_back(load.loop);
      if (load.loop == loads.back().loop) last.push_back(load.node);
    }
    if (options_.prefetch == Prefetch::all) sweeps = sweeps_of(key.first, tree_.at(loads.back().loop).axis);
    const size_t wanted = options_.prefetch == Prefetch::last ? 1 : 2;
    if (options_.prefetch != Prefetch::all) sweeps.erase(sweeps.begin(), sweeps.end() - static_cast<int64_t>(wanted));
    share_row(last, sweeps);
  }
}

/// Vector loops over an axis inside of a loop, in order.
std::vector<int32_t> Emitter::sweeps_of(int32_t rows, AxisId axis) const {
  std::vector<int32_t> out;
  for (size_t c = 0; c < tree_.containers.size(); ++c) {
    const Container& loop = tree_.containers[c];
    if (loop.axis == axis && loop.lanes > 1 && !loop.items.empty() && tree_.encloses(rows, static_cast<int32_t>(c))) {
      out.push_back(static_cast<int32_t>(c));
    }
  }
  return out;
}

/// Divides the next row of these loads among sweeps: each asks for every n-th vector. Loads inside of tile loops keep
/// to their own sweep, since their subscripts mean nothing in another.
void Emitter::share_row(const std::vector<NodeId>& loads, const std::vector<int32_t>& sweeps) {
  for (NodeId n : loads) {
    const int32_t own = tree_.node_container[static_cast<size_t>(n)];
    bool free = true;
    for (const auto& [v, scale] : graph_.node(n).index.values) {
      free = free && std::find(graph_.begins.begin(), graph_.begins.end(), v) != graph_.begins.end();
    }
    if (!free || sweeps.size() == 1) {
      prefetches_[own].push_back({n, 0, 1});
      continue;
    }
    for (size_t i = 0; i < sweeps.size(); ++i) {
      prefetches_[sweeps[i]].push_back({n, static_cast<int>(i), static_cast<int>(sweeps.size())});
    }
  }
}

void Emitter::emit_prefetches(int32_t loop) {
  const auto it = prefetches_.find(loop);
  if (it == prefetches_.end()) return;
  for (const RowPrefetch& prefetch : it->second) {
    const Node& node = graph_.node(prefetch.load);
    ir::Address address = address_of(node.index, true);
    address.memory = node.storage;
    if (address.gather != kNone) continue;
    int64_t row = 0;
    for (int32_t c = tree_.at(loop).parent; c != kNone && row == 0; c = tree_.at(c).parent) {
      if (tree_.at(c).axis != kNone) row = node.index.lane_scale(tree_.at(c).axis);
    }
    address.offset.constant += row;
    const int64_t bytes = row * dtype_bytes(program_.storage(node.storage).dtype);
    ir::Stmt& stmt = push(ir::KernelOp::prefetch);
    stmt.address = std::move(address);
    stmt.stride = bytes * 2 <= options_.l1d_bytes ? 1 : 2;
    stmt.step = prefetch.part;
    stmt.copies = prefetch.parts;
  }
}

}  // namespace hc::backend::cpu
