// The machine-wide measurement lock: two runs of hillclimb do not measure at once.
#pragma once

#include <memory>
#include <string>

#include "diag/diag.h"

namespace hc::bench {

/// Held until destroyed (or the process ends). The file is TMP/hillclimb-measure.lock; its text names the holder.
class MeasurementLock {
 public:
  /// Waits up to `limit_s`; measurement_failed names who holds it. `on_wait` (may be null) hears that once when it has
  /// to wait.
  static Result<std::unique_ptr<MeasurementLock>> acquire(double limit_s,
                                                          void (*on_wait)(const std::string& holder) = nullptr);
  ~MeasurementLock();
  MeasurementLock(const MeasurementLock&) = delete;
  MeasurementLock& operator=(const MeasurementLock&) = delete;
  static std::string path();

 private:
  MeasurementLock() = default;
  int fd_ = -1;
};

}  // namespace hc::bench
