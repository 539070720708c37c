// Straightforward and slow on purpose; shares no code with the ledger's statistics.
#include "contract/audit_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hc::contract {
namespace {

constexpr int kTryAllPatterns = 20;
constexpr int kCountPatterns = 40;
constexpr double kLeastGap = 0.01, kGapSigmas = 5, kNormalSigma = 1.4826;
constexpr int kLeastFast = 4;

/// How many of the 2^ranks sign patterns give each rank sum; neighbouring patterns of the Gray code differ in one sign.
std::vector<uint64_t> try_all_patterns(int ranks) {
  std::vector<uint64_t> count(static_cast<size_t>(ranks * (ranks + 1) / 2 + 1), 0);
  uint64_t signs = 0;
  size_t sum = 0;
  for (uint64_t step = 1;; ++step) {
    ++count[sum];
    if (step == uint64_t{1} << ranks) break;
    const int flipped = std::countr_zero(step);
    signs ^= uint64_t{1} << flipped;
    const size_t rank = static_cast<size_t>(flipped) + 1;
    sum = signs >> flipped & 1 ? sum + rank : sum - rank;
  }
  return count;
}

/// The same for more ranks: patterns of the first r ranks with sum s, in whole numbers.
std::vector<uint64_t> count_patterns(int ranks) {
  const size_t sums = static_cast<size_t>(ranks * (ranks + 1) / 2 + 1);
  std::vector<uint64_t> before(sums, 0), now;
  before[0] = 1;
  for (size_t r = 1; r <= static_cast<size_t>(ranks); ++r) {
    now = before;
    for (size_t s = r; s < sums; ++s) now[s] += before[s - r];
    before = now;
  }
  return before;
}

/// The quantile of the normal law by Newton's steps.
double normal_point(double p) {
  double z = 0;
  for (int i = 0; i < 60; ++i) {
    const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
    z -= std::clamp((below - p) / density, -1.0, 1.0);
  }
  return z;
}

/// Slope of the common drift: the median over all pairs of processes.
double drift_slope(const std::vector<AuditRound>& rounds, double centre_b, double centre_c) {
  std::vector<std::pair<double, double>> points;
  for (const AuditRound& r : rounds) {
    points.emplace_back(r.baseline_mid_s, r.baseline - centre_b);
    points.emplace_back(r.candidate_mid_s, r.candidate - centre_c);
  }
  std::vector<double> slopes;
  for (const auto& [t, y] : points) {
    for (const auto& [later, z] : points) {
      if (later > t) slopes.push_back((z - y) / (later - t));
    }
  }
  return slopes.empty() ? 0 : audit_median(slopes);
}

/// Level above which a process counts as slow; infinite when there is one mode only.
double mode_border(const std::vector<double>& levels) {
  const double none = std::numeric_limits<double>::infinity();
  if (levels.size() < 4) return none;
  std::vector<double> sorted = levels;
  std::sort(sorted.begin(), sorted.end());
  size_t below = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (below == 0 || sorted[i] - sorted[i - 1] > sorted[below] - sorted[below - 1]) below = i;
  }
  const double gap = sorted[below] - sorted[below - 1];
  if (gap < kLeastGap) return none;
  const auto split = sorted.begin() + static_cast<std::ptrdiff_t>(below);
  const bool mostly_fast = below >= sorted.size() - below;
  const std::vector<double> larger(mostly_fast ? sorted.begin() : split, mostly_fast ? split : sorted.end());
  if (larger.size() >= 3) {
    const double middle = audit_median(larger);
    std::vector<double> distances;
    for (const double level : larger) distances.push_back(std::fabs(level - middle));
    if (gap < kGapSigmas * kNormalSigma * audit_median(distances)) return none;
  }
  return sorted[below - 1];
}

/// The value that exactly `below` of the averages do not exceed from underneath, found by counting.
double counted_out(const std::vector<double>& averages, size_t below) {
  double best = std::numeric_limits<double>::infinity();
  for (const double value : averages) {
    if (value >= best) continue;
    const auto not_above = std::count_if(averages.begin(), averages.end(), [&](double a) { return a <= value; });
    if (static_cast<size_t>(not_above) > below) best = value;
  }
  return best;
}

}  // namespace

double audit_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  if (n == 0) return 0;
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

int audit_critical(int ranks, double alpha) {
  if (ranks > kCountPatterns) {
    const double n = ranks, mean = n * (n + 1) / 4, deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    return static_cast<int>(std::floor(mean + normal_point(alpha) * deviation - 0.5));
  }
  const std::vector<uint64_t> count = ranks <= kTryAllPatterns ? try_all_patterns(ranks) : count_patterns(ranks);
  const double patterns = std::exp2(ranks);
  uint64_t so_far = 0;
  for (size_t w = 0; w < count.size(); ++w) {
    so_far += count[w];
    if (static_cast<double>(so_far) > alpha * patterns) return static_cast<int>(w) - 1;
  }
  return static_cast<int>(count.size()) - 1;
}

AuditBounds audit_bounds(const std::vector<AuditRound>& rounds, double alpha) {
  AuditBounds out;
  out.rounds = static_cast<int>(rounds.size());
  out.upper = std::numeric_limits<double>::infinity();
  std::vector<double> b, c;
  for (const AuditRound& r : rounds) {
    b.push_back(r.baseline);
    c.push_back(r.candidate);
  }
  const double slope = drift_slope(rounds, audit_median(b), audit_median(c));
  for (size_t i = 0; i < rounds.size(); ++i) {
    b[i] -= slope * rounds[i].baseline_mid_s;
    c[i] -= slope * rounds[i].candidate_mid_s;
  }
  const double border_b = mode_border(b), border_c = mode_border(c);
  std::vector<double> differences;
  double mixture = 0;
  for (size_t i = 0; i < rounds.size(); ++i) {
    const double difference = rounds[i].baseline - rounds[i].candidate;
    mixture += difference;
    out.slow_baseline += b[i] > border_b;
    out.slow_candidate += c[i] > border_c;
    if (b[i] <= border_b && c[i] <= border_c) differences.push_back(difference);
  }
  out.used = static_cast<int>(differences.size());
  if (!rounds.empty()) {
    out.mixture = std::exp(mixture / out.rounds);
    std::vector<double> all_b, all_c;
    for (const AuditRound& r : rounds) {
      all_b.push_back(r.baseline);
      all_c.push_back(r.candidate);
    }
    std::sort(all_b.begin(), all_b.end());
    std::sort(all_c.begin(), all_c.end());
    out.slowest = std::exp(all_b.front()) / std::exp(all_c.back());
  }
  std::vector<double> averages;
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) averages.push_back((differences[i] + differences[j]) / 2);
  }
  if (averages.empty()) {
    out.ratio = out.mixture;
    return out;
  }
  out.ratio = std::exp(audit_median(averages));
  const int critical = audit_critical(out.used, alpha);
  const bool fast_enough =
      out.rounds - out.slow_baseline >= kLeastFast && out.rounds - out.slow_candidate >= kLeastFast;
  if (critical < 0 || !fast_enough) return out;
  out.lower = std::exp(counted_out(averages, static_cast<size_t>(critical)));
  for (double& average : averages) average = -average;
  out.upper = std::exp(-counted_out(averages, static_cast<size_t>(critical)));
  return out;
}

AuditBounds audit_modes(AuditBounds bounds, double limit, double tolerance, bool* held) {
  const double more = bounds.slow_candidate - bounds.slow_baseline;
  *held = more > tolerance * bounds.rounds;
  if (!*held || bounds.lower < limit || bounds.slowest < limit) return bounds;
  *held = false;
  if (bounds.mixture < bounds.ratio) bounds.ratio = bounds.mixture;
  if (bounds.slowest < bounds.lower) bounds.lower = bounds.slowest;
  return bounds;
}

}  // namespace hc::contract
