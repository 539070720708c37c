// The checker on honest goals and on planted forgeries: each has its exit code and a sentence that says what is wrong.
#include "ledger/checker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>

#include "ledger/checker_fixture.h"
#include "ledger/ledger_line.h"

namespace hc::ledger {
namespace {

TEST_F(CheckerTest, AMetGoal) {
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}, {.name = "b", .ratio = 1.2, .seed = 2}});
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitMet) << report.text;
  EXPECT_EQ(report.text.substr(0, report.text.find('\n')), "GOAL MET softmax-cpu: 2 of 2 variants pass");
  EXPECT_TRUE(report.met && report.met_point);
  EXPECT_NEAR(report.geomean.value, std::sqrt(1.05 * 1.2), 0.01);
}

TEST_F(CheckerTest, AnUnmetGoalListsTheWorstFirst) {
  testing::fake_goal(artifacts_, anchor_,
                     {{"a", 1.05}, {.name = "b", .ratio = 0.9, .seed = 2}, {.name = "c", .ratio = 0.8, .seed = 3}});
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitUnmet) << report.text;
  ASSERT_EQ(report.variants.size(), 3u);
  EXPECT_EQ(report.variants[0].name, "c");
  EXPECT_EQ(report.variants[1].name, "b");
  EXPECT_EQ(report.variants[2].name, "a");
  EXPECT_LT(report.text.find("FAIL  c"), report.text.find("FAIL  b"));
}

TEST_F(CheckerTest, AnUndecidedGoal) {
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}, {.name = "b", .ratio = 0.991, .seed = 2, .sigma = 0.01}});
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitUndecided) << report.text;
  EXPECT_NE(report.text.find("GOAL UNDECIDED"), std::string::npos);
  EXPECT_NE(report.text.find(" more pairs would settle it"), std::string::npos) << report.text;
}

TEST_F(CheckerTest, GeomeanBelowItsMinimumIsUnmetThoughAllPass) {
  testing::fake_goal(
      artifacts_, anchor_,
      {{.name = "a", .ratio = 0.9955, .sigma = 0.0005}, {.name = "b", .ratio = 0.996, .seed = 2, .sigma = 0.0005}});
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitUnmet) << report.text;
  EXPECT_NE(report.text.find("2 of 2 variants pass"), std::string::npos);
}

TEST_F(CheckerTest, AnUnmeasuredShapeIsUnmet) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}, {.name = "b", .ratio = 1.1, .seed = 2}});
  GoalShape blank;
  blank.name = "b";
  blank.ucb = std::numeric_limits<double>::infinity();
  goal.shapes[1] = blank;
  write_goal(to_json(goal));
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitUnmet) << report.text;
  EXPECT_NE(report.text.find("not measured yet"), std::string::npos) << report.text;
}

TEST_F(CheckerTest, AnEditedRatio) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}});
  goal.shapes[0].ratio = 1.02;
  write_goal(to_json(goal));
  expect_broken("a: the goal file says ratio 1.02, the evidence 0.89");
}

TEST_F(CheckerTest, AnEditedVerdictOrBound) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}});
  const Goal honest = goal;
  goal.shapes[0].verdict = "PASS";
  write_goal(to_json(goal));
  expect_broken("the goal file says PASS, the evidence FAIL");
  goal = honest;
  goal.shapes[0].lcb = 1.0;
  write_goal(to_json(goal));
  expect_broken("the goal file says lcb 1");
  goal = honest;
  goal.shapes[0].best_baseline = "numpy";
  write_goal(to_json(goal));
  expect_broken("numpy is the best baseline");
  goal = honest;
  goal.status = "met";
  write_goal(to_json(goal));
  expect_broken("the goal file says met, the evidence does not");
  goal = honest;
  goal.geomean_min = 0.5;
  write_goal(to_json(goal));
  expect_broken("asks for a geomean of 0.5");
}

TEST_F(CheckerTest, AnEditedRawObject) {
  const Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}});
  const std::string path = object_path(artifacts_, goal.shapes[0].evidence[0]);
  ::chmod(path.c_str(), 0644);
  std::ofstream(path, std::ios::app) << " ";
  expect_broken("was changed: its content hashes to");
}

TEST_F(CheckerTest, ADeletedObjectEvenOneThatTheGoalDoesNotName) {
  const Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  std::string id;
  {
    Store store = Store::open(artifacts_, anchor_).value();
    id = store.put("r1", "bad-run", "{}", "a", -1).value();
  }
  EXPECT_EQ(check().exit_code, kExitMet);
  ::unlink(object_path(artifacts_, id).c_str());
  expect_broken("is missing (No such file or directory) (artifacts/r1/bad-run.json)");
}

TEST_F(CheckerTest, TheArtifactsFolderMayHaveAnyName) {
  artifacts_ = join_path(folder_, "evidence-of-today");
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitMet) << report.text;
}

TEST_F(CheckerTest, ADeletedNamedCopy) {
  const Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  ::unlink(join_path(folder_, goal.shapes[0].artifact).c_str());
  expect_broken("its artifact \"artifacts/r1/confirm-a.json\" is not on disk");
}

TEST_F(CheckerTest, ACutLedgerTail) {
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  std::string text = read_file(ledger_path(artifacts_)).value();
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  ASSERT_EQ(write_file_atomic(ledger_path(artifacts_), text), "");
  expect_broken("the end was cut off");
}

TEST_F(CheckerTest, ReorderedAndEditedLines) {
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  const std::string good = read_file(ledger_path(artifacts_)).value();
  const size_t first = good.find('\n') + 1, second = good.find('\n', first) + 1;
  ASSERT_EQ(write_file_atomic(ledger_path(artifacts_),
                              good.substr(first, second - first) + good.substr(0, first) + good.substr(second)),
            "");
  expect_broken("a line was removed, added or moved");
  ASSERT_EQ(write_file_atomic(ledger_path(artifacts_), replaced(good, "\"confirm\"", "\"nominat\"")), "");
  expect_broken("does not continue the chain");
}

TEST_F(CheckerTest, ASwappedArtifact) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}, {.name = "b", .ratio = 1.1, .seed = 2}});
  goal.shapes[0].evidence = goal.shapes[1].evidence;
  write_goal(to_json(goal));
  expect_broken("a: the artifact r1/confirm-b belongs to the variant b");
}

TEST_F(CheckerTest, AnotherLock) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}});
  Lock easy = testing::fake_lock({"a"});
  easy.variants[0].target = 0.5;
  {
    Store store = Store::open(artifacts_, anchor_).value();
    goal.lock = store.put("r1", "other.lock", to_json(easy), "", -1).value();
  }
  write_goal(to_json(goal));
  expect_broken("the goal file names the lock");
}

TEST_F(CheckerTest, ALockRemovedFromTheGoalFile) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 0.9}});
  write_goal(
      R"({"task":"softmax-cpu","status":"running",
          "shapes":[{"name":"a","ratio":1.5,"artifact":"artifacts/r1/confirm-a.json"}]})");
  expect_broken("the ledger knows of a goal with a lock, but the goal file has none");
}

TEST_F(CheckerTest, AnAmendmentMayTightenButNotLoosen) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  const auto amend = [&](const Lock& lock) {
    Store store = Store::open(artifacts_, anchor_).value();
    LedgerLine line;
    line.kind = "amend";
    line.run = "r1";
    line.object = goal.lock = store.put("r1", "goal.lock", to_json(lock), "", -1).value();
    (void)store.append(line);
    goal.geomean_min = lock.criteria.geomean_min;
    write_goal(to_json(goal));
  };
  Lock lock = testing::fake_lock({"a"});
  lock.criteria.geomean_min = 1.02;
  amend(lock);
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
  EXPECT_NE(check().text.find("the goal was amended"), std::string::npos);
  lock.criteria.geomean_min = 1.0;
  amend(lock);
  expect_broken("the geomean's minimum was lowered");
}

TEST_F(CheckerTest, ARemovedOrDoubledVariant) {
  Goal goal = testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}, {.name = "b", .ratio = 0.9, .seed = 2}});
  const Goal honest = goal;
  goal.shapes.pop_back();
  write_goal(to_json(goal));
  expect_broken("the locked variant b is missing from the goal file");
  goal.shapes.push_back(goal.shapes[0]);
  write_goal(to_json(goal));
  expect_broken("lists the variant a twice");
}

TEST_F(CheckerTest, AMissingGoalFile) {
  EXPECT_TRUE(check().no_goal);
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  ::unlink(join_path(artifacts_, "goal.json").c_str());
  EXPECT_FALSE(check().no_goal);
  expect_broken("the ledger knows that a goal was created");
}

TEST_F(CheckerTest, ANewerSchemaIsRefusedByName) {
  testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
  write_goal(replaced(goal_text(), "hillclimb.goal/1", "hillclimb.goal/7"));
  expect_broken("hillclimb.goal/7, newer than hillclimb.goal/1");
}

TEST_F(CheckerTest, TimesThatAreNoTimes) {
  goal_with([](PairsArtifact& a) { a.pairs[3].readings[0].blocks[2].seconds = 0; });
  expect_broken("has a block of 0 s for 10 launches; both must be positive");
}

TEST_F(CheckerTest, NegativeTimesAndNoLaunches) {
  goal_with([](PairsArtifact& a) { a.pairs[3].readings[0].blocks[2].seconds = -1; });
  expect_broken("has a block of -1 s");
}

TEST_F(CheckerTest, NaNTimes) {
  goal_with([](PairsArtifact& a) { a.pairs[3].readings[0].blocks[2].seconds = std::nan(""); });
  expect_broken("seconds[2]` is not a number");
}

TEST_F(CheckerTest, OneProcessForTwoReadings) {
  goal_with([](PairsArtifact& a) {
    a.pairs[1].readings[1].pid = a.pairs[1].readings[0].pid;
    a.pairs[1].readings[1].started_s = a.pairs[1].readings[0].started_s;
  });
  expect_broken("serves two readings; each needs a fresh one");
}

TEST_F(CheckerTest, ArmsThatDoNotAlternate) {
  goal_with([](PairsArtifact& a) { std::swap(a.pairs[1].readings[0], a.pairs[1].readings[1]); });
  expect_broken("does not alternate at pair 2");
}

TEST_F(CheckerTest, SamplesCopiedFromAnotherPair) {
  goal_with([](PairsArtifact& a) { a.pairs[4].readings[0].blocks = a.pairs[2].readings[0].blocks; });
  expect_broken("pairs 3 and 5 hold the very same samples");
}

TEST_F(CheckerTest, AnotherBinaryOrOtherInputs) {
  goal_with([](PairsArtifact& a) { a.pairs[4].readings[0].binary_sha256 = std::string(64, '0'); });
  expect_broken("ran a binary whose hash is not the one declared for hillclimb");
}

TEST_F(CheckerTest, OtherInputs) {
  goal_with([](PairsArtifact& a) { a.pairs[4].readings[0].inputs_sha256 = std::string(64, '0'); });
  expect_broken("were given different inputs");
}

TEST_F(CheckerTest, AnotherShapeUnderTheSameName) {
  goal_with([](PairsArtifact& a) { a.variant_hash = std::string(64, '0'); });
  expect_broken("measured another kernel, shape or dtype than the locked variant a");
}

TEST_F(CheckerTest, PairsDroppedWithoutARule) {
  goal_with([](PairsArtifact& a) { a.pairs[4].valid = false; });
  expect_broken("is void without a rule that says why");
}

/// Adds void rounds without readings.
void add_void_rounds(PairsArtifact& a, size_t count) {
  for (size_t i = 0; i < count; ++i) a.pairs.push_back({false, "canary", {}, {}, {}, {}});
}

TEST_F(CheckerTest, HalfOfTheRoundsMayBeVoid) {
  goal_with([](PairsArtifact& a) { add_void_rounds(a, a.pairs.size()); });
  const CheckReport report = check();
  EXPECT_EQ(report.exit_code, kExitMet) << report.text;
}

TEST_F(CheckerTest, MoreThanHalfOfTheRoundsVoidIsNoVerdict) {
  goal_with([](PairsArtifact& a) { add_void_rounds(a, a.pairs.size() + 1); });
  const CheckReport report = check();
  EXPECT_NE(report.exit_code, kExitMet) << report.text;
  EXPECT_NE(report.text.find("the machine was too restless"), std::string::npos) << report.text;
}

}  // namespace
}  // namespace hc::ledger
