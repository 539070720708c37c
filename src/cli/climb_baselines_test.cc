// A baseline that is not on this machine: a row with its reason, no rival, and nothing begun where all are missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/workbench.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
const std::string kWorker = std::string(HC_SOURCE_DIR) + "/test/workers/softmax_worker.py";
const std::string kKernel = std::string(HC_SOURCE_DIR) + "/kernels/softmax.py:softmax";
constexpr const char* kGone = "[[baseline]]\nname = \"gone\"\nworker = [\"no-such-program-anywhere\"]\n";
constexpr const char* kBlas =
    "[[baseline]]\nname = \"blas\"\nworker = \"openblas\"\noperation = \"sum\"\nlibrary = "
    "\"/nowhere/libopenblas.so.0\"\n";

class MissingBaseline : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    if (!run_process({"python3", "--version"}, 20).ok()) GTEST_SKIP() << "no python3 is there";
    folder_ = make_temp_folder("missing-baseline-test");
    context_ = {path("cache"), path("state"), path("anchor.json"), kProgram};
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }

  void write_task(const std::string& baselines) const {
    const std::string text = fmt::format(
        "name = \"tiny\"\nkernel = \"{}\"\nbytes = \"8 * m * n\"\n[inputs]\nx = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\n"
        "name = \"t1\"\nm = 8\nn = 64\n\n[candidate]\nname = \"mine\"\nimplementation = \"plain\"\nworker = "
        "[\"python3\", \"{}\"]\n{}\n[effort]\npairs = 8\nblocks = 5\nblock_seconds = 0.0005\nnominate_pairs = 2\n",
        kKernel, kWorker, baselines);
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  }
  static std::string here() {
    return fmt::format("[[baseline]]\nname = \"double\"\nimplementation = \"twice\"\nworker = [\"python3\", \"{}\"]\n",
                       kWorker);
  }
  /// Whatever else runs on this machine voids nothing here.
  ClimbOptions options() const {
    ClimbOptions out;
    out.task_path = path("tiny.toml");
    out.artifacts = path("artifacts");
    out.who = "test";
    out.anchor_band = 1e9;
    out.canary = [] { return bench::CanaryReading{1, 1, 0}; };
    return out;
  }
  /// The newest stored record whose file name holds a text.
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

TEST_F(MissingBaseline, IsARowWithItsReasonAndNoRival) {
  write_task(here() + kGone + kBlas);
  {
    Workbench bench(options(), context_);
    const Result<int> without = bench.first_numbers();
    ASSERT_TRUE(without.ok()) << without.error().message;
    ASSERT_EQ(without.value(), 0);
  }
  for (const auto& [name, words] : {std::pair{"gone", "no-such-program-anywhere"}, {"blas", "libopenblas0"}}) {
    const ledger::TuneRecord record = ledger::parse_tune(stored(fmt::format("config-t1-{}", name)), name).value();
    EXPECT_EQ(record.candidates.at(0).outcome, ledger::Outcome::refused);
    EXPECT_NE(record.candidates.at(0).reason.find(words), std::string::npos) << record.candidates.at(0).reason;
  }
  Workbench bench(options(), context_);
  ASSERT_TRUE(bench.open("t1").ok());
  const Result<ledger::VariantVerdict> verdict = bench.verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().best_baseline, "double");
  for (const char* name : {"gone", "blas"}) {
    EXPECT_EQ(verdict.value().reason.find(name), std::string::npos) << verdict.value().reason;
  }
}

TEST_F(MissingBaseline, EndsTheStartWhereThereIsNoOther) {
  write_task(kGone);
  Workbench bench(options(), context_);
  const Result<int> without = bench.first_numbers();
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::not_available);
  EXPECT_NE(without.error().message.find("gone cannot start"), std::string::npos) << without.error().message;
}

}  // namespace
}  // namespace hc::cli
