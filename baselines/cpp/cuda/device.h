// The GPU that a worker measures on: context, timer, and memory that frees itself.
#pragma once

#include <memory>
#include <string>

#include "bench/cuda_driver.h"
#include "bench/timer_cuda.h"
#include "diag/diag.h"

namespace hc::baselines {

/// An opened device with its timer. One per process.
class Device {
 public:
  ~Device() { hillclimb_timer_cuda_close(timer_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// not_available without a driver or a device.
  static Result<std::unique_ptr<Device>> open();
  const bench::CudaDriver& cu() const { return *cu_; }
  HillclimbTimerCuda* timer() const { return timer_; }
  const HillclimbTimerDeviceFacts& facts() const { return *hillclimb_timer_cuda_facts(timer_); }
  /// "sm_90a": the target with the instructions of this very architecture.
  std::string arch() const;
  /// Waits for all work. measurement_failed with the driver's error when something failed.
  Status wait() const;

 private:
  Device() = default;
  const bench::CudaDriver* cu_ = nullptr;
  HillclimbTimerCuda* timer_ = nullptr;
};

/// measurement_failed with the call's name and the driver's error, unless `result` is 0.
Status cuda_status(const char* call, int result);

/// Bytes of device memory; the size is rounded up to a multiple of 256.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();
  static Result<Memory> take(const Device& device, int64_t bytes);
  bench::CuPointer pointer() const { return pointer_; }
  int64_t bytes() const { return bytes_; }
  Status upload(const void* from) const;
  Status download(void* to) const;
  /// All bits set: NaN in every floating type.
  Status poison() const;

 private:
  const bench::CudaDriver* cu_ = nullptr;
  bench::CuPointer pointer_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace hc::baselines
