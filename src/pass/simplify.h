// Tile IR made smaller: neutral operands, equal operations, constant integers.
#pragma once

#include "ir/tile_ir.h"

namespace hc::pass {

/// The same program with fewer operations: x + 0, x - 0, x * 1 and x / 1 are x; an operation equal to one that is
/// visible is that one (loads only of storages that the launch does not write); integer scalars of constants are
/// constants. Values keep their numbers; those that nothing reads any more stay where they are.
ir::Program simplify(ir::Program program);

}  // namespace hc::pass
