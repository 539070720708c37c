// From a task's worker to an arm, and one process that tells its config.
#include "cli/worker_arm.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/worker_client.h"

namespace hc::cli {
namespace {

constexpr double kImportLimit = 180;      ///< a framework's first import from a cold disk
constexpr double kPrepareLimit = 300;     ///< compiling included
constexpr double kTuneOverrun = 600;      ///< a tuner looks at its limit only between two batches
constexpr double kUnlimitedTune = 86400;  ///< a search without a limit that has not ended by then hangs

/// The file that a command's first word means, or empty.
std::string on_path(const std::string& word) {
  if (word.find('/') != std::string::npos) return file_exists(word) ? word : "";
  const char* path = ::getenv("PATH");
  const std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = join_path(folders.substr(begin, end - begin), word);
    if (end > begin && ::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

/// What the referee reads itself; the rest of a recipe goes to the worker as it stands.
bool is_referees(const std::string& key) {
  return key == "implementation" || key == "operation" || key == "library" || key == "config" ||
         key == "tune_seconds" || key == "files" || key == "second" || key == "family";
}

Json recipe_of(const contract::TaskBaseline& worker, bool all) {
  Json recipe = Json::object();
  for (const auto& [key, value] : worker.recipe) {
    if (all || !is_referees(key)) recipe[key] = parse_json(value).value_or(Json(value));
  }
  return recipe;
}

/// All files under a folder but Python's caches and what git keeps, in the order of their names.
std::vector<std::string> sources_under(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, ignored);
       it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (name == "__pycache__" || name == ".git") {
      it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored)) {
      out.push_back(it->path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The contents of all files that a worker's arm names, whatever their folders are called.
std::string contents_sha256(const std::vector<bench::RunFile>& files) {
  std::string all;
  for (const bench::RunFile& file : files) all += sha256_hex(read_file(file.path).value_or("")) + "\n";
  return sha256_hex(all);
}

Result<std::vector<bench::RunFile>> files_of(const contract::TaskBaseline& worker, const std::string& kernel_file) {
  std::vector<bench::RunFile> files;
  for (size_t i = 0; i < worker.worker.size(); ++i) {
    const std::string file = i == 0 ? on_path(worker.worker[i]) : worker.worker[i];
    if (!file.empty() && ::access(file.c_str(), R_OK) == 0 && read_file(file)) files.push_back({file, ""});
    if (i == 0 && files.empty()) {
      return Diagnostic{Code::not_available,
                        fmt::format("{} cannot start: its worker `{}` is not there", worker.name, worker.worker[0])}
          .at(worker.span);
    }
  }
  for (const std::string& file : worker.files) {
    if (std::filesystem::is_directory(file)) {
      for (std::string& one : sources_under(file)) files.push_back({std::move(one), ""});
      continue;
    }
    if (!file_exists(file)) {
      return Diagnostic{Code::not_available, fmt::format("{} names the file {}, which is not there", worker.name, file)}
          .at(worker.span);
    }
    files.push_back({file, ""});
  }
  if (!kernel_file.empty()) files.push_back({kernel_file, ""});
  return files;
}

}  // namespace

bool is_own(const contract::TaskBaseline& baseline) {
  if (baseline.worker.size() != 1) return false;
  const std::string& worker = baseline.worker.front();
  return worker == "onednn" || worker == "openblas" || worker == "memcpy" || worker == "copy";
}

bench::Limits worker_limits() {
  bench::Limits limits;
  limits.hello_s = kImportLimit;
  limits.prepare_s = kPrepareLimit;
  limits.check_s = kPrepareLimit;
  limits.bye_s = 30;
  return limits;
}

Result<tune::Contender> worker_contender(const contract::TaskBaseline& worker, const contract::Task& task,
                                         const Subject& subject, ledger::Role role) {
  tune::Contender out;
  out.arm.name = worker.name;
  out.arm.role = role;
  out.arm.worker = fmt::format("{}", fmt::join(worker.worker, " "));
  out.arm.config = recipe_of(worker, true).dump();
  const bool candidate = role == ledger::Role::candidate;
  out.files = HC_TRY(files_of(worker, candidate ? subject.file : ""));
  // another program makes another candidate, also where command and recipe are the same
  out.arm.source_sha256 = sha256_hex(candidate ? subject.kernel_sha256 + "\n" + out.arm.worker + "\n" + out.arm.config +
                                                     "\n" + contents_sha256(out.files)
                                               : out.arm.config);
  out.argv = worker.worker;
  out.prepare.implementation = worker.key("implementation").empty() ? worker.name : worker.key("implementation");
  out.prepare.operation = worker.key("operation");
  out.prepare.library = worker.key("library");
  out.prepare.kernel = subject.file + (subject.request.kernel.empty() ? "" : ":" + subject.request.kernel);
  out.prepare.args = subject.arg_texts;
  out.prepare.seed = subject.input_seed;
  out.prepare.threads = task.effort.threads;
  const Json options = recipe_of(worker, false);
  if (!options.empty()) out.prepare.options = options.dump();
  out.binary = out.files.back().path;
  if (!worker.config.empty()) pin_config(&out, worker.config);
  return out;
}

void pin_config(tune::Contender* contender, const std::string& config) {
  contender->prepare.config = config;
  if (contender->arm.role == ledger::Role::candidate) {
    contender->arm.config = config;
    return;
  }
  Json recipe = parse_json(contender->arm.config).value_or(Json::object());
  recipe["config"] = parse_json(config).value_or(Json(config));
  contender->arm.config = recipe.dump();
}

Description describe(tune::Contender contender, double tune_s, bool outputs) {
  Description out;
  contender.prepare.tune_s = tune_s;
  bench::Limits limits = worker_limits();
  if (tune_s >= 0) limits.prepare_s = tune_s > 0 ? tune_s + kTuneOverrun : kUnlimitedTune;
  const double start = monotonic_s();
  const auto fall = [&](ledger::Outcome outcome, const Diagnostic& error) {
    out.outcome = outcome;
    out.reason = error.message;
    if (!error.help.empty()) out.reason += "; " + error.help;
    out.seconds = monotonic_s() - start;
    return out;
  };
  const Result<std::unique_ptr<bench::Worker>> started = bench::Worker::start(contender.argv, limits, contender.env);
  if (!started.ok()) return fall(ledger::Outcome::crashed, started.error());
  bench::Worker& worker = *started.value();
  const Result<bench::PrepareReply> reply = worker.prepare(contender.prepare);
  if (!reply.ok()) {
    return fall(worker.alive() ? ledger::Outcome::refused : ledger::Outcome::crashed, reply.error());
  }
  out.reply = reply.value();
  if (outputs) {
    out.folder = make_temp_folder("hillclimb-outputs");
    const Result<bench::CheckReply> written = worker.check({.out_dir = out.folder, .elements = contender.elements});
    if (!written.ok()) return fall(ledger::Outcome::crashed, written.error());
    out.outputs = written.value();
  }
  out.seconds = monotonic_s() - start;
  (void)worker.bye();
  return out;
}

ledger::TuneRecord describe_record(const tune::Contender& contender, const Description& description, double tune_s) {
  const bench::PrepareReply& reply = description.reply;
  ledger::TuneRecord record;
  record.arm = contender.arm.name;
  record.winner_source_sha256 = contender.arm.source_sha256;
  record.ended_by = ledger::kNoSearch;
  record.seconds = description.seconds;
  if (reply.tuned) {
    // The worker's word alone does not make a search full: one that lasted as long as it was allowed to was cut short.
    record.started_cold = reply.tune.cold;
    record.full = reply.tune.full && (tune_s <= 0 || reply.tune.seconds < tune_s);
    record.ended_by = record.full ? "converged" : "limit";
    record.seconds = reply.tune.seconds;
    record.winner_seconds = reply.tune.best_seconds;
    record.space_size = static_cast<double>(reply.tune.tried);
  }
  if (!reply.config.empty()) record.winner = reply.config;
  ledger::Candidate one;
  one.config = record.winner;
  one.origin = reply.tuned ? "the implementation's own tuner" : "the implementation's own choice";
  if (!contender.prepare.config.empty()) one.origin = "pinned";
  one.outcome = description.outcome;
  one.t_s = record.seconds;
  one.seconds = record.winner_seconds;
  if (!description.reason.empty()) one.reason = contender.arm.name + ": " + description.reason;
  record.candidates = {std::move(one)};
  record.machine = {{"implementation", reply.implementation},
                    {"version", reply.version},
                    {"library", reply.library},
                    {"detail", reply.detail}};
  return record;
}

}  // namespace hc::cli
