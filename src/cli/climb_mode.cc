// How launches are timed: one at a time with cold caches, or in a row over rotated inputs; and the second beside the
// first.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/climb.h"

namespace hc::cli {

/// Numbers of the two modes are never compared, so a goal has one of them from its begin to its end.
Status Climb::agree_on_mode() const {
  if (!options_.back_to_back || lock_.back_to_back) return success();
  return Diagnostic{Code::goal_error,
                    "the goal agreed to time single launches, and --back-to-back asks for launches in a row"}
      .fix("--fresh starts a new run in that mode; `hillclimb measure --back-to-back` measures in it beside this goal");
}

std::string Climb::nomination_name(const Work& work) const {
  return fmt::format("{}-{}", beside_ ? "back-to-back" : "nominate", work.variant->name);
}

/// A few pairs in a row for a goal of single launches: stored for the reader, named by no entry, part of no verdict.
Result<std::string> Climb::measure_beside(Work& work, const std::vector<tune::Contender>& arms) {
  const bool before = std::exchange(beside_, true);
  const tune::CampaignPlan plan = campaign_plan(
      work, ledger::Purpose::nominate, std::max(2, task_.effort.nominate_pairs), "measuring launches in a row");
  Result<std::string> stored = measure_and_store(work, arms, plan, nomination_name(work), {});
  beside_ = before;
  return stored;
}

}  // namespace hc::cli
