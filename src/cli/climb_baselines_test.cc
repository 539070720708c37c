// A baseline that is not on this machine: a row with its reason, no rival, and nothing begun where all are missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/workbench.h"
#include "cli/worker_task_fixture.h"
#include "ledger/checker.h"

namespace hc::cli {
namespace {

constexpr const char* kGone = "[[baseline]]\nname = \"gone\"\nworker = [\"no-such-program-anywhere\"]\n";
constexpr const char* kBlas =
    "[[baseline]]\nname = \"blas\"\nworker = \"openblas\"\noperation = \"sum\"\nlibrary = "
    "\"/nowhere/libopenblas.so.0\"\n";

class MissingBaseline : public WorkerTask {
 protected:
  void write_task(const std::string& baselines) const {
    const std::string text = fmt::format(
        "name = \"tiny\"\nkernel = \"{}\"\nbytes = \"8 * m * n\"\n[inputs]\nx = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\n"
        "name = \"t1\"\nm = 8\nn = 64\n\n[candidate]\nname = \"mine\"\nimplementation = \"plain\"\nworker = "
        "[\"python3\", \"{}\"]\n{}\n[effort]\npairs = 8\nblocks = 5\nblock_seconds = 0.0005\nnominate_pairs = 2\n",
        kKernels, kWorker, baselines);
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  }
  static std::string here() {
    return fmt::format("[[baseline]]\nname = \"double\"\nimplementation = \"twice\"\nworker = [\"python3\", \"{}\"]\n",
                       kWorker);
  }
};

TEST_F(MissingBaseline, IsARowWithItsReasonAndNoRival) {
  write_task(here() + kGone + kBlas);
  {
    Workbench bench(options("test"), context_);
    const Result<int> without = bench.first_numbers();
    ASSERT_TRUE(without.ok()) << without.error().message;
    ASSERT_EQ(without.value(), 0);
  }
  for (const auto& [name, words] : {std::pair{"gone", "no-such-program-anywhere"}, {"blas", "libopenblas0"}}) {
    const ledger::TuneRecord record = ledger::parse_tune(stored(fmt::format("config-t1-{}", name)), name).value();
    EXPECT_EQ(record.candidates.at(0).outcome, ledger::Outcome::refused);
    EXPECT_NE(record.candidates.at(0).reason.find(words), std::string::npos) << record.candidates.at(0).reason;
  }
  Workbench bench(options("test"), context_);
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
  Workbench bench(options("test"), context_);
  const Result<int> without = bench.first_numbers();
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::not_available);
  EXPECT_NE(without.error().message.find("gone cannot start"), std::string::npos) << without.error().message;
}

}  // namespace
}  // namespace hc::cli
