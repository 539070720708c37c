// What a reader has to know of how a row was timed: the share of an empty launch, and small wins that a row of launches
// does not show.
#pragma once

#include <string>

#include "ledger/judge.h"
#include "ledger/records.h"

namespace hc::report {

/// Arms in whose single readings an empty launch makes up over 5 %, `hillclimb 3.3 of 9.8 us (34 %)`, with commas
/// between; empty where there is none.
std::string empty_launch_text(const ledger::PairsArtifact& a);

/// Of a variant on a GPU that wins by less than 5 % in single launches, as `a` measured it: that the win is not there
/// when launches follow each other, or that nobody looked. Empty where there is nothing to say.
std::string thin_win_text(ledger::Evidence& evidence, const ledger::Lock& lock, const ledger::VariantVerdict& verdict,
                          const ledger::PairsArtifact& a);

}  // namespace hc::report
