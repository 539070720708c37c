// A baseline that ran slower than it can blocks the comparison; noise, a slow machine and a fast anchor do not.
#include "ledger/fairness.h"

#include <gtest/gtest.h>

#include "ledger/test_support.h"

namespace hc::ledger {
namespace {

using namespace testing;

/// A goal whose confirming run stands beside an earlier nomination; times of arms may be stretched in each.
class Fairness : public ::testing::Test {
 protected:
  /// Factors on the times of baseline and anchor in the confirming run.
  VariantVerdict judged(double baseline, double anchor, bool with_anchor = true, double sigma = 0.003) {
    const std::string folder = make_temp_folder("fairness");
    FakeShape shape;
    shape.anchors = anchors_now_;
    shape.copy_ratio = with_anchor ? 1.1 : 0;
    shape.sigma = sigma;
    Store store = Store::open(folder, "").value();
    const Lock lock = fake_lock({"a"});
    LedgerLine line;
    line.kind = "goal";
    line.run = "r1";
    line.object = store.put("r1", "goal.lock", to_json(lock), "", -1).value();
    line.name = "r1/goal.lock.json";
    (void)store.append(line);
    const int64_t nominated = store.run_open("r1", "nominate", "a", "").value();
    FakeShape before = shape;
    before.seed = 77;
    before.anchors = anchors_then_;
    PairsArtifact then = fake_pairs(before, Purpose::nominate, nominated);
    for (auto& [key, value] : then.machine) value = key == "cpu" ? cpu_then_ : value;
    (void)store.put("r1", "nominated", to_json(then), "a", nominated);
    (void)store.run_close(nominated, "done");
    const std::string tune = store.put("r1", "tune-a", to_json(fake_tune("a")), "a", -1).value();
    const Arm arm = fake_arm("hillclimb", Role::candidate);
    const std::string subject = candidate_subject(arm.source_sha256, arm.config);
    const int64_t open = store.run_open("r1", "confirm", "a", subject).value();
    PairsArtifact a = fake_pairs(shape, Purpose::confirm, open);
    a.arms[0].tune = tune;
    for (Pair& pair : a.pairs) {
      for (Reading& r : pair.readings) {
        const double factor = r.arm == "onednn" ? baseline : is_anchor(r.arm) ? anchor : 1;
        for (Block& block : r.blocks) block.seconds *= factor;
      }
    }
    const std::string id = store.put("r1", a.name, to_json(a), "a", open).value();
    (void)store.run_close(open, "done");
    Evidence evidence(folder, store.view());
    return judge_variant(evidence, lock, "a", {id});
  }
  static bool is_anchor(const std::string& arm) { return arm == "streaming-copy" || arm == "device copy"; }
  std::vector<std::string> anchors_then_, anchors_now_;
  std::string cpu_then_ = "Example CPU 3000";
};

TEST_F(Fairness, a_slowed_baseline_blocks_what_would_pass) {
  const VariantVerdict v = judged(1.04, 1);
  EXPECT_EQ(v.verdict, Verdict::open);
  EXPECT_FALSE(v.undecided) << "more pairs do not help";
  EXPECT_NE(v.reason.find("onednn was 3.9 % slower"), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("its own best verified value (r1/nominate-a against streaming-copy)"), std::string::npos)
      << v.reason;
}

TEST_F(Fairness, an_equal_baseline_passes) { EXPECT_EQ(judged(1, 1).verdict, Verdict::pass); }

TEST_F(Fairness, one_percent_is_within_what_is_allowed) { EXPECT_EQ(judged(1.01, 1).verdict, Verdict::pass); }

TEST_F(Fairness, a_slow_machine_is_not_the_baselines_fault) { EXPECT_EQ(judged(1.10, 1.10).verdict, Verdict::pass); }

TEST_F(Fairness, a_fast_anchor_is_not_the_baselines_fault) { EXPECT_EQ(judged(1, 0.9).verdict, Verdict::pass); }

TEST_F(Fairness, without_an_anchor_the_same_candidate_stands_for_it) {
  EXPECT_EQ(judged(1.04, 1, false).verdict, Verdict::pass) << "5 % are allowed there";
  const VariantVerdict v = judged(1.08, 1, false);
  EXPECT_EQ(v.verdict, Verdict::open);
  EXPECT_NE(v.reason.find("against hillclimb"), std::string::npos) << v.reason;
}

/// Stores a nomination in which `other` takes `behind` times as long as onednn.
std::string nominate(Store& store, double behind) {
  const int64_t open = store.run_open("r1", "nominate", "a", "").value();
  PairsArtifact a = fake_pairs({.seed = static_cast<uint64_t>(1000 * behind), .sigma = 1e-6}, Purpose::nominate, open);
  for (size_t i = 0; i < 2; ++i) {
    if (a.arms[i].role != Role::baseline) continue;
    Arm other = a.arms[i];
    other.name = "other";
    a.arms.push_back(std::move(other));
    break;
  }
  for (Pair& pair : a.pairs) {
    for (size_t i = 0, n = pair.readings.size(); i < n; ++i) {
      if (pair.readings[i].arm != "onednn") continue;
      Reading other = pair.readings[i];
      other.arm = "other";
      for (Block& block : other.blocks) block.seconds *= behind;
      pair.readings.push_back(std::move(other));
    }
  }
  const std::string id = store.put("r1", a.name, to_json(a), "a", open).value();
  (void)store.run_close(open, "done");
  return id;
}

TEST(TimesBehind, OneLuckyNominationDoesNotMeasureABaselineAway) {
  const std::string folder = make_temp_folder("fairness");
  Store store = Store::open(folder, "").value();
  std::vector<std::string> ids = {nominate(store, 1.00), nominate(store, 1.01), nominate(store, 1.2)};
  Evidence evidence(folder, store.view());
  EXPECT_NEAR(times_behind(evidence, ids, "other", "onednn"), 1.01, 1e-3) << "the median over all rounds";
  EXPECT_EQ(measured_ids(evidence, "a").size(), 3u);
  EXPECT_EQ(times_behind(evidence, ids, "absent", "onednn"), 0);
}

TEST_F(Fairness, the_anchor_is_the_one_that_both_runs_have) {
  // a hand-edited kernel was tried beside the stored winner, which is an anchor too
  anchors_then_ = {"incumbent", "device copy"};
  anchors_now_ = {"device copy"};
  const VariantVerdict v = judged(1.04, 1, false);
  EXPECT_EQ(v.verdict, Verdict::open);
  EXPECT_NE(v.reason.find("against device copy"), std::string::npos) << v.reason;
  EXPECT_EQ(judged(1.10, 1.10, false).verdict, Verdict::pass) << "the device was slow, not the baseline";
  anchors_now_ = {"another"};
  EXPECT_EQ(judged(1.04, 1, false).verdict, Verdict::pass) << "only the candidate is common";
}

TEST_F(Fairness, another_device_says_nothing) {
  cpu_then_ = "Example CPU 4000";
  EXPECT_EQ(judged(1.04, 1).verdict, Verdict::pass);
}

TEST_F(Fairness, what_lies_within_the_noise_does_not_block) {
  EXPECT_EQ(judged(1.04, 1, true, 0.06).reason.find("best verified"), std::string::npos);
}

TEST_F(Fairness, a_slowed_baseline_does_not_save_a_candidate_that_fails) {
  EXPECT_EQ(judged(0.9, 1).verdict, Verdict::fail) << "a faster baseline is compared as it is";
}

}  // namespace
}  // namespace hc::ledger
