// Which GPU of a shared machine to measure on: idle ones only, by UUID, under a lock, each variant always on the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/canary.h"
#include "bench/lock.h"
#include "diag/diag.h"

namespace hc::bench {

/// A process that has a compute context on a device. In a container the pid may be the host's.
struct GpuProcess {
  int64_t pid = 0;
  uint64_t used_bytes = 0;
};

/// One look at a device.
struct GpuState {
  bool present = false;  ///< false: the management library does not know it, so nothing below is known
  std::string name;
  bool mig = false;              ///< divided into instances
  int compute_mode = 0;          ///< 2: no process may use it
  uint64_t used_bytes = 0;       ///< without what the driver reserves for itself
  int utilization = -1;          ///< percent of the last sample period with a kernel running; -1 unknown
  double temperature_c = 0;      ///< 0 unknown
  uint64_t event_reasons = 0;    ///< why clocks are held down, NVML's bits
  bool processes_known = false;  ///< false: the list cannot be read; true says little in a container, where it is empty
  std::vector<GpuProcess> processes;
};

/// Where the devices' states come from; tests put made-up ones here.
class GpuProbe {
 public:
  virtual ~GpuProbe() = default;
  /// UUIDs ("GPU-...") of the devices that this process may use.
  virtual std::vector<std::string> uuids() const = 0;
  virtual GpuState look(const std::string& uuid) const = 0;
};
/// The driver and NVML of this machine; it has no devices where there is no driver.
std::unique_ptr<GpuProbe> nvml_probe();

/// What does not change about a device while it is measured, with its temperature; empty or 0 where it is not known.
struct GpuFacts {
  std::string uuid{}, name{}, driver{}, vbios{};
  int cuda = 0;  ///< of the driver: 13000 for 13.0
  double power_cap_w = 0, power_cap_default_w = 0;
  double max_sm_mhz = 0, temperature_c = 0;
};
GpuFacts gpu_facts(const std::string& uuid);
/// As records hold them, those that are not known left out.
std::vector<std::pair<std::string, std::string>> named_facts(const GpuFacts& facts);

/// When a device counts as idle.
struct GpuRules {
  uint64_t max_used_bytes = 200u << 20;
  int samples = 5;            ///< looks at utilisation, which must be 0 in all
  double sample_gap_s = 0.5;  ///< between them
  double cool_c = 50;         ///< warmer ones must be within `spread_c` of the coolest device
  double spread_c = 10;
  double canary_band = 0.05;  ///< largest relative distance from the device's own reference
  int canary_tries = 3;
};

/// Why a device is not idle in these looks, or empty. `own` are processes of ours with a context on it; pids that a
/// container hides are matched by their number. `foreign` is set when the reason is somebody else's use.
std::string busy_reason(const std::vector<GpuState>& looks, const GpuRules& rules, const std::vector<int64_t>& own,
                        double coolest_c, bool* foreign);

/// NAME=VALUE that lets a worker see one device, or none for an empty `uuid`; given to every worker.
std::vector<std::string> gpu_environment(const std::string& uuid);

struct GpuPoolOptions {
  std::string state_path;            ///< the run's devices.json: sticky devices, avoided ones, canary references
  std::string lock_folder = "/tmp";  ///< of the machine-wide locks, one file per UUID
  double wait_s = 0;                 ///< for the lock of a variant's own device
  GpuRules rules;
  /// A fixed piece of work on the device, in a process of its own; null: none.
  std::function<Result<CanaryReading>(const std::string& uuid)> canary;
  std::function<void(double seconds)> sleep;  ///< stands in for sleeping in tests; null: the real one
};

/// A device held for a variant until destroyed.
struct GpuLease {
  std::string uuid, variant;
  std::string moved_from;  ///< the device that the variant had before, when that one is avoided now: what was measured
                           ///< there must not be pooled with what comes
  double idle_c = 0;       ///< lowest temperature at which this run found it idle; 0: not known
  std::unique_ptr<MeasurementLock> lock;
  std::vector<std::string> environment() const { return gpu_environment(uuid); }
};

/// How a device cooled down before a measurement; temperatures in degrees Celsius, 0: not known.
struct CoolDown {
  double idle_c = 0, begin_c = 0, end_c = 0;
  double waited_s = 0;
  bool reached = false;  ///< it came near enough to its idle temperature; false as well when that is not known
};
/// As records hold it, what is not known left out.
std::vector<std::pair<std::string, std::string>> named_facts(const CoolDown& cooling);

/// The devices of one run. Several pools of one run, in one process or more, agree through its file.
class GpuPool {
 public:
  /// Reads the run's file; file_error when it is damaged, not_available without any device.
  static Result<GpuPool> open(std::unique_ptr<GpuProbe> probe, GpuPoolOptions options);
  /// The variant's device if it has one, else the idle one with the fewest variants, then the coolest. Locked first,
  /// then looked at, then tried with the canary. measurement_failed names every device and why it was not taken.
  Result<GpuLease> acquire(const std::string& variant);
  /// Asked between pairs, when no worker of ours runs except `own`: empty, or why the device is not ours alone; it is
  /// avoided from then on.
  std::string intruder(const GpuLease& lease, const std::vector<int64_t>& own = {});
  /// Waits until the held device is within `near_c` of its idle temperature, at most `most_s`.
  CoolDown cool_down(const GpuLease& lease, double near_c, double most_s) const;
  /// Never takes this device again in this run.
  Status avoid(const std::string& uuid, const std::string& why);
  /// Which device each variant belongs to: those that have one keep it, the others are spread evenly over the devices
  /// not avoided.
  Result<std::map<std::string, std::string>> shard(const std::vector<std::string>& variants);
  const std::map<std::string, std::string>& avoided() const { return avoided_; }

 private:
  GpuPool(std::unique_ptr<GpuProbe> probe, GpuPoolOptions options)
      : probe_(std::move(probe)), options_(std::move(options)) {}
  std::vector<std::string> in_order(const std::string& variant) const;
  size_t variants_on(const std::string& uuid) const;
  std::string look_closely(const std::string& uuid, bool* foreign) const;
  std::string try_canary(const std::string& uuid, bool* foreign);
  CanaryReading* reference_for(const std::string& uuid);
  void assign(const std::string& variant, const std::string& uuid);
  void note_idle(const std::string& uuid, double temperature_c);
  double coolest() const;
  void sleep(double seconds) const;
  Status recall();
  Status save();

  std::unique_ptr<GpuProbe> probe_;
  GpuPoolOptions options_;
  std::vector<std::string> uuids_;
  std::set<std::string> changed_;               ///< variants that got a device here
  std::map<std::string, std::string> sticky_;   ///< variant -> UUID
  std::map<std::string, std::string> moved_;    ///< variant -> UUID that it had before
  std::map<std::string, std::string> avoided_;  ///< UUID -> why
  std::map<std::string, CanaryReading> reference_;
  std::map<std::string, double> idle_c_;  ///< UUID -> lowest temperature at which it was found idle
};

/// Path of a device's machine-wide lock.
std::string gpu_lock_path(const std::string& folder, const std::string& uuid);

}  // namespace hc::bench
