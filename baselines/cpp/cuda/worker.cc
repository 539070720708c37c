// Requests to replies, and the loop over lines.
#include "cuda/worker.h"

#include <cmath>
#include <cstdio>

#include "base/files.h"
#include "base/numeric.h"
#include "bench/json_reader.h"
#include "bench/preheat.h"
#include "bench/protocol.h"
#include "cuda/reference.h"

namespace hc::baselines {
namespace {

constexpr const char* kWorkerName = "hillclimb-cuda-worker/1";

Diagnostic refusal(std::string message) {
  return Diagnostic{.code = Code::measurement_failed, .message = std::move(message)};
}

Json state_json(const HillclimbTimerDeviceState& s) {
  return {{"sm_mhz_clock", s.sm_mhz_clock},    {"sm_mhz_nvml", s.sm_mhz_nvml}, {"memory_mhz", s.memory_mhz},
          {"temperature_c", s.temperature_c},  {"power_w", s.power_w},         {"event_reasons", s.event_reasons},
          {"queue_timeouts", s.queue_timeouts}};
}

Json facts_json(const HillclimbTimerDeviceFacts& f) {
  return {{"name", f.name},
          {"uuid", f.uuid},
          {"driver", f.driver},
          {"cuda_driver", f.cuda_driver},
          {"sm", f.sm},
          {"multiprocessors", f.multiprocessors},
          {"l2_bytes", f.l2_bytes},
          {"memory_bytes", f.memory_bytes},
          {"power_cap_w", f.power_cap_w},
          {"max_sm_mhz", f.max_sm_mhz},
          {"max_memory_mhz", f.max_memory_mhz}};
}

int launch_subject(void* user, void* stream) { return static_cast<Subject*>(user)->launch(stream); }

int64_t count_nans(const void* data, DType type, int64_t numel) {
  int64_t count = 0;
  for (int64_t i = 0; i < numel; ++i) count += std::isnan(load_double(data, type, i));
  return count;
}

/// The inputs' bytes on the host, per argument.
std::vector<const void*> inputs_of(const Subject& subject) {
  std::vector<const void*> out;
  for (const auto& buffer : subject.tensors().host) out.push_back(buffer ? buffer->data() : nullptr);
  return out;
}

/// The bytes of output `i`, its entry for the reply, and a file of them where `folder` is given.
Result<Json> output_json(const Subject& subject, size_t i, const std::string& folder, std::string* bytes) {
  const TensorSpec& spec = subject.call().outputs[i];
  const Memory& memory = subject.tensors().outputs[i];
  bytes->resize(static_cast<size_t>(memory.bytes()));
  HC_TRY(memory.download(bytes->data()));
  std::string path;
  if (!folder.empty()) {
    path = join_path(folder, std::to_string(i) + ".bin");
    FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file && std::fwrite(bytes->data(), 1, bytes->size(), file) == bytes->size();
    if ((file && std::fclose(file) != 0) || !written) {
      return Diagnostic{.code = Code::file_error, .message = "the output " + path + " cannot be written"};
    }
  }
  return Json{{"index", i},
              {"name", "out." + std::to_string(i)},
              {"dtype", dtype_name(spec.dtype)},
              {"numel", spec.numel()},
              {"path", path},
              {"sha256", sampled_sha256({{bytes->data(), memory.bytes()}})},
              {"nan_count", count_nans(bytes->data(), spec.dtype, spec.numel())}};
}

Json time_json(const HillclimbTimerResult& result, const std::vector<HillclimbTimerDeviceState>& states,
               bench::Mode mode, int64_t copies) {
  Json blocks = Json::array();
  for (int b = 0; b < result.block_count; ++b) {
    const HillclimbTimerBlock& block = result.blocks[b];
    blocks.push_back({{"seconds", std::vector<double>(block.seconds, block.seconds + block.readings)},
                      {"launches", block.launches},
                      {"start_monotonic_s", block.start_monotonic_s},
                      {"mid_monotonic_s", block.mid_monotonic_s},
                      {"mid_unix_s", block.mid_unix_s},
                      {"mhz", block.mhz},
                      {"device", state_json(states[static_cast<size_t>(b)])}});
  }
  Json reply{{"clock", result.clock},
             {"mode", bench::mode_name(mode)},
             {"threads", 0},
             {"flush_bytes", result.flush_bytes},
             {"warmup_launches", result.warmup_launches},
             {"empty_s", result.empty_s},
             {"blocks", std::move(blocks)}};
  if (copies > 0) reply["copies"] = copies;
  return reply;
}

}  // namespace

Status Worker::open() {
  if (!device_) device_ = HC_TRY(Device::open());
  return success();
}

Result<Json> Worker::hello(const Json& request) {
  bool discover = false;
  bench::JsonReader reader(request);
  reader.optional("discover", &discover);
  HC_TRY(reader.finish(diag::Unit{}));
  std::string driver_missing;
  bench::cuda_driver(&driver_missing);
  Json offers = Json::array(), missing = Json::array();
  for (const std::string& name : implementation_names()) {
    if (!discover) break;  // each look opens libraries
    const Result<std::string> version = availability(name, places_);
    if (version.ok() && driver_missing.empty()) {
      offers.push_back({{"implementation", name}, {"library", ""}, {"version", version.value()}});
    } else if (version.ok()) {
      missing.push_back({{"implementation", name}, {"reason", driver_missing}});
    } else {
      missing.push_back(
          {{"implementation", name}, {"reason", version.error().message}, {"help", version.error().help}});
    }
  }
  return Json{
      {"protocol", bench::kProtocolVersion}, {"worker", kWorkerName},        {"backend", "cuda"}, {"can", {"listing"}},
      {"offers", std::move(offers)},         {"missing", std::move(missing)}};
}

Result<Json> Worker::prepare(const Json& json) {
  const double begin = hillclimb_timer_now();
  const bench::PrepareRequest common = HC_TRY(bench::prepare_request_from_json(json));
  SubjectRequest request{common.implementation, common.operation, common.args, common.manifest, common.seed, {}, ""};
  if (json.contains("options")) {
    bench::JsonReader options(json["options"]);
    options.optional("save", &request.save);
    HC_TRY(options.finish(diag::Unit{}));
    if (json["options"].contains("config")) request.pinned = json["options"]["config"];
  }
  if (!common.config.empty()) request.pinned = parse_json(common.config).value_or(Json(common.config));
  if (!request.save.empty() && request.pinned.is_null()) return refusal("`save` needs a pinned `config`");
  slots_.erase(common.slot);
  HC_TRY(open());
  std::unique_ptr<Subject> made = HC_TRY(Subject::make(*device_, places_, cache_, request));
  Json reply{{"implementation", common.implementation},
             {"version", made->ways().version},
             {"library", made->ways().library},
             {"detail", common.implementation + " " + made->config().dump()},
             {"config", made->config()},
             {"search", made->search()},
             {"threads", 0},
             {"bytes", made->call().bytes()},
             {"prepare_s", hillclimb_timer_now() - begin},
             {"in_place", false},
             {"inputs_sha256", made->tensors().inputs_sha256}};
  slots_[common.slot] = std::move(made);
  return reply;
}

Result<Subject*> Worker::subject(const std::string& slot) {
  const auto found = slots_.find(slot);
  if (found == slots_.end()) return refusal("nothing is prepared in slot `" + slot + "`");
  return found->second.get();
}

/// Launches every way that was built on poisoned outputs; those that fail or give a wrong answer.
Result<Json> Worker::check_ways(Subject& target) const {
  Json wrong = Json::array();
  const Memory& output = target.tensors().outputs[0];
  std::string bytes(static_cast<size_t>(output.bytes()), 0);
  for (const std::unique_ptr<Way>& way : target.ways().list) {
    HC_TRY(output.poison());
    const int failed = way->launch(nullptr);
    HC_TRY(device_->wait());
    HC_TRY(output.download(bytes.data()));
    const Verdict verdict = compare(target.call(), inputs_of(target), bytes.data());
    if (!failed && verdict.wrong == 0 && verdict.nonfinite == 0) continue;
    wrong.push_back({{"config", way->config()}, {"launch", failed}, {"verdict", to_json(verdict)}});
  }
  return wrong;
}

Result<Json> Worker::check(const Json& json) {
  const bench::CheckRequest request = HC_TRY(bench::check_request_from_json(json));
  bool all = false;
  bench::JsonReader reader(json);
  reader.optional("all", &all);
  HC_TRY(reader.finish(diag::Unit{}));
  Subject* const target = HC_TRY(subject(request.slot));
  const Json wrong_ways = all ? HC_TRY(check_ways(*target)) : Json();
  if (request.run) {
    for (const Memory& output : target->tensors().outputs) HC_TRY(output.poison());
    HC_TRY(cuda_status("the launch", target->launch(nullptr)));
  }
  HC_TRY(device_->wait());
  if (!request.out_dir.empty()) {
    const std::string why = make_folders(request.out_dir);
    if (!why.empty()) return Diagnostic{.code = Code::file_error, .message = why};
  }
  Json outputs = Json::array();
  std::string bytes;
  outputs.push_back(HC_TRY(output_json(*target, 0, request.out_dir, &bytes)));
  const Verdict verdict = compare(target->call(), inputs_of(*target), bytes.data());
  Json reply{{"outputs", std::move(outputs)}, {"verdict", to_json(verdict)}};
  if (all) reply["ways"] = {{"checked", target->ways().list.size()}, {"wrong", wrong_ways}};
  return reply;
}

Result<Json> Worker::time(const Json& json) {
  const bench::TimeRequest request = HC_TRY(bench::time_request_from_json(json));
  Subject* const target = HC_TRY(subject(request.slot));
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.mode = request.mode == bench::Mode::single ? HILLCLIMB_TIMER_SINGLE : HILLCLIMB_TIMER_BACK_TO_BACK;
  options.blocks = request.blocks;
  options.min_block_s = request.min_block_s;
  options.warmup_s = request.warmup_s;
  options.flush_bytes = request.flush_bytes;
  options.max_launches = request.max_launches;
  const int64_t cache = request.flush_bytes < 0 ? 2 * device_->facts().l2_bytes : request.flush_bytes;
  const bool rotates = request.mode == bench::Mode::back_to_back;
  const int64_t copies = rotates ? HC_TRY(target->rotate(*device_, cache)) : 0;
  bench::Preheat heat;
  if (const char* why = bench::preheat(device_->timer(), launch_subject, target, request.preheat_s, &heat)) {
    target->stop_rotating();
    return refusal(why);
  }
  std::vector<HillclimbTimerDeviceState> states(static_cast<size_t>(std::max(request.blocks, 1)));
  HillclimbTimerResult* result = nullptr;
  const char* why =
      hillclimb_timer_cuda_run(device_->timer(), &options, launch_subject, target, nullptr, &result, states.data());
  target->stop_rotating();
  if (why) return refusal(why);
  Json reply = time_json(*result, states, request.mode, copies);
  if (heat.seconds > 0) reply["preheat"] = bench::to_json(heat);
  hillclimb_timer_cuda_free(result);
  return reply;
}

/// The cubin of the kernel that runs. NVRTC is asked for machine code alone, so there is no PTX.
Result<Json> Worker::listing(const Json& json) {
  const bench::ListingRequest request = HC_TRY(bench::listing_request_from_json(json));
  Subject* const target = HC_TRY(subject(request.slot));
  bench::ListingReply reply;
  const std::string* cubin = target->way().cubin();
  if (cubin) {
    const std::string path = join_path(request.out_dir, "kernel.cubin");
    const std::string why = write_file_atomic(path, *cubin);
    if (!why.empty()) return Diagnostic{.code = Code::file_error, .message = "the cubin cannot be written: " + why};
    reply.files = {{"cubin", "kernel", path}};
    reply.missing = "its PTX: the kernel is compiled to machine code in one step";
  } else {
    reply.missing = "its machine code: " + target->ways().library + " keeps its kernels to itself";
  }
  return bench::to_json(reply);
}

Result<Json> Worker::device_facts() {
  HC_TRY(open());
  HillclimbTimerDeviceState state{};
  if (const char* why = hillclimb_timer_cuda_state(device_->timer(), &state)) return refusal(why);
  return Json{{"facts", facts_json(device_->facts())}, {"state", state_json(state)}};
}

Result<Json> Worker::dispatch(const std::string& op, const Json& request) {
  if (op == "prepare") return prepare(request);
  if (op == "check") return check(request);
  if (op == "time") return time(request);
  if (op == "listing") return listing(request);
  if (op == "device") return device_facts();
  if (op == "drop") {
    std::string slot = "main";
    bench::JsonReader reader(request);
    reader.optional("slot", &slot);
    HC_TRY(reader.finish(diag::Unit{}));
    slots_.erase(slot);
    return Json::object();
  }
  return refusal("`" + op + "` is none of hello, prepare, check, time, listing, device, drop and bye");
}

}  // namespace hc::baselines
