// `hillclimb climb`: the whole loop of a task, from a cold tune of every variant to the verdict and the report.
#include "cli/climb.h"
#include "cli/climb_options.h"
#include "cli/command.h"

namespace hc::cli {
namespace {

Result<int> climb(const Parsed& parsed, const Context& context) {
  ClimbOptions options = HC_TRY(read_climb_options(parsed));
  options.variants = parsed.all("--variant");
  options.fresh = parsed.has("--fresh");
  options.beyond = parsed.has("--beyond");
  return Climb(std::move(options), context).run();
}

}  // namespace

const Command& climb_command() {
  static const Command kCommand{
      "climb", false, "Tune every variant of a task from cold, measure it against the baselines, judge and report.",
      climb_options({{"--beyond", OptionKind::flag, "",
                      "When every variant passes: tune them anew, the smallest lead first, and keep what is better."}},
                    "agreed in the task"),
      climb};
  return kCommand;
}

}  // namespace hc::cli
