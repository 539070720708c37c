// The anchor on a GPU: the referee's own copy kernel over buffers of its own, timed by the CUDA timer.
#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "bench/device_kernels.h"
#include "bench/device_stream.h"
#include "bench/preheat.h"
#include "bench/subject.h"

namespace hc::bench {
namespace {

constexpr int64_t kAnchorBytes = int64_t{256} << 20;  ///< five times the largest L2 there is

int launch_copy(void* user, void* stream) { return static_cast<DeviceStream*>(user)->copy(stream); }

TimeReply reply_of(const HillclimbTimerResult& result, const std::vector<HillclimbTimerDeviceState>& states,
                   Mode mode) {
  TimeReply reply;
  reply.mode = mode;
  reply.flush_bytes = result.flush_bytes;
  reply.warmup_launches = result.warmup_launches;
  reply.empty_s = result.empty_s;
  reply.clock = result.clock;
  reply.copies = mode == Mode::back_to_back ? 1 : 0;
  for (int b = 0; b < result.block_count; ++b) {
    const HillclimbTimerBlock& from = result.blocks[b];
    const HillclimbTimerDeviceState& s = states[static_cast<size_t>(b)];
    Block block;
    block.seconds.assign(from.seconds, from.seconds + from.readings);
    block.launches = from.launches;
    block.start_monotonic_s = from.start_monotonic_s;
    block.mid_monotonic_s = from.mid_monotonic_s;
    block.mid_unix_s = from.mid_unix_s;
    block.mhz = from.mhz;
    block.has_device = true;
    block.device = {s.sm_mhz_clock, s.sm_mhz_nvml,   s.memory_mhz,    s.temperature_c,
                    s.power_w,      s.event_reasons, s.queue_timeouts};
    reply.blocks.push_back(std::move(block));
  }
  return reply;
}

class GpuCopySubject : public Subject {
 public:
  explicit GpuCopySubject(std::unique_ptr<DeviceStream> stream) : stream_(std::move(stream)) {
    const HillclimbTimerDeviceFacts* facts = hillclimb_timer_cuda_facts(stream_->timer());
    reply_.implementation = "gpu-copy";
    reply_.version = sha256_hex(kDevicePtx).substr(0, 12);
    reply_.detail = std::string("own kernel on ") + facts->name;
    reply_.bytes = 2 * stream_->bytes();
    reply_.inputs_sha256 = sha256_hex("");  // it draws none
  }

  /// A launch in the check: it has to have copied.
  int launch() override { return stream_->copy(nullptr) != 0 || !stream_->copied() ? 1 : 0; }
  void reset() override { (void)stream_->poison(); }
  std::vector<Output> outputs() const override { return {}; }

  std::optional<Result<TimeReply>> time(const TimeRequest& request) override {
    HillclimbTimerOptions options{};
    options.abi = HILLCLIMB_TIMER_ABI;
    options.mode = request.mode == Mode::single ? HILLCLIMB_TIMER_SINGLE : HILLCLIMB_TIMER_BACK_TO_BACK;
    options.blocks = request.blocks;
    options.min_block_s = request.min_block_s;
    options.warmup_s = request.warmup_s;
    options.flush_bytes = request.flush_bytes;
    options.max_launches = request.max_launches;
    Preheat heat;
    if (const char* why = preheat(stream_->timer(), launch_copy, stream_.get(), request.preheat_s, &heat)) {
      return Result<TimeReply>(Diagnostic{.code = Code::measurement_failed, .message = why});
    }
    std::vector<HillclimbTimerDeviceState> states(static_cast<size_t>(std::max(request.blocks, 1)));
    HillclimbTimerResult* result = nullptr;
    if (const char* why = hillclimb_timer_cuda_run(stream_->timer(), &options, launch_copy, stream_.get(), nullptr,
                                                   &result, states.data())) {
      return Result<TimeReply>(Diagnostic{.code = Code::measurement_failed, .message = why});
    }
    TimeReply reply = reply_of(*result, states, request.mode);
    reply.preheat = heat;
    hillclimb_timer_cuda_free(result);
    return Result<TimeReply>(std::move(reply));
  }

 private:
  std::unique_ptr<DeviceStream> stream_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_gpu_subject(const PrepareRequest& request) {
  const int64_t bytes = request.bytes > 0 ? request.bytes : kAnchorBytes;
  std::unique_ptr<DeviceStream> stream = HC_TRY(DeviceStream::open(bytes, true));
  return std::unique_ptr<Subject>(std::make_unique<GpuCopySubject>(std::move(stream)));
}

}  // namespace hc::bench
