// The memory rates of a GPU: what the referee takes from the process that reads them, and on a GPU the rates and the
// anchor themselves; skipped where there is none.
#include "bench/gpu_rates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/protocol.h"
#include "bench/subject.h"

namespace hc::bench {
namespace {

Result<GpuRates> read(const std::string& script, double limit_s = 20) {
  return gpu_rates({"sh", "-c", script}, "GPU-1", limit_s);
}

TEST(GpuRates, AreTakenFromAProcessThatSeesThatDeviceAlone) {
  const Result<GpuRates> rates = read(
      "printf '{\"read_gbs\":4300.5,\"copy_gbs\":3900,\"bytes\":1073741824,\"l2_bytes\":62914560,\"uuid\":\"%s\"}' "
      "\"$CUDA_VISIBLE_DEVICES\"");
  ASSERT_TRUE(rates.ok()) << rates.error().message;
  EXPECT_EQ(rates.value().read_gbs, 4300.5);
  EXPECT_EQ(rates.value().copy_gbs, 3900);
  EXPECT_EQ(rates.value().bytes, 1073741824);
  EXPECT_EQ(rates.value().l2_bytes, 62914560);
}

TEST(GpuRates, OfAnotherDeviceOrOfNoneAreRefused) {
  const auto refuse = [](const std::string& script, const std::string& why, double limit_s = 20) {
    const Result<GpuRates> rates = read(script, limit_s);
    ASSERT_FALSE(rates.ok()) << script;
    EXPECT_EQ(rates.error().code, Code::measurement_failed);
    EXPECT_NE(rates.error().message.find(why), std::string::npos) << rates.error().message;
  };
  const std::string whole = R"("read_gbs":1,"copy_gbs":1,"bytes":1,"l2_bytes":1)";
  refuse("echo '{" + whole + R"(,"uuid":"GPU-2"}')", "saw GPU-2");
  refuse("echo '{" + whole + "}'", "the process saw ");
  refuse(R"(echo '{"read_gbs":0,"copy_gbs":1,"bytes":1,"l2_bytes":1,"uuid":"GPU-1"}')", "spoke nonsense");
  refuse(R"(echo '{"read_gbs":"fast","copy_gbs":1,"bytes":1,"l2_bytes":1,"uuid":"GPU-1"}')", "spoke nonsense");
  refuse("echo '[1]'", "spoke nonsense");
  refuse("echo", "spoke nonsense");
  refuse("echo no driver >&2; exit 3", "no driver");
  refuse("sleep 5", "did not come within", 0.2);
}

/// Tests that need a GPU of this process's own.
class GpuCanaryAnchor : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<DeviceStream>> stream = DeviceStream::open(int64_t{256} << 20, true);
    if (!stream.ok()) GTEST_SKIP() << stream.error().message;
    stream_ = std::move(stream).value();
  }
  std::unique_ptr<DeviceStream> stream_;
};

TEST_F(GpuCanaryAnchor, CopiesEveryWordAndSeesACopyThatDidNothing) {
  ASSERT_TRUE(stream_->poison());
  EXPECT_FALSE(stream_->copied());
  ASSERT_EQ(stream_->copy(nullptr), 0);
  EXPECT_TRUE(stream_->copied());
  EXPECT_EQ(stream_->read(nullptr, 4), 0);
  EXPECT_TRUE(stream_->copied()) << "a read leaves everything as it was";
}

TEST_F(GpuCanaryAnchor, NothingIsFasterThanTheReadRate) {
  const Result<std::string> line = gpu_rates_line();
  ASSERT_TRUE(line.ok()) << line.error().message;
  const Result<GpuRates> rates = gpu_rates({"echo", line.value()}, "");
  const std::string uuid = hillclimb_timer_cuda_facts(stream_->timer())->uuid;
  ASSERT_FALSE(rates.ok()) << "it names its device";
  const Result<GpuRates> own = gpu_rates({"echo", line.value()}, uuid);
  ASSERT_TRUE(own.ok()) << own.error().message;
  RecordProperty("rates", line.value());
  EXPECT_GT(own.value().copy_gbs, 0);
  EXPECT_GE(own.value().read_gbs * 1.02, own.value().copy_gbs) << "writes are no faster than reads: " << line.value();
  // the anchor's own copy moves its bytes no faster than the read rate allows
  InputCache inputs;
  Result<std::unique_ptr<Subject>> subject = make_subject({.implementation = "gpu-copy"}, inputs);
  ASSERT_TRUE(subject.ok()) << subject.error().message;
  TimeRequest request;
  request.blocks = 3;
  std::optional<Result<TimeReply>> timed = subject.value()->time(request);
  ASSERT_TRUE(timed && timed->ok());
  const TimeReply reply = std::move(*timed).value();
  ASSERT_EQ(reply.blocks.size(), 3u);
  for (const Block& block : reply.blocks) {
    ASSERT_FALSE(block.seconds.empty());
    std::vector<double> sorted = block.seconds;
    std::sort(sorted.begin(), sorted.end());
    const double rate = static_cast<double>(subject.value()->reply().bytes) / sorted[sorted.size() / 2] * 1e-9;
    EXPECT_LT(rate, 1.1 * own.value().read_gbs) << line.value();
    EXPECT_GT(rate, 0.5 * own.value().copy_gbs) << "far slower than the driver's copy: " << line.value();
    EXPECT_TRUE(block.has_device);
    EXPECT_GT(block.device.sm_mhz_clock, 0);
  }
  subject.value()->reset();
  EXPECT_EQ(subject.value()->launch(), 0) << "the copy is checked";
}

TEST_F(GpuCanaryAnchor, RepeatsToAFewPerCent) {
  std::vector<double> reads;
  for (int i = 0; i < 2; ++i) {
    const Result<std::string> line = gpu_rates_line();
    ASSERT_TRUE(line.ok()) << line.error().message;
    const Result<GpuRates> rates =
        gpu_rates({"echo", line.value()}, hillclimb_timer_cuda_facts(stream_->timer())->uuid);
    ASSERT_TRUE(rates.ok());
    reads.push_back(rates.value().read_gbs);
  }
  EXPECT_NEAR(reads[0] / reads[1], 1, 0.03);
}

}  // namespace
}  // namespace hc::bench
