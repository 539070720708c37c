// A GPU in this process with buffers of its own, through which the referee's kernels stream.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cuda_driver.h"
#include "bench/timer_cuda.h"
#include "diag/diag.h"

namespace hc::bench {

/// Memory rates of a device, measured while nothing else ran on it; 0: not measured.
struct GpuRates {
  double read_gbs = 0;  ///< best of a few launch shapes: what no kernel's reads can beat
  double copy_gbs = 0;  ///< of the driver's device-to-device copy, bytes read and written over the median time
  int64_t bytes = 0;    ///< read, and copied, by one launch
  int64_t l2_bytes = 0;
};

/// Device, context, kernels and two buffers of `bytes`; everything is freed with it.
class DeviceStream {
 public:
  /// Opens the first visible device; not_available without one, measurement_failed where memory lacks.
  static Result<std::unique_ptr<DeviceStream>> open(int64_t bytes, bool two_buffers);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// Queues one copy from the first to the second buffer; non-zero when the driver refused it.
  int copy(CuStream stream);
  /// Queues one read of the first buffer by `blocks_per_sm` blocks for each multiprocessor.
  int read(CuStream stream, int blocks_per_sm);
  /// Overwrites the second buffer, so that a copy which does nothing is seen.
  bool poison();
  /// Whether the last words of both buffers agree after everything queued has run.
  bool copied();
  HillclimbTimerCuda* timer() const { return timer_; }
  int64_t bytes() const { return bytes_; }

 private:
  DeviceStream() = default;
  Status take(int64_t bytes, bool two_buffers);
  HillclimbTimerCuda* timer_ = nullptr;
  const CudaDriver* cu_ = nullptr;
  CuModule module_ = nullptr;
  CuFunction read_ = nullptr, copy_ = nullptr;
  CuPointer from_ = 0, to_ = 0, sink_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace hc::bench
