// `hillclimb ablate`: which knobs of the winner carry its edge.
#include <fmt/format.h>

#include <algorithm>

#include "cli/workbench.h"

namespace hc::cli {
namespace {

void print_table(std::vector<Ablation> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Ablation& a, const Ablation& b) { return a.comparison.ratio > b.comparison.ratio; });
  fmt::print("{:>10}  {:<20}  what is set back\n", "times", "bounds");
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

/// The objects of the measurements, each once.
std::string evidence_of(const std::vector<Ablation>& rows) {
  std::string out, last;
  for (const Ablation& row : rows) {
    if (row.object.empty() || row.object == last) continue;
    out += (out.empty() ? "" : " ") + row.object;
    last = row.object;
  }
  return out;
}

Result<int> ablate(const Parsed& parsed, const Context& context) {
  const std::string baseline = parsed.get("--baseline");
  if (parsed.has("--set") && baseline.empty()) {
    return Diagnostic{Code::usage, "--set changes the recipe of a baseline, and none is named"}.fix(
        "--baseline NAME; `hillclimb measure --set` puts a number on a knob of ours");
  }
  Workbench bench(HC_TRY(read_workbench_options(parsed, "ablate")), context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const std::vector<Ablation> rows =
      HC_TRY(baseline.empty() ? bench.ablate() : bench.ablate_baseline(baseline, parsed.all("--set")));
  HC_TRY(bench.finish());
  bench.progress().line("ablated");
  if (rows.empty() && baseline.empty()) {
    fmt::print("every knob of the winner is at its default: nothing can be set back\n");
    return 0;
  }
  const std::string evidence = evidence_of(rows);
  if (baseline.empty()) {
    fmt::print("time with the knob set back over the winner's time; above 1: the knob's value carries an edge\n");
  } else if (evidence.empty()) {
    fmt::print(
        "nothing in the recipe of {} could be set back and run; --set KEY=VALUE names something else, such as "
        "env.NAME=VALUE for its worker\n",
        baseline);
  } else {
    fmt::print("time of {} with the change over its time without; above 1: what was there carries an edge\n", baseline);
  }
  print_table(rows);
  if (!baseline.empty() && !evidence.empty()) {
    fmt::print(
        "evidence: {}\nnext: transplant what carries the edge by hand, then `hillclimb try`; a block names both\n",
        evidence);
  }
  return 0;
}

}  // namespace

const Command& ablate_command() {
  static const Command kCommand{
      "ablate", false,
      "Set each knob of one variant's winner back to its default and measure what that costs; or of a baseline.",
      workbench_options(
          {{"--baseline", OptionKind::one, "NAME", "Take this baseline's recipe and config apart instead."},
           {"--set", OptionKind::many, "KEY=VALUE", "baseline: a change more; env.NAME, threads, config.KEY, a key."},
           {"--pairs", OptionKind::one, "N", "Measure N rounds; five if left out."}}),
      ablate};
  return kCommand;
}

}  // namespace hc::cli
