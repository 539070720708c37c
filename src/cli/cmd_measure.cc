// `hillclimb measure`: a few pairs of one config, which nominate and decide nothing.
#include <fmt/format.h>

#include <utility>

#include "cli/workbench.h"

namespace hc::cli {
namespace {

/// In the mode that the goal has not: for reading, whatever comes out.
Result<int> measure_beside(Workbench& bench, const std::optional<knob::Config>& config) {
  const auto ratios = HC_TRY(bench.measure_in_a_row(config));
  HC_TRY(bench.finish());
  bench.progress().line("measured in a row; the goal agreed to time single launches, so this stands beside it");
  for (const auto& [name, c] : ratios) {
    fmt::print("      against {}: {:.4f} [{:.4f}, {:.4f}] in {} pairs back to back\n", name, c.ratio, c.lcb, c.ucb,
               c.pairs);
  }
  return 0;
}

Result<int> measure(const Parsed& parsed, const Context& context) {
  const std::optional<knob::Config> config = HC_TRY(read_optional_config(parsed));
  ClimbOptions options = HC_TRY(read_workbench_options(parsed, "measure"));
  const bool in_a_row = std::exchange(options.back_to_back, false);
  Workbench bench(std::move(options), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  if (in_a_row && !bench.lock().back_to_back) return measure_beside(bench, config);
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
           {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those of a nomination."},
           back_to_back_option()}),
      measure};
  return kCommand;
}

}  // namespace hc::cli
