// Measures a GPU's memory rates and reads them from another process.
#include "bench/gpu_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/devices.h"
#include "bench/refusal.h"
#include "bench/timer.h"

namespace hc::bench {
namespace {

constexpr int64_t kBytes = int64_t{1} << 30;
constexpr int64_t kLeastBytes = int64_t{64} << 20;
constexpr int kShapes[] = {1, 2, 4, 8, 16};  ///< blocks per multiprocessor: which is fastest depends on the device
constexpr int kReadings = 12;
constexpr int kRateCopies = 40;
constexpr double kWarmup = 0.1;  ///< seconds: an idle card has to leave its idle clock first

struct Read {
  DeviceStream* stream;
  int blocks_per_sm;
  static int launch(void* user, void* stream) {
    const Read* r = static_cast<Read*>(user);
    return r->stream->read(stream, r->blocks_per_sm);
  }
};

/// The shortest reading of one launch shape, in seconds.
Result<double> read_once(DeviceStream& stream, int blocks_per_sm) {
  Read read{&stream, blocks_per_sm};
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.blocks = 1;
  options.min_block_s = 3600;
  options.max_launches = kReadings;
  options.warmup_s = kWarmup;
  options.flush_bytes = -1;
  HillclimbTimerResult* result = nullptr;
  if (const char* why =
          hillclimb_timer_cuda_run(stream.timer(), &options, Read::launch, &read, nullptr, &result, nullptr)) {
    return refusal(why);
  }
  const HillclimbTimerBlock& block = result->blocks[0];
  const double best = *std::min_element(block.seconds, block.seconds + block.readings);
  hillclimb_timer_cuda_free(result);
  return best;
}

/// A buffer of 1 GiB, or of half as much again and again where memory lacks.
Result<std::unique_ptr<DeviceStream>> open_stream() {
  for (int64_t bytes = kBytes;; bytes /= 2) {
    Result<std::unique_ptr<DeviceStream>> stream = DeviceStream::open(bytes, false);
    if (stream.ok() || stream.error().code == Code::not_available || bytes / 2 < kLeastBytes) return stream;
  }
}

}  // namespace

Result<std::string> gpu_rates_line() {
  GpuRates rates;
  std::string uuid;
  {
    const std::unique_ptr<DeviceStream> stream = HC_TRY(open_stream());
    rates.bytes = stream->bytes();
    rates.l2_bytes = hillclimb_timer_cuda_facts(stream->timer())->l2_bytes;
    uuid = hillclimb_timer_cuda_facts(stream->timer())->uuid;
    for (const int shape : kShapes) {
      const double seconds = HC_TRY(read_once(*stream, shape));
      rates.read_gbs = std::max(rates.read_gbs, static_cast<double>(rates.bytes) / seconds * 1e-9);
    }
    double copy_s = 0;
    if (const char* why = hillclimb_timer_cuda_copy(stream->timer(), rates.bytes, kRateCopies, &copy_s))
      return refusal(why);
    rates.copy_gbs = 2 * static_cast<double>(rates.bytes) / copy_s * 1e-9;
  }
  const Json line = {{"read_gbs", rates.read_gbs},
                     {"copy_gbs", rates.copy_gbs},
                     {"bytes", rates.bytes},
                     {"l2_bytes", rates.l2_bytes},
                     {"uuid", uuid}};
  return line.dump();
}

Result<GpuRates> gpu_rates(const std::vector<std::string>& argv, const std::string& uuid, double limit_s) {
  const RunOutcome run = run_process(argv, limit_s, gpu_environment(uuid));
  if (run.timed_out) return refusal(fmt::format("the memory rates of {} did not come within {} s", uuid, limit_s));
  if (!run.ok()) return refusal(fmt::format("the memory rates of {} failed: {}{}", uuid, run.failure, run.err));
  const std::optional<Json> json = parse_json(run.out);
  const auto number = [&](const char* key) {
    return json && json->is_object() && json->contains(key) && (*json)[key].is_number() ? (*json)[key].get<double>()
                                                                                        : 0.0;
  };
  const GpuRates rates{number("read_gbs"), number("copy_gbs"), static_cast<int64_t>(number("bytes")),
                       static_cast<int64_t>(number("l2_bytes"))};
  if (!(rates.read_gbs > 0) || !(rates.copy_gbs > 0) || rates.bytes <= 0 || rates.l2_bytes < 0) {
    return refusal(fmt::format("the process that was to read the memory rates of {} spoke nonsense", uuid));
  }
  const std::string saw =
      json->contains("uuid") && (*json)["uuid"].is_string() ? (*json)["uuid"].get<std::string>() : "";
  if (saw == uuid) return rates;
  return refusal(fmt::format("the memory rates were to be read on {}, and the process saw {}", uuid, saw));
}

std::vector<std::string> own_gpu_rates() { return {program_path(), "canary", "--rates"}; }

}  // namespace hc::bench
