// `hillclimb start`: the goal, and the first numbers of every variant.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/workbench.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

Result<int> start(const Parsed& parsed, const Context& context) {
  ClimbOptions options;
  options.task_path = parsed.get("TASK");
  options.artifacts = parsed.get("--artifacts", options.artifacts);
  options.fresh = parsed.has("--fresh");
  options.variants = parsed.all("--variant");
  options.who = "start";
  options.back_to_back = parsed.has("--back-to-back");
  if (parsed.has("--seed")) options.seed = static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0)));
  options.max_candidates = HC_TRY(parsed.whole("--candidates", 0, 1));
  options.max_seconds = static_cast<double>(HC_TRY(parsed.whole("--seconds", 0, 1)));
  options.pairs = static_cast<int>(HC_TRY(parsed.whole("--pairs", 0, 1)));
  const std::string artifacts = options.artifacts;
  int without = 0;
  {
    Workbench bench(std::move(options), context);
    without = HC_TRY(bench.first_numbers());
  }
  const ledger::CheckReport report =
      ledger::check_goal({contract::goal_path(artifacts), anchor_path(context, artifacts)});
  fmt::print("\n{}", report.text);
  if (without > 0) fmt::print("{} variants have no numbers yet; the same command tries them again\n", without);
  return without > 0 ? 1 : 0;
}

}  // namespace

const Command& start_command() {
  static const Command kCommand{
      "start",
      false,
      "Create the goal and give every variant its first numbers: cold tune, check, nominated baselines.",
      {{"TASK", OptionKind::word, "", "The task file."},
       {"--variant", OptionKind::many, "NAME", "Only these variants."},
       {"--fresh", OptionKind::flag, "", "Archive the goal that is there and start a new run."},
       {"--seed", OptionKind::one, "N", "Seed of the search; a fresh one is drawn and printed otherwise."},
       {"--candidates", OptionKind::one, "N", "End each tune after N compiled candidates; such a tune cannot pass."},
       {"--seconds", OptionKind::one, "S", "End each tune after S seconds; such a tune cannot pass."},
       {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those of a nomination."},
       back_to_back_option(),
       {"--artifacts", OptionKind::one, "DIR", "Where the evidence goes; artifacts if left out."}},
      start};
  return kCommand;
}

}  // namespace hc::cli
