// Our worker: one request per line in, one reply per line out, until bye.
#include <omp.h>

#include <cmath>
#include <cstdio>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/numeric.h"
#include "bench/json_reader.h"
#include "bench/refusal.h"
#include "bench/rotation.h"
#include "bench/serve.h"
#include "bench/subject.h"
#include "bench/timer.h"

namespace hc::bench {
namespace {

constexpr const char* kWorkerName = "hillclimb-worker/1";

int64_t count_nans(const Output& output) {
  if (!is_floating(output.dtype)) return 0;
  int64_t count = 0;
  if (output.dtype == DType::f32) {
    const auto* values = static_cast<const float*>(output.data);
    for (int64_t i = 0; i < output.numel; ++i) count += values[i] != values[i];
    return count;
  }
  for (int64_t i = 0; i < output.numel; ++i) count += std::isnan(load_double(output.data, output.dtype, i));
  return count;
}

Result<OutputFile> store(const Output& output, const std::string& out_dir) {
  const auto bytes = static_cast<size_t>(output.numel * dtype_bytes(output.dtype));
  const std::string_view text(static_cast<const char*>(output.data), bytes);
  OutputFile file{output.index, output.name, output.dtype, output.numel, "", sha256_hex(text), count_nans(output)};
  if (out_dir.empty()) return file;
  file.path = join_path(out_dir, std::to_string(output.index) + ".bin");
  FILE* stream = std::fopen(file.path.c_str(), "wb");
  const bool written = stream && std::fwrite(text.data(), 1, bytes, stream) == bytes;
  if ((stream && std::fclose(stream) != 0) || !written) {
    return Diagnostic{.code = Code::file_error, .message = "the output " + file.path + " cannot be written"};
  }
  return file;
}

/// A subject, and further ones of the same request for launches in a row.
struct Slot {
  PrepareRequest request;
  std::vector<std::unique_ptr<Subject>> subjects;
  size_t at = 0;  ///< which was launched last
  Subject& last() { return *subjects[at]; }
};

/// Launches one subject after the other.
struct Turns {
  Slot* slot;
  static int next(void* user, void*) {
    Slot& slot = *static_cast<Turns*>(user)->slot;
    slot.at = (slot.at + 1) % slot.subjects.size();
    return slot.last().launch();
  }
};

class Server : public Service {
 private:
  Result<Json> dispatch(const std::string& op, const Json& request) override;
  Result<Json> hello(const Json& request) override;
  Result<Json> prepare(const Json& request);
  Result<Json> check(const Json& request);
  Result<Json> time(const Json& request);
  Result<Slot*> slot(const std::string& name);
  InputCache inputs_;
  std::map<std::string, Slot> slots_;
};

Result<Json> Server::hello(const Json& request) {
  JsonReader reader(request);
  bool discover = false;
  std::vector<std::string> libraries;
  reader.optional("discover", &discover);
  reader.optional("libraries", &libraries);
  HC_TRY(reader.finish(diag::Unit{}));
  HelloReply reply{.protocol = kProtocolVersion, .worker = kWorkerName, .backend = "cpu"};
  for (const char* name : {"artifact", "copy", "memcpy", "canary"}) reply.offers.push_back({name, "", "1"});
  if (discover) {
    for (Offer& offer : onednn_offers(libraries, &reply.missing)) reply.offers.push_back(std::move(offer));
    for (Offer& offer : openblas_offers(&reply.missing)) reply.offers.push_back(std::move(offer));
  }
  return to_json(reply);
}

Result<Json> Server::prepare(const Json& json) {
  const PrepareRequest request = HC_TRY(prepare_request_from_json(json));
  const double begin = hillclimb_timer_now();
  slots_.erase(request.slot);
  std::unique_ptr<Subject> made = HC_TRY(make_subject(request, inputs_));
  PrepareReply reply = made->reply();
  Slot& slot = slots_[request.slot];
  slot.request = request;
  slot.subjects.push_back(std::move(made));
  inputs_.trim();
  reply.prepare_s = hillclimb_timer_now() - begin;
  return to_json(reply);
}

Result<Slot*> Server::slot(const std::string& name) {
  const auto found = slots_.find(name);
  if (found == slots_.end()) return refusal("nothing is prepared in slot `" + name + "`");
  omp_set_num_threads(found->second.last().reply().threads);
  return &found->second;
}

/// As many subjects as together exceed the caches, each with inputs and outputs of its own.
Status fill(Slot& slot, int64_t cache_bytes) {
  const int64_t wanted = HC_TRY(rotation_copies(slot.last().reply().bytes, cache_bytes));
  while (static_cast<int64_t>(slot.subjects.size()) < wanted) {
    InputCache inputs;  // nothing is shared, or the inputs would be in the cache
    slot.subjects.push_back(HC_TRY(make_subject(slot.request, inputs)));
  }
  return success();
}

Result<Json> Server::check(const Json& json) {
  const CheckRequest request = HC_TRY(check_request_from_json(json));
  Subject& target = HC_TRY(slot(request.slot))->last();
  if (request.run) {
    target.reset();
    if (target.launch() != 0) return refusal("the launch failed");
  }
  if (!request.out_dir.empty()) {
    const std::string why = make_folders(request.out_dir);
    if (!why.empty()) return Diagnostic{.code = Code::file_error, .message = why};
  }
  CheckReply reply;
  for (const Output& output : target.outputs()) reply.outputs.push_back(HC_TRY(store(output, request.out_dir)));
  return to_json(reply);
}

int launch_subject(void* user, void*) { return static_cast<Subject*>(user)->launch(); }

TimeReply reply_of(const HillclimbTimerResult& result, Mode mode, int64_t copies) {
  TimeReply reply{{},           mode,  result.threads, result.flush_bytes, result.warmup_launches, result.empty_s,
                  result.clock, copies};
  for (int b = 0; b < result.block_count; ++b) {
    const HillclimbTimerBlock& from = result.blocks[b];
    reply.blocks.push_back({std::vector<double>(from.seconds, from.seconds + from.readings),
                            from.launches,
                            from.start_monotonic_s,
                            from.mid_monotonic_s,
                            from.mid_unix_s,
                            from.mhz,
                            from.load1,
                            from.voluntary_switches,
                            from.involuntary_switches,
                            false,
                            {}});
  }
  return reply;
}

Result<Json> Server::time(const Json& json) {
  const TimeRequest request = HC_TRY(time_request_from_json(json));
  Slot* const timed = HC_TRY(slot(request.slot));
  if (std::optional<Result<TimeReply>> own = timed->last().time(request)) return to_json(HC_TRY(std::move(*own)));
  const bool rotates = request.mode == Mode::back_to_back;
  if (rotates) {
    HC_TRY(fill(*timed, request.flush_bytes < 0 ? hillclimb_timer_default_flush_bytes() : request.flush_bytes));
  }
  Subject& target = timed->last();
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.mode = request.mode == Mode::single ? HILLCLIMB_TIMER_SINGLE : HILLCLIMB_TIMER_BACK_TO_BACK;
  options.blocks = request.blocks;
  options.threads = target.reply().threads;
  options.min_block_s = request.min_block_s;
  options.warmup_s = request.warmup_s;
  options.flush_bytes = request.flush_bytes;
  options.max_launches = request.max_launches;
  options.plain_threads = target.plain_threads();
  HillclimbTimerResult* result = nullptr;
  Turns turns{timed};
  const char* why = rotates ? hillclimb_timer_run(&options, Turns::next, &turns, &result)
                            : hillclimb_timer_run(&options, launch_subject, &target, &result);
  if (why) return refusal(why);
  const auto copies = static_cast<int64_t>(rotates ? timed->subjects.size() : 0);
  const TimeReply reply = reply_of(*result, request.mode, copies);
  hillclimb_timer_free(result);
  return to_json(reply);
}

Result<Json> Server::dispatch(const std::string& op, const Json& request) {
  if (op == "prepare") return prepare(request);
  if (op == "check") return check(request);
  if (op == "time") return time(request);
  return refusal("`" + op + "` is none of hello, prepare, check, time and bye");
}

}  // namespace

int worker_main() {
  Server server;
  return serve(server);
}

}  // namespace hc::bench
