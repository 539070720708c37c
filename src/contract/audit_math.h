// The comparison of docs/contract.md written a second time, by brute force, so that it can contradict the first.
#pragma once

#include <cstdint>
#include <vector>

namespace hc::contract {

/// One round: logs of the median time per call, and the middles of the two processes in seconds.
struct AuditRound {
  double baseline = 0, candidate = 0;
  double baseline_mid_s = 0, candidate_mid_s = 0;
};

/// What follows from the rounds; ratios, not logs. `upper` may be infinite and `lower` 0 when there are too few rounds.
struct AuditBounds {
  double ratio = 0, lower = 0, upper = 0;
  int rounds = 0, used = 0;
  int slow_baseline = 0, slow_candidate = 0;
  double mixture = 0;  ///< geometric mean of all rounds' ratios
  double slowest = 0;  ///< the fastest baseline process over the slowest of the candidate
};

double audit_median(std::vector<double> values);
/// Largest w with P(W+ <= w) <= alpha: every pattern of signs is tried up to 20 ranks, patterns are counted exactly up
/// to 40, the normal law stands in above. -1 if there is none.
int audit_critical(int ranks, double alpha);
/// Drift, modes, Hodges-Lehmann estimate and bounds of the rounds at one level.
AuditBounds audit_bounds(const std::vector<AuditRound>& rounds, double alpha);
/// The bounds of a candidate that reaches the limit and is slow in a larger share of its processes than is tolerated:
/// with all modes when its slowest process is ahead as well. `held` is set when it is not, which forbids a PASS.
AuditBounds audit_modes(AuditBounds bounds, double limit, double tolerance, bool* held);

}  // namespace hc::contract
