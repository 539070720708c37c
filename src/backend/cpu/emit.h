// A loop tree to kernel IR.
#pragma once

#include "backend/cpu/buffers.h"

namespace hc::backend::cpu {

enum class Prefetch : uint8_t { none, last, two, all };

struct EmitOptions {
  std::vector<int> order;      ///< the launch's axes from the outermost grid loop in
  std::vector<bool> streamed;  ///< by TensorId: stores go past the caches
  /// Sweeps over a row, read more than once, that ask for the next row between them: none, the last one that reads it,
  /// the last two, or all.
  Prefetch prefetch = Prefetch::none;
  int64_t l1d_bytes = 32 << 10;
};

/// The launch as kernel IR.
Result<ir::KernelLaunch> emit_launch(const ir::Program& program, const ir::Launch& launch, const Graph& graph,
                                     const LoopTree& tree, const EmitOptions& options);

}  // namespace hc::backend::cpu
