// Starting a worker, asking it, and turning whatever goes wrong into a diagnostic with what was heard.
#include "bench/worker_client.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "base/files.h"
#include "base/json.h"
#include "bench/json_reader.h"

namespace hc::bench {

struct Worker::Reply {
  Json json;
};

namespace {

/// Variables that make a library slower or faster, or come between a process and its clock. Set for the referee, they
/// would reach one arm and not the other without a trace; an arm that needs one has it in its command or recipe.
constexpr const char* kNotInherited[] = {"LD_PRELOAD",
                                         "LD_AUDIT",
                                         "LD_BIND_NOT",
                                         "GLIBC_TUNABLES",
                                         "MALLOC_ARENA_MAX",
                                         "MALLOC_PERTURB_",
                                         "MALLOC_CHECK_",
                                         "MALLOC_TOP_PAD_",
                                         "MALLOC_MMAP_THRESHOLD_",
                                         "MALLOC_TRIM_THRESHOLD_",
                                         "ONEDNN_MAX_CPU_ISA",
                                         "DNNL_MAX_CPU_ISA",
                                         "ONEDNN_CPU_ISA_HINTS",
                                         "DNNL_CPU_ISA_HINTS",
                                         "ONEDNN_DEFAULT_FPMATH_MODE",
                                         "DNNL_DEFAULT_FPMATH_MODE",
                                         "ONEDNN_VERBOSE",
                                         "DNNL_VERBOSE",
                                         "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
                                         "DNNL_PRIMITIVE_CACHE_CAPACITY",
                                         "OMP_NUM_THREADS",
                                         "OMP_THREAD_LIMIT",
                                         "OMP_DYNAMIC",
                                         "OMP_SCHEDULE",
                                         "OMP_PROC_BIND",
                                         "OMP_PLACES",
                                         "OMP_WAIT_POLICY",
                                         "OMP_STACKSIZE",
                                         "OMP_MAX_ACTIVE_LEVELS",
                                         "GOMP_CPU_AFFINITY",
                                         "GOMP_SPINCOUNT",
                                         "KMP_AFFINITY",
                                         "KMP_BLOCKTIME",
                                         "KMP_HW_SUBSET",
                                         "MKL_NUM_THREADS",
                                         "MKL_CBWR",
                                         "MKL_DEBUG_CPU_TYPE",
                                         "MKL_ENABLE_INSTRUCTIONS",
                                         "ATEN_CPU_CAPABILITY",
                                         "OPENBLAS_NUM_THREADS",
                                         "OPENBLAS_CORETYPE",
                                         "CUDA_LAUNCH_BLOCKING",
                                         "NVIDIA_TF32_OVERRIDE",
                                         "CUBLAS_WORKSPACE_CONFIG",
                                         "CUDA_DEVICE_MAX_CONNECTIONS",
                                         "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                         "PYTHONOPTIMIZE",
                                         "PYTHONMALLOC",
                                         "PYTHONDEVMODE",
                                         "PYTHONTRACEMALLOC",
                                         "PYTHONPROFILEIMPORTTIME",
                                         "PYTHONSTARTUP",
                                         "PYTHONINSPECT",
                                         "TRITON_INTERPRET",
                                         "TRITON_DEBUG",
                                         "TORCH_COMPILE_DISABLE",
                                         "TORCHDYNAMO_DISABLE"};

constexpr size_t kHeardLines = 6;

/// The last lines of a text, joined by " | ".
std::string last_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string joined;
  for (size_t i = lines.size() > kHeardLines ? lines.size() - kHeardLines : 0; i < lines.size(); ++i) {
    joined += (joined.empty() ? "" : " | ") + lines[i];
  }
  return joined;
}

std::string clipped(const std::string& line) { return line.size() > 200 ? line.substr(0, 200) + "..." : line; }

Code code_of(const std::string& slug) {
  for (const Code code : {Code::not_available, Code::measurement_failed, Code::file_error, Code::compile_failed,
                          Code::plan_refused, Code::wrong_answer, Code::out_of_bounds, Code::backend_unsupported}) {
    if (diag::code_slug(code) == slug) return code;
  }
  return Code::worker_failed;
}

std::string line_of(const std::string& op, Json body) {
  Json request{{"op", op}};
  request.update(body);
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ending(int status) {
  if (status >= 0) return fmt::format("ended with status {}", status);
  const char* name = sigabbrev_np(-status);
  return fmt::format("was ended by signal {}{}", -status, name ? std::string(" (SIG") + name + ")" : "");
}

}  // namespace

bool inherited(std::string_view name) {
  return std::find(std::begin(kNotInherited), std::end(kNotInherited), name) == std::end(kNotInherited);
}

Diagnostic Worker::fail(const std::string& what) {
  alive_ = false;
  const bool was_ended = process_.ended();
  const int status = process_.stop(was_ended ? 1.0 : 0.0);
  std::string message = fmt::format("worker {}: {}", name_, what);
  if (was_ended) message += "; it " + ending(status);
  const std::string heard = last_lines(process_.err());
  if (!heard.empty()) message += "; its last words: " + heard;
  return Diagnostic{.code = Code::worker_failed, .message = std::move(message)};
}

Result<std::unique_ptr<Worker::Reply>> Worker::call(const std::string& op, const std::string& line, double limit_s) {
  if (!alive_) {
    return Diagnostic{.code = Code::worker_failed, .message = "worker " + name_ + " is no longer there for " + op};
  }
  if (!process_.send_line(line)) {
    (void)process_.read_line(1);  // until its end, so that status and last words are known
    return fail("died before it was asked to " + op);
  }
  const std::optional<std::string> heard = process_.read_line(limit_s);
  if (!heard && process_.ended()) return fail("died during " + op);
  if (!heard) return fail(fmt::format("gave no answer to {} within {:g} s and was killed", op, limit_s));
  std::optional<Json> json = parse_json(*heard);
  if (!json) return fail(fmt::format("answered {} with a line that is not JSON: `{}`", op, clipped(*heard)));
  JsonReader reader(*json);
  bool good = false;
  std::string answered;
  std::string slug;
  std::string message = "no reason given";
  std::string help;
  reader.required("ok", &good);
  reader.required("op", &answered);
  reader.optional("code", &slug);
  reader.optional("message", &message);
  reader.optional("help", &help);
  const Status read = reader.finish(diag::Unit{});
  if (!read.ok()) return fail(fmt::format("answered {} with `{}`: {}", op, clipped(*heard), read.error().message));
  if (answered != op) return fail(fmt::format("answered {} with the reply to `{}`", op, answered));
  if (good) return std::make_unique<Reply>(Reply{std::move(*json)});
  return Diagnostic{.code = code_of(slug), .message = fmt::format("worker {} refused {}: {}", name_, op, message)}.fix(
      std::move(help));
}

Result<std::unique_ptr<Worker>> Worker::start(const std::vector<std::string>& argv, const Limits& limits,
                                              const std::vector<std::string>& env) {
  // a name alone removes the variable; what the arm itself is given comes after
  std::vector<std::string> explicit_env(std::begin(kNotInherited), std::end(kNotInherited));
  explicit_env.insert(explicit_env.end(), env.begin(), env.end());
  const auto names = [](const std::string& entry) { return entry.starts_with("CUDA_VISIBLE_DEVICES="); };
  // never a GPU by accident: without one that was chosen and locked for it, a worker sees none
  if (std::none_of(env.begin(), env.end(), names)) explicit_env.push_back("CUDA_VISIBLE_DEVICES=");
  return start_asking(argv, limits, explicit_env, R"({"op":"hello","protocol":1})");
}

Result<std::unique_ptr<Worker>> Worker::start_asking(const std::vector<std::string>& argv, const Limits& limits,
                                                     const std::vector<std::string>& env, const std::string& hello) {
  static_assert(kProtocolVersion == 1, "the hello lines name the version");
  if (argv.empty()) return Diagnostic{.code = Code::worker_failed, .message = "the worker has no command line"};
  ::signal(SIGPIPE, SIG_IGN);  // a dead worker is a failed write, not the end of this program
  std::unique_ptr<Worker> worker(new Worker);
  worker->limits_ = limits;
  worker->name_ = argv[0];
  const std::string why = worker->process_.start(argv, env);
  if (!why.empty()) {
    return Diagnostic{.code = Code::worker_failed, .message = "the worker cannot be started: " + why};
  }
  worker->alive_ = true;
  worker->pid_ = worker->process_.pid();
  const std::unique_ptr<Reply> reply = HC_TRY(worker->call("hello", hello, limits.hello_s));
  Result<HelloReply> read = hello_reply_from_json(reply->json);
  if (!read.ok()) return worker->fail("said hello wrongly: " + read.error().message);
  worker->hello_ = std::move(read).value();
  if (worker->hello_.protocol != kProtocolVersion) {
    return worker->fail(fmt::format("speaks protocol {}, and {} is needed", worker->hello_.protocol, kProtocolVersion));
  }
  return worker;
}

Result<PrepareReply> Worker::prepare(const PrepareRequest& request) {
  const std::unique_ptr<Reply> reply = HC_TRY(call("prepare", line_of("prepare", to_json(request)), limits_.prepare_s));
  Result<PrepareReply> read = prepare_reply_from_json(reply->json);
  if (!read.ok()) return fail("answered prepare wrongly: " + read.error().message);
  return read;
}

Result<CheckReply> Worker::check(const CheckRequest& request) {
  const std::unique_ptr<Reply> reply = HC_TRY(call("check", line_of("check", to_json(request)), limits_.check_s));
  Result<CheckReply> read = check_reply_from_json(reply->json);
  if (!read.ok()) return fail("answered check wrongly: " + read.error().message);
  return read;
}

Result<TimeReply> Worker::time(const TimeRequest& request) {
  const std::unique_ptr<Reply> reply = HC_TRY(call("time", line_of("time", to_json(request)), limits_.time_s));
  Result<TimeReply> read = time_reply_from_json(reply->json);
  if (!read.ok()) return fail("answered time wrongly: " + read.error().message);
  if (read.value().mode != request.mode) return fail("timed in another mode than it was asked for");
  return read;
}

Result<ListingReply> Worker::listing(const ListingRequest& request) {
  if (std::find(hello_.can.begin(), hello_.can.end(), "listing") == hello_.can.end()) {
    return Diagnostic{Code::not_available, fmt::format("worker {} ({}) does not list its code", name_, hello_.worker)}
        .fix("a worker that answers `listing` says so under `can` in its hello: docs/worker-protocol.md");
  }
  const std::unique_ptr<Reply> reply = HC_TRY(call("listing", line_of("listing", to_json(request)), limits_.prepare_s));
  Result<ListingReply> read = listing_reply_from_json(reply->json);
  if (!read.ok()) return fail("answered listing wrongly: " + read.error().message);
  return read;
}

Status Worker::bye() {
  HC_TRY(call("bye", line_of("bye", Json::object()), limits_.bye_s));
  const int status = process_.stop(limits_.bye_s);
  alive_ = false;
  if (status == 0) return success();
  return Diagnostic{.code = Code::worker_failed,
                    .message = fmt::format("worker {} {} after bye", name_, ending(status))};
}

std::vector<std::string> own_worker() { return {program_path(), "worker"}; }

Result<std::vector<Offer>> discover_offers(const std::vector<std::string>& argv,
                                           const std::vector<std::string>& libraries,
                                           const std::vector<std::string>& env) {
  const Json body{{"protocol", kProtocolVersion}, {"discover", true}, {"libraries", libraries}};
  std::unique_ptr<Worker> worker = HC_TRY(Worker::start_asking(argv, {}, env, line_of("hello", body)));
  std::vector<Offer> offers = worker->hello().offers;
  (void)worker->bye();  // the offers are known; how it ends does not matter
  return offers;
}

}  // namespace hc::bench
