// C interface of the timer's CUDA form: cold L2 by reading, CUDA events behind a blocking kernel, device facts per
// block.
#pragma once

#include "bench/timer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the device looked like round one block. Zero where NVML does not answer.
typedef struct HillclimbTimerDeviceState {
  double
      sm_mhz_clock;  ///< measured: SM cycles per globaltimer time in a 50 us spin before and after the block, the mean
  double sm_mhz_nvml;  ///< as NVML reports it
  double memory_mhz;
  double temperature_c;
  double power_w;          ///< NVML's average of the last second
  uint64_t event_reasons;  ///< NVML clocks event reasons (throttle) bit mask, of before and after
  int32_t queue_timeouts;  ///< batches whose blocking kernel gave up: repeated with half as many launches
} HillclimbTimerDeviceState;

/// Facts that do not change during a run. Texts end with a zero.
typedef struct HillclimbTimerDeviceFacts {
  char name[96];
  char uuid[48];  ///< "GPU-xxxxxxxx-..."
  char driver[48];
  char vbios[48];
  int32_t cuda_driver;  ///< 13000 for 13.0
  int32_t sm;           ///< 90 for sm_90
  int32_t multiprocessors;
  int64_t l2_bytes;
  int64_t memory_bytes;
  double power_cap_w, power_cap_min_w, power_cap_max_w, power_cap_default_w;
  double max_sm_mhz, max_memory_mhz;
  int32_t ecc, persistence, compute_mode, mig;  ///< -1 where unknown
  int32_t other_processes;                      ///< compute processes beside this one that NVML lists; -1 unknown
} HillclimbTimerDeviceFacts;

/// Makes the current CUDA context of the calling thread (or the primary context of device `ordinal`, made current, when
/// there is none) ready to be timed. Returns null and a handle, or a sentence saying what is missing.
typedef struct HillclimbTimerCuda HillclimbTimerCuda;
const char* hillclimb_timer_cuda_open(int32_t ordinal, HillclimbTimerCuda** timer);
void hillclimb_timer_cuda_close(HillclimbTimerCuda* timer);
const HillclimbTimerDeviceFacts* hillclimb_timer_cuda_facts(const HillclimbTimerCuda* timer);

/// As hillclimb_timer_run, on `stream` (a CUstream; null is the legacy default stream). Single mode: flush by reading
/// `flush_bytes` (-1: twice the L2), event, launch, event; as many readings as one batch holds are queued behind a
/// blocking kernel, so that host launch cost never counts. Back-to-back mode: one event pair round the block's
/// launches; the caller rotates its inputs by counting its calls. `states` (optional) gets one row per block. A launch
/// may not synchronise with the device: it would wait for the blocking kernel, which gives up after a second. Nor may
/// it leave work on another stream: one that still ran 20 us after `stream` was done, three times running, is refused.
const char* hillclimb_timer_cuda_run(HillclimbTimerCuda* timer, const HillclimbTimerOptions* options,
                                     HillclimbTimerLaunch launch, void* user, void* stream,
                                     HillclimbTimerResult** result, HillclimbTimerDeviceState* states);

void hillclimb_timer_cuda_free(HillclimbTimerResult* result);

/// Launches for at least `min_s` and until three successive windows of `window_s` agree within 0.3 % in SM clock and 1
/// C, or `max_s` has passed. Gives the last window's state and whether it was steady.
const char* hillclimb_timer_cuda_preheat(HillclimbTimerCuda* timer, HillclimbTimerLaunch launch, void* user,
                                         void* stream, double min_s, double window_s, double max_s,
                                         HillclimbTimerDeviceState* state, int32_t* steady);

/// The device's state now.
const char* hillclimb_timer_cuda_state(HillclimbTimerCuda* timer, HillclimbTimerDeviceState* state);

/// Median seconds of a device-to-device copy of `bytes` by the driver with a cold L2: the run's copy rate is 2 * bytes
/// over it.
const char* hillclimb_timer_cuda_copy(HillclimbTimerCuda* timer, int64_t bytes, int32_t readings, double* seconds);

#ifdef __cplusplus
}
#endif
