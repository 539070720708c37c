// Head starts for the search: what is often good for rows on a CPU.
#include <algorithm>
#include <map>

#include "backend/cpu/cpu.h"
#include "backend/cpu/loops.h"

namespace hc::backend::cpu {
namespace {

constexpr int64_t kFastLanes = 4096;  ///< of a dimension whose neighbours lie side by side: long runs, tables in L1
constexpr int64_t kSlowLanes = 8;     ///< of other dimensions: enough tiles for every thread

/// Whether the lanes of a block lie side by side in most accesses that follow it.
std::map<ir::BlockId, bool> fast_blocks(const ir::Program& program) {
  std::map<ir::BlockId, int> votes;
  for (const ir::Step& step : program.steps) {
    if (step.kind != ir::Step::Kind::launch) continue;
    const Result<Graph> graph = build_graph(program, step.launch);
    if (!graph) continue;
    for (const Node& node : graph.value().nodes) {
      if (node.kind != NodeKind::load && node.kind != NodeKind::store) continue;
      for (const auto& [axis, scale] : node.index.lanes) {
        const ir::BlockId block = graph.value().axis(axis).block;
        if (block != kNone) votes[block] += scale == 1 ? 1 : -1;
      }
      if (node.index.lanes.size() != 1 || node.index.lanes[0].second != 1) continue;
      // One number per row says little about rows.
      const ir::BlockId block = graph.value().axis(node.index.lanes[0].first).block;
      if (block != kNone && node.index.lanes.size() == 1 && graph.value().axes.size() > 1) votes[block] -= 1;
    }
  }
  std::map<ir::BlockId, bool> out;
  for (const auto& [block, vote] : votes) out[block] = vote > 0;
  return out;
}

/// Lanes that leave every thread some tiles of an extent.
int64_t share(int64_t extent, int cores) { return std::max<int64_t>(extent / (4 * int64_t{cores}), 1); }

/// Most lanes of a block: tiles are what threads share, where a launch has one tile axis only; a tile whose inner loop
/// walks over it (partial sums by blocks of rows) is best large.
std::map<ir::BlockId, int64_t> wanted_lanes(const ir::Program& program, int cores, int64_t slow_lanes) {
  const std::map<ir::BlockId, bool> fast = fast_blocks(program);
  std::map<ir::BlockId, int64_t> out;
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const auto it = fast.find(static_cast<ir::BlockId>(b));
    out[static_cast<ir::BlockId>(b)] = it != fast.end() && it->second ? kFastLanes : slow_lanes;
  }
  for (const ir::Step& step : program.steps) {
    if (step.kind != ir::Step::Kind::launch) continue;
    for (size_t i = 0; i < step.launch.axes.size(); ++i) {
      const ir::GridAxis& axis = step.launch.axes[i];
      if (axis.block == kNone) continue;
      const int64_t most = share(axis.end - axis.begin, cores);
      if (step.launch.axes.size() == 1 && out[axis.block] > most) out[axis.block] = most;
      for (const ir::Op& op : step.launch.body.ops) {
        if (op.kind == ir::OpKind::for_tile && op.operands[0].value == step.launch.body.args[i]) out[axis.block] = most;
      }
    }
  }
  return out;
}

/// The largest allowed power of two up to `wanted`.
int64_t block_size(const ir::Block& block, int64_t wanted) {
  int64_t size = std::max<int64_t>(block.min, 1);
  while (size * 2 <= std::min(wanted, block.max) && (block.extent <= 0 || size < block.extent)) size *= 2;
  return size;
}

knob::Config sized(const ir::Program& program, int cores, int64_t slow_lanes) {
  std::map<ir::BlockId, int64_t> wanted = wanted_lanes(program, cores, slow_lanes);
  knob::Config out;
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const ir::Block& block = program.blocks[b];
    if (block.fixed) continue;
    const int64_t size = block_size(block, wanted[static_cast<ir::BlockId>(b)]);
    out.set(knob::key("block_size", block.name), std::to_string(size));
  }
  return out;
}

}  // namespace

std::vector<knob::Config> seeds(const ir::Program& program, const target::Target& target) {
  const std::vector<knob::Choice> all = choices(program, target);
  std::vector<knob::Config> out;
  const auto add = [&](int64_t slow_lanes, const char* store, const char* unroll, const char* prefetch) {
    knob::Config config = sized(program, target.cores, slow_lanes);
    config.set("threads", std::to_string(target.cores));
    config.set("vector_bytes", std::to_string(target.vector_bytes));
    config.set("unroll", unroll);
    config.set("prefetch", prefetch);
    for (const knob::Choice& choice : all) {
      if (choice.name == "store") config.set(choice.key, store);
    }
    out.push_back(std::move(config));
  };
  add(kSlowLanes, "streaming", "8", "last");
  add(kSlowLanes, "streaming", "4", "last");
  add(kSlowLanes, "streaming", "8", "none");
  add(4 * kSlowLanes, "streaming", "8", "last");
  add(kSlowLanes, "plain", "4", "none");
  add(1, "streaming", "4", "last");
  return out;
}

}  // namespace hc::backend::cpu
