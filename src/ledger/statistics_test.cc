// Statistics against brute force, published tables and numbers of an independent implementation.
#include "ledger/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ledger/test_support.h"

namespace hc::ledger {
namespace {

/// P(W+ <= w) by going through all 2^n sign patterns.
int brute_force_critical(int n, double alpha) {
  std::vector<int> counts(static_cast<size_t>(n * (n + 1) / 2 + 1), 0);
  for (int signs = 0; signs < 1 << n; ++signs) {
    int sum = 0;
    for (int r = 0; r < n; ++r) sum += (signs >> r & 1) * (r + 1);
    ++counts[static_cast<size_t>(sum)];
  }
  int64_t cumulative = 0;
  for (size_t w = 0; w < counts.size(); ++w) {
    cumulative += counts[w];
    if (static_cast<double>(cumulative) / (1 << n) > alpha) return static_cast<int>(w) - 1;
  }
  return static_cast<int>(counts.size()) - 1;
}

TEST(Statistics, WilcoxonCriticalValuesEqualBruteForce) {
  for (int n = 1; n <= 14; ++n) {
    for (const double alpha : {0.05, 0.025, 0.0125, 0.01, 0.0071, 0.001}) {
      EXPECT_EQ(wilcoxon_critical(n, alpha), brute_force_critical(n, alpha)) << n << " " << alpha;
    }
  }
}

TEST(Statistics, WilcoxonCriticalValuesOfThePublishedTable) {
  EXPECT_EQ(wilcoxon_critical(4, 0.05), -1);
  EXPECT_EQ(wilcoxon_critical(5, 0.05), 0);
  EXPECT_EQ(wilcoxon_critical(8, 0.05), 5);
  EXPECT_EQ(wilcoxon_critical(10, 0.05), 10);
  EXPECT_EQ(wilcoxon_critical(20, 0.05), 60);
  EXPECT_EQ(wilcoxon_critical(20, 0.01), 43);
  EXPECT_EQ(wilcoxon_critical(30, 0.025), 137);
  EXPECT_EQ(wilcoxon_critical(39, 0.01), 224);
  EXPECT_EQ(wilcoxon_critical(50, 0.05), 466) << "the normal approximation above 40";
}

TEST(Statistics, QuantilesOfThePublishedTables) {
  EXPECT_NEAR(student_t_quantile(0.95, 1), 6.3138, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 9), 1.8331, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.0423, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.05, 9), -1.8331, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 3.7), 2.182493803914599, 1e-9) << "fractional degrees of freedom";
  EXPECT_NEAR(normal_quantile(0.95), 1.644854, 1e-6);
}

TEST(Statistics, MedianSigmaAndSlope) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_DOUBLE_EQ(robust_sigma({1, 2, 3, 4, 100}), 1.4826);
  EXPECT_DOUBLE_EQ(theil_sen_slope({0, 1, 2, 3, 4}, {0, 2, 4, 6, 50}), 2);
  EXPECT_DOUBLE_EQ(theil_sen_slope({1, 1}, {0, 5}), 0);
  EXPECT_NEAR(theil_sen_slope({0, 1.5, 2, 4, 7.25}, {.1, .3, .2, .9, .7}), 0.0889983579638752, 1e-15);
}

TEST(Statistics, ModeSplitNeedsAWideGapForItsNoise) {
  const std::vector<double> two{0.0, 0.001, 0.1, 0.002, 0.101, 0.0015};
  EXPECT_EQ(slow_mode(two), (std::vector<bool>{false, false, true, false, true, false}));
  EXPECT_EQ(slow_mode({0, 0.001, 0.009, 0.002}), std::vector<bool>(4, false)) << "below 1 %";
  EXPECT_EQ(slow_mode({0, 0.02, 0.04, 0.06, 0.09}), std::vector<bool>(5, false)) << "a wide spread, not two modes";
  EXPECT_EQ(slow_mode({0, 1, 2}), std::vector<bool>(3, false)) << "too few";
}

TEST(Statistics, HodgesLehmannEqualsAnIndependentImplementation) {
  // numbers from the reference simulation's helper on the same data
  const std::vector<double> d{0.012, -0.004, 0.021, 0.009, 0.015, 0.003, 0.018, -0.001, 0.011, 0.007};
  const Estimate e = hodges_lehmann(d, 0.05);
  EXPECT_NEAR(e.value, 0.009, 1e-15);
  EXPECT_NEAR(e.lower, 0.004, 1e-15);
  EXPECT_NEAR(e.upper, 0.014499999999999999, 1e-15);
  const Estimate small = hodges_lehmann({0.1, 0.2, 0.3, 0.4}, 0.05);
  EXPECT_TRUE(std::isinf(small.lower) && std::isinf(small.upper));
  EXPECT_DOUBLE_EQ(small.value, 0.25);
}

std::vector<PairTimes> campaign(double ratio, int pairs, uint64_t seed, double sigma, double slow_share, double slow_by,
                                double drift) {
  testing::Noise noise(seed);
  std::vector<PairTimes> out;
  for (int k = 0; k < pairs; ++k) {
    PairTimes p;
    const double first = 6.0 * k, second = first + 3;
    p.baseline_mid_s = k % 2 ? second : first;
    p.candidate_mid_s = k % 2 ? first : second;
    const auto heat = [&](double t) { return std::min(0.03, drift * t / 60); };
    const auto slow = [&] { return noise.uniform() < slow_share ? slow_by : 0.0; };
    p.baseline = noise.normal(sigma) + heat(p.baseline_mid_s) + slow();
    p.candidate = -std::log(ratio) + noise.normal(sigma) + heat(p.candidate_mid_s) + slow();
    out.push_back(p);
  }
  return out;
}

TEST(Statistics, VerdictsOfCleanCampaigns) {
  const CompareRules rules;
  EXPECT_EQ(compare_pairs(campaign(1.05, 10, 1, 0.003, 0, 0, 0), rules).verdict, Verdict::pass);
  EXPECT_EQ(compare_pairs(campaign(0.95, 10, 2, 0.003, 0, 0, 0), rules).verdict, Verdict::fail);
  EXPECT_EQ(compare_pairs(campaign(0.99, 10, 3, 0.003, 0, 0, 0), rules).verdict, Verdict::open);
  const Comparison few = compare_pairs(campaign(1.05, 4, 4, 0.003, 0, 0, 0), rules);
  EXPECT_EQ(few.verdict, Verdict::open);
  EXPECT_NE(few.reason.find("too few"), std::string::npos) << few.reason;
  EXPECT_EQ(compare_pairs({}, rules).verdict, Verdict::open);
}

TEST(Statistics, ErrorRatesUnderDriftAndModesStayWithinTheLevel) {
  const CompareRules rules;
  int false_pass = 0, false_fail = 0, right = 0;
  constexpr int kCampaigns = 400;
  for (int i = 0; i < kCampaigns; ++i) {
    const uint64_t seed = 1000 + static_cast<uint64_t>(i);
    false_pass += compare_pairs(campaign(0.985, 20, seed, 0.003, 0.2, 0.2, 0.01), rules).verdict == Verdict::pass;
    const Verdict equal = compare_pairs(campaign(1.0, 20, seed, 0.003, 0.2, 0.2, 0.01), rules).verdict;
    false_fail += equal == Verdict::fail;
    right += equal == Verdict::pass;
  }
  EXPECT_LE(false_pass, kCampaigns * 5 / 100);
  EXPECT_LE(false_fail, kCampaigns * 5 / 100);
  EXPECT_GE(right, kCampaigns * 85 / 100);
}

TEST(Statistics, ACandidateWithASlowModeOfItsOwnDoesNotPass) {
  std::vector<PairTimes> pairs = campaign(1.02, 20, 9, 0.002, 0, 0, 0);
  for (size_t k = 0; k < pairs.size(); k += 2) pairs[k].candidate += 0.5;
  const Comparison c = compare_pairs(pairs, {});
  EXPECT_EQ(c.verdict, Verdict::open);
  EXPECT_EQ(c.slow_candidate, 10);
  EXPECT_NE(c.reason.find("slow mode"), std::string::npos) << c.reason;
}

TEST(Statistics, AnOftenSlowCandidateThatIsAheadInItsSlowModePassesWithAllOfItsModes) {
  std::vector<PairTimes> pairs = campaign(2.9, 10, 9, 0.002, 0, 0, 0);
  for (const size_t k : {1u, 4u, 8u}) pairs[k].candidate += std::log(2.9 / 1.95);
  const Comparison c = compare_pairs(pairs, {});
  EXPECT_EQ(c.verdict, Verdict::pass) << c.reason;
  EXPECT_EQ(c.slow_candidate, 3);
  EXPECT_TRUE(c.by_slowest);
  EXPECT_DOUBLE_EQ(c.ratio, c.mixture_ratio) << "the fast mode alone may not stand for it";
  EXPECT_DOUBLE_EQ(c.lcb, c.slowest_ratio);
  EXPECT_NEAR(c.lcb, 1.95, 0.03);
  EXPECT_GT(c.standard_error, 0.05) << "the modes are part of the uncertainty";

  CompareRules before;
  before.ahead_when_slow = false;
  const Comparison old = compare_pairs(pairs, before);
  EXPECT_EQ(old.verdict, Verdict::open);
  EXPECT_NE(old.reason.find("slow mode in 3 of 10"), std::string::npos) << old.reason;
  EXPECT_GT(old.ratio, c.ratio);
}

TEST(Statistics, OneSlowProcessBehindTheFastestBaselineIsEnoughToHoldBack) {
  std::vector<PairTimes> pairs = campaign(2.9, 10, 9, 0.002, 0, 0, 0);
  for (const size_t k : {1u, 4u, 8u}) pairs[k].candidate += std::log(2.9 / 1.2);
  EXPECT_EQ(compare_pairs(pairs, {}).verdict, Verdict::pass);
  pairs[8].candidate += std::log(1.2 / 0.98);
  EXPECT_EQ(compare_pairs(pairs, {}).verdict, Verdict::open);
  pairs = campaign(2.9, 10, 9, 0.002, 0, 0, 0);
  for (const size_t k : {1u, 4u, 8u}) pairs[k].candidate += std::log(2.9 / 1.95);
  pairs[0].baseline -= std::log(2.0);
  EXPECT_EQ(compare_pairs(pairs, {}).verdict, Verdict::open) << "one fast process of the baseline counts as well";
}

TEST(Statistics, MorePairsAreAskedForTheNearerTheLimit) {
  const Comparison near = compare_pairs(campaign(0.992, 10, 5, 0.003, 0, 0, 0), {});
  const Comparison far = compare_pairs(campaign(1.002, 10, 5, 0.003, 0, 0, 0), {});
  EXPECT_GT(pairs_needed(near, 0.99), pairs_needed(far, 0.99));
  EXPECT_GE(pairs_needed(far, 0.99), 11);
  Comparison many;
  many.ratio = 0.99;
  many.standard_error = 0.1;
  many.pairs = many.used = 2000;
  many.alpha = 0.05;
  EXPECT_EQ(pairs_needed(many, 0.99), 2001) << "more than there are, whatever the cap";
}

TEST(Statistics, GeomeanAndItsLowerBound) {
  const Comparison fast = compare_pairs(campaign(1.10, 10, 6, 0.003, 0, 0, 0), {});
  const Comparison slow = compare_pairs(campaign(0.92, 10, 7, 0.003, 0, 0, 0), {});
  const Geomean g = geomean({fast, slow}, 0.05);
  EXPECT_NEAR(g.value, std::sqrt(fast.ratio * slow.ratio), 1e-12);
  EXPECT_LT(g.lower, g.value);
  EXPECT_GT(g.lower, g.value * 0.99);
  Comparison none;
  EXPECT_EQ(geomean({fast, none}, 0.05).value, 0) << "a variant that was not measured leaves no geomean";
  none.ratio = 1;
  none.ucb = std::numeric_limits<double>::infinity();
  EXPECT_EQ(geomean({fast, none}, 0.05).lower, 0) << "no bound for one, no bound for all";
}

}  // namespace
}  // namespace hc::ledger
