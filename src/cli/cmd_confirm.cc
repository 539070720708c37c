// `hillclimb confirm`: whether a cold full tune finds the win by itself.
#include <fmt/format.h>

#include "cli/workbench.h"

namespace hc::cli {
namespace {

Result<int> confirm(const Parsed& parsed, const Context& context) {
  Workbench bench(HC_TRY(read_workbench_options(parsed, "confirm")), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const ledger::VariantVerdict verdict = HC_TRY(bench.confirm_anew());
  HC_TRY(bench.finish());
  bench.progress().line("confirmed or not, this is what the tuner finds by itself");
  return print_verdict(verdict);
}

}  // namespace

const Command& confirm_command() {
  static const Command kCommand{
      "confirm", false,
      "Tune one variant anew, cold and to the end, and confirm what that finds: exit 0 PASS, 1 FAIL, 3 OPEN.",
      workbench_options(
          {{"--seed", OptionKind::one, "N", "Seed of the search; a fresh one is drawn and printed otherwise."},
           {"--candidates", OptionKind::one, "N", "End the tune after N compiled candidates; it cannot pass then."},
           {"--seconds", OptionKind::one, "S", "End the tune after S seconds; it cannot pass then."},
           {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those agreed in the task."},
           back_to_back_option()}),
      confirm};
  return kCommand;
}

}  // namespace hc::cli
