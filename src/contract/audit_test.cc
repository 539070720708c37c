// The audit: agrees with honest evidence, contradicts every changed number, and its second implementation is right.
#include "contract/audit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/json.h"
#include "contract/audit_math.h"
#include "contract/goal.h"
#include "ledger/test_support.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;
using ledger::testing::FakeShape;

TEST(AuditMath, CriticalValuesAreThoseOfTheLedger) {
  for (int n = 1; n <= 44; ++n) {
    for (const double alpha : {0.05, 0.025, 0.0125, 0.0071, 0.001}) {
      EXPECT_EQ(audit_critical(n, alpha), ledger::wilcoxon_critical(n, alpha)) << n << " " << alpha;
    }
  }
}

TEST(AuditMath, BoundsAreThoseOfTheLedgerOnMadeUpCampaigns) {
  const uint64_t seed = 20260101;
  ledger::testing::Noise noise(seed);
  int split = 0, bounded = 0, by_slowest = 0, held_back = 0;
  for (int i = 0; i < 400; ++i) {
    const int pairs = 1 + static_cast<int>(noise.uniform() * 50);
    const double slow_share = i % 2 ? 0.25 : 0, drift = i % 3 ? 0 : 1e-4, sigma = i % 5 ? 0.003 : 0;
    std::vector<ledger::PairTimes> first;
    std::vector<AuditRound> second;
    for (int k = 0; k < pairs; ++k) {
      ledger::PairTimes p;
      p.baseline_mid_s = 6.0 * k + (k % 2 ? 3 : 0);
      p.candidate_mid_s = 6.0 * k + (k % 2 ? 0 : 3);
      const auto time = [&](double mid) {
        return noise.normal(sigma) + drift * mid + (noise.uniform() < slow_share ? 0.05 : 0);
      };
      p.baseline = time(p.baseline_mid_s);
      p.candidate = time(p.candidate_mid_s) - (i % 4 == 1 ? 0.1 : 0.01);  // the slow mode of 5 % leaves a lead of some
      first.push_back(p);
      second.push_back({p.baseline, p.candidate, p.baseline_mid_s, p.candidate_mid_s});
    }
    ledger::CompareRules rules;
    rules.alpha = i % 7 ? 0.05 : 0.0125;
    rules.rate_tolerance = 0.1;
    const ledger::Comparison a = compare_pairs(first, rules);
    bool held = false;
    const AuditBounds b = audit_modes(audit_bounds(second, rules.alpha), rules.limit, rules.rate_tolerance, &held);
    EXPECT_EQ(a.verdict == ledger::Verdict::pass, b.lower >= rules.limit && !held);
    by_slowest += a.by_slowest;
    held_back += held && b.lower >= rules.limit;
    const std::string which = fmt::format("campaign {} of seed {}", i, seed);
    EXPECT_NEAR(a.ratio, b.ratio, 1e-12) << which;
    EXPECT_NEAR(a.lcb, b.lower, 1e-12) << which;
    if (std::isfinite(a.ucb)) {
      EXPECT_NEAR(a.ucb, b.upper, 1e-12) << which;
    } else {
      EXPECT_TRUE(std::isinf(b.upper)) << which;
    }
    EXPECT_EQ(a.used, b.used) << which;
    EXPECT_EQ(a.slow_baseline, b.slow_baseline) << which;
    EXPECT_EQ(a.slow_candidate, b.slow_candidate) << which;
    split += a.slow_baseline + a.slow_candidate > 0;
    bounded += std::isfinite(a.ucb);
  }
  EXPECT_GT(split, 50) << "the campaigns must show modes";
  EXPECT_GT(bounded, 200);
  EXPECT_GT(by_slowest, 5) << "some must pass by their slowest process";
  EXPECT_GT(held_back, 5) << "and some must not";
}

class Audit : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("audit");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "anchor.json");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void make_goal(int shapes, double ratio = 1.05) {
    std::vector<FakeShape> all;
    for (int i = 0; i < shapes; ++i) {
      FakeShape shape;
      shape.name = fmt::format("v{}", i);
      shape.ratio = ratio;
      shape.seed = 100 + static_cast<uint64_t>(i);
      all.push_back(shape);
    }
    ledger::testing::fake_goal(artifacts_, anchor_, all);
  }
  AuditReport run(double share = 1, uint64_t seed = 7) {
    Result<AuditReport> report = audit({artifacts_, share, seed});
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? std::move(report).value() : AuditReport{};
  }
  void edit_goal(const std::function<void(Goal*)>& change) {
    Goal goal = read_goal(artifacts_).value();
    change(&goal);
    ASSERT_TRUE(write_goal(artifacts_, goal).ok());
  }
  void overwrite(const std::string& path, const std::string& text) {
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    std::ofstream(path) << text;
  }

  std::string folder_, artifacts_, anchor_;
};

TEST_F(Audit, HonestEvidenceAgreesAndTheTextSaysWhatWasDone) {
  make_goal(3);
  ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
  ASSERT_TRUE(update_shape(store, "v1", read_goal(artifacts_).value().shapes[1].evidence).ok());
  const AuditReport report = run();
  EXPECT_TRUE(report.agrees()) << audit_text(report);
  ASSERT_EQ(report.items.size(), 3u);
  EXPECT_EQ(report.items[0].records, 1);
  EXPECT_EQ(report.items[1].records, 2) << "the derived record and the goal's entry";
  EXPECT_EQ(report.items[1].rounds, 10);
  EXPECT_NE(audit_text(report).find("AUDIT AGREES: 3 of 3"), std::string::npos) << audit_text(report);
}

TEST_F(Audit, FailingAndOpenVariantsAgreeAsWell) {
  make_goal(2, 0.95);
  EXPECT_TRUE(run().agrees()) << audit_text(run());
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  make_goal(2, 0.99);
  EXPECT_TRUE(run().agrees()) << audit_text(run());
}

TEST_F(Audit, PooledRunsAtHalfTheLevelAgree) {
  make_goal(1, 0.993);
  ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
  FakeShape again;
  again.name = "v0";
  again.ratio = 0.993;
  again.seed = 900;
  again.first_pid = 5000;
  const std::string id = ledger::testing::confirm_shape(store, again, "r2");
  ASSERT_TRUE(update_shape(store, "v0", {id}).ok());
  const AuditReport report = run();
  ASSERT_EQ(report.items.size(), 2u);
  EXPECT_TRUE(report.agrees()) << audit_text(report);
  EXPECT_EQ(report.items[0].records, 2) << "the first run is part of the new record and the goal";
}

TEST_F(Audit, EveryChangedNumberOfTheGoalIsContradicted) {
  make_goal(1);
  const Goal honest = read_goal(artifacts_).value();
  const std::function<void(GoalShape*)> changes[] = {
      [](GoalShape* s) { s->ratio *= 1.0001; }, [](GoalShape* s) { s->lcb *= 1.0001; },
      [](GoalShape* s) { s->ucb *= 0.9999; }, [](GoalShape* s) { s->verdict = "FAIL"; },
      [](GoalShape* s) { s->best_baseline = "other"; }};
  for (const auto& change : changes) {
    edit_goal([&](Goal* goal) { change(&goal->shapes[0]); });
    EXPECT_FALSE(run().agrees());
    ASSERT_TRUE(write_goal(artifacts_, honest).ok());
  }
  EXPECT_TRUE(run().agrees());
}

TEST_F(Audit, AChangedObjectIsSeenWithoutTheChecker) {
  make_goal(1);
  const std::string id = read_goal(artifacts_).value().shapes[0].evidence[0];
  const std::string path = ledger::object_path(artifacts_, id);
  std::string text = *read_file(path);
  text[text.find("\"seconds\"") + 20] = '9';
  overwrite(path, text);
  const AuditReport report = run();
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(audit_text(report).find("another hash"), std::string::npos) << audit_text(report);
}

TEST_F(Audit, AFalseDerivedRecordIsContradictedThoughItsHashIsRight) {
  make_goal(1);
  ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
  ASSERT_TRUE(update_shape(store, "v0", read_goal(artifacts_).value().shapes[0].evidence).ok());
  std::string text;
  for (const ledger::LedgerLine& line : store.view().lines) {
    if (line.kind != "object") continue;
    const std::string one = ledger::read_object(artifacts_, line.object).value();
    if (one.find("hillclimb.derived/1") != std::string::npos) text = one;
  }
  ASSERT_FALSE(text.empty());
  Json json = *parse_json(text);
  json["baselines"][0]["lcb"] = 1.2;
  ASSERT_TRUE(store.put("r1", "derived-v0", json.dump(1) + "\n", "v0", -1).ok());
  const AuditReport report = run();
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(audit_text(report).find("records the lower bound 1.2"), std::string::npos) << audit_text(report);
}

TEST_F(Audit, DrawsTheShareAskedForAndTheSameOnesForTheSameSeed) {
  make_goal(12);
  const auto names = [](const AuditReport& report) {
    std::set<std::string> out;
    for (const AuditedItem& item : report.items) out.insert(item.name);
    return out;
  };
  EXPECT_EQ(run(0.1).items.size(), 2u);
  EXPECT_EQ(run(0.001).items.size(), 1u);
  EXPECT_EQ(run(0.5).items.size(), 6u);
  EXPECT_EQ(names(run(0.25, 5)), names(run(0.25, 5)));
  std::set<std::set<std::string>> different;
  for (uint64_t seed = 1; seed < 9; ++seed) different.insert(names(run(0.25, seed)));
  EXPECT_GT(different.size(), 4u);
  EXPECT_NE(run(0.1, 0).seed, 0u);
}

TEST_F(Audit, WithoutMeasurementsThereIsNothingToAudit) {
  make_goal(0);
  const Result<AuditReport> report = audit({artifacts_, 1, 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::goal_error);
}

}  // namespace
}  // namespace hc::contract
