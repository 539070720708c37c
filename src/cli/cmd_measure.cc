// `hillclimb measure`: a few pairs of one config, which nominate and decide nothing.
#include "cli/workbench.h"

namespace hc::cli {
namespace {

Result<int> measure(const Parsed& parsed, const Context& context) {
  const std::optional<knob::Config> config = HC_TRY(read_optional_config(parsed));
  Workbench bench(HC_TRY(read_workbench_options(parsed, "measure")), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const ledger::VariantVerdict verdict = HC_TRY(bench.measure(config));
  HC_TRY(bench.finish());
  bench.progress().line("measured; a nomination never passes, `hillclimb verify` confirms the stored winner");
  print_verdict(verdict);
  return 0;
}

}  // namespace

const Command& measure_command() {
  static const Command kCommand{
      "measure", false, "Measure a config of one variant against the baselines in a few pairs; never a PASS.",
      workbench_options(
          {{"--config", OptionKind::one, "FILE", "Take the config from a file; the stored winner if left out."},
           {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob on top of the file, or of the defaults."},
           {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those of a nomination."}}),
      measure};
  return kCommand;
}

}  // namespace hc::cli
