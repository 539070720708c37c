// Asking a worker for its code.
#include "cli/worker_listing.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "bench/worker_client.h"
#include "cli/worker_arm.h"

namespace hc::cli {
namespace {

/// What frameworks that hide their code need to hear before they are imported.
std::vector<std::string> keeping(const std::vector<std::string>& env, const std::string& folder) {
  std::vector<std::string> out = env;
  out.insert(out.end(), {"CUTE_DSL_KEEP_PTX=1", "CUTE_DSL_KEEP_CUBIN=1", "CUTE_DSL_DUMP_DIR=" + folder});
  return out;
}

void add_code(GpuCode code, std::optional<GpuCode>* into) {
  if (!*into) *into = GpuCode{};
  append(code, &**into);
}

/// Reads one file of the listing into what is shown.
void read_listed(const bench::ListedFile& file, const std::vector<std::string>& tools, WorkerListing* out) {
  if (file.kind == "cubin") {
    Result<GpuCode> code = disassemble_cubin(file.path, tools);
    if (code.ok()) return add_code(std::move(code).value(), &out->sass);
    const Diagnostic& error = code.error();
    out->missing.push_back(
        fmt::format("the SASS of {}: {}{}", file.name, error.message, error.help.empty() ? "" : "; " + error.help));
    return;
  }
  const std::optional<std::string> text = read_file(file.path);
  if (!text) {
    out->missing.push_back(
        fmt::format("{} of {}: the worker names {}, which is not there", file.kind, file.name, file.path));
  } else if (file.kind == "ptx") {
    add_code(read_ptx(*text), &out->ptx);
  } else if (file.kind == "sass") {
    add_code(read_sass(*text), &out->sass);
  } else if (file.kind == "source") {
    out->source += *text;
    out->source_file = file.path.substr(file.path.rfind('/') + 1);
  } else {
    out->missing.push_back(fmt::format("the worker lists a file of the kind `{}`, which is not known", file.kind));
  }
}

}  // namespace

Result<WorkerListing> list_worker(const tune::Contender& contender, const std::string& folder) {
  const std::string dumps = join_path(folder, "dumps");
  const std::string why = make_folders(dumps);
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", dumps, why)};
  const std::unique_ptr<bench::Worker> worker =
      HC_TRY(bench::Worker::start(contender.argv, worker_limits(), keeping(contender.env, dumps)));
  const bench::PrepareReply reply = HC_TRY(worker->prepare(contender.prepare));
  HC_TRY(worker->check({}));
  WorkerListing out;
  for (const auto& [key, value] : {std::pair<const char*, std::string>{"worker", contender.arm.worker},
                                   {"implementation", reply.implementation},
                                   {"runs", reply.detail},
                                   {"version", reply.version},
                                   {"library", reply.library},
                                   {"config", contender.prepare.config}}) {
    if (!value.empty()) out.facts.emplace_back(key, value);
  }
  const Result<bench::ListingReply> listed = worker->listing({.out_dir = folder});
  if (listed.ok()) {
    out.files = listed.value().files;
    for (const bench::ListedFile& file : out.files) read_listed(file, listed.value().tools, &out);
    if (!listed.value().missing.empty()) out.missing.push_back(listed.value().missing);
  } else {
    out.missing.push_back(listed.error().message);
  }
  (void)worker->bye();
  std::error_code ignored;
  std::filesystem::remove_all(dumps, ignored);  // the worker copied what it wanted of it
  return out;
}

}  // namespace hc::cli
