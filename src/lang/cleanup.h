// Removal of device ops that nothing observes, and of carried values that a loop only passes through.
#pragma once

#include "ir/tile_ir.h"

namespace hc::lang {

/// Drops dead ops and dead carried values and renumbers the launch's values. Returns whether a store is left.
bool clean_launch(ir::Launch& launch);

}  // namespace hc::lang
