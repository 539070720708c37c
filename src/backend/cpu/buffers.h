// Memory for values that outlive the loop which makes them.
#pragma once

#include <vector>

#include "backend/cpu/loops.h"
#include "ir/kernel_ir.h"

namespace hc::backend::cpu {

/// Where a kept value lies: a local memory indexed by the lanes of `axes`.
struct Buffer {
  bool used = false;
  bool packed = false;       ///< row-major over the axes without room between rows: last vectors must not spill over
  std::vector<AxisId> axes;  ///< outermost first
  std::vector<int64_t> strides;
  int32_t local = kNone;
};

struct Buffers {
  std::vector<Buffer> of_val;
  std::vector<Buffer> of_slot;
};

/// Buffers for values read outside of the loop that makes them, for reductions whose results are made lane by lane
/// inside their loop, and for slots with lanes. Appends the memories to `locals`.
Buffers assign_buffers(const Graph& graph, const LoopTree& tree, std::vector<ir::Local>& locals);

/// The dtype in which registers and local memories hold a value: f32 for the 8 and 16 bit floats.
DType register_dtype(DType dtype);

}  // namespace hc::backend::cpu
