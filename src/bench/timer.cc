// The CPU form of the timer: CLOCK_MONOTONIC round one launch with cold L2, or round a block of launches.
#include "bench/timer.h"

#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace hc::bench {
namespace {

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double now_s() { return clock_s(CLOCK_MONOTONIC); }

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int64_t l2_bytes_per_core() {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::ifstream level_file(folder + "level");
    std::ifstream size_file(folder + "size");
    int level = 0;
    int64_t size = 0;
    char unit = 'K';
    if (!(level_file >> level) || level != 2 || !(size_file >> size >> unit)) continue;
    return size << (unit == 'M' ? 20 : 10);
  }
  return int64_t{2} << 20;  // not readable (some containers): the largest that is common
}

double system_mhz() {
  std::ifstream current("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
  double khz = 0;
  if (current >> khz) return khz / 1000;
  std::ifstream info("/proc/cpuinfo");
  double sum = 0;
  int count = 0;
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("cpu MHz", 0) != 0) continue;
    sum += std::atof(line.c_str() + line.find(':') + 1);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

/// Reads a buffer so that whatever lay in the L2 caches of the reading cores is replaced.
class Evictor {
 public:
  Evictor(int64_t bytes, int threads, bool plain) : threads_(threads), plain_(plain) {
    per_thread_ = (bytes / threads + 63) / 64 * 64;
    words_.assign(static_cast<size_t>(per_thread_ * threads / 8), 1);
  }
  int64_t bytes() const { return per_thread_ * threads_; }

  void run() {
    if (words_.empty()) return;
    if (!plain_) {
#pragma omp parallel num_threads(threads_)
      read_part(omp_get_thread_num());
      return;
    }
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back([this, i] { read_part(i); });
    read_part(0);
    for (std::thread& other : others) other.join();
  }

 private:
  void read_part(int part) const {
    const uint64_t* p = words_.data() + per_thread_ / 8 * part;
    uint64_t sum = 0;
    for (int64_t i = 0; i < per_thread_ / 8; i += 8) sum += p[i];  // one word of each line
    asm volatile("" : : "r"(sum) : "memory");
  }
  int threads_;
  bool plain_;
  int64_t per_thread_ = 0;
  std::vector<uint64_t> words_;
};

struct Unit {
  HillclimbTimerLaunch launch;
  void* user;
  bool failed = false;
  void operator()() { failed |= launch(user, nullptr) != 0; }
};

template <typename F>
double reading(F& unit) {
  const double begin = now_s();
  unit();
  return now_s() - begin;
}

double empty_reading() {
  struct {
    static int nothing(void*, void*) { return 0; }
  } holder;
  Unit unit{&holder.nothing, nullptr};
  std::vector<double> readings;
  for (int i = 0; i < 101; ++i) readings.push_back(reading(unit));
  std::nth_element(readings.begin(), readings.begin() + 50, readings.end());
  return readings[50];
}

/// Fills `seconds` with the readings of one block; returns the number of launches.
int64_t measure_block(const HillclimbTimerOptions& options, Unit& unit, Evictor& evictor, double estimate_s,
                      std::vector<double>* seconds) {
  const int64_t most = options.max_launches > 0 ? options.max_launches : INT64_MAX;
  if (options.mode == HILLCLIMB_TIMER_BACK_TO_BACK) {
    int64_t count = 0;
    double total = 0;
    do {  // once, unless the estimate was of a disturbed launch
      const double wanted = std::ceil((options.min_block_s - total) / std::max(estimate_s, 1e-9));
      const int64_t more = std::min(most - count, std::max<int64_t>(1, static_cast<int64_t>(wanted)));
      const double begin = now_s();
      for (int64_t i = 0; i < more; ++i) unit();
      total += now_s() - begin;
      count += more;
      estimate_s = total / static_cast<double>(count);
    } while (total < options.min_block_s && count < most && !unit.failed);
    seconds->push_back(total / static_cast<double>(count));
    return count;
  }
  double total = 0;
  do {
    evictor.run();
    seconds->push_back(reading(unit));
    total += seconds->back();
  } while (total < options.min_block_s && static_cast<int64_t>(seconds->size()) < most && !unit.failed);
  return static_cast<int64_t>(seconds->size());
}

struct Owned : HillclimbTimerResult {
  std::vector<HillclimbTimerBlock> block_store;
  std::vector<std::vector<double>> seconds_store;
};

void measure(const HillclimbTimerOptions& options, Unit& unit, Evictor& evictor, double estimate_s, Owned* result) {
  rusage before{};
  rusage after{};
  for (int b = 0; b < options.blocks && !unit.failed; ++b) {
    std::vector<double> seconds;
    HillclimbTimerBlock block{};
    getrusage(RUSAGE_SELF, &before);
    block.start_monotonic_s = now_s();
    const double wall = clock_s(CLOCK_REALTIME);
    block.launches = measure_block(options, unit, evictor, estimate_s, &seconds);
    const double half = (now_s() - block.start_monotonic_s) / 2;
    getrusage(RUSAGE_SELF, &after);
    block.mid_monotonic_s = block.start_monotonic_s + half;
    block.mid_unix_s = wall + half;
    block.mhz = system_mhz();
    block.load1 = load_average();
    block.voluntary_switches = after.ru_nvcsw - before.ru_nvcsw;
    block.involuntary_switches = after.ru_nivcsw - before.ru_nivcsw;
    result->seconds_store.push_back(std::move(seconds));
    block.readings = static_cast<int64_t>(result->seconds_store.back().size());
    result->block_store.push_back(block);
  }
  for (size_t b = 0; b < result->block_store.size(); ++b) {
    result->block_store[b].seconds = result->seconds_store[b].data();
  }
}

const char* check(const HillclimbTimerOptions* options, HillclimbTimerLaunch launch, HillclimbTimerResult** result) {
  if (!options || !launch || !result) return "options, launch and result must not be null";
  if (options->abi != HILLCLIMB_TIMER_ABI) return "the caller was built for another version of the timer";
  if (options->blocks < 1) return "at least one block is needed";
  if (options->mode != HILLCLIMB_TIMER_SINGLE && options->mode != HILLCLIMB_TIMER_BACK_TO_BACK) return "unknown mode";
  if (!(options->min_block_s >= 0) || !(options->warmup_s >= 0)) return "times must not be negative";
  return nullptr;
}

}  // namespace
}  // namespace hc::bench

extern "C" {

const char* hillclimb_timer_run(const HillclimbTimerOptions* options, HillclimbTimerLaunch launch, void* user,
                                HillclimbTimerResult** result) {
  using namespace hc::bench;
  if (const char* wrong = check(options, launch, result)) return wrong;
  auto owned = std::make_unique<Owned>();
  const int threads = options->threads > 0 ? options->threads : usable_cores();
  const bool cold = options->mode == HILLCLIMB_TIMER_SINGLE;
  const int64_t asked = options->flush_bytes < 0 ? hillclimb_timer_default_flush_bytes() : options->flush_bytes;
  Evictor evictor(cold ? asked : 0, threads, options->plain_threads != 0);
  owned->threads = threads;
  owned->flush_bytes = evictor.bytes();
  owned->clock = "monotonic";
  owned->empty_s = empty_reading();
  Unit unit{launch, user};
  double estimate = 0;
  const double warm_until = now_s() + options->warmup_s;
  do {  // with eviction, so that the evicting threads are warm as well
    evictor.run();
    estimate = reading(unit);
    ++owned->warmup_launches;
  } while (now_s() < warm_until && !unit.failed);
  if (!unit.failed) measure(*options, unit, evictor, estimate, owned.get());
  if (unit.failed) return "a launch failed";
  owned->block_count = static_cast<int32_t>(owned->block_store.size());
  owned->blocks = owned->block_store.data();
  *result = owned.release();
  return nullptr;
}

void hillclimb_timer_free(HillclimbTimerResult* result) { delete static_cast<hc::bench::Owned*>(result); }

int64_t hillclimb_timer_default_flush_bytes(void) {
  return 2 * hc::bench::l2_bytes_per_core() * hc::bench::usable_cores();
}

double hillclimb_timer_now(void) { return hc::bench::now_s(); }

}  // extern "C"
