// A/A calibration: a clean record changes nothing; bias, scatter and a missing record hold a verdict back.
#include "ledger/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ledger/checker_fixture.h"

namespace hc::ledger {
namespace {

using Change = std::function<void(PairsArtifact&)>;

class CalibrationTest : public CheckerTest {
 protected:
  static FakeShape itself(double ratio, double sigma = 0.003, uint64_t seed = 71) {
    return {.name = "a", .ratio = ratio, .pairs = 6, .seed = seed, .sigma = sigma, .first_pid = 9000};
  }
  /// A goal that asks for A/A, a candidate of this true ratio, and what was stored before its confirming run.
  CheckReport judged(double ratio, const std::function<void(Store&)>& before) {
    const Change candidate = [&](PairsArtifact& a) {
      for (Pair& pair : a.pairs) {
        for (Reading& r : pair.readings) {
          for (Block& block : r.blocks) block.seconds *= r.arm == "hillclimb" ? 1.05 / ratio : 1;
        }
      }
    };
    goal_with(
        candidate, {}, [](Lock& lock) { lock.criteria.aa_pairs = 6; }, before);
    return check();
  }
  CheckReport judged(double ratio, const FakeShape& shape, const Change& change = {}) {
    return judged(ratio, [&](Store& store) { testing::store_aa(store, shape, change); });
  }
  static bool says(const CheckReport& report, const std::string& words) {
    return report.text.find(words) != std::string::npos;
  }
};

TEST_F(CalibrationTest, ACleanRecordIsShownAndChangesNothing) {
  const CheckReport report = judged(1.015, itself(1));
  EXPECT_EQ(report.exit_code, kExitMet) << report.text;
  EXPECT_TRUE(says(report, "A/A: onednn against itself on Example CPU 3000, 2 cores: ")) << report.text;
  EXPECT_TRUE(says(report, " in 6 pairs, noise floor 0.")) << report.text;
  ASSERT_EQ(report.calibrations.size(), 1u);
  EXPECT_TRUE(report.calibrations[0].resolves(0.01));
}

TEST_F(CalibrationTest, AnAnchorMayRunBesideAndASecondBaselineNot) {
  FakeShape shape = itself(1);
  shape.copy_ratio = 1.1;
  EXPECT_EQ(judged(1.2, shape).exit_code, kExitMet) << check().text;
  SetUp();
  EXPECT_EQ(judged(1.2, shape, [](PairsArtifact& a) { a.arms[2].role = Role::baseline; }).exit_code, kExitUndecided)
      << check().text;
}

TEST_F(CalibrationTest, ArmsThatAreNotTreatedAlikeLeaveANearVerdictOpen) {
  // the arm in the candidate's place reads 4 % slower, though it is the same program
  const CheckReport report = judged(1.015, itself(0.96));
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  EXPECT_TRUE(says(report, "the arms are not treated alike here")) << report.text;
  EXPECT_TRUE(report.variants[0].undecided);
  EXPECT_TRUE(report.variants[0].calibration.noise.biased);
}

TEST_F(CalibrationTest, AVerdictFartherAwayThanTheBiasStands) {
  EXPECT_EQ(judged(1.2, itself(0.96)).exit_code, kExitMet) << check().text;
}

TEST_F(CalibrationTest, AScatterAboveTheMarginLeavesANearVerdictOpen) {
  const CheckReport report = judged(1.015, itself(1, 0.05));
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  EXPECT_TRUE(says(report, "more than the 1.00 % that are asked for")) << report.text;
  EXPECT_FALSE(report.variants[0].calibration.noise.biased);
}

TEST_F(CalibrationTest, ANearFailureIsOpenAsWell) {
  const CheckReport report = judged(0.975, itself(0.96));
  EXPECT_EQ(report.variants[0].verdict, Verdict::open) << report.text;
  EXPECT_TRUE(says(report, "A/A: onednn against itself reads")) << report.text;
}

TEST_F(CalibrationTest, AClearFailureStaysOne) {
  EXPECT_EQ(judged(0.9, itself(0.96)).variants[0].verdict, Verdict::fail) << check().text;
}

TEST_F(CalibrationTest, WithoutARecordNothingPasses) {
  const CheckReport report = judged(1.2, [](Store&) {});
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  EXPECT_TRUE(says(report, "no A/A record of Example CPU 3000, 2 cores within a day")) << report.text;
}

TEST_F(CalibrationTest, ARecordOfAnotherDayDeviceOrTimerDoesNotSpeak) {
  const Change others[] = {[](PairsArtifact& a) { a.opened_at = "2026-08-28T10:01:00.000Z"; },
                           [](PairsArtifact& a) { a.machine[1].second = "64"; },
                           [](PairsArtifact& a) { a.machine.emplace_back("gpu uuid", "GPU-2"); },
                           [](PairsArtifact& a) { a.timer = "wall"; },
                           [](PairsArtifact& a) { a.variant_hash = "of another shape"; }};
  for (const Change& change : others) {
    SetUp();
    EXPECT_EQ(judged(1.2, itself(1), change).exit_code, kExitUndecided) << check().text;
    TearDown();
  }
  SetUp();
  const Change evening = [](PairsArtifact& a) { a.opened_at = "2026-08-29T23:59:00.000Z"; };
  EXPECT_EQ(judged(1.2, itself(1), evening).exit_code, kExitMet) << check().text;
}

TEST_F(CalibrationTest, TwoProgramsAreNoCalibration) {
  const Change others[] = {[](PairsArtifact& a) { a.arms[0].config = "{\"block\":1}"; },
                           [](PairsArtifact& a) { a.arms[0].source_sha256 = "another"; },
                           [](PairsArtifact& a) {
                             a.arms[0].binary_sha256 = "another";
                             for (Pair& pair : a.pairs) {
                               for (Reading& r : pair.readings) {
                                 if (r.arm == a.arms[0].name) r.binary_sha256 = "another";
                               }
                             }
                           },
                           [](PairsArtifact& a) { a.purpose = Purpose::nominate; },
                           [](PairsArtifact& a) { a.open_seq = 0; }};
  for (const Change& change : others) {
    SetUp();
    EXPECT_EQ(judged(1.2, itself(1), change).exit_code, kExitUndecided) << check().text;
    TearDown();
  }
  SetUp();
  EXPECT_TRUE(says(judged(1.2, itself(1), others[0]), "its arms are not one and the same")) << check().text;
}

TEST_F(CalibrationTest, ARestlessRecordIsNamedWithItsReason) {
  const CheckReport report = judged(1.2, itself(1), [](PairsArtifact& a) {
    for (size_t k = 0; k < 4; ++k) {
      a.pairs[k].valid = false;
      a.pairs[k].rule = "canary";
    }
  });
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  EXPECT_TRUE(says(report, "artifacts/r1/aa-a.json does not count: 4 of 6 pairs are void")) << report.text;
}

TEST_F(CalibrationTest, AnAaRecordIsNoEvidenceOfAVariant) {
  std::string id;
  judged(1.2, [&](Store& store) { id = testing::store_aa(store, itself(1)); });
  Goal goal = parse_goal(goal_text(), "goal").value();
  goal.shapes[0].evidence.push_back(id);
  write_goal(to_json(goal));
  expect_broken("is an A/A calibration, which says nothing of a candidate");
  goal.shapes[0].evidence = {id};
  write_goal(to_json(goal));
  expect_broken("is an A/A calibration");
}

TEST_F(CalibrationTest, RecordsOfADayArePooledSoThatALuckyOneHidesNothing) {
  const CheckReport report = judged(1.015, [](Store& store) {
    testing::store_aa(store, itself(0.96));
    FakeShape lucky = itself(1, 0.003, 72);
    lucky.first_pid = 9500;
    testing::store_aa(store, lucky);
  });
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  ASSERT_EQ(report.calibrations.size(), 1u);
  EXPECT_EQ(report.calibrations[0].noise.comparison.pairs, 12);
}

TEST_F(CalibrationTest, SwitchedOffIsSaid) {
  goal_with([](PairsArtifact&) {});
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
  EXPECT_TRUE(says(check(), "A/A calibration is switched off")) << check().text;
}

std::vector<PairTimes> itself_pairs(int count, double bias, double sigma, uint64_t seed) {
  testing::Noise noise(seed);
  std::vector<PairTimes> out;
  for (int k = 0; k < count; ++k) {
    const double first = 6.0 * k, second = first + 3;
    PairTimes p;
    p.baseline_mid_s = k % 2 ? second : first;
    p.candidate_mid_s = k % 2 ? first : second;
    p.baseline = noise.normal(sigma);
    p.candidate = noise.normal(sigma) + bias;
    out.push_back(p);
  }
  return out;
}

TEST(NoiseFloor, GrowsWithScatterAndBiasAndShrinksWithPairs) {
  const NoiseFloor quiet = noise_of(itself_pairs(6, 0, 0.001, 3)), loud = noise_of(itself_pairs(6, 0, 0.02, 3));
  EXPECT_LT(quiet.floor, 0.003);
  EXPECT_GT(loud.floor, 0.01);
  EXPECT_LT(noise_of(itself_pairs(40, 0, 0.02, 3)).floor, loud.floor);
  const NoiseFloor biased = noise_of(itself_pairs(6, 0.02, 0.001, 3));
  EXPECT_TRUE(biased.biased);
  EXPECT_GT(biased.floor, 0.019);
  EXPECT_FALSE(quiet.biased);
}

TEST(NoiseFloor, RarelyCallsAFairMachineBiased) {
  int called = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) called += noise_of(itself_pairs(6, 0, 0.005, seed)).biased;
  EXPECT_LE(called, 400 * 6 / 100) << "2 % on each side, and chance";
  EXPECT_GT(called, 0);
}

TEST(NoiseFloor, WithoutBoundsThePairFarthestAwayIsTheFloor) {
  std::vector<PairTimes> pairs = itself_pairs(6, 0, 0.001, 3);
  for (size_t k : {0u, 2u}) pairs[k].candidate += 0.3;
  pairs[4].baseline += 0.3;
  const NoiseFloor noise = noise_of(pairs);
  EXPECT_FALSE(noise.bounded);
  EXPECT_NEAR(noise.floor, std::expm1(0.3), 0.01);
  EXPECT_FALSE(noise.biased);
  EXPECT_FALSE(noise_of({}).biased);
}

}  // namespace
}  // namespace hc::ledger
