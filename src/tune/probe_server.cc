// The answering side of the probe: inputs and oracle once, then every config in a fork of its own.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/files.h"
#include "base/hash.h"
#include "base/numeric.h"
#include "compile/compile.h"
#include "runtime/toolchain.h"
#include "tune/build.h"
#include "tune/expected.h"
#include "tune/probe.h"
#include "tune/probe_json.h"
#include "tune/run_buffers.h"

namespace hc::tune {
namespace {

constexpr int64_t kFirstValues = 6;

/// A failure inside a server is an answer, not an end.
ProbeAnswer failed(const Diagnostic& error) {
  ProbeAnswer answer;
  answer.reason = error.message;
  return answer;
}

Diagnostic file_trouble(const std::string& what, const std::string& why) {
  return Diagnostic{Code::file_error, fmt::format("{}: {}", what, why)};
}

class Server {
 public:
  Status set_up(const ProbeSetup& setup);
  ProbeAnswer answer(const ProbeRequest& request);

 private:
  struct Subject {
    ir::Program program;
    std::vector<const void*> params;
    std::vector<ExpectedTensor> expected;
  };
  Result<const Subject*> subject(const std::string& config_text);
  ProbeAnswer run_here(const Subject& subject, const ProbeRequest& request);
  ProbeAnswer run_files(const Subject& subject, const ProbeRequest& request);
  ProbeAnswer run_oracle(const Subject& subject, const ProbeRequest& request);
  std::string save_inputs(const std::string& folder);

  ProbeSetup setup_;
  compile::Request request_;
  std::vector<std::string> param_names_;
  std::map<int, TensorBuffer> inputs_;  ///< by parameter
  std::map<std::string, std::unique_ptr<Subject>> subjects_;
};

Status Server::set_up(const ProbeSetup& setup) {
  setup_ = setup;
  request_.module = HC_TRY(lang::parse_file(setup.kernel_file));
  request_.kernel = setup.kernel;
  const lang::Kernel kernel = HC_TRY(lang::find_kernel(*request_.module, setup.kernel));
  for (const lang::Param& param : kernel.params) param_names_.push_back(param.name);
  for (size_t i = 0; i < setup.args.size(); ++i) {
    request_.args.push_back(HC_TRY(lang::arg_from_text(setup.args[i])));
    const TensorSpec* spec = std::get_if<TensorSpec>(&request_.args.back());
    if (!spec) continue;
    TensorBuffer buffer(*spec);
    if (setup.load_folder.empty()) {
      buffer.fill_random(setup.seed, static_cast<uint32_t>(i));
    } else {
      const std::string path = join_path(setup.load_folder, param_names_.at(i) + ".npy");
      const std::string why = load_npy(path, &buffer);
      if (!why.empty()) return file_trouble(path, why);
      if (buffer.spec().dtype != spec->dtype || buffer.spec().shape != spec->shape) {
        return Diagnostic{Code::bad_argument, fmt::format("{} holds {} and the argument `{}` is {}", path,
                                                          to_text(buffer.spec()), param_names_.at(i), to_text(*spec))};
      }
    }
    inputs_.emplace(static_cast<int>(i), std::move(buffer));
  }
  return success();
}

Result<const Server::Subject*> Server::subject(const std::string& config_text) {
  const knob::Config config = HC_TRY(knob::config_from_text(config_text));
  ir::Program program = HC_TRY(compile::tile_ir(request_, config));
  const std::string text = ir::print(program);
  auto it = subjects_.find(text);
  if (it == subjects_.end()) {
    auto made = std::make_unique<Subject>();
    made->program = std::move(program);
    for (const ir::Storage& storage : made->program.storages) {
      const auto found = inputs_.find(storage.param_index);
      const bool is_param = storage.role == ir::StorageRole::param && found != inputs_.end();
      made->params.push_back(is_param ? found->second.data() : nullptr);
    }
    if (setup_.samples > 0) made->expected = HC_TRY(expect(made->program, made->params, setup_.samples, setup_.seed));
    it = subjects_.emplace(text, std::move(made)).first;
  }
  return it->second.get();
}

Json summary_of(const ir::Program& program, const std::vector<void*>& storages) {
  Json out = Json::array();
  for (const ir::Returned& returned : program.returned) {
    if (returned.kind == ir::Returned::Kind::none) out.push_back({{"name", "None"}});
    if (returned.kind == ir::Returned::Kind::number) out.push_back({{"name", fmt::format("{}", returned.number)}});
    if (returned.kind != ir::Returned::Kind::tensor) continue;
    const ir::Tensor& tensor = program.tensor(returned.tensor);
    Json first = Json::array();
    for (int64_t i = 0; i < std::min(tensor.numel(), kFirstValues); ++i) {
      const void* bytes = storages[static_cast<size_t>(tensor.storage)];
      first.push_back(fmt::format("{:.6g}", load_double(bytes, tensor.dtype, storage_offset(tensor, i))));
    }
    out.push_back({{"name", tensor.name},
                   {"dtype", dtype_name(tensor.dtype)},
                   {"shape", tensor.shape},
                   {"first", std::move(first)}});
  }
  return out;
}

std::string save_outputs(const std::string& folder, const ir::Program& program, const std::vector<void*>& storages) {
  int position = 0;
  for (const ir::Returned& returned : program.returned) {
    const int index = position++;
    if (returned.kind != ir::Returned::Kind::tensor) continue;
    const ir::Tensor& tensor = program.tensor(returned.tensor);
    TensorBuffer dense(TensorSpec{tensor.dtype, tensor.shape, {}, {}});
    const auto* from = static_cast<const char*>(storages[static_cast<size_t>(tensor.storage)]);
    const int64_t size = dtype_bytes(tensor.dtype);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      std::memcpy(static_cast<char*>(dense.data()) + i * size, from + storage_offset(tensor, i) * size,
                  static_cast<size_t>(size));
    }
    const std::string why = save_npy(join_path(folder, fmt::format("out.{}.npy", index)), dense);
    if (!why.empty()) return why;
  }
  return "";
}

void conclude(const Comparison& comparison, ProbeAnswer* answer) {
  answer->checked = comparison.checked;
  answer->wrong = comparison.wrong;
  answer->worst = comparison.worst;
  answer->outcome = comparison.wrong ? ProbeOutcome::wrong_answer : ProbeOutcome::ok;
  if (comparison.wrong) {
    answer->reason = fmt::format("{} of {} elements are outside the oracle's bound, first {}", comparison.wrong,
                                 comparison.checked, comparison.first_wrong);
  }
}

/// Compares, hashes, summarises and saves what a run left in its storages.
ProbeAnswer judge(const ir::Program& program, const std::vector<ExpectedTensor>& expected, const RunBuffers& buffers,
                  const ProbeRequest& request) {
  ProbeAnswer answer;
  Comparison comparison;
  for (const ExpectedTensor& want : expected) {
    const ir::Tensor& tensor = program.tensor(want.tensor);
    compare(
        program, want, buffers.storages[static_cast<size_t>(tensor.storage)],
        [&](int64_t number) { return storage_offset(tensor, number); }, &comparison);
  }
  conclude(comparison, &answer);
  if (!expected.empty() && comparison.checked == 0) {
    return failed(Diagnostic{Code::internal, "not a single element of the outputs was compared"});
  }
  const std::string overrun = buffers.overrun(program);
  if (!overrun.empty()) {
    answer.outcome = ProbeOutcome::wrong_answer;
    answer.reason = fmt::format("it wrote behind the end of {}", overrun);
  }
  for (const GuardedBytes& own : buffers.own) {
    if (!own.data() || !request.hash) continue;
    answer.output_sha256.push_back(
        sha256_hex({static_cast<const char*>(own.data()), static_cast<size_t>(own.bytes())}));
  }
  if (request.summary) answer.outputs = summary_of(program, buffers.storages);
  if (request.save_folder.empty()) return answer;
  const std::string why = save_outputs(request.save_folder, program, buffers.storages);
  if (!why.empty()) {
    answer.outcome = ProbeOutcome::failed;
    answer.reason = fmt::format("the outputs cannot be saved: {}", why);
  }
  return answer;
}

ProbeAnswer Server::run_here(const Subject& subject, const ProbeRequest& request) {
  const std::optional<std::string> text = read_file(request.manifest_path);
  const std::optional<Json> json = text ? parse_json(*text) : std::nullopt;
  if (!json) return failed(file_trouble(request.manifest_path, "no manifest is there"));
  const Result<runtime::Manifest> manifest = runtime::manifest_from_json(*json);
  if (!manifest.ok()) return failed(manifest.error());
  if (manifest.value().storages.size() != subject.program.storages.size()) {
    return failed(Diagnostic{Code::internal, "the manifest and the kernel have different storages"});
  }
  const auto kernel = runtime::LoadedKernel::load(manifest.value());
  if (!kernel.ok()) return failed(kernel.error());
  RunBuffers buffers = make_run_buffers(subject.program, subject.params, manifest.value().storages);
  kernel.value()->call(buffers.storages.data());
  return judge(subject.program, subject.expected, buffers, request);
}

/// Which elements of each output are compared.
ProbeAnswer numbers_of(const std::vector<ExpectedTensor>& expected) {
  ProbeAnswer answer;
  answer.outcome = ProbeOutcome::ok;
  for (const ExpectedTensor& want : expected) answer.numbers.push_back(want.numbers);
  return answer;
}

/// Outputs that somebody else wrote, compared as far as they are there.
ProbeAnswer Server::run_files(const Subject& subject, const ProbeRequest& request) {
  Comparison comparison;
  size_t position = 0;
  for (const ExpectedTensor& want : subject.expected) {
    const ir::Tensor& tensor = subject.program.tensor(want.tensor);
    const size_t at = request.storages ? static_cast<size_t>(tensor.storage) : position++;
    if (at >= request.files.size() || request.files[at].empty()) continue;
    const int64_t whole = request.storages ? subject.program.storage(tensor.storage).numel : tensor.numel();
    const int64_t numel = request.sampled ? static_cast<int64_t>(want.numbers.size()) : whole;
    std::unordered_map<int64_t, int64_t> place;  // of a sampled element in the file
    for (size_t i = 0; request.sampled && i < want.numbers.size(); ++i)
      place[want.numbers[i]] = static_cast<int64_t>(i);
    std::string why;
    const std::optional<std::string> bytes = read_file(request.files[at], &why);
    if (!bytes) return failed(file_trouble(request.files[at], why));
    if (static_cast<int64_t>(bytes->size()) != numel * dtype_bytes(tensor.dtype)) {
      return failed(
          file_trouble(request.files[at], fmt::format("{} bytes, and {} were expected for `{}`", bytes->size(),
                                                      numel * dtype_bytes(tensor.dtype), tensor.name)));
    }
    compare(
        subject.program, want, bytes->data(),
        [&](int64_t number) {
          if (request.sampled) return place.at(number);
          return request.storages ? storage_offset(tensor, number) : number;
        },
        &comparison);
  }
  ProbeAnswer answer;
  conclude(comparison, &answer);
  if (comparison.checked == 0) return failed(file_trouble("none of the outputs", "there is nothing to compare"));
  return answer;
}

ProbeAnswer Server::run_oracle(const Subject& subject, const ProbeRequest& request) {
  const std::vector<runtime::StorageInfo> infos = storage_infos(subject.program);
  RunBuffers buffers = make_run_buffers(subject.program, subject.params, infos);
  interp::Oracle oracle(subject.program, subject.params);
  for (const ir::TensorId id : output_tensors(subject.program)) {
    const ir::Tensor& tensor = subject.program.tensor(id);
    std::vector<int64_t> numbers(static_cast<size_t>(tensor.numel()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    const auto elements = oracle.elements(id, numbers);
    if (!elements.ok()) return failed(elements.error());
    void* bytes = buffers.storages[static_cast<size_t>(tensor.storage)];
    for (size_t i = 0; i < numbers.size(); ++i) {
      const interp::Element& e = elements.value()[i];
      if (!e.written) continue;
      const int64_t at = storage_offset(tensor, numbers[i]);
      if (is_floating(tensor.dtype)) {
        store_double(bytes, tensor.dtype, at, e.value);
      } else {
        store_int(bytes, tensor.dtype, at, e.exact);
      }
    }
  }
  return judge(subject.program, {}, buffers, request);
}

std::string Server::save_inputs(const std::string& folder) {
  const std::string why = make_folders(folder);
  if (!why.empty()) return why;
  for (const auto& [param, buffer] : inputs_) {
    const std::string trouble =
        save_npy(join_path(folder, param_names_.at(static_cast<size_t>(param)) + ".npy"), buffer);
    if (!trouble.empty()) return trouble;
  }
  return "";
}

/// Reads the fork's answer until its end or the limit; an empty text means that it died or hung.
std::string collect(int fd, double limit_s, bool* late) {
  std::string text;
  const double stop = monotonic_s() + limit_s;
  char chunk[4096];
  while (true) {
    const double left = stop - monotonic_s();
    pollfd waiting{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left * 1000) + 1) == 0) {
      *late = true;
      return "";
    }
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got <= 0) return text;
    text.append(chunk, static_cast<size_t>(got));
  }
}

ProbeAnswer Server::answer(const ProbeRequest& request) {
  const auto found = subject(request.config);
  if (!found.ok()) return failed(found.error());
  const Subject& subject = *found.value();
  if (!request.save_folder.empty()) {
    const std::string why = save_inputs(request.save_folder);
    if (!why.empty()) return failed(file_trouble("the inputs cannot be saved", why));
  }
  if (request.numbers) return numbers_of(subject.expected);
  if (!request.files.empty()) return run_files(subject, request);
  int ends[2];
  if (::pipe(ends) != 0) return failed(file_trouble("pipe", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const ProbeAnswer mine = request.oracle ? run_oracle(subject, request) : run_here(subject, request);
    const std::string text = to_json(mine).dump();
    size_t at = 0;
    while (at < text.size()) {
      const ssize_t put = ::write(ends[1], text.data() + at, text.size() - at);
      if (put <= 0) break;
      at += static_cast<size_t>(put);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  bool late = false;
  const std::string text = collect(ends[0], request.limit_s, &late);
  ::close(ends[0]);
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ProbeAnswer answer;
  if (late) {
    answer.outcome = ProbeOutcome::timed_out;
    answer.reason = fmt::format("it did not end within {:g} s", request.limit_s);
  } else if (WIFSIGNALED(status)) {
    answer.outcome = ProbeOutcome::crashed;
    answer.reason = fmt::format("it died of signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (const auto json = parse_json(text)) {
    answer = probe_answer_from_json(*json);
  } else {
    answer.outcome = ProbeOutcome::crashed;
    answer.reason = "it ended without an answer";
  }
  return answer;
}

}  // namespace

int serve_probe() {
  Server server;
  std::string line;
  bool ready = false;
  std::string trouble = "the probe was not set up";
  while (std::getline(std::cin, line)) {
    const std::optional<Json> json = parse_json(line);
    if (!json) return 1;
    ProbeAnswer answer;
    if (json->contains("setup")) {
      const Status status = server.set_up(probe_setup_from_json((*json)["setup"]));
      ready = status.ok();
      answer.outcome = ready ? ProbeOutcome::ok : ProbeOutcome::failed;
      if (!ready) answer.reason = trouble = status.error().message;
    } else if (ready) {
      answer = server.answer(probe_request_from_json(*json));
    } else {
      answer.reason = trouble;
    }
    std::cout << to_json(answer).dump() << std::endl;
  }
  return 0;
}

}  // namespace hc::tune
