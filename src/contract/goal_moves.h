// What an owner or an agent may do to a goal: pause, block, resume and tighten it. Each leaves a line in the ledger.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/goal.h"

namespace hc::contract {

/// Pauses the goal in the owner's own words; refused without them.
Status pause_goal(ledger::Store& store, const std::string& quote);
/// Goes on with a paused or blocked goal.
Status resume_goal(ledger::Store& store, const std::string& words);

/// Blocks the goal with a question for the owner. The evidence, object ids or paths, has to show that a hand-edited
/// kernel of the worst failing variant falls short of the best baseline on the same machine; where that baseline has a
/// tuner of its own, or no source in its recipe, an ablation of its config measured before it as well. A hand-edited
/// kernel that reaches parity refuses the block and becomes the first idea of the backlog.
Status block_goal(ledger::Store& store, const std::string& anchor_path, const std::string& question,
                  const std::vector<std::string>& evidence);

/// What an amendment changes; it can only tighten.
struct Amendment {
  std::optional<double> margin, geomean_min;
  std::vector<std::pair<std::string, double>> targets;  ///< variant and its new target
  std::string reason;
};
/// Replaces the lock by a tighter one and derives every shape anew; returns what changed as a sentence.
Result<std::string> amend_goal(ledger::Store& store, const Amendment& amendment);

}  // namespace hc::contract
