// Runs and reads the GPU's canary.
#include "bench/gpu_canary.h"

#include <fmt/format.h>

#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/devices.h"
#include "bench/refusal.h"
#include "bench/timer.h"
#include "bench/timer_cuda.h"

namespace hc::bench {
namespace {

constexpr int64_t kCopyBytes = 256ll << 20;
constexpr int kCopies = 200;  ///< about 50 ms on a large card: enough to leave the idle clock
constexpr double kCycles = 1e6;

struct CloseTimer {
  void operator()(HillclimbTimerCuda* timer) const { hillclimb_timer_cuda_close(timer); }
};

}  // namespace

Result<std::string> gpu_canary_line() {
  HillclimbTimerCuda* opened = nullptr;
  if (const char* why = hillclimb_timer_cuda_open(0, &opened)) {
    return Diagnostic{.code = Code::not_available, .message = why};
  }
  const std::unique_ptr<HillclimbTimerCuda, CloseTimer> timer(opened);
  CanaryReading reading;
  const double begin = hillclimb_timer_now();
  if (const char* why = hillclimb_timer_cuda_copy(timer.get(), kCopyBytes, kCopies, &reading.memory_s)) {
    return refusal(why);
  }
  HillclimbTimerDeviceState state{};
  if (const char* why = hillclimb_timer_cuda_state(timer.get(), &state)) return refusal(why);
  reading.compute_s = state.sm_mhz_clock > 0 ? kCycles / (state.sm_mhz_clock * 1e6) : 0;
  reading.mid_monotonic_s = (begin + hillclimb_timer_now()) / 2;
  Json line = to_json(reading);
  line["uuid"] = hillclimb_timer_cuda_facts(timer.get())->uuid;
  return line.dump();
}

Result<CanaryReading> gpu_canary(const std::vector<std::string>& argv, const std::string& uuid, double limit_s) {
  const RunOutcome run = run_process(argv, limit_s, gpu_environment(uuid));
  if (run.timed_out) return refusal(fmt::format("the canary on {} did not end within {} s", uuid, limit_s));
  if (!run.ok()) return refusal(fmt::format("the canary on {} failed: {}{}", uuid, run.failure, run.err));
  const std::optional<Json> json = parse_json(run.out);
  if (!json || !json->is_object()) return refusal(fmt::format("the canary on {} spoke nonsense", uuid));
  const std::string saw = json->value("uuid", "");
  if (saw != uuid) return refusal(fmt::format("the canary was to run on {} and saw {}", uuid, saw));
  Json reading = *json;
  reading.erase("uuid");
  const CanaryReading value = HC_TRY(canary_from_json(reading));
  if (!(value.compute_s > 0) || !(value.memory_s > 0))
    return refusal(fmt::format("the canary on {} read nothing", uuid));
  return value;
}

std::vector<std::string> own_gpu_canary() { return {program_path(), "canary"}; }

}  // namespace hc::bench
