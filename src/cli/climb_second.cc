// The candidate's kernel under a second backend of its own worker, beside the oracle, before the first number.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/climb.h"
#include "cli/worker_arm.h"

namespace hc::cli {
namespace {

/// The candidate's worker with another implementation, in that one's own default config: a tuner's choice for one
/// backend need not exist in another, and nothing is timed.
Result<tune::Contender> second_contender(const contract::Task& task, const Subject& subject, const std::string& name) {
  contract::TaskBaseline other = *task.candidate;
  other.config.clear();
  for (auto& [key, value] : other.recipe) {
    if (key == "implementation") value = Json(name).dump();
  }
  tune::Contender out = HC_TRY(worker_contender(other, task, subject, ledger::Role::candidate));
  out.arm.name = fmt::format("{} under {}", task.candidate->name, name);
  Json options = parse_json(out.prepare.options).value_or(Json::object());
  if (!options.is_object()) options = Json::object();
  options["untuned"] = true;
  out.prepare.options = options.dump();
  return out;
}

}  // namespace

/// Starts the second backends that have no record for this kernel in this run; the candidate is checked meanwhile.
Result<std::vector<Climb::Asked>> Climb::ask_seconds(const Work& work) {
  std::vector<Asked> out;
  for (const std::string& name : task_.candidate->second) {
    tune::Contender arm = HC_TRY(second_contender(task_, work.subject, name));
    arm.env = work.env;
    arm.elements = work.elements;
    const auto found = stored_config(work, arm);
    const ledger::Outcome before = found ? found->second.candidates.front().outcome : ledger::Outcome::crashed;
    if (before == ledger::Outcome::ok || before == ledger::Outcome::refused) continue;
    std::future<Description> answer =
        std::async(std::launch::async, [arm] { return describe(arm, -1, /*outputs=*/true); });
    out.emplace_back(std::move(arm), std::move(answer));
  }
  return out;
}

/// Keeps each answer as a record of this run. A backend that refuses or dies is a row with its error; a wrong answer
/// says that the kernel does not mean the same everywhere, and stops.
Status Climb::judge_seconds(Work& work, std::vector<Asked> seconds) {
  Status out = success();
  for (auto& [arm, answer] : seconds) {
    Description asked = answer.get();
    judge_outputs(work, arm, &asked);
    const ledger::Outcome outcome = asked.outcome;
    const std::string reason = asked.reason;
    const std::string name = fmt::format("second-{}-{}", work.variant->name, arm.prepare.implementation);
    HC_TRY(record_config(work, arm, -1, name, std::move(asked)));
    if (outcome == ledger::Outcome::ok) {
      progress_.line(fmt::format("{}  {}: right", work.label, arm.arm.name));
    } else if (outcome != ledger::Outcome::wrong_answer) {
      progress_.line(fmt::format("{}  {} was not checked: {}", work.label, arm.arm.name, reason));
    } else if (out.ok()) {
      out = Diagnostic{Code::wrong_answer, fmt::format("{}: {}: {}", work.label, arm.arm.name, reason)}.fix(
          "the backend errs, or the kernel does not say what it means: find out which before anything is measured");
    }
  }
  return out;
}

}  // namespace hc::cli
