// The timer against launches of known length, and its refusals.
#include "bench/timer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hc::bench {
namespace {

struct Spin {
  double seconds = 0;
  int64_t calls = 0;
  int fail_at = -1;
};

int spin(void* user, void*) {
  auto* state = static_cast<Spin*>(user);
  const double until = hillclimb_timer_now() + state->seconds;
  while (hillclimb_timer_now() < until) {
  }
  return ++state->calls == state->fail_at ? 1 : 0;
}

HillclimbTimerOptions options(HillclimbTimerMode mode) {
  HillclimbTimerOptions o{};
  o.abi = HILLCLIMB_TIMER_ABI;
  o.mode = mode;
  o.blocks = 3;
  o.threads = 2;
  o.min_block_s = 0.004;
  o.warmup_s = 0.001;
  o.flush_bytes = 1 << 20;
  return o;
}

std::vector<double> all_seconds(const HillclimbTimerResult& result) {
  std::vector<double> seconds;
  for (int b = 0; b < result.block_count; ++b) {
    seconds.insert(seconds.end(), result.blocks[b].seconds, result.blocks[b].seconds + result.blocks[b].readings);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

TEST(Timer, ReadsABusyLoopOfKnownLength) {
  Spin state{0.001, 0, -1};
  HillclimbTimerResult* result = nullptr;
  const HillclimbTimerOptions o = options(HILLCLIMB_TIMER_SINGLE);
  ASSERT_EQ(hillclimb_timer_run(&o, spin, &state, &result), nullptr);
  ASSERT_EQ(result->block_count, 3);
  EXPECT_EQ(result->flush_bytes, 1 << 20);
  const std::vector<double> seconds = all_seconds(*result);
  EXPECT_GE(seconds.front(), 0.001);
  EXPECT_LT(seconds.front(), 0.0011);  // the least of a dozen readings on a busy machine
  int64_t launches = result->warmup_launches;
  for (int b = 0; b < 3; ++b) {
    const HillclimbTimerBlock& block = result->blocks[b];
    launches += block.launches;
    EXPECT_EQ(block.launches, block.readings);
    double sum = 0;
    for (int64_t i = 0; i < block.readings; ++i) sum += block.seconds[i];
    EXPECT_GE(sum, o.min_block_s);
    EXPECT_GT(block.mid_monotonic_s, block.start_monotonic_s);
    EXPECT_GT(block.mid_unix_s, 1.6e9);
    const double before = b > 0 ? result->blocks[b - 1].mid_monotonic_s : 0;
    EXPECT_GT(block.start_monotonic_s, before);
  }
  EXPECT_EQ(launches, state.calls);
  EXPECT_LT(result->empty_s, 1e-5);
  hillclimb_timer_free(result);
}

TEST(Timer, ReadsASleep) {
  HillclimbTimerResult* result = nullptr;
  HillclimbTimerOptions o = options(HILLCLIMB_TIMER_SINGLE);
  o.blocks = 1;
  const auto sleep_2ms = [](void*, void*) { return ::usleep(2000); };
  ASSERT_EQ(hillclimb_timer_run(&o, sleep_2ms, nullptr, &result), nullptr);
  EXPECT_GE(all_seconds(*result).front(), 0.002);
  EXPECT_GT(result->blocks[0].voluntary_switches, 0);
  hillclimb_timer_free(result);
}

TEST(Timer, BackToBackGivesTheMeanOfABlock) {
  Spin state{0.0002, 0, -1};
  HillclimbTimerResult* result = nullptr;
  const HillclimbTimerOptions o = options(HILLCLIMB_TIMER_BACK_TO_BACK);
  ASSERT_EQ(hillclimb_timer_run(&o, spin, &state, &result), nullptr);
  for (int b = 0; b < result->block_count; ++b) {
    EXPECT_EQ(result->blocks[b].readings, 1);
    EXPECT_GE(result->blocks[b].launches, 2);
    EXPECT_GE(result->blocks[b].seconds[0], 0.0002);
  }
  EXPECT_EQ(result->flush_bytes, 0);
  hillclimb_timer_free(result);
}

TEST(Timer, BackToBackFillsItsBlocksWhateverTheFirstLaunchesTook) {
  struct Late {
    int64_t calls = 0;
    static int launch(void* user, void*) {
      Spin one{++static_cast<Late*>(user)->calls == 1 ? 0.01 : 0.0001, 0, -1};
      return spin(&one, nullptr);
    }
  } late;
  HillclimbTimerResult* result = nullptr;
  HillclimbTimerOptions o = options(HILLCLIMB_TIMER_BACK_TO_BACK);
  o.warmup_s = 0;  // so that the slow launch is all that is known of the others
  ASSERT_EQ(hillclimb_timer_run(&o, Late::launch, &late, &result), nullptr);
  int64_t launches = result->warmup_launches;
  for (int b = 0; b < result->block_count; ++b) {
    const HillclimbTimerBlock& block = result->blocks[b];
    EXPECT_GE(block.seconds[0] * static_cast<double>(block.launches), o.min_block_s);
    EXPECT_EQ(block.readings, 1);
    launches += block.launches;
  }
  EXPECT_EQ(launches, late.calls);
  hillclimb_timer_free(result);
}

TEST(Timer, LimitsTheLaunchesOfABlock) {
  Spin state{0, 0, -1};
  HillclimbTimerResult* result = nullptr;
  HillclimbTimerOptions o = options(HILLCLIMB_TIMER_SINGLE);
  o.max_launches = 7;
  o.plain_threads = 1;
  ASSERT_EQ(hillclimb_timer_run(&o, spin, &state, &result), nullptr);
  for (int b = 0; b < result->block_count; ++b) EXPECT_LE(result->blocks[b].launches, 7);
  hillclimb_timer_free(result);
}

TEST(Timer, SaysWhatIsWrong) {
  Spin state{0, 0, 2};
  HillclimbTimerResult* result = nullptr;
  HillclimbTimerOptions o = options(HILLCLIMB_TIMER_SINGLE);
  EXPECT_STREQ(hillclimb_timer_run(&o, spin, &state, &result), "a launch failed");
  o.abi = 99;
  EXPECT_STREQ(hillclimb_timer_run(&o, spin, &state, &result), "the caller was built for another version of the timer");
  o = options(HILLCLIMB_TIMER_SINGLE);
  o.blocks = 0;
  EXPECT_STREQ(hillclimb_timer_run(&o, spin, &state, &result), "at least one block is needed");
  EXPECT_STREQ(hillclimb_timer_run(nullptr, spin, &state, &result), "options, launch and result must not be null");
  EXPECT_EQ(result, nullptr);
  EXPECT_GE(hillclimb_timer_default_flush_bytes(), 1 << 18);
}

}  // namespace
}  // namespace hc::bench
