// Task variants to kernel calls, task baselines to contenders.
#include "cli/subject.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "bench/worker_client.h"
#include "cli/worker_arm.h"

namespace hc::cli {
namespace {

constexpr const char* kOneDnn = "onednn";

std::vector<std::string> glob_paths(const char* pattern) {
  std::vector<std::string> out;
  glob_t found{};
  if (::glob(pattern, 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return out;
}

/// Inputs by name in the order of the parameters; trailing parameters with defaults may be left out.
Result<std::vector<std::string>> ordered_args(const contract::TaskVariant& variant, const lang::Kernel& kernel) {
  std::vector<std::string> out;
  std::string names;
  for (const lang::Param& param : kernel.params) names += (names.empty() ? "" : ", ") + param.name;
  for (const contract::TaskInput& input : variant.inputs) {
    const bool known = std::any_of(kernel.params.begin(), kernel.params.end(),
                                   [&](const lang::Param& param) { return param.name == input.name; });
    if (known) continue;
    return Diagnostic{Code::task_error, fmt::format("the kernel {} has no parameter `{}`", kernel.name, input.name)}
        .at(input.span)
        .fix("its parameters are " + names);
  }
  for (const lang::Param& param : kernel.params) {
    const auto input = std::find_if(variant.inputs.begin(), variant.inputs.end(),
                                    [&](const contract::TaskInput& i) { return i.name == param.name; });
    if (input != variant.inputs.end()) {
      out.push_back(input->text);
      continue;
    }
    if (!param.has_default) {
      return Diagnostic{Code::task_error, fmt::format("the variant {} gives no input for the parameter `{}` of {}",
                                                      variant.name, param.name, kernel.name)}
          .at(variant.span)
          .fix(fmt::format("add `{} = ...` to [inputs]", param.name));
    }
    break;  // positions have no gaps: everything behind takes its default
  }
  if (out.size() < variant.inputs.size()) {
    return Diagnostic{Code::task_error,
                      fmt::format("an input of {} stands behind a parameter that is left out", variant.name)}
        .at(variant.span)
        .fix("give the inputs in between as well");
  }
  return out;
}

Result<std::vector<tune::Contender>> onednn_contenders(const tune::Contender& base, const Context& context) {
  const std::vector<bench::Offer> offers = HC_TRY(bench::discover_offers({context.program, "worker"}, onednn_paths()));
  std::vector<tune::Contender> out;
  for (const bench::Offer& offer : offers) {
    if (offer.implementation != kOneDnn) continue;
    if (!base.prepare.library.empty() && base.prepare.library != offer.library) continue;
    tune::Contender one = base;
    one.prepare.implementation = kOneDnn;
    one.prepare.library = offer.library;
    one.argv = {context.program, "worker"};
    one.binary = offer.library;
    out.push_back(std::move(one));
  }
  if (!out.empty()) return out;
  return Diagnostic{Code::not_available,
                    fmt::format("the baseline {} cannot start: no oneDNN library is there", base.arm.name)}
      .fix("`apt-get install libdnnl2`, or scripts/fetch_onednn");
}

}  // namespace

tune::Contender base_contender(const contract::TaskBaseline& baseline, const contract::Task& task,
                               const Subject& subject) {
  tune::Contender out;
  out.arm.name = baseline.name;
  out.arm.role = ledger::Role::baseline;
  Json recipe = Json::object();
  for (const auto& [key, value] : baseline.recipe) recipe[key] = parse_json(value).value_or(Json(value));
  out.arm.config = recipe.dump();
  out.arm.source_sha256 = sha256_hex(out.arm.config);
  out.arm.worker = fmt::format("{}", fmt::join(baseline.worker, " "));
  out.prepare.implementation = baseline.key("implementation");
  out.prepare.operation = baseline.key("operation");
  out.prepare.library = baseline.key("library");
  out.prepare.args = subject.arg_texts;
  out.prepare.seed = subject.input_seed;
  out.prepare.threads = task.effort.threads;
  return out;
}

uint64_t input_seed_of(const std::string& run, const std::string& lock) {
  // 48 bits, which every reader of JSON keeps
  return std::stoull(sha256_hex(fmt::format("inputs {} {}", run, lock)).substr(0, 12), nullptr, 16);
}

Result<Subject> subject_of(const contract::TaskVariant& variant) {
  Subject subject;
  subject.file = variant.kernel_file;
  std::string why;
  const std::optional<std::string> text = read_file(subject.file, &why);
  if (!text)
    return Diagnostic{Code::task_error, fmt::format("the kernel file {} cannot be read: {}", subject.file, why)};
  subject.kernel_sha256 = sha256_hex(*text);
  subject.request.module = HC_TRY(lang::parse_file(subject.file));
  const lang::Kernel kernel = HC_TRY(lang::find_kernel(*subject.request.module, variant.kernel_name));
  subject.request.kernel = kernel.name;
  subject.arg_texts = HC_TRY(ordered_args(variant, kernel));
  for (const std::string& arg : subject.arg_texts) subject.request.args.push_back(HC_TRY(lang::arg_from_text(arg)));
  return subject;
}

Result<Subject> subject_of_worker(const contract::TaskVariant& variant) {
  Result<Subject> read = subject_of(variant);
  Subject subject;
  if (read.ok()) {
    const Result<ir::Program> program = compile::tile_ir(read.value().request, {});
    if (program.ok()) return read;
    subject.unreadable = program.error().message;
  } else if (read.error().code == Code::task_error) {
    return read;
  } else {
    subject.unreadable = read.error().message;
  }
  subject.file = variant.kernel_file;
  subject.kernel_sha256 = sha256_hex(read_file(subject.file).value_or(""));
  subject.request.kernel = variant.kernel_name;
  for (const contract::TaskInput& input : variant.inputs) subject.arg_texts.push_back(input.text);
  return subject;
}

Result<Subject> subject_of_call(const std::string& file, const compile::Request& request,
                                const std::vector<std::string>& arg_texts) {
  std::string why;
  const std::optional<std::string> text = read_file(file, &why);
  if (!text) return Diagnostic{Code::file_error, fmt::format("the kernel file {} cannot be read: {}", file, why)};
  return Subject{file, sha256_hex(*text), request, arg_texts, {}, kInputSeed};
}

tune::EvaluatorSetup evaluator_setup(const Subject& subject, const tune::BuildSite& site, const Context& context,
                                     int threads) {
  tune::EvaluatorSetup setup;
  setup.request = subject.request;
  setup.kernel_file = subject.file;
  setup.arg_texts = subject.arg_texts;
  setup.site = site;
  setup.program = context.program;
  setup.input_seed = subject.input_seed;
  setup.threads = threads;
  setup.jobs = site.target.cores;
  return setup;
}

std::vector<std::string> onednn_paths() {
  std::vector<std::string> out;
  for (const char* pattern : {".venv/lib/libdnnl.so.[0-9]", ".venv/lib/python3*/site-packages/*/libdnnl.so.[0-9]",
                              ".venv/lib/python3*/site-packages/*/lib/libdnnl.so.[0-9]",
                              "third_party/onednn/lib/libdnnl.so.[0-9]", "/usr/local/lib/libdnnl.so.[0-9]"}) {
    for (std::string& path : glob_paths(pattern)) out.push_back(std::move(path));
  }
  return out;
}

Result<std::vector<tune::Contender>> baseline_contenders(const contract::TaskBaseline& baseline,
                                                         const contract::Task& task, const Subject& subject,
                                                         const Context& context) {
  tune::Contender base = base_contender(baseline, task, subject);
  const std::string& worker = baseline.worker.front();
  if (baseline.worker.size() == 1 && worker == kOneDnn) return onednn_contenders(base, context);
  if (is_own(baseline)) {
    base.prepare.implementation = worker;
    base.argv = {context.program, "worker"};
    base.binary = context.program;
    return std::vector<tune::Contender>{base};
  }
  return std::vector<tune::Contender>{HC_TRY(worker_contender(baseline, task, subject, ledger::Role::baseline))};
}

}  // namespace hc::cli
