// Whether a baseline ran as fast as it has shown that it can.
#pragma once

#include <string>
#include <vector>

#include "ledger/judge.h"

namespace hc::ledger {

/// Why `baseline` was handicapped in the measurements `ids`, or empty. Its best verified value is taken from all valid
/// measurements of the variant since the goal was created, relative to the anchor kernel of the same run (a copy, or an
/// arm with that role). Over 2 % slower than that, relative to the anchor and in seconds as well, beyond the noise of
/// both runs, blocks the comparison. Runs without an anchor say nothing.
std::string slower_than_itself(Evidence& evidence, const Lock& lock, const LockedVariant& variant,
                               const std::string& baseline, const std::vector<std::string>& ids);

}  // namespace hc::ledger
