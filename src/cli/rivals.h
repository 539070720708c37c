// Which baselines a candidate is confirmed against.
#pragma once

#include <string>
#include <vector>

#include "tune/campaign.h"

namespace hc::cli {

/// Of the arms behind the candidate (the first), the best by `seconds` and every other within 2 % of it; arms whose
/// name is no longer that in `names` do not compete. All three lists are equally long.
std::vector<tune::Contender> nearest_rivals(const std::vector<tune::Contender>& arms,
                                            const std::vector<std::string>& names, const std::vector<double>& seconds);

}  // namespace hc::cli
