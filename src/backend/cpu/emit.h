// A loop tree to kernel IR.
#pragma once

#include "backend/cpu/buffers.h"

namespace hc::backend::cpu {

struct EmitOptions {
  std::vector<int> order;      ///< the launch's axes from the outermost grid loop in
  std::vector<bool> streamed;  ///< by TensorId: stores go past the caches
  bool prefetch = false;       ///< the last sweep over a row that is read more than once asks for the next row
  int64_t l1d_bytes = 32 << 10;
};

/// The launch as kernel IR.
Result<ir::KernelLaunch> emit_launch(const ir::Program& program, const ir::Launch& launch, const Graph& graph,
                                     const LoopTree& tree, const EmitOptions& options);

}  // namespace hc::backend::cpu
