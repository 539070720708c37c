// The nominated best baseline and those near it.
#include "cli/rivals.h"

#include <algorithm>

#include "ledger/fairness.h"

namespace hc::cli {

std::vector<tune::Contender> nearest_rivals(const std::vector<tune::Contender>& arms,
                                            const std::vector<std::string>& names, const std::vector<double>& seconds) {
  const double best = *std::min_element(seconds.begin() + 1, seconds.end());
  std::vector<tune::Contender> out;
  for (size_t i = 1; i < arms.size(); ++i) {
    if (arms[i].arm.name == names[i] && seconds[i] <= best * ledger::kNearBest) out.push_back(arms[i]);
  }
  return out;
}

}  // namespace hc::cli
