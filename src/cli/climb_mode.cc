// How launches are timed: one at a time with cold caches, or in a row over rotated inputs; and the second beside the
// first.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/climb.h"
#include "ledger/judge.h"
#include "ledger/thin_win.h"

namespace hc::cli {

/// Numbers of the two modes are never compared, so a goal has one of them from its begin to its end.
Status Climb::agree_on_mode() const {
  if (!options_.back_to_back || lock_.back_to_back) return success();
  return Diagnostic{Code::goal_error,
                    "the goal agreed to time single launches, and --back-to-back asks for launches in a row"}
      .fix("--fresh starts a new run in that mode; `hillclimb measure --back-to-back` measures in it beside this goal");
}

/// Where a verdict rests on it, a GPU is brought to a steady state in each process; arms take turns, so they heat it in
/// turn.
double Climb::preheat_seconds(const Work& work, ledger::Purpose purpose) const {
  const bool decides =
      purpose == ledger::Purpose::confirm || purpose == ledger::Purpose::aa || purpose == ledger::Purpose::audit;
  return work.lease && decides ? task_.effort.preheat_seconds : 0;
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

/// A small win by single launches on a GPU is measured once more in a row, both arms beside one another, for the
/// report alone: its failure costs nothing else.
void Climb::look_at_thin_win(Work& work, const std::vector<tune::Contender>& rivals) {
  if (!work.lease || lock_.back_to_back || work.evidence.empty()) return;
  ledger::Evidence evidence(options_.artifacts, store_->view());
  const ledger::VariantVerdict v = ledger::judge_variant(evidence, lock_, work.variant->name, work.evidence);
  const auto rival =
      std::find_if(rivals.begin(), rivals.end(), [&](const auto& one) { return one.arm.name == v.best_baseline; });
  if (!ledger::is_thin_win(v.best.ratio) || rival == rivals.end()) return;
  progress_.line(
      fmt::format("{}  a win of {:.1f} %: looking at it back to back", work.label, 100 * (v.best.ratio - 1)));
  const Result<std::string> stored = measure_beside(work, {work.candidate, *rival});
  if (!stored.ok()) progress_.line(fmt::format("{}  not back to back: {}", work.label, stored.error().message));
}

}  // namespace hc::cli
