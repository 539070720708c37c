// The example workers of baselines/ in a task of their own: right answers, the same inputs, records without a fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/worker_task_fixture.h"

namespace hc::cli {
namespace {

const std::string kExample = fmt::format("[\"{}/example_worker\"]", HC_BINARY_DIR);
const std::string kPythonExample =
    fmt::format("[\"python3\", \"{}/baselines/python/example_worker.py\"]", HC_SOURCE_DIR);

TEST_F(WorkerTask, TheExampleWorkersArePutToUseAsTheyStand) {
  if (!file_exists(std::string(HC_BINARY_DIR) + "/example_worker")) GTEST_SKIP() << "the example was not built";
  const std::string text = fmt::format(
      "name = \"tiny\"\nkernel = \"{}/kernels/exp.py:exp_fwd\"\nbytes = \"8 * m * n\"\n\n[inputs]\n"
      "x = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\nname = \"t1\"\nm = 7\nn = 33\n\n[candidate]\nname = \"mine\"\n"
      "implementation = \"exp\"\nworker = {}\n\n[[baseline]]\nname = \"theirs\"\nimplementation = \"exp\"\n"
      "worker = {}\n\n[[baseline]]\nname = \"other\"\nimplementation = \"exp\"\noperation = \"softmax\"\n"
      "worker = {}\n\n[effort]\naa_pairs = 0\npairs = 5\nblocks = 5\nblock_seconds = 0.0005\nnominate_pairs = 2\n",
      HC_SOURCE_DIR, kExample, kPythonExample, kExample);
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  ASSERT_EQ(start(options("start")), 0);
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().best_baseline, "theirs");
  const ledger::CheckRecord judged = ledger::parse_check(stored("check-t1"), "check").value();
  EXPECT_TRUE(judged.passed);
  EXPECT_EQ(judged.reference, "oracle");
  const ledger::TuneRecord refusal = ledger::parse_tune(stored("config-t1-other"), "config").value();
  EXPECT_NE(refusal.candidates.at(0).reason.find("`exp` alone, not softmax"), std::string::npos);
  EXPECT_TRUE(check().broken.empty()) << check().text;
}

}  // namespace
}  // namespace hc::cli
