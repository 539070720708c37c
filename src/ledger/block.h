// What the status `blocked` has to rest on; `goal block` and the checker ask this one function.
#pragma once

#include <string>
#include <vector>

#include "ledger/goal_file.h"
#include "ledger/judge.h"

namespace hc::ledger {

/// Whether a goal may be blocked.
struct BlockRuling {
  std::string doubt;    ///< why it may not, a sentence without full stop; empty: it may
  std::string fix;      ///< what would help, or empty
  std::string variant;  ///< the worst failing one, whom the block is about
  std::string parity;   ///< object id of a hand-edited kernel of it that reached parity, or empty
};

/// Rules on the question and the evidence that `goal` names in question_for_user and status_evidence. `worst_first` are
/// the verdicts of its variants. The worst one has to fail, and a hand-edited kernel of it has to have been measured,
/// announced, on the same device and with the same timer, and to have failed against the best baseline; where that
/// baseline has a tuner, or no source in its recipe, an ablation of its own config before that.
BlockRuling rule_on_block(Evidence& evidence, const Lock& lock, const Goal& goal,
                          const std::vector<VariantVerdict>& worst_first);

/// Log times of one arm over those of another, round by round; of an ablation, what a change is worth.
std::vector<PairTimes> times_between(const PairsArtifact& artifact, const std::string& changed,
                                     const std::string& whole);

}  // namespace hc::ledger
