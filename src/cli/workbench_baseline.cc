// What each thing in a baseline's recipe is worth: the ablation that a block of the goal may have to show.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/recipe.h"
#include "cli/workbench.h"
#include "cli/worker_arm.h"
#include "ledger/block.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

constexpr size_t kChangesAtOnce = 9;  ///< beside winner and baseline; a longer round lets the machine drift

const contract::TaskBaseline* find_baseline(const contract::Task& task, const std::string& name) {
  for (const contract::TaskBaseline& baseline : task.baselines) {
    if (baseline.name == name) return &baseline;
  }
  return nullptr;
}

}  // namespace

Result<const contract::TaskBaseline*> Workbench::baseline(const std::string& name) const {
  if (const contract::TaskBaseline* found = find_baseline(task_, name)) return found;
  std::string known;
  for (const contract::TaskBaseline& b : task_.baselines) known += (known.empty() ? "" : ", ") + b.name;
  return Diagnostic{Code::usage, fmt::format("the task {} has no baseline `{}`", task_.name, name)}.fix(
      "its baselines are " + known);
}

/// The baseline as it is confirmed against; one that is far from the best is taken as its recipe says.
Result<tune::Contender> Workbench::whole_baseline(const contract::TaskBaseline& baseline) {
  for (tune::Contender& rival : HC_TRY(rivals(work_))) {
    if (rival.arm.name == baseline.name) return std::move(rival);
  }
  Status why = success();
  for (tune::Contender& one : HC_TRY(baseline_contenders(baseline, task_, work_.subject, context_))) {
    HC_TRY(tune::hash_binary(&one));
    if (!is_own(baseline)) {
      if (HC_TRY(ready_worker(work_, baseline, &one))) return std::move(one);
      continue;
    }
    why = tune::can_start(one);
    if (why.ok()) return std::move(one);
  }
  if (!why.ok()) return why.error();
  return Diagnostic{Code::not_available, fmt::format("the baseline {} does not run here", baseline.name)};
}

/// The baseline with one thing changed; an error says why it cannot run so.
Result<tune::Contender> Workbench::changed_baseline(const RecipeChange& change, const tune::Contender& whole) {
  std::vector<tune::Contender> made = HC_TRY(baseline_contenders(change.recipe, task_, work_.subject, context_));
  const auto same = std::find_if(made.begin(), made.end(), [&](const tune::Contender& one) {
    return one.prepare.library == whole.prepare.library;
  });
  tune::Contender out = same == made.end() ? std::move(made.front()) : std::move(*same);
  if (!whole.prepare.config.empty()) pin_config(&out, whole.prepare.config);
  out.env = whole.env;
  out.elements = whole.elements;
  out.arm.name = fmt::format("{} with {}", whole.arm.name, change.text);
  out.arm.role = ledger::Role::anchor;
  out.arm.varies = whole.arm.name;
  apply_change(change, &out);
  HC_TRY(tune::hash_binary(&out));
  HC_TRY(tune::can_start(out));
  return out;
}

Result<std::vector<Ablation>> Workbench::ablate_baseline(const std::string& name,
                                                         const std::vector<std::string>& sets) {
  const contract::TaskBaseline* const found = HC_TRY(baseline(name));
  HC_TRY(recipe_changes(*found, {}, site_.target, {}, sets));  // what was typed wrong is said before anything runs
  if (by_worker()) {
    HC_TRY(tune_variant(work_));
    HC_TRY(check_candidate(work_));
  } else {
    HC_TRY(prepare_candidate(HC_TRY(incumbent())));
  }
  tune::Contender whole = HC_TRY(whole_baseline(*found));
  std::vector<std::string> libraries;
  for (const tune::Contender& one : HC_TRY(baseline_contenders(*found, task_, work_.subject, context_))) {
    libraries.push_back(one.prepare.library);
  }
  std::vector<Ablation> rows;
  std::vector<tune::Contender> arms;
  std::vector<size_t> row_of_arm;
  for (const RecipeChange& change : HC_TRY(recipe_changes(*found, whole, site_.target, libraries, sets))) {
    rows.push_back({change.text, ""});
    Result<tune::Contender> changed = changed_baseline(change, whole);
    if (!changed.ok()) {
      rows.back().reason = changed.error().message;
      continue;
    }
    arms.push_back(std::move(changed).value());
    row_of_arm.push_back(rows.size() - 1);
  }
  return measure_baseline_ablations(std::move(rows), whole, arms, row_of_arm);
}

Result<std::vector<Ablation>> Workbench::measure_baseline_ablations(std::vector<Ablation> rows,
                                                                    const tune::Contender& whole,
                                                                    const std::vector<tune::Contender>& arms,
                                                                    const std::vector<size_t>& row_of_arm) {
  const int pairs = options_.pairs > 0 ? options_.pairs : std::max(5, task_.effort.nominate_pairs);
  for (size_t begin = 0; begin < arms.size(); begin += kChangesAtOnce) {
    const size_t end = std::min(arms.size(), begin + kChangesAtOnce);
    std::vector<tune::Contender> batch = {work_.candidate, whole};
    batch.insert(batch.end(), arms.begin() + static_cast<ptrdiff_t>(begin), arms.begin() + static_cast<ptrdiff_t>(end));
    const tune::CampaignPlan plan = campaign_plan(
        work_, ledger::Purpose::ablate, pairs, fmt::format("ablating {}: {} of {}", whole.arm.name, end, arms.size()));
    ledger::PairsArtifact measured;
    const std::string id =
        HC_TRY(measure_and_store(work_, batch, plan, fmt::format("ablate-baseline-{}", work_.variant->name),
                                 [&](ledger::PairsArtifact* artifact) { measured = *artifact; }));
    for (size_t i = begin; i < end; ++i) {
      rows[row_of_arm[i]].object = id;
      rows[row_of_arm[i]].comparison =
          ledger::compare_pairs(ledger::times_between(measured, arms[i].arm.name, whole.arm.name), {});
    }
  }
  return rows;
}

}  // namespace hc::cli
