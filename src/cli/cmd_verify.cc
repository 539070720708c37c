// `hillclimb verify`: confirming pairs of the stored winner.
#include "cli/workbench.h"

namespace hc::cli {
namespace {

Result<int> verify(const Parsed& parsed, const Context& context) {
  if (parsed.has("--config")) {
    return Diagnostic{Code::usage, "verify takes the stored winner alone: a given config cannot pass"}.fix(
        "`hillclimb measure --config` times one against the baselines; `hillclimb confirm` finds another winner");
  }
  Workbench bench(HC_TRY(read_workbench_options(parsed, "verify")), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const ledger::VariantVerdict verdict = HC_TRY(bench.verify());
  HC_TRY(bench.finish());
  bench.progress().line("verified");
  return print_verdict(verdict);
}

}  // namespace

const Command& verify_command() {
  static const Command kCommand{
      "verify", false, "Settle one variant by interleaved pairs of its stored winner: exit 0 PASS, 1 FAIL, 3 OPEN.",
      workbench_options({{"--pairs", OptionKind::one, "N", "Measure N pairs instead of those agreed in the task."},
                         {"--config", OptionKind::one, "FILE", "Refused: `measure` takes one, which cannot pass."},
                         back_to_back_option()}),
      verify};
  return kCommand;
}

}  // namespace hc::cli
