// How a task's measurements are timed: launches in a row, and preheating on a GPU.
#include <gtest/gtest.h>

#include "cli/worker_task_fixture.h"
#include "report/report.h"

namespace hc::cli {
namespace {

TEST_F(WorkerTask, AConfirmingRunOnAGpuIsPreheatedAndANominationIsNot) {
  write_task("tune_seconds = 0\n", "device = \"gpu\"\nwaive = \"a test\"\n");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  ASSERT_EQ(start(with), 0);
  with.who = "verify t1";
  Workbench bench(with, context_);
  ASSERT_TRUE(bench.open("t1").ok());
  const Result<ledger::VariantVerdict> verdict = bench.verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  const auto heat_in = [&](const char* name) {
    const ledger::PairsArtifact pairs = ledger::parse_pairs(stored(name), name).value();
    return ledger::fact(pairs.pairs.at(0).readings.at(0).facts, "after preheat").substr(0, 6);
  };
  EXPECT_EQ(heat_in("nominate-t1"), "");
  EXPECT_EQ(heat_in("confirm-t1"), "steady");
}

TEST_F(WorkerTask, AGoalOfLaunchesInARowIsConfirmedByThem) {
  write_task("tune_seconds = 0\n");
  ClimbOptions row = options("start");
  row.back_to_back = true;
  ASSERT_EQ(start(row), 0);
  const ledger::Goal goal = contract::read_goal(path("artifacts")).value();
  EXPECT_TRUE(contract::read_lock(path("artifacts"), goal.lock).value().back_to_back);
  const Result<ledger::VariantVerdict> verdict = verify();  // not asked again: the goal knows
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  for (const char* name : {"nominate-t1", "confirm-t1"}) {
    const ledger::PairsArtifact pairs = ledger::parse_pairs(stored(name), name).value();
    EXPECT_EQ(pairs.timer, "monotonic/back-to-back");
    const ledger::Reading& reading = pairs.pairs.at(0).readings.at(0);
    EXPECT_EQ(reading.mode, "back_to_back");
    EXPECT_EQ(ledger::fact(reading.facts, "copies in turn"), "2");
    EXPECT_EQ(reading.blocks.size(), 5u) << "a reading a block";
  }
  EXPECT_TRUE(check().broken.empty()) << check().text;
}

TEST_F(WorkerTask, LaunchesInARowBesideAGoalOfSingleOnesStandInNoEntry) {
  write_task("tune_seconds = 0\n");
  ASSERT_EQ(start(options("start")), 0);
  const std::string before = read_file(path("artifacts/goal.json")).value();
  ClimbOptions row = options("verify t1");
  row.back_to_back = true;
  {
    Workbench bench(row, context_);
    const Status opened = bench.open("t1");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::goal_error);
    EXPECT_NE(opened.error().message.find("agreed to time single launches"), std::string::npos);
  }
  {
    Workbench bench(options("measure t1"), context_);
    ASSERT_TRUE(bench.open("t1").ok());
    const auto ratios = bench.measure_in_a_row(std::nullopt);
    ASSERT_TRUE(ratios.ok()) << ratios.error().message;
    ASSERT_EQ(ratios.value().size(), 1u);
    EXPECT_EQ(ratios.value()[0].first, "double");
    EXPECT_GT(ratios.value()[0].second.ratio, 1.2) << "it does everything twice";
  }
  EXPECT_EQ(read_file(path("artifacts/goal.json")).value(), before);
  EXPECT_EQ(ledger::parse_pairs(stored("back-to-back-t1"), "pairs").value().timer, "monotonic/back-to-back");
  // what it left is not taken for the nomination of the goal's own mode
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(ledger::parse_pairs(stored("confirm-t1"), "pairs").value().timer, "monotonic/one-launch/cold-l2");
  EXPECT_TRUE(check().broken.empty()) << check().text;
}

TEST_F(WorkerTask, ASmallWinOnAGpuIsLookedAtInARow) {
  write_task("tune_seconds = 0\nclaims = 1e-5\nclaims_in_a_row = 1e-5\n", "device = \"gpu\"\nwaive = \"a test\"\n");
  std::string task = read_file(path("tiny.toml")).value_or("");
  const std::string twice = "implementation = \"twice\"\n";
  task.insert(task.find(twice) + twice.size(), "claims = 1.03e-5\nclaims_in_a_row = 1.001e-5\n");
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), task), "");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  ASSERT_EQ(start(with), 0);
  with.who = "verify t1";
  {
    Workbench bench(with, context_);
    ASSERT_TRUE(bench.open("t1").ok());
    const Result<ledger::VariantVerdict> verdict = bench.verify();
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_NEAR(verdict.value().ratio, 1.03, 0.005);
  }
  const ledger::PairsArtifact look = ledger::parse_pairs(stored("back-to-back-t1"), "pairs").value();
  EXPECT_EQ(look.purpose, ledger::Purpose::nominate);
  EXPECT_EQ(look.timer, "event/back-to-back");
  EXPECT_TRUE(check().broken.empty()) << check().text;
  const Result<report::ReportPaths> paths =
      report::write_report(path("artifacts"), check().run, path("out"), {path("anchor.json"), ""});
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  const std::string page = read_file(paths.value().markdown).value();
  EXPECT_NE(page.find("over double is gone back to back (+0.1 %"), std::string::npos) << page;
}

}  // namespace
}  // namespace hc::cli
