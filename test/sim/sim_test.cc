// How often the referee's statistics are wrong, on simulated machines; `--table` prints docs/measurement.md's tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sim/study.h"

namespace hc::sim {
namespace {

uint64_t first_seed = 20260101;
constexpr int kCampaigns = 600;

/// Largest count that chance lets a true share reach in `n` campaigns (three standard errors).
double at_most(double share, int n) { return share + 3 * std::sqrt(share * (1 - share) / n); }

std::string words(const Rates& r) {
  return fmt::format("PASS {:.1f} %, FAIL {:.1f} %, OPEN {:.1f} %, {:.1f} pairs, seed {}", 100 * r.pass_share(),
                     100 * r.fail_share(), 100 * r.open_share(), r.mean_pairs(), first_seed);
}

class World : public testing::TestWithParam<const char*> {
 protected:
  Rates at(double ratio) const { return study(world(GetParam()), ratio, twenty_pairs(), kCampaigns, first_seed); }
};
using SteadyWorld = World;

TEST_P(World, HardlyEverPassesASlowKernelOrFailsAnEqualOne) {
  const Rates slower = at(0.985), limit = at(0.99), equal = at(1.0);
  EXPECT_LE(slower.pass_share(), 0.05) << words(slower);
  EXPECT_LE(limit.pass_share(), at_most(0.05, kCampaigns)) << words(limit);
  EXPECT_LE(limit.fail_share(), at_most(0.05, kCampaigns)) << words(limit);
  EXPECT_LE(equal.fail_share(), 0.05) << words(equal);
}

TEST_P(SteadyWorld, IsRightAboutNineInTen) {
  const Rates equal = at(1.0), slow = at(0.98);
  EXPECT_GE(equal.pass_share(), 0.9) << words(equal);
  EXPECT_GE(slow.fail_share(), 0.9) << words(slow);
}

const auto kName = [](const testing::TestParamInfo<const char*>& world) {
  std::string name = world.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Sim, World,
                         testing::Values("iid", "drift", "outlier", "process-variance", "modes", "everything",
                                         "h200-copy-512MB", "h200-gemm-4096", "h200-copy-16MB"),
                         kName);
INSTANTIATE_TEST_SUITE_P(Sim, SteadyWorld,
                         testing::Values("iid", "drift", "outlier", "process-variance", "h200-copy-512MB",
                                         "h200-gemm-4096", "h200-copy-16MB"),
                         kName);

TEST(Sim, MeasuredProcessesSpreadAsTheirFileSays) {
  const std::pair<const char*, double> expected[] = {{"copy_512_MB", 0.07}, {"gemm_4096", 0.19}, {"copy_16_MB", 0.52}};
  for (const auto& [kernel, percent] : expected) {
    const Processes all = measured_processes(kernel);
    ASSERT_EQ(all.size(), 40u);
    double sum = 0, squares = 0;
    for (const std::vector<double>& process : all) {
      ASSERT_EQ(process.size(), 7u);
      const double y = ledger::median(process);
      sum += y;
      squares += y * y;
    }
    const double sd = std::sqrt((squares - sum * sum / 40) / 39);
    EXPECT_NEAR(100 * sd, percent, 0.01) << kernel;
  }
}

TEST(Sim, ModesAreSeparatedAndLeaveFewCampaignsOpen) {
  const Rates equal = study(world("modes"), 1.0, twenty_pairs(), kCampaigns, first_seed);
  const Rates slow = study(world("modes"), 0.98, twenty_pairs(), kCampaigns, first_seed);
  EXPECT_GE(equal.pass_share(), 0.9) << words(equal);
  EXPECT_GE(slow.fail_share(), 0.9) << words(slow);
}

TEST(Sim, TheRateGateHoldsBackACandidateThatIsOftenSlow) {
  const WorldSpec& spec = world("slow-candidate");
  const Rates gated = study(spec, 1.0, twenty_pairs(), kCampaigns, first_seed);
  EXPECT_LE(gated.pass_share(), 0.12) << words(gated);
  EXPECT_LE(gated.fail_share(), 0.02) << words(gated);
  ledger::Criteria blind = twenty_pairs();
  blind.rate_tolerance = 1;
  const Rates without = study(spec, 1.0, blind, kCampaigns, first_seed);
  EXPECT_GE(without.pass_share(), 0.8) << "without the gate it would pass: " << words(without);
}

TEST(Sim, AnOftenSlowCandidatePassesOnlyWhereItsSlowModeIsAhead) {
  const Rates ahead = study_slow_half(2.9, 1.95, kCampaigns, first_seed);
  EXPECT_GE(ahead.pass_share(), 0.9) << words(ahead);
  const Rates behind = study_slow_half(1.3, 0.985, kCampaigns, first_seed);
  EXPECT_LE(behind.pass_share(), 0.05) << words(behind);
  const Rates limit = study_slow_half(1.3, 0.99, kCampaigns, first_seed);
  EXPECT_LE(limit.pass_share(), at_most(0.05, kCampaigns)) << words(limit);
}

TEST(Sim, ACalibrationFindsAMachineThatTreatsTheArmsDifferently) {
  const Rates blind = study_biased(0.985, 1.02, 0, kCampaigns, first_seed);
  EXPECT_GE(blind.pass_share(), 0.8) << "without a record it would pass: " << words(blind);
  const Rates calibrated = study_biased(0.985, 1.02, 6, kCampaigns, first_seed);
  EXPECT_LE(calibrated.pass_share(), 0.05) << words(calibrated);
  const Rates fair = study_biased(1, 1, 6, kCampaigns, first_seed);
  EXPECT_GE(fair.pass_share(), 0.9) << "on a fair machine it costs little: " << words(fair);
}

TEST(Sim, TheBestOfTenNominationsLiesAndItsConfirmationDoesNot) {
  const Rates believed = study_best_nomination(0.985, 10, false, kCampaigns, first_seed);
  EXPECT_GE(believed.pass_share(), 0.6) << words(believed);
  const Rates confirmed = study_best_nomination(0.985, 10, true, kCampaigns, first_seed);
  EXPECT_LE(confirmed.pass_share(), 0.05) << words(confirmed);
}

TEST(Sim, TenSlowCandidatesAreAllRefused) {
  const Rates slow = study_many_candidates(0.985, 10, kCampaigns / 3, first_seed);
  EXPECT_LE(slow.pass_share(), 0.05) << words(slow);
}

TEST(Sim, ExtensionsTogetherStayBelowTwiceTheLevel) {
  for (const char* name : {"iid", "process-variance", "h200-copy-16MB"}) {
    const Rates limit = study_extensions(world(name), 0.99, 4, kCampaigns, first_seed);
    EXPECT_LE(limit.pass_share(), 0.10) << name << ": " << words(limit);
    EXPECT_LE(limit.fail_share(), 0.10) << name << ": " << words(limit);
    const Rates once = study_extensions(world(name), 0.99, 0, kCampaigns, first_seed);
    EXPECT_GT(limit.pass, once.pass) << name << ": repeating spends something, otherwise this test sees nothing";
    EXPECT_LE(once.pass_share(), at_most(0.05, kCampaigns)) << name << ": " << words(once);
  }
}

TEST(Sim, WithoutHalvingTheLevelRepeatingUntilItPassesWouldWork) {
  const ledger::Criteria criteria;
  EXPECT_DOUBLE_EQ(ledger::look_alpha(criteria, 1), 0.05);
  EXPECT_DOUBLE_EQ(ledger::look_alpha(criteria, 2), 0.025);
  double sum = 0;
  for (int run = 1; run < 60; ++run) sum += ledger::look_alpha(criteria, run);
  EXPECT_LE(sum, 2 * criteria.alpha);
  EXPECT_DOUBLE_EQ(ledger::look_alpha(twenty_pairs(), 1), 0.0125);
  const Rates careless = repeat(kCampaigns, first_seed, [&](uint64_t seed) {
    Machine machine(world("process-variance"), 0.99, seed);
    for (int run = 0; run < 12; ++run) {
      const Outcome fresh = confirm(machine, criteria);
      if (fresh.verdict == ledger::Verdict::pass) return fresh;
    }
    return Outcome{};
  });
  EXPECT_GT(careless.pass_share(), 0.2) << words(careless);
}

TEST(Sim, TheGeomeansLowerBoundKeepsItsLevel) {
  const Rates limit = study_geomean(0.99, 0.99, 300, first_seed);
  EXPECT_LE(limit.pass_share(), at_most(0.05, 300)) << words(limit);
  EXPECT_EQ(study_geomean(0.985, 0.99, 100, first_seed).pass, 0);
  EXPECT_GE(study_geomean(1.0, 0.99, 100, first_seed).pass_share(), 0.95);
}

}  // namespace
}  // namespace hc::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int campaigns = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--table") == 0) campaigns = 2000;
    if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) hc::sim::first_seed = std::stoull(argv[++i]);
  }
  if (campaigns > 0) {
    fmt::print("{}", hc::sim::tables(campaigns, hc::sim::first_seed));
    return 0;
  }
  fmt::print("seed {}\n", hc::sim::first_seed);
  return RUN_ALL_TESTS();
}
