// The machine-wide measurement lock: what would disturb each other does not measure at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "diag/diag.h"

namespace hc::bench {

/// Held until destroyed (or the process ends); a process that holds it gets it again at once. The text of its file
/// names the holder.
class MeasurementLock {
 public:
  /// Where the lock of this machine is; the same for every user and whatever TMPDIR says.
  static std::string path();
  /// Waits up to `limit_s` seconds; measurement_failed then names who holds it. `on_wait` hears that once, as soon as
  /// it has to wait at all. A process that only shares it does not get it whole before it gave that back.
  static Result<std::unique_ptr<MeasurementLock>> acquire(double limit_s,
                                                          const std::function<void(const std::string&)>& on_wait = {},
                                                          const std::string& file = path());
  /// The same, held together with all others that share it: measurements on GPUs do not disturb each other, but they
  /// and one on the processor do.
  static Result<std::unique_ptr<MeasurementLock>> share(double limit_s,
                                                        const std::function<void(const std::string&)>& on_wait = {},
                                                        const std::string& file = path());
  ~MeasurementLock();
  MeasurementLock(const MeasurementLock&) = delete;
  MeasurementLock& operator=(const MeasurementLock&) = delete;

 private:
  MeasurementLock() = default;
  struct Held;
  enum class Kind : uint8_t { whole, shared };
  static Result<std::unique_ptr<MeasurementLock>> wait_for(Kind kind, double limit_s,
                                                           const std::function<void(const std::string&)>& on_wait,
                                                           const std::string& file);
  static Result<std::shared_ptr<Held>> take(Kind kind, const std::string& file, std::string* holder);
  std::shared_ptr<Held> held_;
};

}  // namespace hc::bench
