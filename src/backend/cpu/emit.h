// A loop tree to kernel IR.
#pragma once

#include "backend/cpu/buffers.h"

namespace hc::backend::cpu {

/// The launch as kernel IR; `order` lists the launch's axes from the outermost grid loop in.
Result<ir::KernelLaunch> emit_launch(const ir::Program& program, const ir::Launch& launch, const Graph& graph,
                                     const LoopTree& tree, const std::vector<int>& order,
                                     const std::vector<bool>& streamed);

}  // namespace hc::backend::cpu
