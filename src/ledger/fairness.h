// Whether a baseline ran as fast as it has shown that it can.
#pragma once

#include <string>
#include <vector>

#include "ledger/judge.h"

namespace hc::ledger {

/// Baselines within 2 % of the best one have to be confirmed as well.
inline constexpr double kNearBest = 1.02;

/// Why `baseline` was handicapped in the measurements `ids`, or empty. Its best verified value is taken from all valid
/// measurements of the variant since the goal was created, relative to the anchor kernel of the same run (a copy, or an
/// arm with that role). Over 2 % slower than that, relative to the anchor and in seconds as well, beyond the noise of
/// both runs, blocks the comparison. Where no anchor is in both, the same candidate stands for it, with 5 % in place
/// of 2.
std::string slower_than_itself(Evidence& evidence, const Lock& lock, const LockedVariant& variant,
                               const std::string& baseline, const std::vector<std::string>& ids);

/// Ids of all paired measurements of the variant since the goal was created, the first numbers among them.
std::vector<std::string> measured_ids(Evidence& evidence, const std::string& variant);

/// Why the program of `baseline` is not the one that was first measured since the goal was created, or empty: its
/// binary, or a module or package of the same name. Of workers that are this program itself nothing is said: they
/// change whenever it is built.
std::string changed_program(Evidence& evidence, const std::vector<std::string>& measured, const std::string& baseline);

/// Median over all valid rounds of `measured` that have both of the time of `baseline` divided by that of `best`; 0
/// when there is none. One lucky round among many moves it little, so a baseline cannot be measured away.
double times_behind(Evidence& evidence, const std::vector<std::string>& measured, const std::string& baseline,
                    const std::string& best);

}  // namespace hc::ledger
