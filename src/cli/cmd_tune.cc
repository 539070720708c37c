// `hillclimb tune`: search for one kernel call; every candidate is recorded with the reason why it fell.
#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "cli/command.h"
#include "cli/kernel_request.h"
#include "cli/progress.h"
#include "cli/subject.h"
#include "tune/tune.h"

namespace hc::cli {
namespace {

struct Target {
  std::string label;
  Subject subject;
  contract::TaskEffort effort;
};

/// TASK.toml with --variant (all variants if left out), or KERNEL.py with --args.
Result<std::vector<Target>> targets(const Parsed& parsed) {
  std::vector<Target> out;
  const std::string word = parsed.get("TASK");
  if (!word.ends_with(".toml")) {
    Parsed call = parsed;
    call.set("KERNEL", {word});
    const KernelCall read = HC_TRY(read_kernel_call(call));
    out.push_back({read.request.kernel, HC_TRY(subject_of_call(read.file, read.request, read.arg_texts)), {}});
    return out;
  }
  const contract::Task task = HC_TRY(contract::read_task(word));
  if (task.candidate) {
    return Diagnostic{Code::not_available,
                      fmt::format("the candidate {} of {} is a worker, and this tunes kernels of our own compiler",
                                  task.candidate->name, task.name)}
        .fix(fmt::format("`hillclimb start {}` has the worker tune itself", word));
  }
  const std::vector<std::string> wanted = parsed.all("--variant");
  for (const std::string& name : wanted) {
    if (!task.variant(name))
      return Diagnostic{Code::usage, fmt::format("the task {} has no variant `{}`", task.name, name)};
  }
  for (const contract::TaskVariant& variant : task.variants) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), variant.name) == wanted.end()) continue;
    out.push_back({fmt::format("{}/{}", task.name, variant.name), HC_TRY(subject_of(variant)), task.effort});
  }
  return out;
}

void print_outcome(const tune::TuneOutcome& outcome) {
  std::map<std::string, int> counts;
  for (const ledger::Candidate& c : outcome.result.candidates) ++counts[std::string(ledger::outcome_name(c.outcome))];
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  fmt::print("candidates: {} of {:.4g} configs ({})\n", outcome.result.candidates.size(), outcome.space_size, text);
  fmt::print("ended by: {} after {:.1f} s\n", outcome.result.ended_by, outcome.seconds);
  fmt::print("winner: {:.4g} ms  {}\n", outcome.result.winner_seconds * 1e3, outcome.winner.manifest.config);
}

Result<int> tune_one(const Parsed& parsed, const Context& context, const Target& target, uint64_t seed) {
  Progress progress;
  tune::TuneRequest request;
  tune::BuildSite site{target::host(), HC_TRY(runtime::find_toolchain()), context.cache_folder};
  request.cold = parsed.has("--cold");
  std::optional<TempFolder> cold;
  if (request.cold) site.cache_folder = cold.emplace("hillclimb-cold").path();
  request.setup = evaluator_setup(target.subject, site, context, target.effort.threads);
  request.options.seed = seed;
  request.options.max_candidates = HC_TRY(parsed.whole("--candidates", target.effort.max_candidates, 1));
  request.options.max_seconds =
      static_cast<double>(HC_TRY(parsed.whole("--seconds", static_cast<int64_t>(target.effort.tune_seconds), 1)));
  request.history_path = join_path(context.state_folder, "history.sqlite");
  request.kernel_sha256 = target.subject.kernel_sha256;
  progress.line(fmt::format("{}  --seed {}", target.label, seed));
  std::string so_far = "nothing timed yet";
  request.on_generation = [&](const tune::SearchProgress& p) {
    so_far = fmt::format("{} compiled, {} fell, best {:.4g} ms", p.compiled, p.fell, p.best_seconds * 1e3);
  };
  request.setup.on_phase = [&](const std::string& name, int done, int total) {
    progress.now(fmt::format("{}  {}, {} {}/{}", target.label, so_far, name, done, total));
  };
  const tune::TuneOutcome outcome = HC_TRY(tune::tune(request));
  if (!outcome.history_trouble.empty()) progress.line(outcome.history_trouble);
  ledger::TuneRecord record = tune::to_record(request, outcome);
  record.name = target.label;
  record.machine = tune::machine_facts();
  const std::string text = ledger::to_json(record);
  if (parsed.has("--out")) {
    const std::string why = write_file_atomic(parsed.get("--out"), text + "\n");
    if (!why.empty()) {
      return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", parsed.get("--out"), why)};
    }
  }
  progress.line("done");
  if (parsed.has("--json")) {
    fmt::print("{}\n", text);
  } else {
    print_outcome(outcome);
  }
  return 0;
}

Result<int> tune_command_action(const Parsed& parsed, const Context& context) {
  const uint64_t seed =
      parsed.has("--seed") ? static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0))) : tune::fresh_seed();
  for (const Target& target : HC_TRY(targets(parsed))) HC_TRY(tune_one(parsed, context, target, seed));
  return 0;
}

}  // namespace

const Command& tune_command() {
  static const Command kCommand{
      "tune",
      false,
      "Search for the best config of a task's variants, or of one kernel call.",
      {{"TASK", OptionKind::word, "", "A task file, or KERNEL.py:NAME with --args."},
       {"--variant", OptionKind::many, "NAME", "Only these variants of the task."},
       {"--args", OptionKind::many, "ARG", "Arguments of the kernel, where no task is given."},
       {"--cold", OptionKind::flag, "", "Start with nothing: no history, no compiled kernels."},
       {"--seed", OptionKind::one, "N", "Seed of the search; a fresh one is drawn and printed otherwise."},
       {"--candidates", OptionKind::one, "N", "End after N compiled candidates."},
       {"--seconds", OptionKind::one, "S", "End after S seconds."},
       {"--out", OptionKind::one, "FILE", "Write the tune's record there; `--config FILE` reads its winner."},
       {"--json", OptionKind::flag, "", "Print the record as JSON."}},
      tune_command_action};
  return kCommand;
}

}  // namespace hc::cli
