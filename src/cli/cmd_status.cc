// `hillclimb status`: one line per variant of the goal, worst first, and the word it stands under.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "contract/goal.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

Result<int> status(const Parsed& parsed, const Context& context) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  const ledger::Goal goal = HC_TRY(contract::read_goal(artifacts));
  const ledger::CheckReport report =
      ledger::check_goal({contract::goal_path(artifacts), anchor_path(context, artifacts)});
  if (parsed.has("--json")) {
    fmt::print("{}\n", ledger::to_json(report));
    return 0;
  }
  fmt::print("{} (run {}): {}, {}\n", goal.task, goal.run, goal.status, report.met ? "met" : "not met");
  for (const ledger::VariantVerdict& v : report.variants) {
    if (!v.measured) {
      fmt::print("  {:<16} not measured\n", v.name);
      continue;
    }
    fmt::print("  {:<16} {:.3f} [{:.3f}, {:.3f}] {} against {}\n", v.name, v.ratio, v.lcb, v.ucb,
               ledger::verdict_name(v.verdict), v.best_baseline);
  }
  return 0;
}

}  // namespace

const Command& status_command() {
  static const Command kCommand{
      "status",
      false,
      "Show where the goal stands.",
      {{"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."},
       {"--json", OptionKind::flag, "", "Print the checker's findings as JSON."}},
      status};
  return kCommand;
}

}  // namespace hc::cli
