// Compiled kernels in the worker: poisoned outputs, inputs in place, prints, crashes and manifests that do not fit.
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "bench/worker_client.h"
#include "runtime/manifest.h"
#include "runtime/toolchain.h"

namespace hc::bench {
namespace {

constexpr int64_t kCount = 1000;

class Artifact : public testing::Test {
 protected:
  std::string folder_ = make_temp_folder("hc-artifact");
  std::unique_ptr<Worker> worker_;

  void SetUp() override {
    auto started = Worker::start({HC_BINARY_DIR "/hillclimb-worker"}, {10, 10, 10, 10, 10});
    ASSERT_TRUE(started.ok()) << started.error().message;
    worker_ = std::move(started).value();
  }

  /// The manifest of a kernel from x (parameter 1) to a new y; `body` may use both.
  runtime::Manifest build(const std::string& body, bool in_place = false) {
    const auto toolchain = runtime::find_toolchain();
    EXPECT_TRUE(toolchain.ok());
    const std::string source =
        "#include <cstdio>\nextern \"C\" void hc_call(void* const* s) {\n"
        "  auto* x = static_cast<float*>(s[0]);\n  auto* y = static_cast<float*>(s[1]);\n" +
        body + "\n(void)x; (void)y; }\n";
    const auto built = runtime::build_shared_object(toolchain.value(), source, {}, folder_, 60);
    EXPECT_TRUE(built.ok()) << built.error().message;
    runtime::Manifest manifest;
    manifest.kernel = "double";
    manifest.shared_object = built.ok() ? built.value() : "";
    manifest.source_sha256 = "source";
    manifest.args = {"0.5", "f32[1000]=uniform(1,2)"};
    manifest.storages = {{"x", DType::f32, kCount, 1, in_place, false}, {"y", DType::f32, kCount, -1, true, true}};
    return manifest;
  }
  Result<PrepareReply> prepare(const runtime::Manifest& manifest, const std::string& slot = "main") {
    const std::string path = join_path(folder_, "manifest-" + slot + ".json");
    EXPECT_EQ(write_file_atomic(path, runtime::to_json(manifest).dump()), "");
    return worker_->prepare({.manifest = path, .seed = 5, .threads = 1, .slot = slot});
  }
};

const std::string kDouble = "for (int i = 0; i < 1000; ++i) y[i] = 2 * x[i];";

TEST_F(Artifact, RunsOnDrawnInputs) {
  const auto prepared = prepare(build(kDouble));
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_EQ(prepared.value().version, "source");
  EXPECT_EQ(prepared.value().bytes, 8000);
  EXPECT_FALSE(prepared.value().in_place);
  const auto checked = worker_->check({.out_dir = folder_});
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  ASSERT_EQ(checked.value().outputs.size(), 1U);
  const OutputFile& output = checked.value().outputs[0];
  EXPECT_EQ(output.index, 1);
  EXPECT_EQ(output.name, "y");
  EXPECT_EQ(output.nan_count, 0);
  std::string why;
  TensorBuffer x(*tensor_spec_from_text("f32[1000]=uniform(1,2)", &why));
  x.fill_random(5, 1);  // the stream is the parameter's position
  const std::string bytes = read_file(output.path).value_or("");
  ASSERT_EQ(bytes.size(), 4000U);
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[i], 2 * static_cast<const float*>(x.data())[i]);
  }
  const auto timed = worker_->time({.blocks = 2, .min_block_s = 0.0001, .warmup_s = 0});
  ASSERT_TRUE(timed.ok()) << timed.error().message;
  const auto after = worker_->check({.run = false});
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after.value().outputs.at(0).sha256, output.sha256);
}

TEST_F(Artifact, WhatIsNotWrittenStaysPoisoned) {
  ASSERT_TRUE(prepare(build("for (int i = 0; i < 990; ++i) y[i] = 1;")).ok());
  for (int round = 0; round < 2; ++round) {
    const auto checked = worker_->check({});
    ASSERT_TRUE(checked.ok());
    EXPECT_EQ(checked.value().outputs.at(0).nan_count, 10);
  }
}

TEST_F(Artifact, InputsWrittenInPlaceAreGivenBack) {
  const runtime::Manifest manifest = build("for (int i = 0; i < 1000; ++i) y[i] = x[i] += 1;", true);
  const auto prepared = prepare(manifest);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_TRUE(prepared.value().in_place);
  const auto first = worker_->check({});
  ASSERT_TRUE(worker_->time({.blocks = 1, .min_block_s = 0, .warmup_s = 0}).ok());
  const auto second = worker_->check({});
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first.value().outputs.size(), 2U);
  EXPECT_EQ(first.value().outputs[0].sha256, second.value().outputs[0].sha256);
  EXPECT_EQ(first.value().outputs[1].sha256, second.value().outputs[1].sha256);
  // Another subject of the same inputs still sees them untouched.
  ASSERT_TRUE(prepare(build(kDouble), "other").ok());
  const auto other = worker_->check({.slot = "other"});
  ASSERT_TRUE(worker_->time({.blocks = 1, .min_block_s = 0, .warmup_s = 0}).ok());
  const auto again = worker_->check({.slot = "other"});
  ASSERT_TRUE(other.ok() && again.ok());
  EXPECT_EQ(other.value().outputs.at(0).sha256, again.value().outputs.at(0).sha256);
}

TEST_F(Artifact, PrintsDoNotReachTheProtocol) {
  ASSERT_TRUE(prepare(build("std::printf(\"hello\\n\"); std::fflush(stdout); y[0] = 1;")).ok());
  EXPECT_TRUE(worker_->check({}).ok());
  EXPECT_TRUE(worker_->time({.blocks = 1, .min_block_s = 0, .warmup_s = 0}).ok());
  EXPECT_TRUE(worker_->bye().ok());
}

TEST_F(Artifact, ACrashIsNamed) {
  ASSERT_TRUE(prepare(build("*static_cast<volatile int*>(nullptr) = 1;")).ok());
  const auto checked = worker_->check({});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::worker_failed);
  EXPECT_NE(checked.error().message.find("died during check; it was ended by signal"), std::string::npos)
      << checked.error().message;
}

TEST_F(Artifact, ManifestsThatDoNotFitAreRefused) {
  const runtime::Manifest good = build(kDouble);
  runtime::Manifest bad = good;
  bad.storages[0].param_index = 0;  // a scalar
  EXPECT_FALSE(prepare(bad).ok());
  bad.storages[0].param_index = 7;
  EXPECT_FALSE(prepare(bad).ok());
  bad = good;
  bad.storages[0].numel = 1001;
  EXPECT_FALSE(prepare(bad).ok());
  bad = good;
  bad.storages[0].dtype = DType::f16;
  EXPECT_FALSE(prepare(bad).ok());
  bad = good;
  bad.shared_object = "/nowhere.so";
  EXPECT_FALSE(prepare(bad).ok());
  EXPECT_TRUE(prepare(good).ok());  // the worker lives on
}

}  // namespace
}  // namespace hc::bench
