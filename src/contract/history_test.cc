// Planning, applying and checking a history.
#include "contract/history.h"

#include <gtest/gtest.h>

#include "contract/git_fixture.h"

namespace hc::contract {
namespace {

class HistoryTest : public testing::GitTest {
 protected:
  /// What a climb leaves behind: two threads of work, benchmarks and planning files in between.
  void climb() {
    commit("bench harness", {{"benchmarks/b.py", "1\n"}});
    commit("vector loads", {{"src/load.cc", "1\n"}, {"plan.md", "first\n"}});
    commit("tuner seeds", {{"src/seed.cc", "1\n"}});
    commit("more bench", {{"benchmarks/b.py", "2\n"}});
    commit("vector loads, tails", {{"src/load.cc", "2\n"}, {"src/tail.cc", "1\n"}});
    commit("plan", {{"plan.md", "second\n"}, {"src/gone.cc", "x\n"}});
    std::filesystem::remove(join_path(top_, "src/gone.cc"));
    std::filesystem::remove(join_path(top_, "src/a.cc"));
    commit("drop a", {{"src/seed.cc", "2\n"}});
  }
  std::vector<std::string> findings(const std::string& head = "HEAD") {
    const Result<std::vector<std::string>> out = check_history(open(), rules_, "start", head);
    EXPECT_TRUE(out.ok()) << out.error().message;
    return out.ok() ? out.value() : std::vector<std::string>{};
  }
  void expect_finding(const std::string& part) {
    std::string all;
    for (const std::string& one : findings()) all += one + "\n";
    EXPECT_NE(all.find(part), std::string::npos) << part << " not among:\n" << all;
  }
  std::string subjects(const std::string& branch) {
    return git({"log", "--reverse", "--format=%s", "start.." + branch});
  }

  HistoryRules rules_;
};

TEST_F(HistoryTest, PlansBenchmarksFirstWorkByFilesAndPlanningLast) {
  climb();
  rules_.prefixes = {{"[cutedsl]", "src/load.cc"}};
  const HistoryPlan plan = plan_history(open(), rules_, "start").value();
  ASSERT_EQ(plan.groups.size(), 4u);
  EXPECT_EQ(plan.groups[0].paths, (std::vector<std::string>{"benchmarks/b.py"}));
  EXPECT_EQ(plan.groups[1].paths, (std::vector<std::string>{"src/load.cc", "src/tail.cc"}));
  EXPECT_TRUE(plan.groups[1].message.starts_with("[cutedsl] vector loads, tails")) << plan.groups[1].message;
  EXPECT_EQ(plan.groups[2].paths, (std::vector<std::string>{"src/a.cc", "src/seed.cc"}));
  EXPECT_EQ(plan.groups[3].paths, (std::vector<std::string>{"plan.md"}));
  EXPECT_TRUE(plan.groups[3].message.starts_with("[noland]"));
  const HistoryPlan again = parse_history_plan(to_json(plan), "plan").value();
  EXPECT_EQ(to_json(again), to_json(plan));
}

TEST_F(HistoryTest, WithoutCommitsThereIsNoPlan) {
  climb();
  const Result<HistoryPlan> plan = plan_history(open(), rules_, "HEAD");
  ASSERT_FALSE(plan.ok()) << "a plan of nothing cannot be applied";
  EXPECT_NE(plan.error().message.find("nothing was committed since"), std::string::npos) << plan.error().message;
}

TEST_F(HistoryTest, AppliesOnANewBranchAndLeavesEverythingElseAlone) {
  climb();
  write("src/load.cc", "not committed\n");
  const std::string before = git({"rev-parse", "HEAD"}), status = git({"status", "--porcelain"});
  const HistoryPlan plan = plan_history(open(), rules_, "start").value();
  const Result<std::string> made = apply_history(open(), plan, "clean");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(git({"rev-parse", "HEAD"}), before);
  EXPECT_EQ(git({"status", "--porcelain"}), status);
  EXPECT_EQ(git({"rev-parse", "clean^{tree}"}), git({"rev-parse", "HEAD^{tree}"}));
  EXPECT_EQ(subjects("clean"), "benchmarks and baselines\nvector loads, tails\ndrop a\n[noland] planning files\n");
  EXPECT_TRUE(findings("clean").empty());
  EXPECT_FALSE(findings("work").empty());
  EXPECT_FALSE(apply_history(open(), plan, "clean").ok()) << "only on a new branch";
  EXPECT_FALSE(apply_history(open(), plan, "work").ok());
  EXPECT_FALSE(apply_history(open(), plan, "-f").ok());
}

TEST_F(HistoryTest, AnEditedPlanMaySplitAFileByTime) {
  climb();
  HistoryPlan plan = plan_history(open(), rules_, "start").value();
  HistoryGroup early = plan.groups[1];
  early.message = "vector loads";
  early.paths = {"src/load.cc"};
  early.at = "HEAD~5";
  plan.groups.insert(plan.groups.begin() + 1, early);
  const Result<std::string> made = apply_history(open(), plan, "clean");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(git({"show", "clean~3:src/load.cc"}), "1\n");
  EXPECT_EQ(git({"show", "clean:src/load.cc"}), "2\n");
}

TEST_F(HistoryTest, APlanThatDoesNotEndAtTheSameTreeIsRefused) {
  climb();
  HistoryPlan plan = plan_history(open(), rules_, "start").value();
  plan.groups[1].paths.pop_back();
  const Result<std::string> made = apply_history(open(), plan, "clean");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("src/tail.cc"), std::string::npos) << made.error().message;
  EXPECT_FALSE(open().knows("clean"));
  plan = plan_history(open(), rules_, "start").value();
  plan.groups.push_back(plan.groups[0]);
  EXPECT_FALSE(apply_history(open(), plan, "clean").ok()) << "a group that changes nothing";
  plan.groups.pop_back();
  commit("later", {{"src/later.cc", "x\n"}});
  EXPECT_FALSE(apply_history(open(), plan, "clean").ok()) << "the plan is of an older head";
}

TEST_F(HistoryTest, DamagedPlansAreRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"schema":"hillclimb.history/1"})",
        R"({"schema":"hillclimb.history/1","base":"a","head":"b","groups":[{"message":" ","paths":["x"]}]})",
        R"({"schema":"hillclimb.history/1","base":"a","head":"b","groups":[{"message":"m","paths":[]}]})"}) {
    EXPECT_FALSE(parse_history_plan(text, "plan").ok()) << text;
  }
}

TEST_F(HistoryTest, BenchmarksAfterTheFirstCommitAreFound) {
  commit("work", {{"src/b.cc", "1\n"}});
  commit("bench", {{"benchmarks/b.py", "1\n"}});
  expect_finding("belong into the first commit");
}

TEST_F(HistoryTest, AFirstCommitHoldsNothingBesideTheBenchmarks) {
  commit("bench", {{"benchmarks/b.py", "1\n"}, {"src/b.cc", "1\n"}});
  expect_finding("beside the benchmarks");
}

TEST_F(HistoryTest, PlanningFilesAreLastAndUnspokenOf) {
  commit("work", {{"src/b.cc", "// see notes/ideas.txt\n"}});
  commit("[noland] notes", {{"notes/ideas.txt", "x\n"}});
  expect_finding("refers to notes/ideas.txt");
  commit("later", {{"src/c.cc", "1\n"}});
  expect_finding("is not the last commit");
  commit("[noland] again", {{"notes/other.txt", "x\n"}});
  expect_finding("one is enough");
  commit("mixed", {{"plan.md", "x\n"}});
  expect_finding("which belongs into the [noland] commit");
}

TEST_F(HistoryTest, AMessageThatSpeaksOfAPlanningFileIsFound) {
  commit("do item 3 of roadmap.txt", {{"src/b.cc", "1\n"}});
  commit("[noland] roadmap", {{"docs/roadmap.txt", "x\n"}});
  expect_finding("refers to docs/roadmap.txt");
}

TEST_F(HistoryTest, TrackedArtifactsAreFound) {
  write("artifacts/raw.json", "{}");
  git({"add", "-f", "artifacts/raw.json"});
  git({"commit", "-q", "-m", "raw"});
  expect_finding("raw results stay out of git");
}

TEST_F(HistoryTest, PrefixesAndUnfinishedSubjectsAreFound) {
  rules_.prefixes = {{"[cutedsl]", "src/cute"}};
  commit("fixup! lowering", {{"src/cute/x.cc", "1\n"}});
  expect_finding("needs the prefix [cutedsl]");
  expect_finding("not meant to stay");
}

TEST_F(HistoryTest, PathsOutsideTheScopeAreFound) {
  rules_.scope.allow = {"src"};
  rules_.scope.deny = {"src/frontend"};
  commit("bench", {{"benchmarks/b.py", "1\n"}});
  commit("work", {{"src/b.cc", "1\n"}, {"src/frontend/x.cc", "1\n"}, {"lib/c.cc", "1\n"}});
  EXPECT_EQ(findings().size(), 2u);
  expect_finding("lib/c.cc, which lies outside the scope");
  expect_finding("src/frontend/x.cc, which lies outside the scope");
}

TEST_F(HistoryTest, TheTestCommandRunsOnEveryCommit) {
  rules_.scope.test = "test -f src/good.cc || { echo no good file; exit 1; }";
  commit("bad", {{"src/b.cc", "1\n"}});
  commit("good", {{"src/good.cc", "1\n"}});
  const std::vector<std::string> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("\"bad\": no good file"), std::string::npos) << found[0];
}

TEST_F(HistoryTest, AMergeIsFoundAndNoCommitIsSaid) {
  expect_finding("there is no commit");
  commit("one", {{"src/b.cc", "1\n"}});
  git({"checkout", "-q", "-b", "side", "start"});
  commit("two", {{"src/c.cc", "1\n"}});
  git({"checkout", "-q", "work"});
  git({"merge", "-q", "--no-edit", "side"});
  expect_finding("is a merge");
}

}  // namespace
}  // namespace hc::contract
