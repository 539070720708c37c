// An opened device as the parts of the CUDA timer see it: its kernels, its memory, what they queue and what they read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda_driver.h"
#include "bench/timer_cuda.h"

/// What one opened device needs for timing; all memory is taken before the first reading.
struct HillclimbTimerCuda {
  const hc::bench::CudaDriver* cu = nullptr;
  int device = 0;
  bool owns_context = false;
  hc::bench::CuModule module = nullptr;
  hc::bench::CuFunction block = nullptr, flush = nullptr, empty = nullptr, clock = nullptr;
  uint32_t* flag = nullptr;  // host memory that the blocking kernel reads
  hc::bench::CuPointer device_flag = 0;
  hc::bench::CuPointer scratch = 0;  // word 0: gave up; word 1: flush's sink; words 4..7: clock meter
  hc::bench::CuPointer flush_buffer = 0;
  int64_t flush_capacity = 0;
  double idle_wait_s = 0;  // that a context with nothing left to do makes the host wait
  std::vector<hc::bench::CuEvent> events;
  std::unique_ptr<hc::bench::Nvml> nvml;
  HillclimbTimerDeviceFacts facts{};
  std::string error;

  const char* fail(const std::string& text) {
    error = text;
    return error.c_str();
  }
};

namespace hc::bench {

inline constexpr int kEventsMax = 256;  ///< of one batch: the launch queue holds about a thousand entries

/// Returns from the calling function with the driver's error when a call fails.
#define HC_CU(timer, call)                                                                           \
  do {                                                                                               \
    const CuResult hc_cu_result = (timer)->cu->call;                                                 \
    if (hc_cu_result != 0) return (timer)->fail(std::string(#call ": ") + cuda_error(hc_cu_result)); \
  } while (0)

/// Makes the buffer that a flush reads at least `bytes` large.
const char* reserve_flush(HillclimbTimerCuda* t, int64_t bytes);
/// Queues the kernel that reads `bytes` of it.
const char* queue_flush(HillclimbTimerCuda* t, int64_t bytes, CuStream stream);
/// Queues the kernel that waits for release().
const char* queue_block(HillclimbTimerCuda* t, CuStream stream);
void release(HillclimbTimerCuda* t);
/// Whether the blocking kernel gave up since the last call.
const char* take_gave_up(HillclimbTimerCuda* t, bool* gave_up);
/// SM clock in MHz: cycles counted over a short spin.
const char* measure_clock(HillclimbTimerCuda* t, CuStream stream, double* mhz);
/// What NVML says now; reasons for low clocks are added to those that are there.
void read_nvml(HillclimbTimerCuda* t, HillclimbTimerDeviceState* s);

}  // namespace hc::bench
