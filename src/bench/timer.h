// C interface of libhillclimb_timer: evict caches, time launches, return raw seconds; the CPU form, a CUDA form fits
// the same calls.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of the structures below; hillclimb_timer_run refuses another one.
#define HILLCLIMB_TIMER_ABI 1

/// One launch per reading with eviction before each, or one reading round a block of launches without eviction.
enum HillclimbTimerMode { HILLCLIMB_TIMER_SINGLE = 0, HILLCLIMB_TIMER_BACK_TO_BACK = 1 };

/// One launch of the unit under test; returns 0, or non-zero when it failed. `stream` is null on the CPU.
typedef int (*HillclimbTimerLaunch)(void* user, void* stream);

/// What to measure. Times in seconds, sizes in bytes.
typedef struct HillclimbTimerOptions {
  int32_t abi;            ///< HILLCLIMB_TIMER_ABI
  int32_t mode;           ///< HillclimbTimerMode
  int32_t blocks;         ///< blocks to measure, at least 1
  int32_t threads;        ///< threads that evict, those of the kernel; 0: all that this process may use
  double min_block_s;     ///< launches of a block add up to at least this
  double warmup_s;        ///< launches before the first block, at least one
  int64_t flush_bytes;    ///< read before each launch; -1: twice the L2 of all cores; 0: no eviction
  int64_t max_launches;   ///< of a block; 0: no limit
  int32_t plain_threads;  ///< evict with threads of its own: for kernels whose thread pool is not OpenMP's
} HillclimbTimerOptions;

/// One block: raw seconds per launch (in back-to-back mode one reading round `launches` launches).
typedef struct HillclimbTimerBlock {
  const double* seconds;  ///< `readings` values, owned by the result
  int64_t readings;
  int64_t launches;          ///< launches in the block
  double start_monotonic_s;  ///< CLOCK_MONOTONIC at the block's begin
  double mid_monotonic_s;
  double mid_unix_s;           ///< wall clock at the block's middle
  double mhz;                  ///< mean core clock from the system, 0 when it cannot be read
  double load1;                ///< load average of the last minute
  int64_t voluntary_switches;  ///< context switches of this process during the block
  int64_t involuntary_switches;
} HillclimbTimerBlock;

/// Everything that one run measured.
typedef struct HillclimbTimerResult {
  HillclimbTimerBlock* blocks;
  int32_t block_count;
  int32_t threads;      ///< threads that evicted
  int64_t flush_bytes;  ///< bytes read before each launch
  int64_t warmup_launches;
  double empty_s;     ///< median reading of an empty launch: the timer's own cost
  const char* clock;  ///< "monotonic"
} HillclimbTimerResult;

/// Measures; returns null and a result to be freed, or a static sentence saying why not.
const char* hillclimb_timer_run(const HillclimbTimerOptions* options, HillclimbTimerLaunch launch, void* user,
                                HillclimbTimerResult** result);
void hillclimb_timer_free(HillclimbTimerResult* result);
/// Twice the L2 of all cores that this process may use, in bytes.
int64_t hillclimb_timer_default_flush_bytes(void);
/// Seconds of CLOCK_MONOTONIC.
double hillclimb_timer_now(void);

#ifdef __cplusplus
}
#endif
