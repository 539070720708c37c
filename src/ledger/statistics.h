// Statistics of paired measurements: exact, deterministic, without random numbers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ledger/records.h"

namespace hc::ledger {

/// NaN for no values.
double median(std::vector<double> values);
/// 1.4826 times the median absolute deviation.
double robust_sigma(const std::vector<double>& values);
/// Median of all pairwise slopes; 0 when no two times differ.
double theil_sen_slope(const std::vector<double>& times, const std::vector<double>& values);
/// true = slow mode. One split at the largest gap if it is >= min_gap and >= 5 robust sigmas of the larger side.
std::vector<bool> slow_mode(const std::vector<double>& log_times, double min_gap = 0.01);
/// Largest w with P(W+ <= w) <= alpha for n signed ranks, -1 if none; exact up to n = 40, normal above.
int wilcoxon_critical(int n, double alpha);
/// Quantile of Student's t with (possibly fractional) degrees of freedom.
double student_t_quantile(double p, double df);
double normal_quantile(double p);

/// Hodges-Lehmann estimate with one-sided bounds, each at level alpha; bounds are infinite when n is too small.
struct Estimate {
  double value = 0, lower = 0, upper = 0;
  int n = 0;
};
Estimate hodges_lehmann(const std::vector<double>& differences, double alpha);

/// Log of the median time per call of each arm of one pair, and the mid times of the two processes.
struct PairTimes {
  double baseline = 0, candidate = 0;
  double baseline_mid_s = 0, candidate_mid_s = 0;
};

struct CompareRules {
  double limit = 0.99;  ///< target times (1 - margin)
  double alpha = 0.05;  ///< of this look
  double rate_tolerance = 0.2;
  /// A candidate that is often slow passes when its slowest process is ahead of the baseline's fastest (rules 2).
  bool ahead_when_slow = true;
};

/// Level of one look of the `runs`-th confirming run: that of the first run is spread over all agreed looks, and each
/// further run, pooled with those before, spends half of what the one before did. Together they stay below 2 alpha.
double look_alpha(const Criteria& criteria, int runs);

/// Candidate against one baseline: ratio = baseline time / candidate time, above 1 when the candidate is faster.
struct Comparison {
  double ratio = 0, lcb = 0, ucb = 0;  ///< ucb may be infinite
  double mixture_ratio = 0;            ///< all pairs, modes not separated
  double standard_error = 0;           ///< of the log ratio
  int pairs = 0, used = 0;             ///< valid pairs, and those with both arms in their fast mode
  int slow_baseline = 0, slow_candidate = 0;
  double slowest_ratio = 0;  ///< the baseline's fastest process over the candidate's slowest, of all pairs
  bool by_slowest = false;   ///< often slow and judged by that: ratio and bounds are over all modes
  double alpha = 0;
  Verdict verdict = Verdict::open;
  std::string reason;  ///< why it is open
};
/// Mode-matched Hodges-Lehmann comparison at one look over all the pairs given.
Comparison compare_pairs(const std::vector<PairTimes>& pairs, const CompareRules& rules);

/// Pairs that would probably settle an open comparison (power 90 %), at least `c.pairs + 1`, capped at 1000.
int pairs_needed(const Comparison& c, double limit);

/// Geometric mean of ratios with its lower bound (Satterthwaite); no bound (0) if any variant has none.
struct Geomean {
  double value = 0, lower = 0;
};
Geomean geomean(const std::vector<Comparison>& variants, double alpha);

}  // namespace hc::ledger
