// `hillclimb ablate`: which knobs of the winner carry its edge.
#include <fmt/format.h>

#include <algorithm>

#include "cli/workbench.h"

namespace hc::cli {
namespace {

void print_table(std::vector<Ablation> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Ablation& a, const Ablation& b) { return a.comparison.ratio > b.comparison.ratio; });
  fmt::print("{:>10}  {:<20}  set back to its default\n", "times", "bounds");
  for (const Ablation& row : rows) {
    if (!row.reason.empty()) continue;
    const ledger::Comparison& c = row.comparison;
    const bool settled = c.lcb > 1 || c.ucb < 1;
    fmt::print("{:>10.4f}  {:<20}  {}{}\n", c.ratio, fmt::format("[{:.4f}, {:.4f}]", c.lcb, c.ucb), row.change,
               settled ? "" : "  (no difference shown)");
  }
  for (const Ablation& row : rows) {
    if (!row.reason.empty()) fmt::print("{:>10}  {:<20}  {}: {}\n", "-", "", row.change, row.reason);
  }
}

Result<int> ablate(const Parsed& parsed, const Context& context) {
  Workbench bench(HC_TRY(read_workbench_options(parsed, "ablate")), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const std::vector<Ablation> rows = HC_TRY(bench.ablate());
  HC_TRY(bench.finish());
  bench.progress().line("ablated");
  if (rows.empty()) {
    fmt::print("every knob of the winner is at its default: nothing can be set back\n");
    return 0;
  }
  fmt::print("time with the knob set back over the winner's time; above 1: the knob's value carries an edge\n");
  print_table(rows);
  return 0;
}

}  // namespace

const Command& ablate_command() {
  static const Command kCommand{
      "ablate", false, "Set each knob of one variant's winner back to its default and measure what that costs.",
      workbench_options({{"--pairs", OptionKind::one, "N", "Measure N rounds; five if left out."}}), ablate};
  return kCommand;
}

}  // namespace hc::cli
