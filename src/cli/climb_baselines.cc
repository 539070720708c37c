// Which baselines can run on this machine: one that cannot is a row with its reason, and the others go on.
#include <fmt/format.h>

#include "cli/climb.h"
#include "cli/worker_arm.h"

namespace hc::cli {

/// Every baseline's worker and library is looked for; one of them at least has to be there. What is wrong for another
/// reason than this machine is an error.
Status Climb::look_for_baselines(const Subject& subject) const {
  Status missing = success();
  size_t here = 0;
  for (const contract::TaskBaseline& baseline : task_.baselines) {
    const auto made = baseline_contenders(baseline, task_, subject, context_);
    here += made.ok();
    if (made.ok()) continue;
    if (made.error().code != Code::not_available) return made.error();
    if (missing.ok()) missing = made.error();
  }
  return here > 0 ? success() : missing;
}

/// Records, once a run, that a baseline is not available here.
Status Climb::leave_out(Work& work, const contract::TaskBaseline& baseline, const Diagnostic& why) {
  const tune::Contender absent = base_contender(baseline, task_, work.subject);
  Description told;
  told.outcome = ledger::Outcome::refused;
  told.reason = why.help.empty() ? why.message : why.message + "; " + why.help;
  progress_.line(fmt::format("{}  {} is left out: {}", work.label, baseline.name, told.reason));
  if (stored_config(work, absent)) return success();
  HC_TRY(record_config(work, absent, -1, fmt::format("config-{}-{}", work.variant->name, baseline.name), told));
  return success();
}

/// A baseline's arms that can run here, made ready: one per library of ours. None, with the reason on record, where it
/// is not available.
Result<std::vector<tune::Contender>> Climb::arms_of(Work& work, const contract::TaskBaseline& baseline) {
  std::vector<tune::Contender> out;
  Result<std::vector<tune::Contender>> made = baseline_contenders(baseline, task_, work.subject, context_);
  Status missing = made.ok() ? success() : Status(made.error());
  for (tune::Contender& one : made.ok() ? made.value() : out) {
    HC_TRY(tune::hash_binary(&one));
    if (!is_own(baseline)) {
      if (HC_TRY(ready_worker(work, baseline, &one))) out.push_back(std::move(one));
      continue;
    }
    const Status starts = tune::can_start(one);
    if (starts.ok()) {
      out.push_back(std::move(one));
      continue;
    }
    missing = starts;
    if (!one.prepare.library.empty()) {
      progress_.line(fmt::format("{}  {} of {} does not start: {}", work.label, one.arm.name, one.prepare.library,
                                 starts.error().message));
    }
  }
  if (!out.empty() || missing.ok()) return out;
  if (missing.error().code != Code::not_available) return missing.error();
  HC_TRY(leave_out(work, baseline, missing.error()));
  return out;
}

}  // namespace hc::cli
