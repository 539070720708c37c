// `hillclimb climb`: the whole loop of a task, from a cold tune of every variant to the verdict and the report.
#include <charconv>

#include "cli/climb.h"
#include "cli/command.h"
#include "cli/workbench.h"

namespace hc::cli {
namespace {

Result<int> climb(const Parsed& parsed, const Context& context) {
  ClimbOptions options;
  options.task_path = parsed.get("TASK");
  options.artifacts = parsed.get("--artifacts", options.artifacts);
  options.variants = parsed.all("--variant");
  options.fresh = parsed.has("--fresh");
  options.beyond = parsed.has("--beyond");
  options.back_to_back = parsed.has("--back-to-back");
  if (parsed.has("--seed")) options.seed = static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0)));
  options.max_candidates = HC_TRY(parsed.whole("--candidates", 0, 1));
  options.max_seconds = static_cast<double>(HC_TRY(parsed.whole("--seconds", 0, 1)));
  options.pairs = static_cast<int>(HC_TRY(parsed.whole("--pairs", 0, 1)));
  return Climb(std::move(options), context).run();
}

}  // namespace

const Command& climb_command() {
  static const Command kCommand{
      "climb",
      false,
      "Tune every variant of a task from cold, measure it against the baselines, judge and report.",
      {{"TASK", OptionKind::word, "", "The task file."},
       {"--variant", OptionKind::many, "NAME", "Only these variants."},
       {"--fresh", OptionKind::flag, "", "Archive the goal that is there and start a new run."},
       {"--beyond", OptionKind::flag, "",
        "When every variant passes: tune them anew, the smallest lead first, and keep what is better."},
       {"--seed", OptionKind::one, "N", "Seed of the search; a fresh one is drawn and printed otherwise."},
       {"--candidates", OptionKind::one, "N", "End each tune after N compiled candidates; such a tune cannot pass."},
       {"--seconds", OptionKind::one, "S", "End each tune after S seconds; such a tune cannot pass."},
       {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those agreed in the task."},
       back_to_back_option(),
       {"--artifacts", OptionKind::one, "DIR", "Where the evidence goes; artifacts if left out."}},
      climb};
  return kCommand;
}

}  // namespace hc::cli
