// `hillclimb check`: the verdict of a goal file from its evidence.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/evidence.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

Result<int> check(const Parsed& parsed, const Context& context) {
  ledger::CheckOptions options;
  options.goal_path = parsed.get("GOAL", options.goal_path);
  options.anchor_path = anchor_path(context, artifacts_of_goal(options.goal_path));
  options.strict = parsed.has("--strict");
  const ledger::CheckReport report = ledger::check_goal(options);
  fmt::print("{}", parsed.has("--json") ? ledger::to_json(report) + "\n" : report.text);
  return report.exit_code;
}

}  // namespace

const Command& check_command() {
  static const Command kCommand{
      "check",
      false,
      "Judge a goal from its evidence: exit 0 met, 1 unmet, 2 evidence broken, 3 undecided.",
      {{"GOAL", OptionKind::optional_word, "", "The goal file; artifacts/goal.json if left out."},
       {"--strict", OptionKind::flag, "", "Exit 1 for a goal file without lock and ledger; for CI."},
       {"--json", OptionKind::flag, "", "Print the verdict as JSON."}},
      check};
  return kCommand;
}

}  // namespace hc::cli
