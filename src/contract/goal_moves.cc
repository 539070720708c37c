// Pause, resume and amend.
#include "contract/goal_moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/faults.h"
#include "ledger/checker.h"

namespace hc::contract {
namespace {

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\"'") == std::string::npos; }

/// The lock that the ledger holds last: after a killed amendment the goal file may still name the one before.
std::string newest_lock(const ledger::LedgerView& view, const std::string& otherwise) {
  std::string out = otherwise;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "goal" || line.kind == "amend") out = line.object;
  }
  return out;
}

/// Applies the amendment to `lock`; returns what changed, or why it is refused.
Result<std::string> tighten(const Amendment& a, ledger::Lock* lock) {
  std::string changes;
  const auto note = [&](const std::string& what, double from, double to) {
    if (from != to) changes += fmt::format("{}{} from {} to {}", changes.empty() ? "" : ", ", what, from, to);
  };
  const auto looser = [](const std::string& what, double from, double to) {
    return goal_error(fmt::format("{} is {} and {} would loosen it; an amendment can only tighten", what, from, to));
  };
  if (a.margin) {
    if (!(*a.margin >= 0 && *a.margin <= lock->criteria.margin))
      return looser("the margin", lock->criteria.margin, *a.margin);
    note("the margin", lock->criteria.margin, *a.margin);
    lock->criteria.margin = *a.margin;
  }
  if (a.geomean_min) {
    if (!(*a.geomean_min >= lock->criteria.geomean_min && *a.geomean_min < 1e3)) {
      return looser("the geomean's minimum", lock->criteria.geomean_min, *a.geomean_min);
    }
    note("the geomean's minimum", lock->criteria.geomean_min, *a.geomean_min);
    lock->criteria.geomean_min = *a.geomean_min;
  }
  for (const auto& [name, target] : a.targets) {
    const auto v = std::find_if(lock->variants.begin(), lock->variants.end(),
                                [&, wanted = name](const auto& one) { return one.name == wanted; });
    if (v == lock->variants.end()) return goal_error(fmt::format("the goal has no variant \"{}\"", name));
    if (!(target >= v->target && target < 1e3)) return looser("the target of " + name, v->target, target);
    note("the target of " + name, v->target, target);
    v->target = target;
  }
  if (changes.empty()) return goal_error("the amendment changes nothing");
  return changes;
}

/// Derives one shape under the present lock and keeps its stale mark, which the ledger has as well.
Status rederive(ledger::Store& store, const GoalShape& shape) {
  if (shape.evidence.empty()) return success();
  HC_TRY(update_shape(store, shape.name, shape.evidence));
  if (!shape.stale) return success();
  Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  if (GoalShape* again = goal.shape(shape.name)) again->stale = true;
  return write_goal(store.artifacts_dir(), goal);
}

}  // namespace

Status pause_goal(ledger::Store& store, const std::string& quote) {
  if (blank(quote)) {
    return usage_error("a pause needs the owner's own words").fix("`hillclimb goal pause --quote \"what they said\"`");
  }
  return set_status(store, "paused", quote, {});
}

Status resume_goal(ledger::Store& store, const std::string& words) {
  const Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  // a killed command may have left the decision in the ledger alone
  const bool ledger_differs = !ledger::status_disagreement(store.view(), goal).empty();
  if (goal.status != "paused" && goal.status != "blocked" && !ledger_differs) {
    return goal_error(fmt::format("the goal is {}; only a paused or blocked one can be resumed", goal.status));
  }
  return set_status(store, "running", words, {});
}

Result<std::string> amend_goal(ledger::Store& store, const Amendment& amendment) {
  if (blank(amendment.reason))
    return usage_error("an amendment needs its reason; the report shows it for ever").fix("--reason \"why\"");
  Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  if (!goal.has_lock()) return goal_error("this goal file has no lock, so there is nothing to amend");
  ledger::Lock lock = HC_TRY(read_lock(store.artifacts_dir(), newest_lock(store.view(), goal.lock)));
  const std::string changes = HC_TRY(tighten(amendment, &lock));
  lock.created = ledger::utc_now();
  ledger::LedgerLine line;
  line.kind = "amend";
  line.run = goal.run;
  line.object = HC_TRY(store_lock(store, lock));
  line.note = fmt::format("{}: {}", changes, amendment.reason);
  const std::string id = line.object;
  HC_TRY(store.append(std::move(line)));
  goal.lock = id;
  goal.geomean_min = lock.criteria.geomean_min;
  if (goal.status == "met") goal.status = "running";
  HC_TRY(write_goal(store.artifacts_dir(), goal));
  for (const GoalShape& shape : goal.shapes) HC_TRY(rederive(store, shape));
  return changes;
}

}  // namespace hc::contract
