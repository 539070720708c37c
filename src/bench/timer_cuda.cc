// The CUDA form of the timer: readings queued behind a blocking kernel, cold L2 by reading, the device's state per
// block.
#include "bench/timer_cuda.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/timer_cuda_device.h"

namespace hc::bench {
namespace {

constexpr int kRowMax = 256;          // launches between one pair of events: the queue holds about a thousand entries
constexpr int kProbeLaunches = 8;     // that show how many a block needs
constexpr double kSideWaitS = 20e-6;  // beyond an idle context's wait: something ran on after the timed stream
constexpr int kSideTries = 3;         // an interrupt of the host looks the same, but not that often running
constexpr int kFreeLaunches = 32;
constexpr double kFreeTimeS = 500e-6;  // one that takes longer shows by itself what it leaves
constexpr const char* kSideWork = "the launch left work on another stream: the timer sees only its own";

/// One unit under time: the caller's launch, or the timer's own empty kernel.
struct DeviceUnit {
  HillclimbTimerLaunch launch;
  void* user;
  bool operator()(CuStream stream) const { return launch(user, stream) == 0; }
};

/// What one queueing of launches gave.
struct Batch {
  std::vector<double> seconds;
  bool gave_up = false;  ///< the blocking kernel did: there are no readings
  double wait_s = 0;     ///< host time until the whole context was idle after the timed stream was
};

/// Waits for everything that the context still does and gives the host time that it took.
const char* drain(HillclimbTimerCuda* t, double* wait_s) {
  const double begin = hillclimb_timer_now();
  HC_CU(t, cuCtxSynchronize());
  *wait_s = hillclimb_timer_now() - begin;
  return nullptr;
}

bool left_work(const HillclimbTimerCuda* t, double wait_s) { return wait_s > t->idle_wait_s + kSideWaitS; }

/// Frees the queue and waits for it, then for the rest of the context.
const char* finish_batch(HillclimbTimerCuda* t, CuStream stream, const char* failed, Batch* batch) {
  release(t);
  const CuResult synced = t->cu->cuStreamSynchronize(stream);
  if (failed) return failed;
  if (synced) return t->fail("the launch under measurement ended with " + cuda_error(synced));
  if (const char* why = drain(t, &batch->wait_s)) return why;
  return take_gave_up(t, &batch->gave_up);
}

/// Queues `count` readings behind the blocking kernel, frees it and reads the events. Stops early with `gave_up` set.
const char* single_batch(HillclimbTimerCuda* t, const DeviceUnit& unit, CuStream stream, int64_t flush, int count,
                         Batch* batch) {
  if (const char* why = queue_block(t, stream)) return why;
  const char* failed = nullptr;
  for (int i = 0; i < count && !failed; ++i) {
    failed = queue_flush(t, flush, stream);
    if (!failed && t->cu->cuEventRecord(t->events[2 * i], stream)) failed = t->fail("an event could not be recorded");
    if (!failed && !unit(stream)) failed = t->fail("the launch under measurement failed");
    if (!failed && t->cu->cuEventRecord(t->events[2 * i + 1], stream))
      failed = t->fail("an event could not be recorded");
  }
  if (const char* why = finish_batch(t, stream, failed, batch)) return why;
  for (int i = 0; i < count && !batch->gave_up; ++i) {
    float ms = 0;
    HC_CU(t, cuEventElapsedTime(&ms, t->events[2 * i], t->events[2 * i + 1]));
    batch->seconds.push_back(1e-3 * static_cast<double>(ms));
  }
  return nullptr;
}

/// One event pair round `count` launches; the seconds are per launch.
const char* back_to_back_batch(HillclimbTimerCuda* t, const DeviceUnit& unit, CuStream stream, int64_t flush, int count,
                               Batch* batch) {
  if (const char* why = queue_block(t, stream)) return why;
  const char* failed = queue_flush(t, flush, stream);
  if (!failed && t->cu->cuEventRecord(t->events[0], stream)) failed = t->fail("an event could not be recorded");
  for (int i = 0; i < count && !failed; ++i) {
    if (!unit(stream)) failed = t->fail("the launch under measurement failed");
  }
  if (!failed && t->cu->cuEventRecord(t->events[1], stream)) failed = t->fail("an event could not be recorded");
  if (const char* why = finish_batch(t, stream, failed, batch)) return why;
  if (batch->gave_up) return nullptr;
  float ms = 0;
  HC_CU(t, cuEventElapsedTime(&ms, t->events[0], t->events[1]));
  batch->seconds.push_back(1e-3 * static_cast<double>(ms) / count);
  return nullptr;
}

/// Sizes that hold for all blocks of one run.
struct Sizes {
  int64_t flush = 0;
  int64_t launches_max = 0;
  int batch = kEventsMax / 2;
};

/// Queues until a batch counts: with half as many launches where the queue was full, again where work ran on beside.
/// `count` becomes the number that was launched.
const char* counted_batch(HillclimbTimerCuda* t, int mode, const DeviceUnit& unit, CuStream stream, Sizes* sizes,
                          int64_t* count, Batch* batch, int32_t* timeouts) {
  const auto run = mode == HILLCLIMB_TIMER_BACK_TO_BACK ? back_to_back_batch : single_batch;
  for (int side = 0;;) {
    *batch = {};
    if (const char* why = run(t, unit, stream, sizes->flush, static_cast<int>(*count), batch)) return why;
    if (batch->gave_up) {
      ++*timeouts;
      if (*count == 1)
        return t->fail("a launch waits for the device, which waits for it: the kernel synchronises with its stream");
      *count = std::max<int64_t>(1, *count / 2);
      sizes->batch = static_cast<int>(*count);
    } else if (left_work(t, batch->wait_s)) {
      if (++side == kSideTries) return t->fail(kSideWork);
    } else {
      return nullptr;
    }
  }
}

const char* single_block(HillclimbTimerCuda* t, const HillclimbTimerOptions& o, const DeviceUnit& unit, CuStream stream,
                         Sizes* sizes, std::vector<double>* seconds, int64_t* launches, int32_t* timeouts) {
  double total = 0;
  while (total < o.min_block_s || *launches == 0) {
    int64_t count = sizes->batch;
    if (*launches > 0 && total > 0) {
      // As many more as the block still needs at the speed seen, so that fast kernels do not overshoot.
      count = std::min<int64_t>(
          count, static_cast<int64_t>(std::ceil((o.min_block_s - total) * static_cast<double>(*launches) / total)));
    } else {
      count = std::min<int64_t>(count, kProbeLaunches);
    }
    if (sizes->launches_max > 0) count = std::min(count, sizes->launches_max - *launches);
    if (count <= 0) break;
    Batch batch;
    if (const char* why = counted_batch(t, o.mode, unit, stream, sizes, &count, &batch, timeouts)) return why;
    seconds->insert(seconds->end(), batch.seconds.begin(), batch.seconds.end());
    for (const double one : batch.seconds) total += one;
    *launches += count;
  }
  return nullptr;
}

/// One reading: batches of the same number of launches, an event pair round each, until the block is long enough; their
/// mean per launch.
const char* back_to_back_block(HillclimbTimerCuda* t, const HillclimbTimerOptions& o, const DeviceUnit& unit,
                               CuStream stream, Sizes* sizes, std::vector<double>* seconds, int64_t* launches,
                               int32_t* timeouts) {
  double total = 0;
  while (total < o.min_block_s || *launches == 0) {
    int64_t count = sizes->batch;
    if (sizes->launches_max > 0) count = std::min(count, sizes->launches_max - *launches);
    if (count <= 0) break;
    Batch batch;
    if (const char* why = counted_batch(t, o.mode, unit, stream, sizes, &count, &batch, timeouts)) return why;
    total += batch.seconds[0] * static_cast<double>(count);
    *launches += count;
  }
  seconds->push_back(total / static_cast<double>(*launches));
  return nullptr;
}

/// How many launches one event pair surrounds: those of a block, as far as the queue holds them.
const char* size_batches(HillclimbTimerCuda* t, const HillclimbTimerOptions& o, const DeviceUnit& unit, CuStream stream,
                         Sizes* sizes, int64_t* launches) {
  if (o.mode != HILLCLIMB_TIMER_BACK_TO_BACK) return nullptr;
  int64_t count = kProbeLaunches;
  int32_t timeouts = 0;
  Batch batch;
  if (const char* why = counted_batch(t, o.mode, unit, stream, sizes, &count, &batch, &timeouts)) return why;
  *launches += count;
  const double wanted = std::ceil(o.min_block_s / std::max(batch.seconds[0], 1e-9));
  const int most = timeouts > 0 ? sizes->batch : kRowMax;
  sizes->batch = static_cast<int>(std::clamp<double>(wanted, 1, most));
  return nullptr;
}

/// The result with the memory its pointers refer to.
struct OwnedResult {
  HillclimbTimerResult view{};
  std::vector<HillclimbTimerBlock> blocks;
  std::vector<std::vector<double>> seconds;
};

double unix_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int launch_empty(void* user, void* stream) {
  auto* t = static_cast<HillclimbTimerCuda*>(user);
  return t->cu->cuLaunchKernel(t->empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}

/// The timer's own cost, and how long the host waits for a context that has nothing left to do after a batch.
const char* measure_empty(HillclimbTimerCuda* t, CuStream stream, const Sizes& sizes, double* median) {
  std::array<double, 3> waits{};
  std::vector<double> seconds;
  const DeviceUnit unit{launch_empty, t};
  for (double& wait : waits) {
    Batch batch;
    if (const char* why = single_batch(t, unit, stream, sizes.flush, 32, &batch)) return why;
    seconds.insert(seconds.end(), batch.seconds.begin(), batch.seconds.end());
    wait = batch.wait_s;
  }
  std::sort(seconds.begin(), seconds.end());
  *median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  std::sort(waits.begin(), waits.end());
  t->idle_wait_s = waits[1];
  return nullptr;
}

/// Launches `count` times without the blocking kernel; `wait_s` as in a batch, `took_s` from the first launch on.
const char* launch_freely(HillclimbTimerCuda* t, const DeviceUnit& unit, CuStream stream, int count, double* wait_s,
                          double* took_s) {
  const double begin = hillclimb_timer_now();
  for (int i = 0; i < count; ++i) {
    if (!unit(stream)) return t->fail("the launch under measurement failed");
  }
  const CuResult synced = t->cu->cuStreamSynchronize(stream);
  if (synced) return t->fail("the launch under measurement ended with " + cuda_error(synced));
  if (const char* why = drain(t, wait_s)) return why;
  *took_s = hillclimb_timer_now() - begin;
  return nullptr;
}

/// Work on a stream that waits for nothing is over while the timed stream is still blocked, so that a batch may not
/// see it: launches on an idle device do, a short kernel by many of them.
const char* refuse_side_streams(HillclimbTimerCuda* t, const DeviceUnit& unit, CuStream stream, int64_t* launches) {
  double wait = 0, took = 0;
  for (const int count : {1, kFreeLaunches}) {
    int late = 0;
    do {
      if (const char* why = launch_freely(t, unit, stream, count, &wait, &took)) return why;
      *launches += count;
      if (left_work(t, wait) && ++late == kSideTries) return t->fail(kSideWork);
    } while (left_work(t, wait));
    if (took > kFreeTimeS) break;
  }
  return nullptr;
}

/// Launches without timing until `seconds` of host time have passed, at least once; the queue is drained often.
const char* keep_busy(HillclimbTimerCuda* t, const DeviceUnit& unit, CuStream stream, double seconds,
                      int64_t* launches) {
  const double end = hillclimb_timer_now() + seconds;
  do {
    for (int i = 0; i < 4; ++i) {
      if (!unit(stream)) return t->fail("the launch under measurement failed");
      ++*launches;
    }
    const CuResult synced = t->cu->cuStreamSynchronize(stream);
    if (synced) return t->fail("the launch under measurement ended with " + cuda_error(synced));
  } while (hillclimb_timer_now() < end);
  HC_CU(t, cuCtxSynchronize());
  return nullptr;
}

const char* run_blocks(HillclimbTimerCuda* t, const HillclimbTimerOptions& o, const DeviceUnit& unit, CuStream stream,
                       Sizes* sizes, OwnedResult* out, HillclimbTimerDeviceState* states) {
  for (int b = 0; b < o.blocks; ++b) {
    HillclimbTimerDeviceState state{};
    HillclimbTimerBlock block{};
    double before = 0, after = 0;
    read_nvml(t, &state);
    if (const char* why = measure_clock(t, stream, &before)) return why;
    block.start_monotonic_s = hillclimb_timer_now();
    const double unix_start = unix_now();
    std::vector<double> seconds;
    const auto run = o.mode == HILLCLIMB_TIMER_BACK_TO_BACK ? back_to_back_block : single_block;
    if (const char* why = run(t, o, unit, stream, sizes, &seconds, &block.launches, &state.queue_timeouts)) return why;
    const double end = hillclimb_timer_now();
    if (const char* why = measure_clock(t, stream, &after)) return why;
    read_nvml(t, &state);
    state.sm_mhz_clock = (before + after) / 2;
    block.mid_monotonic_s = (block.start_monotonic_s + end) / 2;
    block.mid_unix_s = unix_start + (end - block.start_monotonic_s) / 2;
    block.mhz = state.sm_mhz_clock;
    out->seconds.push_back(std::move(seconds));
    out->blocks.push_back(block);
    if (states) states[b] = state;
  }
  return nullptr;
}

void free_cuda_result(HillclimbTimerResult* result) { delete reinterpret_cast<OwnedResult*>(result); }

}  // namespace
}  // namespace hc::bench

using namespace hc::bench;

extern "C" {

const char* hillclimb_timer_cuda_run(HillclimbTimerCuda* t, const HillclimbTimerOptions* o, HillclimbTimerLaunch launch,
                                     void* user, void* stream, HillclimbTimerResult** result,
                                     HillclimbTimerDeviceState* states) {
  *result = nullptr;
  if (o->abi != HILLCLIMB_TIMER_ABI) return t->fail("the options are of another version of the timer");
  if (o->blocks < 1) return t->fail("at least one block is measured");
  Sizes sizes;
  sizes.flush = o->flush_bytes < 0 ? 2 * t->facts.l2_bytes : o->flush_bytes / 16 * 16;
  sizes.launches_max = o->max_launches;
  if (const char* why = reserve_flush(t, sizes.flush)) return why;
  HC_CU(t, cuCtxResetPersistingL2Cache());
  auto out = std::make_unique<OwnedResult>();
  const DeviceUnit unit{launch, user};
  if (const char* why = keep_busy(t, unit, stream, o->warmup_s, &out->view.warmup_launches)) return why;
  if (const char* why = measure_empty(t, stream, sizes, &out->view.empty_s)) return why;
  if (const char* why = refuse_side_streams(t, unit, stream, &out->view.warmup_launches)) return why;
  if (const char* why = size_batches(t, *o, unit, stream, &sizes, &out->view.warmup_launches)) return why;
  if (const char* why = run_blocks(t, *o, unit, stream, &sizes, out.get(), states)) return why;
  for (size_t i = 0; i < out->blocks.size(); ++i) {
    out->blocks[i].seconds = out->seconds[i].data();
    out->blocks[i].readings = static_cast<int64_t>(out->seconds[i].size());
  }
  out->view.blocks = out->blocks.data();
  out->view.block_count = static_cast<int32_t>(out->blocks.size());
  out->view.flush_bytes = sizes.flush;
  out->view.clock = "cuda_event";
  *result = &out.release()->view;
  return nullptr;
}

void hillclimb_timer_cuda_free(HillclimbTimerResult* result) {
  if (result) free_cuda_result(result);
}

const char* hillclimb_timer_cuda_preheat(HillclimbTimerCuda* t, HillclimbTimerLaunch launch, void* user, void* stream,
                                         double min_s, double window_s, double max_s, HillclimbTimerDeviceState* state,
                                         int32_t* steady) {
  const DeviceUnit unit{launch, user};
  const double start = hillclimb_timer_now();
  std::vector<HillclimbTimerDeviceState> windows;
  int64_t launches = 0;
  *steady = 0;
  while (hillclimb_timer_now() - start < max_s && !(*steady && hillclimb_timer_now() - start >= min_s)) {
    if (const char* why = keep_busy(t, unit, stream, window_s, &launches)) return why;
    HillclimbTimerDeviceState now{};
    if (const char* why = measure_clock(t, stream, &now.sm_mhz_clock)) return why;
    read_nvml(t, &now);
    windows.push_back(now);
    *state = now;
    if (windows.size() < 3) continue;
    double low = 1e30, high = 0, cold = 1e30, hot = 0;
    for (size_t i = windows.size() - 3; i < windows.size(); ++i) {
      low = std::min(low, windows[i].sm_mhz_clock);
      high = std::max(high, windows[i].sm_mhz_clock);
      cold = std::min(cold, windows[i].temperature_c);
      hot = std::max(hot, windows[i].temperature_c);
    }
    *steady = high <= low * 1.003 && hot - cold <= 1.0;
  }
  return nullptr;
}

const char* hillclimb_timer_cuda_copy(HillclimbTimerCuda* t, int64_t bytes, int32_t readings, double* seconds) {
  struct Copy {
    HillclimbTimerCuda* t;
    CuPointer from = 0, to = 0;
    int64_t bytes;
  } copy{t, 0, 0, bytes};
  HC_CU(t, cuMemAlloc_v2(&copy.from, static_cast<size_t>(bytes)));
  if (const CuResult failed = t->cu->cuMemAlloc_v2(&copy.to, static_cast<size_t>(bytes))) {
    t->cu->cuMemFree_v2(copy.from);
    return t->fail("cuMemAlloc: " + cuda_error(failed));
  }
  t->cu->cuMemsetD32_v2(copy.from, 0x3f9d70a4, static_cast<size_t>(bytes / 4));
  const auto launch = [](void* user, void* stream) -> int {
    const Copy* c = static_cast<Copy*>(user);
    return c->t->cu->cuMemcpyDtoDAsync_v2(c->to, c->from, static_cast<size_t>(c->bytes), stream);
  };
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.blocks = 1;
  options.min_block_s = 3600;
  options.max_launches = readings;
  options.warmup_s = 0.05;
  options.flush_bytes = -1;
  HillclimbTimerResult* result = nullptr;
  const char* why = hillclimb_timer_cuda_run(t, &options, launch, &copy, nullptr, &result, nullptr);
  if (!why) {
    std::vector<double> sorted(result->blocks[0].seconds, result->blocks[0].seconds + result->blocks[0].readings);
    std::sort(sorted.begin(), sorted.end());
    *seconds = sorted[sorted.size() / 2];
    hillclimb_timer_cuda_free(result);
  }
  t->cu->cuMemFree_v2(copy.from);
  t->cu->cuMemFree_v2(copy.to);
  return why;
}

}  // extern "C"
