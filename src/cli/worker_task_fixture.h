// A task whose candidate is a worker of the tests, on made-up idle GPUs, for the tests of commands.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/workbench.h"
#include "contract/goal.h"
#include "ledger/checker.h"

namespace hc::cli {

inline const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
inline const std::string kWorker = std::string(HC_SOURCE_DIR) + "/test/workers/softmax_worker.py";
inline const std::string kKernels = std::string(HC_SOURCE_DIR) + "/kernels/softmax.py:softmax";

/// GPUs that are idle.
class IdleGpus : public bench::GpuProbe {
 public:
  explicit IdleGpus(std::vector<std::string> uuids) : uuids_(std::move(uuids)) {}
  std::vector<std::string> uuids() const override { return uuids_; }
  bench::GpuState look(const std::string& /*uuid*/) const override {
    bench::GpuState state;
    state.present = true;
    state.name = "Test GPU";
    state.utilization = 0;
    state.temperature_c = 30;
    return state;
  }

 private:
  std::vector<std::string> uuids_;
};

inline std::function<Result<bench::GpuPool>(bench::GpuPoolOptions)> idle_gpus(const std::vector<std::string>& uuids,
                                                                              const std::string& locks) {
  return [uuids, locks](bench::GpuPoolOptions pool) {
    pool.canary = nullptr;
    pool.sleep = [](double) {};
    pool.lock_folder = locks;
    return bench::GpuPool::open(std::make_unique<IdleGpus>(uuids), std::move(pool));
  };
}

class WorkerTask : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    if (!run_process({"python3", "--version"}, 20).ok()) GTEST_SKIP() << "no python3 is there";
    folder_ = make_temp_folder("worker-task-test");
    context_ = {path("cache"), path("state"), path("anchor.json"), kProgram};
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }

  /// A baseline that does everything twice, and `candidate` as further lines of the candidate.
  void write_task(const std::string& candidate, const std::string& head = "", const std::string& tail = "",
                  const std::string& kernel = kKernels) const {
    const std::string worker = fmt::format("worker = [\"python3\", \"{}\"]\nlog = \"{}\"\n", kWorker, path("log"));
    const std::string text = fmt::format(
        "name = \"tiny\"\nkernel = \"{}\"\nbytes = \"8 * m * n\"\n{}\n[inputs]\nx = \"f32[{{m}},{{n}}]\"\n\n"
        "[[variant]]\nname = \"t1\"\nm = 8\nn = 64\n\n[candidate]\nname = \"mine\"\nimplementation = \"plain\"\n{}{}\n"
        "[[baseline]]\nname = \"double\"\nimplementation = \"twice\"\n{}\n{}\n[effort]\npairs = 8\nblocks = 5\n"
        "block_seconds = 0.0005\nnominate_pairs = 2\n",
        kernel, head, worker, candidate, worker, tail);
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  }
  std::string narrow_baseline() const {
    return fmt::format(
        "[[baseline]]\nname = \"narrow\"\nimplementation = \"twice\"\nwidest = 32\nworker = [\"python3\", "
        "\"{}\"]\n",
        kWorker);
  }
  /// Whatever else runs on this machine voids nothing here.
  ClimbOptions options(const std::string& who) const {
    ClimbOptions out;
    out.task_path = path("tiny.toml");
    out.artifacts = path("artifacts");
    out.who = who;
    out.anchor_band = 1e9;
    out.canary = [] { return bench::CanaryReading{1, 1, 0}; };
    return out;
  }
  /// Variants without numbers after `start`.
  int start(const ClimbOptions& with) const {
    Workbench bench(with, context_);
    const Result<int> without = bench.first_numbers();
    EXPECT_TRUE(without.ok()) << without.error().message;
    return without.ok() ? without.value() : -1;
  }
  Result<ledger::VariantVerdict> verify() const {
    Workbench bench(options("verify t1"), context_);
    HC_TRY(bench.open("t1"));
    return bench.verify();
  }
  ledger::CheckReport check() const { return ledger::check_goal({path("artifacts/goal.json"), path("anchor.json")}); }
  /// The whole climb in this process: its exit status, or -1, and what it printed.
  std::pair<int, std::string> climb(const ClimbOptions& with) const {
    testing::internal::CaptureStdout();
    const Result<int> status = Climb(with, context_).run();
    std::string out = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message) << out;
    return {status.ok() ? status.value() : -1, std::move(out)};
  }
  /// A goal that is met whoever else is at work: the baseline takes twelve times as long, and an undecided climb goes
  /// on.
  bool climb_to_the_goal(const std::string& kernel = kKernels) const {
    write_task("tune_seconds = 0\n", "", "", kernel);
    std::string task = read_file(path("tiny.toml")).value_or("");
    const std::string twice = "implementation = \"twice\"\n";
    task.insert(task.find(twice) + twice.size(), "times = 12\n");
    if (!write_file_atomic(path("tiny.toml"), task).empty()) return false;
    for (int i = 0; i < 4; ++i) {
      if (climb(options("climb")).first == ledger::kExitMet) return true;
    }
    return false;
  }
  int tunes() const {
    int out = 0;
    for (const Json& given : log()) out += !given["tune_s"].is_null();
    return out;
  }
  /// What each process of the worker was given, in order.
  std::vector<Json> log() const {
    std::vector<Json> out;
    const std::string text = read_file(path("log")).value_or("");
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      out.push_back(parse_json(text.substr(begin, end - begin)).value_or(Json::object()));
      begin = end + 1;
    }
    return out;
  }
  /// The newest stored record of a kind whose file name holds a text.
  std::string stored(const std::string& part) const {
    const ledger::LedgerView view = ledger::read_ledger(path("artifacts"));
    for (auto line = view.lines.rbegin(); line != view.lines.rend(); ++line) {
      if (line->kind != "object" || line->name.find(part) == std::string::npos) continue;
      return ledger::read_object(path("artifacts"), line->object).value();
    }
    return "";
  }

  std::string folder_;
  Context context_;
};

}  // namespace hc::cli
