// Bringing a GPU to a steady clock and temperature before timed blocks, by the very launches that are timed.
#pragma once

#include "bench/protocol.h"
#include "bench/timer_cuda.h"

namespace hc::bench {

/// Three successive windows of so many seconds have to agree.
inline constexpr double kPreheatWindowS = 0.5;

/// Launches for at most `most_s` seconds and notes in `out` what came of it; nothing where that is 0. Null, or the
/// timer's sentence.
inline const char* preheat(HillclimbTimerCuda* timer, HillclimbTimerLaunch launch, void* user, double most_s,
                           Preheat* out) {
  if (!(most_s > 0)) return nullptr;
  HillclimbTimerDeviceState state{};
  int32_t steady = 0;
  const double begin = hillclimb_timer_now();
  const char* why =
      hillclimb_timer_cuda_preheat(timer, launch, user, nullptr, 0, kPreheatWindowS, most_s, &state, &steady);
  *out = {hillclimb_timer_now() - begin, steady != 0, state.sm_mhz_clock, state.temperature_c, state.power_w};
  return why;
}

}  // namespace hc::bench
