// A disk that fills up under `climb`: the message, the exit status, and that the same command goes on afterwards. A
// limit on the size of files fails every longer write as a full disk would.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "contract/goal.h"
#include "ledger/store.h"
#include "runtime/toolchain.h"

namespace hc::cli {
namespace {

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
const std::string kWorker = std::string(HC_SOURCE_DIR) + "/test/workers/softmax_worker.py";
constexpr int64_t kBlock = 512;  ///< bytes of the unit in which a shell counts files

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    if (!run_process({"python3", "--version"}, 20).ok()) GTEST_SKIP() << "no python3 is there";
    folder_ = make_temp_folder("full-disk-test");
    const std::string worker = fmt::format("worker = [\"python3\", \"{}\"]\n", kWorker);
    const std::string text = fmt::format(
        "name = \"tiny\"\nkernel = \"{}/kernels/softmax.py:softmax\"\nbytes = \"8 * m * n\"\n\n[inputs]\n"
        "x = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\nname = \"t1\"\nm = 8\nn = 64\n\n[candidate]\nname = \"mine\"\n"
        "implementation = \"plain\"\ntune_seconds = 0\n{}\n[[baseline]]\nname = \"double\"\n"
        "implementation = \"twice\"\n{}\n[effort]\npairs = 20\nblocks = 7\nblock_seconds = 0.0005\n",
        HC_SOURCE_DIR, worker, worker);
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  std::string artifacts() const { return path("artifacts"); }
  /// The program in a shell that first runs `before`.
  RunOutcome run(const std::string& arguments, const std::string& before = "true") const {
    return run_process(
        {"sh", "-c",
         fmt::format("cd '{0}' && {1} && XDG_STATE_HOME='{0}/state' HILLCLIMB_CACHE='{0}/cache' exec '{2}' {3}",
                     folder_, before, kProgram, arguments)},
        600);
  }
  /// `climb` where no file may grow beyond so many bytes.
  RunOutcome climb_within(int64_t bytes) const {
    return run("climb tiny.toml", fmt::format("trap '' XFSZ && ulimit -f {}", bytes / kBlock));
  }
  void expect_said(const RunOutcome& climb) const {
    EXPECT_EQ(climb.exit_code, 65) << climb.out << climb.err;
    EXPECT_NE(climb.err.find("FileError"), std::string::npos) << climb.err;
    EXPECT_NE(climb.err.find("cannot be written: File too large"), std::string::npos) << climb.err;
    EXPECT_NE(climb.err.find("run the same command again; what was stored so far is kept"), std::string::npos)
        << climb.err;
  }
  /// Stored objects of a purpose in the ledger.
  int64_t stored(const std::string& name) const {
    const ledger::LedgerView view = ledger::read_ledger(artifacts());
    EXPECT_TRUE(view.broken.empty());
    return std::count_if(view.lines.begin(), view.lines.end(),
                         [&](const auto& l) { return l.kind == "object" && l.name.find(name) != std::string::npos; });
  }

  std::string folder_;
};

TEST_F(FullDisk, FromTheBeginLeavesNothingHalfWritten) {
  expect_said(climb_within(0));
  EXPECT_FALSE(file_exists(contract::goal_path(artifacts())));
  EXPECT_TRUE(ledger::read_ledger(artifacts()).lines.empty());
  const RunOutcome check = run("check");
  EXPECT_EQ(check.exit_code, 2) << "no goal is no met goal" << check.out;
  const RunOutcome again = run("climb tiny.toml --pairs 5");
  EXPECT_NE(again.exit_code, 65) << again.out << again.err;
  EXPECT_EQ(stored("tune-t1"), 1);
  EXPECT_EQ(run("check").exit_code, again.exit_code);
}

TEST_F(FullDisk, DuringTheConfirmingPairsKeepsTheTuneAndGoesOn) {
  std::string task = read_file(path("tiny.toml")).value_or("");
  task.replace(task.find("[effort]\n"), 9, "[effort]\naa_pairs = 0\n");  // the pairs are to be the first that is large
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), task), "");
  expect_said(climb_within(16 * 1024));
  EXPECT_EQ(stored("tune-t1"), 1) << "what was stored before is kept";
  EXPECT_EQ(stored("/confirm-t1"), 0) << "the pairs did not fit";
  const auto goal = contract::read_goal(artifacts());
  ASSERT_TRUE(goal.ok());
  EXPECT_NE(run("check").exit_code, 2) << "incomplete, and not broken";

  const RunOutcome again = run("climb tiny.toml");
  SCOPED_TRACE(again.out + again.err);
  EXPECT_NE(again.exit_code, 65);
  EXPECT_NE(again.out.find("going on with run " + goal.value().run), std::string::npos);
  EXPECT_NE(again.out.find("tuned before"), std::string::npos);
  EXPECT_EQ(stored("tune-t1"), 1);
  if (again.out.find("was not measured") != std::string::npos) GTEST_SKIP() << "the machine was too restless";
  EXPECT_GE(stored("/confirm-t1"), 1) << "slow modes may have it measured twice";
  EXPECT_EQ(run("check").exit_code, again.exit_code);
}

TEST_F(FullDisk, DuringATuneOfOurOwnSaysSoAndBlamesNoCandidate) {
  if (!runtime::find_toolchain().ok()) GTEST_SKIP() << "no compiler is there";
  const std::string task = fmt::format(
      "name = \"tiny\"\nkernel = \"{}/kernels/softmax.py:softmax\"\nbackend = \"cpu\"\nbytes = \"8 * m * n\"\n\n"
      "[inputs]\nx = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\nname = \"t1\"\nm = 8\nn = 64\n\n[[baseline]]\n"
      "name = \"copy\"\nworker = \"memcpy\"\n\n[effort]\nmax_candidates = 2\n",
      HC_SOURCE_DIR);
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), task), "");
  const RunOutcome full = climb_within(8 * 1024);
  EXPECT_EQ(full.exit_code, 65) << full.out << full.err;
  EXPECT_NE(full.err.find("FileError"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("cannot be written: File too large"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("make room"), std::string::npos) << full.err;
  EXPECT_EQ(stored("tune-t1"), 0);
  const RunOutcome again = run("climb tiny.toml");
  EXPECT_NE(again.out.find("going on with run "), std::string::npos) << again.out << again.err;
  EXPECT_EQ(stored("tune-t1"), 1) << again.out << again.err;
}

}  // namespace
}  // namespace hc::cli
