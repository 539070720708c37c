// `hillclimb log`: the iteration log, one line per turn of the climb.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/writing.h"
#include "contract/goal.h"
#include "contract/iteration_log.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

Result<int> show_log(const Parsed& parsed) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  const ledger::Goal goal = HC_TRY(contract::read_goal(artifacts));
  for (const contract::Iteration& one : contract::iterations(ledger::read_ledger(artifacts), goal.run)) {
    fmt::print("{}\n", contract::iteration_line(one));
  }
  return 0;
}

Result<int> log(const Parsed& parsed, const Context& context) {
  if (!parsed.has("--idea") && !parsed.has("--result")) return show_log(parsed);
  if (!parsed.has("--idea") || !parsed.has("--result")) {
    return Diagnostic{Code::usage, "a log line needs --idea and --result"}.fix(
        "`hillclimb log --idea i3 --result \"what the cold tune gave\"`; the verdict is filled in by the checker");
  }
  Writing writing = HC_TRY(open_writing(parsed, context, ""));
  contract::Iteration line;
  line.idea = parsed.get("--idea");
  line.result = parsed.get("--result");
  line.variant = parsed.get("--variant");
  const ledger::CheckReport report = ledger::check_goal({contract::goal_path(writing.artifacts), writing.anchor});
  const contract::Iteration written = HC_TRY(contract::add_iteration(writing.store, writing.goal.run, report, line));
  HC_TRY(finish_writing(writing));
  fmt::print("{}\n", contract::iteration_line(written));
  return 0;
}

}  // namespace

const Command& log_command() {
  static const Command kCommand{
      "log",
      false,
      "Append one line per iteration: worst variant, idea, result, and the verdict that the checker gives. Alone it "
      "shows them.",
      {{"--idea", OptionKind::one, "TEXT", "The idea tried: its id in the backlog, or a few words."},
       {"--result", OptionKind::one, "TEXT", "What came of it."},
       {"--variant", OptionKind::one, "V", "The variant worked on; the worst one if left out."},
       artifacts_option()},
      log};
  return kCommand;
}

}  // namespace hc::cli
