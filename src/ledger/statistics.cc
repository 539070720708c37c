// Order statistics, rank tests and the mode-matched comparison.
#include "ledger/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hc::ledger {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kExactRanks = 40;      ///< the rank distribution is counted exactly up to this many pairs
constexpr size_t kLeastFast = 4;     ///< fast-mode processes that each arm must show
constexpr double kMostPairs = 1000;  ///< beyond which an estimate of the pairs needed says nothing more
constexpr double kSplitSigmas = 5;   ///< a gap this many robust sigmas wide separates two modes

/// The value of a rank, counted from 0; the order of `values` is changed.
double ranked(std::vector<double>& values, size_t rank) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Continued fraction of the incomplete beta function (modified Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guarded = [](double v) { return std::abs(v) > kTiny ? v : kTiny; };
  double c = 1, d = 1 / guarded(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return h;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t_cdf(double t, double df) {
  const double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
  return t > 0 ? 1 - tail : tail;
}

template <typename Cdf>
double quantile(double p, double reach, Cdf cdf) {
  double low = -reach, high = reach;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) return middle;  // neighbours: halving further changes nothing
    (cdf(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

int count_critical(int n, double alpha) {
  const int top = n * (n + 1) / 2;
  std::vector<double> ways(static_cast<size_t>(top) + 1, 0);
  ways[0] = 1;
  for (int rank = 1; rank <= n; ++rank) {
    for (int sum = top; sum >= rank; --sum) ways[static_cast<size_t>(sum)] += ways[static_cast<size_t>(sum - rank)];
  }
  const double total = std::ldexp(1.0, n);
  double cumulative = 0;
  for (int sum = 0; sum <= top; ++sum) {
    cumulative += ways[static_cast<size_t>(sum)] / total;
    if (cumulative > alpha) return sum - 1;
  }
  return top;
}

/// Fast-mode differences baseline - candidate, and the slow counts.
struct Split {
  std::vector<double> differences;
  size_t fast_baseline = 0, fast_candidate = 0;
};

Split split_pairs(const std::vector<PairTimes>& pairs) {
  std::vector<double> baseline, candidate, times, centred;
  for (const PairTimes& p : pairs) {
    baseline.push_back(p.baseline);
    candidate.push_back(p.candidate);
  }
  const double centre_b = median(baseline), centre_c = median(candidate);
  for (const PairTimes& p : pairs) {
    times.push_back(p.baseline_mid_s);
    centred.push_back(p.baseline - centre_b);
    times.push_back(p.candidate_mid_s);
    centred.push_back(p.candidate - centre_c);
  }
  const double slope = theil_sen_slope(times, centred);
  for (size_t i = 0; i < pairs.size(); ++i) {
    baseline[i] -= slope * pairs[i].baseline_mid_s;
    candidate[i] -= slope * pairs[i].candidate_mid_s;
  }
  const std::vector<bool> slow_b = slow_mode(baseline), slow_c = slow_mode(candidate);
  Split out;
  for (size_t i = 0; i < pairs.size(); ++i) {
    out.fast_baseline += !slow_b[i];
    out.fast_candidate += !slow_c[i];
    // raw values, not detrended ones: the alternating order already balances drift
    if (!slow_b[i] && !slow_c[i]) out.differences.push_back(pairs[i].baseline - pairs[i].candidate);
  }
  return out;
}

/// A candidate that is often slow, judged with all of its modes: no claim may rest on the fast ones alone. The slowest
/// ratio lies below every difference, so it is a lower bound of their median at the level 2^-n.
bool passes_when_slow(const std::vector<PairTimes>& pairs, const CompareRules& rules, Comparison* out) {
  if (!rules.ahead_when_slow || out->slowest_ratio < rules.limit) return false;
  double squares = 0;
  const double n = out->pairs, mean = std::log(out->mixture_ratio);
  for (const PairTimes& p : pairs) squares += std::pow(p.baseline - p.candidate - mean, 2);
  out->by_slowest = true;
  out->ratio = std::min(out->ratio, out->mixture_ratio);
  out->lcb = std::min(out->lcb, out->slowest_ratio);
  out->standard_error = std::max(out->standard_error, std::sqrt(squares / (n - 1) / n));
  return true;
}

}  // namespace

double median(std::vector<double> values) {
  const size_t n = values.size();
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  const double upper = ranked(values, n / 2);
  if (n % 2) return upper;
  return 0.5 * (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n / 2)) + upper);
}

double robust_sigma(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double v : values) deviations.push_back(std::abs(v - centre));
  return 1.4826 * median(std::move(deviations));
}

double theil_sen_slope(const std::vector<double>& times, const std::vector<double>& values) {
  std::vector<double> slopes;
  for (size_t i = 0; i < times.size(); ++i) {
    for (size_t j = i + 1; j < times.size(); ++j) {
      const double dt = times[j] - times[i];
      if (dt != 0) slopes.push_back((values[j] - values[i]) / dt);
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

std::vector<bool> slow_mode(const std::vector<double>& log_times, double min_gap) {
  const size_t n = log_times.size();
  std::vector<bool> slow(n, false);
  if (n < 4) return slow;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return log_times[a] < log_times[b]; });
  double widest = 0;
  size_t at = 0;
  for (size_t r = 0; r + 1 < n; ++r) {
    const double gap = log_times[order[r + 1]] - log_times[order[r]];
    if (gap > widest) {
      widest = gap;
      at = r;
    }
  }
  if (widest < min_gap) return slow;
  std::vector<double> low, high;
  for (size_t r = 0; r < n; ++r) (r <= at ? low : high).push_back(log_times[order[r]]);
  const std::vector<double>& larger = low.size() >= high.size() ? low : high;
  if (larger.size() >= 3 && widest < kSplitSigmas * robust_sigma(larger)) return slow;
  for (size_t r = at + 1; r < n; ++r) slow[order[r]] = true;
  return slow;
}

double normal_quantile(double p) {
  return quantile(p, 12, [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); });
}

double student_t_quantile(double p, double df) {
  return quantile(p, 4096, [df](double t) { return student_t_cdf(t, df); });
}

int wilcoxon_critical(int n, double alpha) {
  if (n > kExactRanks) {
    const double mean = n * (n + 1) / 4.0;
    const double sd = std::sqrt(n * (n + 1.0) * (2.0 * n + 1) / 24);
    return static_cast<int>(std::floor(mean + normal_quantile(alpha) * sd - 0.5));
  }
  return count_critical(n, alpha);
}

Estimate hodges_lehmann(const std::vector<double>& differences, double alpha) {
  Estimate out{std::numeric_limits<double>::quiet_NaN(), -kInfinity, kInfinity, static_cast<int>(differences.size())};
  if (differences.empty()) return out;
  std::vector<double> walsh;
  walsh.reserve(differences.size() * (differences.size() + 1) / 2);
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = i; j < differences.size(); ++j) walsh.push_back(0.5 * (differences[i] + differences[j]));
  }
  out.value = median(walsh);
  const int c = wilcoxon_critical(out.n, alpha);
  if (c < 0) return out;
  out.lower = ranked(walsh, static_cast<size_t>(c));
  out.upper = ranked(walsh, walsh.size() - 1 - static_cast<size_t>(c));
  return out;
}

double look_alpha(const Criteria& criteria, int runs) {
  const double looks = static_cast<double>(std::max<size_t>(criteria.looks.size(), 1));
  return criteria.alpha / looks * std::ldexp(1.0, 1 - std::max(runs, 1));
}

Comparison compare_pairs(const std::vector<PairTimes>& pairs, const CompareRules& rules) {
  Comparison out;
  out.alpha = rules.alpha;
  out.ucb = kInfinity;
  out.pairs = static_cast<int>(pairs.size());
  if (pairs.empty()) {
    out.reason = "no valid pair";
    return out;
  }
  const Split split = split_pairs(pairs);
  out.used = static_cast<int>(split.differences.size());
  out.slow_baseline = out.pairs - static_cast<int>(split.fast_baseline);
  out.slow_candidate = out.pairs - static_cast<int>(split.fast_candidate);
  double mixture = 0, fastest_baseline = kInfinity, slowest_candidate = -kInfinity;
  for (const PairTimes& p : pairs) {
    mixture += p.baseline - p.candidate;
    fastest_baseline = std::min(fastest_baseline, p.baseline);
    slowest_candidate = std::max(slowest_candidate, p.candidate);
  }
  out.mixture_ratio = std::exp(mixture / out.pairs);
  out.slowest_ratio = std::exp(fastest_baseline - slowest_candidate);
  const Estimate e = hodges_lehmann(split.differences, rules.alpha);
  out.ratio = std::isnan(e.value) ? out.mixture_ratio : std::exp(e.value);
  if (!std::isfinite(e.lower) || split.fast_baseline < kLeastFast || split.fast_candidate < kLeastFast) {
    out.reason = fmt::format(
        "{} of {} pairs have both arms in the fast mode, too few for a bound; about {} more pairs are needed", out.used,
        out.pairs, pairs_needed(out, rules.limit) - out.pairs);
    return out;
  }
  out.lcb = std::exp(e.lower);
  out.ucb = std::exp(e.upper);
  out.standard_error = (e.upper - e.lower) / (2 * student_t_quantile(1 - rules.alpha, e.n - 1));
  if (out.lcb >= rules.limit) {
    const int more = out.slow_candidate - out.slow_baseline;
    if (more > rules.rate_tolerance * out.pairs && !passes_when_slow(pairs, rules, &out)) {
      out.reason = fmt::format("the candidate is in a slow mode in {} of {} processes, the baseline in {}",
                               out.slow_candidate, out.pairs, out.slow_baseline);
    } else {
      out.verdict = Verdict::pass;
    }
  } else if (out.ucb < rules.limit) {
    out.verdict = Verdict::fail;
    out.reason = fmt::format("the upper bound {:.4f} is below {:.4f}", out.ucb, rules.limit);
  } else {
    const int needed = pairs_needed(out, rules.limit);
    out.reason = fmt::format("the bounds {:.4f} to {:.4f} enclose {:.4f}; about {}{} more pairs would settle it",
                             out.lcb, out.ucb, rules.limit, needed - out.pairs, needed >= kMostPairs ? " or more" : "");
  }
  return out;
}

int pairs_needed(const Comparison& c, double limit) {
  if (c.standard_error <= 0 || c.used < 2 || c.ratio <= 0) return c.pairs + 5;
  const double deviation = c.standard_error * std::sqrt(c.used);
  const double distance = std::max(std::abs(std::log(c.ratio) - std::log(limit)), 1e-4);
  const double z = normal_quantile(1 - c.alpha) + normal_quantile(0.9);
  const double k = std::pow(z * deviation / distance, 2);
  return static_cast<int>(std::max(c.pairs + 1.0, std::min(std::ceil(k), kMostPairs)));
}

Geomean geomean(const std::vector<Comparison>& variants, double alpha) {
  Geomean out;
  if (variants.empty()) return out;
  double sum = 0, variance = 0, weighted = 0;
  bool bounded = true;
  for (const Comparison& c : variants) {
    if (c.ratio <= 0) return out;
    sum += std::log(c.ratio);
    if (c.lcb <= 0 || !std::isfinite(c.ucb) || c.used < 2) {
      bounded = false;
      continue;
    }
    const double v = c.standard_error * c.standard_error;
    variance += v;
    weighted += v * v / (c.used - 1);
  }
  const double count = static_cast<double>(variants.size());
  out.value = std::exp(sum / count);
  if (!bounded) return out;
  if (variance == 0) {
    out.lower = out.value;
    return out;
  }
  const double df = variance * variance / weighted;
  out.lower = std::exp(sum / count - student_t_quantile(1 - alpha, df) * std::sqrt(variance) / count);
  return out;
}

}  // namespace hc::ledger
