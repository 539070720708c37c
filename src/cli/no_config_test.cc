// A tune in which every candidate falls: what is said, how it ends, and what the goal then holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "ledger/store.h"

namespace hc::cli {
namespace {

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";

/// A compiler that tells its version and compiles nothing.
class NoConfig : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    folder_ = make_temp_folder("no-config-test");
    write("c++",
          "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'a broken compiler 1.0'; exit 0; fi\n"
          "echo 'the compiler is out of order' >&2\nexit 1\n");
    std::filesystem::permissions(path("c++"), std::filesystem::perms::owner_all);
    write(
        "k.py",
        "import torch\nimport helion\nimport helion.language as hl\n\n\n@helion.kernel()\n"
        "def softmax(x: torch.Tensor) -> torch.Tensor:\n    n, _m = x.size()\n    out = torch.empty_like(x)\n"
        "    for tile_n in hl.tile(n):\n        out[tile_n, :] = torch.softmax(x[tile_n, :], dim=1)\n    return out\n");
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_EQ(write_file_atomic(path(name), text), "");
  }
  RunOutcome run(const std::string& arguments) const {
    return run_process(
        {"sh", "-c",
         fmt::format("cd '{0}' && CXX='{0}/c++' XDG_STATE_HOME='{0}/state' HILLCLIMB_CACHE='{0}/cache' exec '{1}' {2}",
                     folder_, kProgram, arguments)},
        300);
  }

  std::string folder_;
};

TEST_F(NoConfig, TuneCountsWhyTheyFell) {
  const RunOutcome tune = run("tune k.py:softmax --args 'f32[8,16]' --seed 1 --candidates 3");
  EXPECT_EQ(tune.exit_code, 65) << tune.out << tune.err;
  EXPECT_NE(tune.err.find("3002 NoConfigFound"), std::string::npos) << tune.err;
  EXPECT_NE(tune.err.find("candidates came through"), std::string::npos) << tune.err;
  EXPECT_NE(tune.err.find(" compile_failed, first: "), std::string::npos) << tune.err;
}

TEST_F(NoConfig, ATuneWithoutLimitEndsAsWell) {
  const RunOutcome tune = run("tune k.py:softmax --args 'f32[8,16]' --seed 1");
  EXPECT_EQ(tune.exit_code, 65) << tune.out << tune.err;
  EXPECT_NE(tune.err.find("3002 NoConfigFound"), std::string::npos) << tune.err;
}

TEST_F(NoConfig, ClimbLeavesTheVariantUnmeasuredAndUnmet) {
  write("tiny.toml",
        "name = \"tiny\"\nkernel = \"k.py:softmax\"\nbackend = \"cpu\"\nbytes = \"2 * 4 * m * n\"\n\n[inputs]\n"
        "x = \"f32[{m},{n}]\"\n\n[[variant]]\nname = \"t1\"\nm = 8\nn = 16\n\n[[baseline]]\nname = \"copy\"\n"
        "worker = \"memcpy\"\n\n[effort]\nmax_candidates = 3\n");
  const RunOutcome climb = run("climb tiny.toml");
  SCOPED_TRACE(climb.out + climb.err);
  EXPECT_EQ(climb.exit_code, 1) << "unmet";
  EXPECT_NE(climb.out.find("tiny/t1 was not measured"), std::string::npos);
  EXPECT_NE(climb.out.find("3002 NoConfigFound"), std::string::npos);
  EXPECT_EQ(run("check").exit_code, 1);
  const ledger::LedgerView view = ledger::read_ledger(path("artifacts"));
  const bool closed = std::any_of(view.lines.begin(), view.lines.end(), [](const auto& line) {
    return line.kind == "run_close" && line.note.find("candidates came through") != std::string::npos;
  });
  EXPECT_TRUE(closed) << "the ledger says how the tune ended";
}

}  // namespace
}  // namespace hc::cli
