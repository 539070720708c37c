// The share of an empty launch, and the look at a small win in a row of launches.
#include "report/timing.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "ledger/statistics.h"
#include "ledger/thin_win.h"

namespace hc::report {
namespace {

using ledger::Arm;
using ledger::PairsArtifact;

constexpr double kEmptyShare = 0.05;

/// Median over the valid readings of an arm of what an empty launch took, 0 where it was not said.
double empty_seconds(const PairsArtifact& a, const std::string& arm) {
  std::vector<double> all;
  for (const ledger::Pair& pair : a.pairs) {
    for (const ledger::Reading& r : pair.readings) {
      if (!pair.valid || r.arm != arm) continue;
      const double seconds = std::strtod(ledger::fact(r.facts, "empty launch s").c_str(), nullptr);
      if (seconds > 0) all.push_back(seconds);
    }
  }
  return all.empty() ? 0 : ledger::median(std::move(all));
}

std::string subject_of(const PairsArtifact& a) {
  for (const Arm& arm : a.arms) {
    if (arm.role == ledger::Role::candidate) return ledger::candidate_subject(arm.source_sha256, arm.config);
  }
  return "";
}

/// A measurement with the name under which it is stored.
struct Named {
  const PairsArtifact* artifact = nullptr;
  std::string file;
};

/// The newest sound look at the same candidate and baseline in a row of launches since the goal was made.
Named in_a_row(ledger::Evidence& evidence, const PairsArtifact& a, const std::string& baseline) {
  Named out;
  std::vector<std::string> ignored;
  for (const ledger::LedgerLine& line : evidence.view().lines) {
    if (line.kind == "goal") out = {};
    if (line.kind != "object" || line.variant != a.variant || line.opens < 0) continue;
    const ledger::LedgerLine& opened = evidence.view().lines[static_cast<size_t>(line.opens)];
    if (opened.purpose != ledger::purpose_name(ledger::Purpose::nominate)) continue;
    const PairsArtifact* one = evidence.pairs(line.object, &ignored);
    if (!one || !ledger::is_back_to_back(*one) || subject_of(*one) != subject_of(a)) continue;
    if (ledger::pair_times(*one, baseline).empty() || !ledger::refusal(*one).empty()) continue;
    out = {one, "artifacts/" + line.name};
  }
  return out;
}

}  // namespace

std::string empty_launch_text(const PairsArtifact& a) {
  if (ledger::is_back_to_back(a)) return "";  // spread over many launches
  std::string out;
  for (const Arm& arm : a.arms) {
    const double empty = empty_seconds(a, arm.name), whole = ledger::arm_seconds(a, arm.name);
    if (whole <= 0 || empty <= kEmptyShare * whole) continue;
    out += fmt::format("{}{} {:.1f} of {:.1f} us ({:.0f} %)", out.empty() ? "" : ", ", arm.name, empty * 1e6,
                       whole * 1e6, 100 * empty / whole);
  }
  return out;
}

std::string thin_win_text(ledger::Evidence& evidence, const ledger::Lock& lock, const ledger::VariantVerdict& verdict,
                          const PairsArtifact& a) {
  const double ratio = verdict.best.ratio;
  const bool on_gpu = a.timer.starts_with("event/");
  if (lock.back_to_back || !on_gpu || !verdict.measured || !ledger::is_thin_win(ratio)) return "";
  const std::string win = fmt::format("its win of {:.1f} % over {}", 100 * (ratio - 1), verdict.best_baseline);
  const Named look = in_a_row(evidence, a, verdict.best_baseline);
  if (!look.artifact) return win + " was not looked at back to back: output left in L2 may be part of it";
  const ledger::Comparison c = ledger::compare_pairs(ledger::pair_times(*look.artifact, verdict.best_baseline), {});
  if (!ledger::is_gone(ratio, c.ratio)) return "";
  return fmt::format("{} is gone back to back ({:+.1f} % in {} pairs, {}): it may lie in output left in L2", win,
                     100 * (c.ratio - 1), c.pairs, look.file);
}

}  // namespace hc::report
