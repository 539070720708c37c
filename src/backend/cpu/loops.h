// A graph as a tree of loops: every axis of a node gets a loop around it, nodes share loops where that is legal.
#pragma once

#include <vector>

#include "backend/cpu/graph.h"

namespace hc::backend::cpu {

inline constexpr int kStripVectors = 8;  ///< accumulators beside each other that leave registers for the rest

struct LoopOptions {
  int vector_bytes = 16;
  int unroll = 1;
  int64_t reduction_chunk = 0;  ///< lanes of a loop around a reduction over another axis; 0: all, if they fit registers
  bool recompute = false;       ///< make values of an earlier loop anew rather than keep them in memory
};

/// A node or a loop in a container.
struct Item {
  bool loop = false;
  int32_t id = 0;
};

/// A list of items: the body of a loop over an axis, or of a region.
struct Container {
  int32_t parent = kNone;
  BodyId body = kNone;  ///< of a region; kNone for a loop over an axis
  AxisId axis = kNone;
  int lanes = 1;  ///< above 1: the loop takes so many lanes at once
  int unroll = 1;
  std::vector<Item> items;
};

struct LoopTree {
  std::vector<Container> containers;    ///< 0 is the launch's body
  std::vector<int32_t> body_container;  ///< by BodyId
  std::vector<int32_t> node_container;  ///< by NodeId; kNone for nodes that nobody needs

  const Container& at(int32_t c) const { return containers[static_cast<size_t>(c)]; }
  Container& at(int32_t c) { return containers[static_cast<size_t>(c)]; }
  /// Whether `outer` is `inner` or lies around it.
  bool encloses(int32_t outer, int32_t inner) const;
  int32_t common(int32_t a, int32_t b) const;
  int depth(int32_t c) const;
  /// Axes of the loops from the root down to and including c, sorted.
  std::vector<AxisId> open_axes(int32_t c) const;
  /// Where a value comes to be: past its loop for a reduction's result.
  int32_t home(const Graph& graph, ValId v) const;
};

/// Axes that may be looped over around a loop or branch, and not inside of it, are put into its node's axes.
void hoist_axes(Graph& graph, const LoopOptions& options);
LoopTree build_loops(const Graph& graph, const LoopOptions& options);
/// Makes cheap values anew where they would have to be kept in memory; drops what nobody reads.
void settle_values(Graph& graph, LoopTree& tree, const LoopOptions& options);

/// One access of a node or of a node inside of it.
struct Access {
  ir::StorageId storage = kNone;
  const Index* index = nullptr;
  bool write = false;
};
/// Nodes of a body and of the bodies inside, in order.
std::vector<NodeId> nodes_within(const Graph& graph, NodeId n);
std::vector<Access> accesses(const Graph& graph, NodeId n);
/// Whether accesses at these elements of one storage never meet, whatever their lanes.
bool disjoint(const Graph& graph, const Index& a, const Index& b);
/// Storages that the launch writes.
std::vector<bool> written_storages(const Graph& graph);
/// The axis whose lanes lie side by side in most loads and stores of these nodes, or kNone.
AxisId lane_axis(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<AxisId>& open,
                 int vector_bytes);
/// Whether a loop over so many lanes may stand around a reduction over another axis, its accumulators in registers.
bool is_strip(const LoopOptions& options, int64_t lanes);

}  // namespace hc::backend::cpu
