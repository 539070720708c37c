// Evidence of a candidate that would be generated differently today.
#pragma once

#include <string>

#include "ledger/goal_file.h"
#include "ledger/store.h"

namespace hc::ledger {

/// Whether the shape's entry rests on that object.
bool is_evidence(const GoalShape& shape, const std::string& object);
/// Whether the shape was declared stale after all of its evidence had been measured, in whatever order the goal file
/// lists that; a later measurement of the candidate that is judged lifts it, one of another candidate does not.
bool marked_stale(const LedgerView& view, const GoalShape& shape);

}  // namespace hc::ledger
