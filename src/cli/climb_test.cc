// A whole climb on a task of a few microseconds: from nothing to verdict and report, killed in between, and refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/worker_client.h"
#include "cli/climb.h"
#include "runtime/toolchain.h"

namespace hc::cli {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
const char* const kKernel = R"(import torch
import helion
import helion.language as hl


@helion.kernel()
def softmax(x: torch.Tensor) -> torch.Tensor:
    n, _m = x.size()
    out = torch.empty_like(x)
    for tile_n in hl.tile(n):
        out[tile_n, :] = torch.nn.functional.softmax(x[tile_n, :], dim=1)
    return out
)";
const char* const kTask = R"(name = "tiny"
kernel = "k.py:softmax"
backend = "cpu"
bytes = "2 * 4 * m * n"

[inputs]
x = "f32[{m},{n}]"

[[variant]]
name = "t1"
m = 256
n = 512

[[baseline]]
name = "onednn"
worker = "onednn"
operation = "softmax"

[criteria]
geomean_min = 1.0

[effort]
pairs = 5
max_candidates = 5
blocks = 3
block_seconds = 0.001
)";

/// A folder with kernel and task, and an environment of its own.
class Climbing : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    if (!runtime::find_toolchain().ok()) GTEST_SKIP() << "no compiler is there";
    bool onednn = false;
    const auto offers = bench::discover_offers({kProgram, "worker"});
    for (const bench::Offer& offer : offers.ok() ? offers.value() : std::vector<bench::Offer>{}) {
      onednn |= offer.implementation == "onednn";
    }
    if (!onednn) GTEST_SKIP() << "no oneDNN library is there";
    folder_ = make_temp_folder("climb-test");
    write("k.py", kKernel);
    write("tiny.toml", kTask);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_EQ(write_file_atomic(join_path(folder_, name), text), "");
  }
  std::vector<std::string> shell(const std::string& arguments) const {
    return {"sh", "-c",
            fmt::format("cd '{0}' && XDG_STATE_HOME='{0}/state' HILLCLIMB_CACHE='{0}/cache' exec '{1}' {2}", folder_,
                        kProgram, arguments)};
  }
  RunOutcome run(const std::string& arguments) const { return run_process(shell(arguments), 600); }
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  Json goal() const { return parse_json(read_file(path("artifacts/goal.json")).value_or("")).value_or(Json::object()); }

  std::string folder_;
};

TEST_F(Climbing, EndsWithVerdictAndReport) {
  const RunOutcome climb = run("climb tiny.toml --seed 5");
  SCOPED_TRACE(climb.out + climb.err);
  // Its tunes were cut short by max_candidates, so the goal cannot be met; noise may leave it undecided.
  ASSERT_TRUE(climb.exit_code == 1 || climb.exit_code == 3) << climb.exit_code;
  const Json json = goal();
  ASSERT_EQ(json.value("task", ""), "tiny");
  ASSERT_EQ(json["shapes"].size(), 1U);
  // On a machine that is busy with other things every pair may be void; that is said, and is no fault of the climb.
  if (climb.out.find("was not measured") != std::string::npos) GTEST_SKIP() << "the machine was too restless";
  for (const Json& shape : json["shapes"]) {
    EXPECT_GT(shape.value("ratio", 0.0), 0) << shape.dump();
    EXPECT_TRUE(file_exists(path(shape.value("artifact", "none")))) << shape.dump();
  }
  const std::string run_folder = path("artifacts/" + json.value("run", ""));
  for (const char* name : {"report.md", "report.html", "tune-t1.json", "check-t1.json", "aa-t1.json"}) {
    EXPECT_TRUE(file_exists(join_path(run_folder, name))) << name;
  }
  EXPECT_NE(climb.out.find("report.md"), std::string::npos);
  const Json confirm = parse_json(read_file(path(json["shapes"][0].value("artifact", ""))).value_or("")).value();
  EXPECT_GT(confirm.value("read_gbs", 0.0), 0);
  EXPECT_GT(confirm.value("cache_bytes", 0.0), 0);
  EXPECT_EQ(confirm["machine"]["affinity"], confirm["machine_close"]["affinity"]);
  EXPECT_GT(confirm["pairs"][0]["canary_before"].value("memory_s", 0.0), 0);
  // Its baseline was measured against itself before, and the report shows what came of it.
  const Json itself = parse_json(read_file(join_path(run_folder, "aa-t1.json")).value_or("")).value();
  EXPECT_EQ(itself.value("purpose", ""), "aa");
  EXPECT_EQ(itself["arms"][0]["binary_sha256"], itself["arms"][1]["binary_sha256"]);
  EXPECT_LT(itself.value("open_seq", 0), confirm.value("open_seq", 0));
  EXPECT_NE(climb.out.find("t1  A/A: "), std::string::npos);
  EXPECT_NE(read_file(join_path(run_folder, "report.md")).value_or("").find("## A/A calibration"), std::string::npos);
  // The checker comes to the same verdict by itself, and a forged number is found.
  EXPECT_EQ(run("check").exit_code, climb.exit_code);
  Json forged = json;
  forged["shapes"][0]["ratio"] = 9.5;
  write("artifacts/goal.json", forged.dump(1));
  EXPECT_EQ(run("check").exit_code, 2);
}

TEST_F(Climbing, AKilledRunIsContinued) {
  {
    LineProcess first;
    ASSERT_EQ(first.start(shell("climb tiny.toml")), "");
    bool tuned = false;
    for (int i = 0; i < 400 && !tuned; ++i) {
      const std::optional<std::string> line = first.read_line(120);
      if (!line) break;
      tuned = line->find("tiny/t1  tuned in") != std::string::npos;
    }
    ASSERT_TRUE(tuned) << first.err();
    first.stop(0);  // kills the whole group
  }
  const std::string run_name = goal().value("run", "");
  const RunOutcome second = run("climb tiny.toml");
  SCOPED_TRACE(second.out + second.err);
  EXPECT_TRUE(second.exit_code == 1 || second.exit_code == 3) << second.exit_code;
  EXPECT_NE(second.out.find("going on with run " + run_name), std::string::npos);
  EXPECT_NE(second.out.find("tiny/t1  tuned before"), std::string::npos);
  EXPECT_EQ(goal().value("run", ""), run_name);
  EXPECT_EQ(run("check").exit_code, second.exit_code);
}

TEST_F(Climbing, TheRoundsOfARunKilledInTheMiddleAreKept) {
  const auto journals = [&] {
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(path("artifacts"), error);
         !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      const std::string name = it->path().string();
      if (name.ends_with(".rounds.jsonl") && !read_file(name).value_or("").empty()) return name;
    }
    return std::string();
  };
  std::string journal;
  {
    LineProcess first;
    ASSERT_EQ(first.start(shell("climb tiny.toml")), "");
    for (int i = 0; i < 24000 && journal.empty(); ++i) {
      ::usleep(5000);
      journal = journals();
    }
    first.stop(0);  // kills the whole group
  }
  ASSERT_FALSE(journal.empty());
  const RunOutcome second = run("climb tiny.toml");
  SCOPED_TRACE(second.out + second.err);
  EXPECT_TRUE(second.exit_code == 1 || second.exit_code == 3) << second.exit_code;
  EXPECT_NE(second.out.find("count for nothing: the run was killed"), std::string::npos);
  EXPECT_EQ(journals(), "");
  const std::string file = fs::path(journal).filename().string();  // NAME-SEQ.rounds.jsonl
  const std::string name = file.substr(0, file.rfind('-'));
  const std::string kept = fs::path(journal).parent_path().string() + "/killed-" + name + ".json";
  const Json json = parse_json(read_file(kept).value_or("")).value_or(Json::object());
  ASSERT_TRUE(json.contains("pairs")) << kept;
  ASSERT_FALSE(json["pairs"].empty());
  // a restless machine may have voided the round before the kill did
  const std::string rule = json["pairs"][0].value("rule", "");
  EXPECT_TRUE(rule == "run_killed" || rule == "canary") << rule;
  EXPECT_FALSE(json["pairs"][0].value("valid", true));
  EXPECT_FALSE(json["pairs"][0]["readings"].empty());
  EXPECT_EQ(run("check").exit_code, second.exit_code);
}

TEST_F(Climbing, AnUnwritableFolderIsSaidAtOnce) {
  write("artifacts", "a file stands where the folder should be\n");
  const RunOutcome climb = run("climb tiny.toml");
  EXPECT_EQ(climb.exit_code, 65) << climb.out << climb.err;
  EXPECT_NE(climb.err.find("artifacts"), std::string::npos) << climb.err;
}

TEST_F(Climbing, AKernelThatDoesNotFitIsRefusedBeforeAnythingIsMeasured) {
  std::string task = kTask;
  task.replace(task.find("x = "), 1, "y");
  write("tiny.toml", task);
  const RunOutcome climb = run("climb tiny.toml");
  EXPECT_EQ(climb.exit_code, 65);
  EXPECT_NE(climb.err.find("no parameter `y`"), std::string::npos) << climb.err;
  EXPECT_FALSE(file_exists(path("artifacts/goal.json")));
}

TEST_F(Climbing, ABaselineThatCannotStartIsSaidBeforeAnythingIsMeasured) {
  std::string task = kTask;
  task.replace(task.find("worker = \"onednn\""), 17, "worker = [\"no-such-worker\"]");
  write("tiny.toml", task);
  const RunOutcome climb = run("climb tiny.toml");
  EXPECT_EQ(climb.exit_code, 69) << climb.out << climb.err;
  EXPECT_NE(climb.err.find("no-such-worker"), std::string::npos) << climb.err;
}

TEST(RunName, IsNeverTakenTwice) {
  const std::string artifacts = make_temp_folder("run-name");
  const std::string first = fresh_run_name(artifacts, "softmax");
  EXPECT_TRUE(first.starts_with("softmax-20")) << first;
  ASSERT_EQ(make_folders(join_path(artifacts, first)), "");
  EXPECT_EQ(fresh_run_name(artifacts, "softmax"), first + "-2");
  fs::remove_all(artifacts);
}

}  // namespace
}  // namespace hc::cli
