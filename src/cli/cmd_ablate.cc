// `hillclimb ablate`: which knobs of the winner carry its edge.
#include <fmt/format.h>

#include <algorithm>

#include "cli/kernel_request.h"
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

/// Of a candidate that is a worker: nobody knows its defaults, so the config to set back to is given. Empty otherwise.
Result<std::string> config_to_set_back_to(const Parsed& parsed) {
  const contract::Task task = HC_TRY(contract::read_task(parsed.get("TASK")));
  const bool ours = !task.candidate;
  if (parsed.has("--config") && (ours || parsed.has("--baseline"))) {
    return Diagnostic{Code::usage,
                      "--config names what a worker's config is set back to, and here the defaults are "
                      "known"}
        .fix("leave it out; `hillclimb measure --config` times a config");
  }
  if (ours || parsed.has("--baseline")) return std::string();
  if (parsed.has("--config")) return read_worker_config(parsed.get("--config"));
  return Diagnostic{Code::usage, fmt::format("the candidate {} of {} is a worker, whose defaults are not known",
                                             task.candidate->name, task.name)}
      .fix("--config FILE|JSON names the config to which each key of the winner's is set back");
}

Result<int> ablate(const Parsed& parsed, const Context& context) {
  const std::string baseline = parsed.get("--baseline");
  if (parsed.has("--set") && baseline.empty()) {
    return Diagnostic{Code::usage, "--set changes the recipe of a baseline, and none is named"}.fix(
        "--baseline NAME; `hillclimb measure --set` puts a number on a knob of ours");
  }
  const ClimbOptions options = HC_TRY(read_workbench_options(parsed, "ablate"));
  const std::string base = HC_TRY(config_to_set_back_to(parsed));
  Workbench bench(options, context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const std::vector<Ablation> rows = HC_TRY(!baseline.empty() ? bench.ablate_baseline(baseline, parsed.all("--set"))
                                            : base.empty()    ? bench.ablate()
                                                              : bench.ablate_worker(base));
  HC_TRY(bench.finish());
  bench.progress().line("ablated");
  if (rows.empty() && baseline.empty()) {
    fmt::print("{}: nothing can be set back\n",
               base.empty() ? "every knob of the winner is at its default" : "the winner's config is the given one");
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
           {"--config", OptionKind::one, "FILE",
            "A candidate that is a worker: the config (or its JSON) to set back to, key by key."},
           {"--set", OptionKind::many, "KEY=VALUE", "baseline: a change more; env.NAME, threads, config.KEY, a key."},
           {"--pairs", OptionKind::one, "N", "Measure N rounds; five if left out."}}),
      ablate};
  return kCommand;
}

}  // namespace hc::cli
