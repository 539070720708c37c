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
  ClimbOptions options = HC_TRY(read_workbench_options(parsed, "measure"));
  const std::optional<knob::Config> config = HC_TRY(read_config_of_candidate(parsed, &options));
  const bool in_a_row = std::exchange(options.back_to_back, false);
  Workbench bench(std::move(options), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  if (in_a_row && !bench.lock().back_to_back) return measure_beside(bench, config);
  const ledger::VariantVerdict verdict = HC_TRY(bench.measure(config));
  const Ratios fresh = HC_TRY(bench.nominated());
  HC_TRY(bench.finish());
  bench.progress().line("measured; a nomination never passes, `hillclimb verify` confirms the stored winner");
  for (const auto& [name, c] : fresh) {
    fmt::print("just measured against {}: {:.4f} [{:.4f}, {:.4f}] in {} pairs, a nomination\n", name, c.ratio, c.lcb,
               c.ucb, c.pairs);
  }
  fmt::print("the goal's entry:\n");
  print_verdict(verdict);
  return 0;
}

}  // namespace

const Command& measure_command() {
  static const Command kCommand{
      "measure", false, "Measure a config of one variant against the baselines in a few pairs; never a PASS.",
      workbench_options(
          {{"--config", OptionKind::one, "FILE",
            "Take the config from a file (of a worker: or its JSON); the stored winner if left out."},
           {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob on top of the file, or of the defaults."},
           {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those of a nomination."},
           back_to_back_option()}),
      measure};
  return kCommand;
}

}  // namespace hc::cli
