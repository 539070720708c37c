// A folder with a goal in it, and what the tests of the checker ask of it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/files.h"
#include "ledger/checker.h"
#include "ledger/test_support.h"

namespace hc::ledger {

using testing::FakeShape;

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class CheckerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("hc-check-");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "state/anchor.json");
  }
  void TearDown() override { (void)!::system(("rm -rf " + folder_).c_str()); }

  CheckReport check() { return check_goal({join_path(artifacts_, "goal.json"), anchor_}); }
  std::string goal_text() { return read_file(join_path(artifacts_, "goal.json")).value(); }
  void write_goal(const std::string& text) {
    ASSERT_EQ(write_file_atomic(join_path(artifacts_, "goal.json"), text), "");
  }
  /// Exit 2 and a sentence with these words.
  void expect_broken(const std::string& words) {
    const CheckReport report = check();
    EXPECT_EQ(report.exit_code, kExitBroken) << report.text;
    EXPECT_NE(report.text.find(words), std::string::npos) << report.text;
    EXPECT_FALSE(report.met);
  }
  /// A goal whose one confirming artifact was changed before it was stored: an adversary with the writer's rights.
  void goal_with(const std::function<void(PairsArtifact&)>& change,
                 const std::function<void(TuneRecord&)>& change_tune = {},
                 const std::function<void(Lock&)>& change_lock = {}, const std::function<void(Store&)>& before = {}) {
    Store store = Store::open(artifacts_, anchor_).value();
    Lock lock = testing::fake_lock({"a"});
    if (change_lock) change_lock(lock);
    Goal goal;
    goal.task = lock.task;
    goal.run = "r1";
    goal.lock = store.put("r1", "goal.lock", to_json(lock), "", -1).value();
    LedgerLine line;
    line.kind = "goal";
    line.run = "r1";
    line.object = goal.lock;
    (void)store.append(line);
    if (before) before(store);
    TuneRecord tune = testing::fake_tune("a");
    if (change_tune) change_tune(tune);
    const std::string tune_id = store.put("r1", "tune-a", to_json(tune), "a", -1).value();
    const Arm arm = testing::fake_arm("hillclimb", Role::candidate);
    const int64_t open = store.run_open("r1", "confirm", "a", candidate_subject(arm.source_sha256, arm.config)).value();
    PairsArtifact a = testing::fake_pairs({}, Purpose::confirm, open);
    a.arms[0].tune = tune_id;
    change(a);
    GoalShape shape;
    shape.name = "a";
    shape.evidence = {store.put("r1", "confirm-a", to_json(a), "a", open).value()};
    Evidence evidence(artifacts_, store.view());
    const VariantVerdict v = judge_variant(evidence, lock, "a", shape.evidence);
    shape.ratio = v.ratio;
    shape.lcb = v.lcb;
    shape.ucb = v.ucb;
    shape.verdict = verdict_name(v.verdict);
    shape.best_baseline = v.best_baseline;
    shape.artifact = store.named_path(shape.evidence[0]);
    goal.shapes = {shape};
    write_goal(to_json(goal));
  }

  /// A line of `hillclimb goal`.
  void decide(const std::string& note, const std::string& object) {
    LedgerLine line;
    line.kind = "status";
    line.note = note;
    line.object = object;
    ASSERT_TRUE(Store::open(artifacts_, anchor_).value().append(std::move(line)).ok());
  }

  std::string folder_, artifacts_, anchor_;
};

}  // namespace hc::ledger
