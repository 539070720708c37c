// The CUDA timer on a real device: copy rate, its own cost, a launch that synchronises; skipped where there is no
// driver.
#include "bench/timer_cuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/cuda_driver.h"
#include "bench/timer_kernels.h"

namespace hc::bench {
namespace {

class TimerCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!cuda_driver(&why)) GTEST_SKIP() << why;
    const char* failed = hillclimb_timer_cuda_open(0, &timer_);
    ASSERT_EQ(failed, nullptr) << failed;
    cu_ = cuda_driver(nullptr);
  }
  void TearDown() override { hillclimb_timer_cuda_close(timer_); }

  HillclimbTimerCuda* timer_ = nullptr;
  const CudaDriver* cu_ = nullptr;
};

/// A copy of `bytes` by the driver; `synchronise` makes it wait for the device, which a timed launch must not.
struct Copy {
  const CudaDriver* cu;
  CuPointer from = 0, to = 0;
  size_t bytes = 0;
  bool synchronise = false;
  int calls = 0;
  static int launch(void* user, void* stream) {
    auto* c = static_cast<Copy*>(user);
    ++c->calls;
    const int failed = c->cu->cuMemcpyDtoDAsync_v2(c->to, c->from, c->bytes, stream);
    return failed ? failed : c->synchronise ? c->cu->cuStreamSynchronize(stream) : 0;
  }
};

HillclimbTimerOptions options_of(int blocks, int mode) {
  HillclimbTimerOptions o{};
  o.abi = HILLCLIMB_TIMER_ABI;
  o.blocks = blocks;
  o.mode = mode;
  o.min_block_s = 0.005;
  o.warmup_s = 0.05;
  o.flush_bytes = -1;
  return o;
}

double median(const HillclimbTimerBlock& block) {
  std::vector<double> v(block.seconds, block.seconds + block.readings);
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

TEST_F(TimerCuda, copy_rate_is_that_of_the_device_and_blocks_agree) {
  Copy copy{cu_};
  copy.bytes = size_t{512} << 20;
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.from, copy.bytes), 0);
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.to, copy.bytes), 0);
  const HillclimbTimerOptions o = options_of(5, HILLCLIMB_TIMER_SINGLE);
  HillclimbTimerResult* result = nullptr;
  std::vector<HillclimbTimerDeviceState> states(5);
  const char* failed = hillclimb_timer_cuda_run(timer_, &o, Copy::launch, &copy, nullptr, &result, states.data());
  ASSERT_EQ(failed, nullptr) << failed;
  double low = 1e30, high = 0;
  for (int i = 0; i < result->block_count; ++i) {
    low = std::min(low, median(result->blocks[i]));
    high = std::max(high, median(result->blocks[i]));
    EXPECT_GT(states[i].sm_mhz_clock, 200);
    EXPECT_LT(states[i].sm_mhz_clock, 4000);
  }
  const double rate = 2.0 * static_cast<double>(copy.bytes) / low;
  std::printf("copy of 512 MiB: %.1f GB/s, empty %.2f us, spread of block medians %.3f %%\n", rate / 1e9,
              result->empty_s * 1e6, 100 * (high / low - 1));
  EXPECT_GT(rate, 1e11);
  EXPECT_LT(rate, 1e14);
  EXPECT_LT(high / low, 1.05);
  EXPECT_GT(result->empty_s, 1e-7);
  EXPECT_LT(result->empty_s, 5e-5);
  hillclimb_timer_cuda_free(result);
  cu_->cuMemFree_v2(copy.from);
  cu_->cuMemFree_v2(copy.to);
}

TEST_F(TimerCuda, back_to_back_counts_every_launch_once) {
  Copy copy{cu_};
  copy.bytes = size_t{1} << 20;
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.from, copy.bytes), 0);
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.to, copy.bytes), 0);
  const HillclimbTimerOptions o = options_of(3, HILLCLIMB_TIMER_BACK_TO_BACK);
  HillclimbTimerResult* result = nullptr;
  const char* failed = hillclimb_timer_cuda_run(timer_, &o, Copy::launch, &copy, nullptr, &result, nullptr);
  ASSERT_EQ(failed, nullptr) << failed;
  int64_t launches = result->warmup_launches;
  for (int i = 0; i < result->block_count; ++i) launches += result->blocks[i].launches;
  EXPECT_EQ(launches, copy.calls);
  hillclimb_timer_cuda_free(result);
  cu_->cuMemFree_v2(copy.from);
  cu_->cuMemFree_v2(copy.to);
}

TEST_F(TimerCuda, a_launch_that_waits_for_the_device_is_refused) {
  Copy copy{cu_};
  copy.bytes = 4096;
  copy.synchronise = true;
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.from, copy.bytes), 0);
  ASSERT_EQ(cu_->cuMemAlloc_v2(&copy.to, copy.bytes), 0);
  HillclimbTimerOptions o = options_of(1, HILLCLIMB_TIMER_SINGLE);
  HillclimbTimerResult* result = nullptr;
  const char* failed = hillclimb_timer_cuda_run(timer_, &o, Copy::launch, &copy, nullptr, &result, nullptr);
  ASSERT_NE(failed, nullptr);
  EXPECT_NE(std::string(failed).find("synchronises"), std::string::npos) << failed;
  cu_->cuMemFree_v2(copy.from);
  cu_->cuMemFree_v2(copy.to);
}

/// Calls of the driver that only this test needs.
struct Streams {
  int (*create)(CuStream*, unsigned) = reinterpret_cast<int (*)(CuStream*, unsigned)>(find("cuStreamCreate"));
  int (*destroy)(CuStream) = reinterpret_cast<int (*)(CuStream)>(find("cuStreamDestroy_v2"));
  int (*wait)(CuStream, CuEvent,
              unsigned) = reinterpret_cast<int (*)(CuStream, CuEvent, unsigned)>(find("cuStreamWaitEvent"));
  static void* find(const char* name) { return ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), name); }
};

/// A copy on a stream of its own, which waits for the timed one (`forks`) and is waited for by it (`joins`), or not.
struct Aside {
  Copy copy;
  Streams streams{};
  bool forks = false, joins = false;
  CuStream other = nullptr;
  CuEvent forked = nullptr, joined = nullptr;
  static int launch(void* user, void* stream) {
    auto* a = static_cast<Aside*>(user);
    const CudaDriver* cu = a->copy.cu;
    int failed = 0;
    if (a->forks) failed = cu->cuEventRecord(a->forked, stream) | a->streams.wait(a->other, a->forked, 0);
    if (!failed) failed = Copy::launch(&a->copy, a->other);
    if (!failed && a->joins) failed = cu->cuEventRecord(a->joined, a->other) | a->streams.wait(stream, a->joined, 0);
    return failed;
  }
};

TEST_F(TimerCuda, work_on_another_stream_counts_when_it_is_joined_and_is_refused_when_not) {
  constexpr unsigned kNonBlocking = 1;
  for (const size_t bytes : {size_t{256} << 20, size_t{32} << 20}) {
    Aside aside{{cu_}};
    aside.copy.bytes = bytes;
    ASSERT_EQ(cu_->cuMemAlloc_v2(&aside.copy.from, bytes), 0);
    ASSERT_EQ(cu_->cuMemAlloc_v2(&aside.copy.to, bytes), 0);
    ASSERT_EQ(aside.streams.create(&aside.other, kNonBlocking), 0);
    ASSERT_EQ(cu_->cuEventCreate(&aside.forked, 0), 0);
    ASSERT_EQ(cu_->cuEventCreate(&aside.joined, 0), 0);
    for (const int mode : {HILLCLIMB_TIMER_SINGLE, HILLCLIMB_TIMER_BACK_TO_BACK}) {
      const HillclimbTimerOptions o = options_of(2, mode);
      const auto run = [&](bool forks, bool joins, HillclimbTimerResult** result) {
        aside.forks = forks;
        aside.joins = joins;
        return hillclimb_timer_cuda_run(timer_, &o, Aside::launch, &aside, nullptr, result, nullptr);
      };
      HillclimbTimerResult* result = nullptr;
      for (const bool forks : {false, true}) {
        const char* failed = run(forks, false, &result);
        ASSERT_NE(failed, nullptr) << bytes << " bytes, forked: " << forks;
        EXPECT_NE(std::string(failed).find("another stream"), std::string::npos) << failed;
      }
      const char* failed = run(true, true, &result);
      ASSERT_EQ(failed, nullptr) << failed;
      EXPECT_GT(median(result->blocks[0]), 2.0 * static_cast<double>(bytes) / 1e13) << "the copy is in the reading";
      hillclimb_timer_cuda_free(result);
    }
    cu_->cuEventDestroy_v2(aside.forked);
    cu_->cuEventDestroy_v2(aside.joined);
    aside.streams.destroy(aside.other);
    cu_->cuMemFree_v2(aside.copy.from);
    cu_->cuMemFree_v2(aside.copy.to);
  }
}

TEST(TimerCudaAbsent, opening_without_a_driver_says_what_is_missing) {
  if (cuda_driver(nullptr)) GTEST_SKIP() << "this machine has a CUDA driver";
  HillclimbTimerCuda* timer = nullptr;
  const char* failed = hillclimb_timer_cuda_open(0, &timer);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(timer, nullptr);
}

}  // namespace
}  // namespace hc::bench
