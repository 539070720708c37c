// The probe tells right from wrong, and outlives a config that crashes, hangs or writes where it must not.
#include "tune/probe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "tune/build.h"

namespace hc::tune {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
constexpr const char* kText = R"(import torch
import helion
import helion.language as hl


@helion.kernel()
def doubled(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_n, tile_m in hl.tile(x.size()):
        out[tile_n, tile_m] = x[tile_n, tile_m] * 2
    return out
)";

class Probing : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    const auto toolchain = runtime::find_toolchain();
    if (!toolchain.ok()) GTEST_SKIP() << "no compiler is there";
    folder_ = make_temp_folder("probe-test");
    ASSERT_EQ(write_file_atomic(join_path(folder_, "k.py"), kText), "");
    site_ = {target::host(), toolchain.value(), join_path(folder_, "cache")};
    request_.module = lang::parse_file(join_path(folder_, "k.py")).value();
    request_.kernel = "doubled";
    request_.args = {lang::arg_from_text("f32[30,33]").value()};
    probe_ = std::make_unique<Probe>(kProgram,
                                     ProbeSetup{join_path(folder_, "k.py"), "doubled", {"f32[30,33]"}, 1, 500, ""});
  }
  void TearDown() override {
    probe_.reset();
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  /// The kernel as generated, or with another body of its entry.
  ProbeAnswer ask(const std::string& body) {
    Built built = lower(request_, {}, site_).value();
    if (!body.empty()) {
      built.compiled.source = "#include <unistd.h>\nextern \"C\" void hc_call(void* const* s) {\n" + body + "\n}\n";
    }
    const Status made = make_shared_object(site_, &built);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    ProbeRequest request;
    request.manifest_path = built.manifest_path;
    request.config = built.manifest.config;
    request.limit_s = 10;
    request.summary = true;
    return probe_->ask(request);
  }

  std::string folder_;
  BuildSite site_;
  compile::Request request_;
  std::unique_ptr<Probe> probe_;
};

TEST_F(Probing, TellsRightFromWrongCrashedAndHung) {
  const ProbeAnswer right = ask("");
  EXPECT_EQ(right.outcome, ProbeOutcome::ok) << right.reason;
  EXPECT_GT(right.checked, 0);
  EXPECT_EQ(right.outputs[0].value("name", ""), "out");

  const ProbeAnswer untouched = ask("(void)s;");
  EXPECT_EQ(untouched.outcome, ProbeOutcome::wrong_answer) << "poison is never right";
  EXPECT_EQ(untouched.wrong, untouched.checked);

  const ProbeAnswer copied = ask("for (int i = 0; i < 990; ++i) ((float*)s[1])[i] = ((float*)s[0])[i];");
  EXPECT_EQ(copied.outcome, ProbeOutcome::wrong_answer);
  EXPECT_NE(copied.reason.find("out["), std::string::npos) << copied.reason;

  const ProbeAnswer crashed = ask("*(volatile int*)16 = 1; (void)s;");
  EXPECT_EQ(crashed.outcome, ProbeOutcome::crashed);
  EXPECT_NE(crashed.reason.find("signal 11"), std::string::npos) << crashed.reason;

  const ProbeAnswer behind = ask("for (int i = 0; i < 991; ++i) ((float*)s[1])[i] = 2 * ((float*)s[0])[i];");
  EXPECT_EQ(behind.outcome, ProbeOutcome::wrong_answer);
  EXPECT_NE(behind.reason.find("behind the end of out"), std::string::npos) << behind.reason;

  EXPECT_EQ(ask("").outcome, ProbeOutcome::ok) << "the probe goes on after all of them";
}

TEST_F(Probing, AHangEndsAtItsLimit) {
  const Built built = build(request_, {}, site_).value();
  Built hung = built;
  hung.compiled.source = "extern \"C\" void hc_call(void* const*) { for (volatile int i = 0;;) (void)i; }\n";
  ASSERT_TRUE(make_shared_object(site_, &hung).ok());
  ProbeRequest request;
  request.manifest_path = hung.manifest_path;
  request.config = hung.manifest.config;
  request.limit_s = 0.5;
  const ProbeAnswer answer = probe_->ask(request);
  EXPECT_EQ(answer.outcome, ProbeOutcome::timed_out) << answer.reason;
}

TEST_F(Probing, OutputsOfOthersAreJudgedByTheirFiles) {
  const Built built = build(request_, {}, site_).value();
  const std::string path = join_path(folder_, "out.bin");
  ProbeRequest request;
  request.config = built.manifest.config;
  request.files = {path};
  EXPECT_EQ(probe_->ask(request).outcome, ProbeOutcome::failed) << "no file is there";
  TensorBuffer x(TensorSpec{DType::f32, {30, 33}, {}, {}});
  x.fill_random(1, 0);
  auto* values = static_cast<float*>(x.data());
  for (int i = 0; i < 990; ++i) values[i] *= 2;
  const auto store = [&] {
    ASSERT_EQ(write_file_atomic(path, {static_cast<const char*>(x.data()), 990 * sizeof(float)}), "");
  };
  store();
  const ProbeAnswer right = probe_->ask(request);
  EXPECT_EQ(right.outcome, ProbeOutcome::ok) << right.reason;
  values[0] += 1;
  store();
  EXPECT_EQ(probe_->ask(request).outcome, ProbeOutcome::wrong_answer);
  request.storages = true;
  request.files = {"", path};
  EXPECT_EQ(probe_->ask(request).outcome, ProbeOutcome::wrong_answer) << "by storage: out is the second";
}

}  // namespace
}  // namespace hc::tune
