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
    for (const RowLoad& load : loads) {
      if (load.loop == loads.back().loop) prefetches_[load.loop].push_back(load.node);
    }
  }
}

void Emitter::emit_prefetches(int32_t loop) {
  const auto it = prefetches_.find(loop);
  if (it == prefetches_.end()) return;
  for (NodeId n : it->second) {
    const Node& node = graph_.node(n);
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
  }
}

}  // namespace hc::backend::cpu
