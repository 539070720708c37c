// The goal's life on a real folder, judged by the checker after each step.
#include "contract/goal.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ledger/checker.h"
#include "ledger/test_support.h"

namespace hc::contract {
namespace {

using ledger::Purpose;
using ledger::Store;
using ledger::testing::FakeShape;

class GoalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("hc-goal-");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "anchor.json");
    task_.name = "softmax-cpu";
    task_.kernel = "softmax.py";
    for (const char* name : {"a", "b"}) {
      TaskVariant v;
      v.name = name;
      v.hash = ledger::testing::hash_of(name);
      v.work = {"GB/s", 1e7};
      task_.variants.push_back(v);
    }
    TaskBaseline baseline;
    baseline.name = "onednn";
    baseline.worker = {"onednn"};
    baseline.recipe = {{"operation", "\"softmax\""}};
    task_.baselines.push_back(baseline);
  }
  void TearDown() override { (void)!::system(("rm -rf " + folder_).c_str()); }
  Store open() { return Store::open(artifacts_, anchor_).value(); }
  ledger::CheckReport check() { return ledger::check_goal({goal_path(artifacts_), anchor_}); }

  std::string folder_, artifacts_, anchor_;
  Task task_;
};

TEST_F(GoalTest, FromStartToMet) {
  Store store = open();
  const Result<Goal> goal = create_goal(store, task_, "r1");
  ASSERT_TRUE(goal.ok()) << goal.error().message;
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_TRUE(file_exists(join_path(artifacts_, "r1/goal.lock.json")));
  ledger::testing::store_aa(store, {.name = "a", .ratio = 1, .pairs = 6, .seed = 71, .first_pid = 8000});

  const std::string a = ledger::testing::confirm_shape(store, {.name = "a", .ratio = 1.1});
  const Result<ledger::VariantVerdict> verdict = update_shape(store, "a", {a});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().verdict, ledger::Verdict::pass) << verdict.value().reason;
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;

  const std::string b = ledger::testing::confirm_shape(store, {.name = "b", .ratio = 1.05, .seed = 2});
  ASSERT_TRUE(update_shape(store, "b", {b}).ok());
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
  ASSERT_TRUE(set_status(store, "met", "", {}).ok());
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;

  const Goal now = read_goal(artifacts_).value();
  EXPECT_EQ(now.shapes[0].artifact, "artifacts/r1/confirm-a.json");
  EXPECT_TRUE(file_exists(join_path(artifacts_, "r1/derived-a.json")));
  EXPECT_NEAR(now.shapes[0].before_ratio, 1.1, 0.01) << "the first measurement is the before";
}

TEST_F(GoalTest, LaterEvidenceOfTheSameCandidateIsPooled) {
  Store store = open();
  ASSERT_TRUE(create_goal(store, task_, "r1").ok());
  const std::string first = ledger::testing::confirm_shape(store, {.name = "a", .ratio = 0.95});
  ASSERT_TRUE(update_shape(store, "a", {first}).ok());
  const std::string second =
      ledger::testing::confirm_shape(store, {.name = "a", .ratio = 1.1, .seed = 5, .first_pid = 9000});
  const Result<ledger::VariantVerdict> verdict = update_shape(store, "a", {second});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().pairs, 20);
  EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass) << "a lucky second run does not replace the first";
  const Goal goal = read_goal(artifacts_).value();
  EXPECT_EQ(goal.shapes[0].evidence, (std::vector<std::string>{first, second}));
  EXPECT_NEAR(goal.shapes[0].before_ratio, 0.95, 0.01);
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
}

TEST_F(GoalTest, ANominationShowsARatioButDoesNotPass) {
  Store store = open();
  ASSERT_TRUE(create_goal(store, task_, "r1").ok());
  const ledger::Arm arm = ledger::testing::fake_arm("hillclimb", ledger::Role::candidate);
  const int64_t seq =
      store.run_open("r1", "nominate", "a", ledger::candidate_subject(arm.source_sha256, arm.config)).value();
  const ledger::PairsArtifact artifact = ledger::testing::fake_pairs({"a", 1.3}, Purpose::nominate, seq);
  const std::string id = store.put("r1", "nominate-a", to_json(artifact), "a", seq).value();
  const Result<ledger::VariantVerdict> verdict = update_shape(store, "a", {id});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().verdict, ledger::Verdict::open);
  EXPECT_EQ(verdict.value().reason, "only nominated; a confirming run is needed");
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
}

TEST_F(GoalTest, AStaleShapeFallsBackUntilMeasuredAgain) {
  Store store = open();
  task_.variants.pop_back();
  task_.effort.aa_pairs = 0;
  ASSERT_TRUE(create_goal(store, task_, "r1").ok());
  ASSERT_TRUE(update_shape(store, "a", {ledger::testing::confirm_shape(store, {.name = "a", .ratio = 1.1})}).ok());
  ASSERT_TRUE(mark_stale(store, "a", "the compiler changed").ok());
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  const std::string id =
      ledger::testing::confirm_shape(store, {.name = "a", .ratio = 1.1, .seed = 7, .first_pid = 9000});
  ASSERT_TRUE(update_shape(store, "a", {id}).ok());
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(GoalTest, AnEarlierGoalIsArchivedIntoItsRun) {
  Store store = open();
  ASSERT_TRUE(create_goal(store, task_, "r1").ok());
  const std::string old = read_file(goal_path(artifacts_)).value();
  ASSERT_TRUE(create_goal(store, task_, "r2").ok());
  EXPECT_EQ(read_file(join_path(artifacts_, "r1/goal.json")).value_or(""), old);
  EXPECT_EQ(read_goal(artifacts_).value().run, "r2");
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("goal number 2 in this ledger"), std::string::npos) << check().text;
  ASSERT_TRUE(create_goal(store, task_, "r2").ok()) << "the same run's name again";
  ASSERT_TRUE(create_goal(store, task_, "r2").ok());
  EXPECT_TRUE(file_exists(join_path(artifacts_, "r2/goal.json")));
  EXPECT_TRUE(file_exists(join_path(artifacts_, "r2/goal-2.json")));
}

TEST_F(GoalTest, WhatIsMissingIsSaid) {
  Store store = open();
  EXPECT_EQ(read_goal(artifacts_).error().code, Code::goal_error);
  ASSERT_TRUE(create_goal(store, task_, "r1").ok());
  EXPECT_EQ(update_shape(store, "z", {"x"}).error().message, "the goal has no variant \"z\"");
  EXPECT_EQ(update_shape(store, "a", {}).error().message, "no evidence was given for \"a\"");
  EXPECT_EQ(update_shape(store, "a", {std::string(64, 'f')}).error().code, Code::evidence_broken);
  EXPECT_FALSE(set_status(store, "paused", "", {}).ok());
  EXPECT_FALSE(set_status(store, "done", "", {}).ok());
}

}  // namespace
}  // namespace hc::contract
