// `hillclimb start`: the goal, and the first numbers of every variant.
#include <fmt/format.h>

#include "cli/climb_options.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/progress.h"
#include "cli/workbench.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

Result<int> start(const Parsed& parsed, const Context& context) {
  ClimbOptions options = HC_TRY(read_climb_options(parsed));
  options.fresh = parsed.has("--fresh");
  options.variants = parsed.all("--variant");
  options.who = "start";
  const std::string artifacts = options.artifacts;
  int without = 0;
  {
    Workbench bench(std::move(options), context);
    without = HC_TRY(bench.first_numbers());
  }
  const ledger::CheckReport report =
      ledger::check_goal({contract::goal_path(artifacts), anchor_path(context, artifacts)});
  fmt::print("\n{}", report.text);
  if (without > 0) {
    fmt::print("{} without numbers yet; the same command tries again\n",
               counted(static_cast<size_t>(without), "variant"));
  }
  return without > 0 ? 1 : 0;
}

}  // namespace

const Command& start_command() {
  static const Command kCommand{
      "start", false,
      "Create the goal and give every variant its first numbers: cold tune, check, nominated baselines.",
      climb_options({}, "of a nomination"), start};
  return kCommand;
}

}  // namespace hc::cli
