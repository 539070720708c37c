// Prints the simulated error rates as Markdown.
#include <fmt/format.h>

#include "sim/study.h"

namespace hc::sim {
namespace {

/// A share in percent: 0, <0.1, or with as many digits as the number of campaigns carries.
std::string percent(double share) {
  if (share > 0.99 && share < 1) return fmt::format("{:.1f}", 100 * share);
  if (share == 0) return "0";
  if (share < 0.001) return "<0.1";
  return share < 0.1 ? fmt::format("{:.1f}", 100 * share) : fmt::format("{:.0f}", 100 * share);
}

std::string world_rows(int campaigns, uint64_t first_seed) {
  std::string out =
      "| world | PASS at 0.98 | FAIL at 0.98 | PASS at 0.985 | PASS at 0.99 | PASS at 1.00 | FAIL at 1.00 | "
      "OPEN at 1.00 | mean pairs at 1.00 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const WorldSpec& spec : worlds()) {
    const auto at = [&](double ratio) { return study(spec, ratio, twenty_pairs(), campaigns, first_seed); };
    const Rates slow = at(0.98), near = at(0.985), edge = at(0.99), equal = at(1.0);
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} |\n", spec.name, percent(slow.pass_share()),
                       percent(slow.fail_share()), percent(near.pass_share()), percent(edge.pass_share()),
                       percent(equal.pass_share()), percent(equal.fail_share()), percent(equal.open_share()),
                       equal.mean_pairs());
  }
  return out;
}

std::string study_rows(int campaigns, uint64_t first_seed) {
  std::string out = "| question | passes |\n|---|--:|\n";
  const auto row = [&](const std::string& question, const Rates& rates) {
    out += fmt::format("| {} | {} |\n", question, percent(rates.pass_share()));
  };
  for (const int tries : {1, 3, 10, 30}) {
    row(fmt::format("true 0.985, the best of {} single {} believed (point rule)", tries,
                    tries == 1 ? "pair is" : "pairs is"),
        study_best_nomination(0.985, tries, false, campaigns, first_seed));
  }
  row("true 0.985, the best of 10 only nominates and fresh pairs confirm",
      study_best_nomination(0.985, 10, true, campaigns, first_seed));
  for (const double ratio : {0.985, 0.99}) {
    row(fmt::format("ten different candidates, all truly {:.3g}, each confirmed until one passes", ratio),
        study_many_candidates(ratio, 10, campaigns, first_seed));
  }
  for (const int extensions : {0, 1, 4, 8}) {
    row(fmt::format(
            "true 0.99 (the limit itself), one look at 10 pairs, then up to {} further runs of 10 pooled with it",
            extensions),
        study_extensions(world("process-variance"), 0.99, extensions, campaigns, first_seed));
  }
  for (const double slow : {0.985, 0.99, 1.0, 1.02, 2.0}) {
    row(fmt::format("half of the candidate's processes are truly {:.3g}, the other half {:.3g}", slow, 1.3 * slow),
        study_slow_half(1.3 * slow, slow, campaigns, first_seed));
  }
  for (const int pairs : {0, 6, 12}) {
    row(fmt::format("true 0.985 on a machine that shows it 2 % faster than it is, after {} A/A pairs", pairs),
        study_biased(0.985, 1.02, pairs, campaigns, first_seed));
    row(fmt::format("true 1.00 on a fair machine, after {} A/A pairs", pairs),
        study_biased(1, 1, pairs, campaigns, first_seed));
  }
  for (const double ratio : {0.98, 0.985, 0.99, 1.0}) {
    row(fmt::format("geometric mean of 12 variants at {:.3f}: its lower bound reaches 0.99", ratio),
        study_geomean(ratio, 0.99, campaigns / 4, first_seed));
  }
  return out;
}

}  // namespace

std::string tables(int campaigns, uint64_t first_seed) {
  return world_rows(campaigns, first_seed) + "\n" + study_rows(campaigns, first_seed);
}

}  // namespace hc::sim
