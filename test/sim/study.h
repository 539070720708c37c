// What the referee's procedure says about many simulated campaigns.
#pragma once

#include <functional>
#include <vector>

#include "ledger/records.h"
#include "sim/world.h"

namespace hc::sim {

/// How many campaigns of a study ended how.
struct Rates {
  int pass = 0, fail = 0, open = 0;
  double pairs = 0;  ///< summed over the campaigns
  int campaigns() const { return pass + fail + open; }
  double pass_share() const { return static_cast<double>(pass) / campaigns(); }
  double fail_share() const { return static_cast<double>(fail) / campaigns(); }
  double open_share() const { return static_cast<double>(open) / campaigns(); }
  double mean_pairs() const { return pairs / campaigns(); }
};

/// The verdict of one campaign and the pairs that it used.
struct Outcome {
  ledger::Verdict verdict = ledger::Verdict::open;
  int pairs = 0;
};

/// Four looks, at most twenty pairs: the campaign that the requirements speak of.
ledger::Criteria twenty_pairs();
/// Looks at the agreed numbers of pairs and stops at the first verdict.
Outcome confirm(Machine& machine, const ledger::Criteria& criteria);
/// One confirming run, and further ones that are pooled with it until one is decided or `extensions` were made.
Outcome confirm_and_extend(Machine& machine, const ledger::Criteria& criteria, int extensions);
/// Ratio of one pair: what a nomination records.
double nominate(Machine& machine);

/// Runs `campaign` with the seeds first, first + 1, ... in two threads; the sum does not depend on them.
Rates repeat(int campaigns, uint64_t first_seed, const std::function<Outcome(uint64_t seed)>& campaign);
/// confirm() in one world at one true ratio.
Rates study(const WorldSpec& spec, double ratio, const ledger::Criteria& criteria, int campaigns, uint64_t first_seed);
/// The best of `tries` nominations of one candidate is recorded and passes if it is at least the limit.
Rates study_best_nomination(double ratio, int tries, bool confirmed, int campaigns, uint64_t first_seed);
/// Confirms `candidates` different candidates of the same true ratio, each with a level of its own, until one passes.
Rates study_many_candidates(double ratio, int candidates, int campaigns, uint64_t first_seed);
/// Campaigns at `ratio` with up to `extensions` further runs.
Rates study_extensions(const WorldSpec& spec, double ratio, int extensions, int campaigns, uint64_t first_seed);
/// A candidate of which half the processes are slow: `fast` and `slow` are the true ratios of its two modes.
Rates study_slow_half(double fast, double slow, int campaigns, uint64_t first_seed);
/// A machine that shows the arm in the candidate's place faster by `bias` than it is: confirms a candidate of the true
/// ratio, after an A/A record of `aa_pairs` pairs that takes part in the verdict (0: none).
Rates study_biased(double ratio, double bias, int aa_pairs, int campaigns, uint64_t first_seed);
/// Twelve variants whose geometric mean is `ratio`, ten pairs each: PASS when the lower bound reaches `least`.
Rates study_geomean(double ratio, double least, int campaigns, uint64_t first_seed);

/// The tables of docs/measurement.md as Markdown.
std::string tables(int campaigns, uint64_t first_seed);

}  // namespace hc::sim
