// What the CUDA timer claims, on a real device: the flush evicts, the host's cost is hidden, preheating ends, rotation
// keeps inputs cold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/cuda_driver.h"
#include "bench/timer_cuda.h"
#include "bench/timer_kernels.h"

namespace hc::bench {
namespace {

/// chase(data, steps, stride, out): thread i reads a word of line i, then of the line `stride` bytes on, and so forth;
/// each address needs the word before, which is 0. So the time is that of `steps` memory accesses one after another.
constexpr char kChasePtx[] = R"PTX(
.version 7.4
.target sm_80
.address_size 64

.visible .entry chase(.param .u64 p_data, .param .u64 p_steps, .param .u64 p_stride, .param .u64 p_out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [p_data];
  ld.param.u64 %d2, [p_steps];
  ld.param.u64 %d3, [p_stride];
  ld.param.u64 %d4, [p_out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %d5, %r1, 128;
  add.u64 %d1, %d1, %d5;
  mov.u64 %d6, 0;
$next:
  setp.ge.u64 %p1, %d6, %d2;
  @%p1 bra $end;
  ld.global.cg.u32 %r4, [%d1];
  cvt.u64.u32 %d7, %r4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d1, %d1, %d7;
  add.u64 %d6, %d6, 1;
  bra $next;
$end:
  setp.ne.u32 %p2, %r4, 0;
  @%p2 st.global.u32 [%d4], %r4;
  ret;
}
)PTX";

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr unsigned kBlocks = 32, kThreads = 32;

class TimerCudaClaims : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    cu_ = cuda_driver(&why);
    if (!cu_) GTEST_SKIP() << why;
    const char* failed = hillclimb_timer_cuda_open(0, &timer_);
    ASSERT_EQ(failed, nullptr) << failed;
    facts_ = hillclimb_timer_cuda_facts(timer_);
    ASSERT_EQ(cu_->cuModuleLoadData(&chase_module_, kChasePtx), 0);
    ASSERT_EQ(cu_->cuModuleLoadData(&read_module_, kTimerPtx), 0);
    ASSERT_EQ(cu_->cuModuleGetFunction(&chase_, chase_module_, "chase"), 0);
    ASSERT_EQ(cu_->cuModuleGetFunction(&read_, read_module_, "hc_flush"), 0);
    ASSERT_EQ(cu_->cuMemAlloc_v2(&out_, 64), 0);
  }
  void TearDown() override {
    if (!timer_) return;
    for (const CuPointer each : held_) cu_->cuMemFree_v2(each);
    cu_->cuMemFree_v2(out_);
    cu_->cuModuleUnload(chase_module_);
    cu_->cuModuleUnload(read_module_);
    hillclimb_timer_cuda_close(timer_);
  }

  /// Memory of zeros, freed at the test's end.
  CuPointer zeros(int64_t bytes) {
    CuPointer made = 0;
    EXPECT_EQ(cu_->cuMemAlloc_v2(&made, static_cast<size_t>(bytes)), 0);
    EXPECT_EQ(cu_->cuMemsetD32_v2(made, 0, static_cast<size_t>(bytes / 4)), 0);
    held_.push_back(made);
    return made;
  }

  /// Median seconds of a launch, and the rest of the run for those who look.
  double time(HillclimbTimerLaunch launch, void* user, int mode, int64_t flush_bytes) {
    HillclimbTimerOptions o{};
    o.abi = HILLCLIMB_TIMER_ABI;
    o.mode = mode;
    o.blocks = 5;
    o.min_block_s = 0.005;
    o.warmup_s = 0.1;
    o.flush_bytes = flush_bytes;
    HillclimbTimerResult* result = nullptr;
    const char* failed = hillclimb_timer_cuda_run(timer_, &o, launch, user, nullptr, &result, nullptr);
    EXPECT_EQ(failed, nullptr) << failed;
    if (failed) return NAN;
    std::vector<double> all;
    for (int b = 0; b < result->block_count; ++b) {
      all.insert(all.end(), result->blocks[b].seconds, result->blocks[b].seconds + result->blocks[b].readings);
    }
    hillclimb_timer_cuda_free(result);
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

  /// A kernel over one of several buffers, the next at each launch.
  struct Rotating {
    const CudaDriver* cu = nullptr;
    CuFunction function = nullptr;
    unsigned blocks = 0, threads = 0;
    std::vector<CuPointer> buffers{};
    std::vector<uint64_t> numbers{};  ///< behind the buffer
    CuPointer out = 0;
    size_t turn = 0;
    static int launch(void* user, void* stream) {
      auto* r = static_cast<Rotating*>(user);
      CuPointer data = r->buffers[r->turn++ % r->buffers.size()];
      std::vector<void*> arguments = {&data};
      for (uint64_t& number : r->numbers) arguments.push_back(&number);
      arguments.push_back(&r->out);
      return r->cu->cuLaunchKernel(r->function, r->blocks, 1, 1, r->threads, 1, 1, 0, stream, arguments.data(),
                                   nullptr);
    }
  };

  /// Reads a word of each line of 8 MiB, one after another in each thread.
  Rotating chaser(size_t copies) {
    constexpr int64_t kBytes = 8 * kMiB, kStride = int64_t{kBlocks} * kThreads * 128;
    Rotating r{cu_, chase_, kBlocks, kThreads, {}, {kBytes / kStride, kStride}, out_, 0};
    for (size_t i = 0; i < copies; ++i) r.buffers.push_back(zeros(kBytes));
    return r;
  }

  /// Reads every byte of `bytes` as fast as memory gives them.
  Rotating reader(int64_t bytes, size_t copies) {
    Rotating r{cu_, read_, static_cast<unsigned>(facts_->multiprocessors) * 8, 256, {}, {}, out_, 0};
    r.numbers = {static_cast<uint64_t>(bytes / 16)};
    for (size_t i = 0; i < copies; ++i) r.buffers.push_back(zeros(bytes));
    return r;
  }

  HillclimbTimerCuda* timer_ = nullptr;
  const HillclimbTimerDeviceFacts* facts_ = nullptr;
  const CudaDriver* cu_ = nullptr;
  CuModule chase_module_ = nullptr, read_module_ = nullptr;
  CuFunction chase_ = nullptr, read_ = nullptr;
  CuPointer out_ = 0;
  std::vector<CuPointer> held_;
};

TEST_F(TimerCudaClaims, the_flush_evicts_what_a_launch_reads) {
  Rotating chase = chaser(1);
  const int64_t l2 = facts_->l2_bytes;
  const double cold = time(Rotating::launch, &chase, HILLCLIMB_TIMER_SINGLE, -1);
  const double colder = time(Rotating::launch, &chase, HILLCLIMB_TIMER_SINGLE, 6 * l2);
  const double hot = time(Rotating::launch, &chase, HILLCLIMB_TIMER_SINGLE, 0);
  const double in_a_row = time(Rotating::launch, &chase, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  std::printf(
      "64 dependent reads a thread of 8 MiB: cold %.2f us, flushed by 6 L2 %.2f us, hot %.2f us, in a row %.2f us\n",
      cold * 1e6, colder * 1e6, hot * 1e6, in_a_row * 1e6);
  EXPECT_GT(cold / hot, 1.3) << "memory answers later than L2";
  EXPECT_GT(cold / in_a_row, 1.3) << "launches in a row over one buffer find it in L2";
  EXPECT_LT(in_a_row, hot * 1.05) << "a reading of one launch has the events' cost on top";
  EXPECT_NEAR(colder / cold, 1, 0.05) << "twice the L2 is enough to evict";
}

/// Two copies, with a pause of the host between them.
struct Slow {
  const CudaDriver* cu = nullptr;
  CuPointer from = 0, to = 0;
  size_t bytes = 0;
  unsigned pause_us = 0;
  static int launch(void* user, void* stream) {
    const auto* s = static_cast<Slow*>(user);
    int failed = s->cu->cuMemcpyDtoDAsync_v2(s->to, s->from, s->bytes, stream);
    if (s->pause_us > 0) ::usleep(s->pause_us);
    failed |= s->cu->cuMemcpyDtoDAsync_v2(s->from, s->to, s->bytes, stream);
    return failed;
  }
};

TEST_F(TimerCudaClaims, what_a_launch_costs_the_host_is_not_in_the_reading) {
  constexpr int64_t kBytes = 32 * kMiB;
  Slow slow{cu_, zeros(kBytes), zeros(kBytes), static_cast<size_t>(kBytes), 0};
  for (const int mode : {HILLCLIMB_TIMER_SINGLE, HILLCLIMB_TIMER_BACK_TO_BACK}) {
    slow.pause_us = 0;
    const double quick = time(Slow::launch, &slow, mode, -1);
    slow.pause_us = 200;
    const double paused = time(Slow::launch, &slow, mode, -1);
    std::printf("two copies of 32 MiB, mode %d: %.2f us, with 200 us of the host between them %.2f us\n", mode,
                quick * 1e6, paused * 1e6);
    EXPECT_NEAR(paused / quick, 1, 0.05) << "mode " << mode;
    EXPECT_LT(quick, 150e-6) << "otherwise 200 us would not show";
  }
}

TEST_F(TimerCudaClaims, preheating_ends_and_says_whether_the_device_is_steady) {
  Rotating read = reader(256 * kMiB, 1);
  HillclimbTimerDeviceState state{};
  int32_t steady = -1;
  double begin = hillclimb_timer_now();
  const char* failed =
      hillclimb_timer_cuda_preheat(timer_, Rotating::launch, &read, nullptr, 0, 0.2, 8, &state, &steady);
  double took = hillclimb_timer_now() - begin;
  ASSERT_EQ(failed, nullptr) << failed;
  std::printf("preheated for %.2f s: %s, %.1f MHz, %.0f C, %.0f W\n", took, steady ? "steady" : "not steady",
              state.sm_mhz_clock, state.temperature_c, state.power_w);
  EXPECT_LT(took, 8.5) << "a window may end after the limit, but no more";
  EXPECT_GE(took, 0.6) << "three windows have to agree";
  EXPECT_GT(state.sm_mhz_clock, 200);
  EXPECT_TRUE(steady == 0 || steady == 1);
  begin = hillclimb_timer_now();
  failed = hillclimb_timer_cuda_preheat(timer_, Rotating::launch, &read, nullptr, 0, 0.2, 0.3, &state, &steady);
  took = hillclimb_timer_now() - begin;
  ASSERT_EQ(failed, nullptr) << failed;
  EXPECT_LT(took, 0.8);
  EXPECT_EQ(steady, 0) << "two windows prove nothing";
  const auto fails = [](void*, void*) { return 1; };
  EXPECT_NE(hillclimb_timer_cuda_preheat(timer_, fails, nullptr, nullptr, 0, 0.2, 1, &state, &steady), nullptr);
}

TEST_F(TimerCudaClaims, rotated_launches_in_a_row_find_cold_inputs) {
  const auto copies = static_cast<size_t>(2 * facts_->l2_bytes / (8 * kMiB) + 1);
  Rotating one = chaser(1), many = chaser(copies);
  const double hot = time(Rotating::launch, &one, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  const double rotated = time(Rotating::launch, &many, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  const double cold = time(Rotating::launch, &many, HILLCLIMB_TIMER_SINGLE, -1);
  std::printf("64 dependent reads a thread: one buffer in a row %.2f us, %zu buffers in turn %.2f us, cold %.2f us\n",
              hot * 1e6, copies, rotated * 1e6, cold * 1e6);
  EXPECT_GT(rotated / hot, 1.3);
  EXPECT_GT(rotated, cold * 0.8) << "no faster than a flushed launch but for the events' cost";
}

TEST_F(TimerCudaClaims, rotated_launches_in_a_row_are_no_faster_than_memory) {
  constexpr int64_t kBytes = 32 * kMiB, kLarge = 4096 * kMiB;
  Rotating all = reader(kLarge, 1), one = reader(kBytes, 1);
  Rotating many = reader(kBytes, static_cast<size_t>(2 * facts_->l2_bytes / kBytes + 2));
  const double memory = static_cast<double>(kLarge) / time(Rotating::launch, &all, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  const double rotated = static_cast<double>(kBytes) / time(Rotating::launch, &many, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  const double resident = static_cast<double>(kBytes) / time(Rotating::launch, &one, HILLCLIMB_TIMER_BACK_TO_BACK, -1);
  std::printf("reading in a row: 4 GiB %.0f GB/s, 32 MiB in turn %.0f GB/s, 32 MiB over and over %.0f GB/s\n",
              memory * 1e-9, rotated * 1e-9, resident * 1e-9);
  EXPECT_LT(rotated, memory * 1.05);
  EXPECT_GT(rotated, memory * 0.2) << "nor is it far below";
}

}  // namespace
}  // namespace hc::bench
