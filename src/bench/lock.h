// The machine-wide measurement lock: two runs of hillclimb do not measure at once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "diag/diag.h"

namespace hc::bench {

/// Held until destroyed (or the process ends); a process that holds it gets it again at once. The text of its file
/// names the holder.
class MeasurementLock {
 public:
  /// Where the lock of this machine is.
  static std::string path();
  /// Waits up to `limit_s` seconds; measurement_failed then names who holds it. `on_wait` hears that once, as soon as
  /// it has to wait at all.
  static Result<std::unique_ptr<MeasurementLock>> acquire(double limit_s,
                                                          const std::function<void(const std::string&)>& on_wait = {},
                                                          const std::string& file = path());
  ~MeasurementLock();
  MeasurementLock(const MeasurementLock&) = delete;
  MeasurementLock& operator=(const MeasurementLock&) = delete;

 private:
  MeasurementLock() = default;
  struct Held;
  static Result<std::shared_ptr<Held>> take(double limit_s, const std::function<void(const std::string&)>& on_wait,
                                            const std::string& file);
  std::shared_ptr<Held> held_;
};

}  // namespace hc::bench
