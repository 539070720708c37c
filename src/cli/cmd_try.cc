// `hillclimb try`: a hand-edited source in place of the generated one, judged by the same rules.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "cli/workbench.h"

namespace hc::cli {
namespace {

void print_attempt(const Attempt& attempt, const std::string& variant) {
  for (const auto& [name, c] : attempt.baselines) {
    fmt::print("{:<4}  against {}: {:.4f} [{:.4f}, {:.4f}] in {} pairs{}\n", ledger::verdict_name(c.verdict), name,
               c.ratio, c.lcb, c.ucb, c.pairs, c.reason.empty() ? "" : "; " + c.reason);
  }
  fmt::print("      against the stored winner: {:.4f} [{:.4f}, {:.4f}]\n", attempt.incumbent.ratio,
             attempt.incumbent.lcb, attempt.incumbent.ucb);
  fmt::print("evidence: {}\n", attempt.object);
  if (attempt.verdict == ledger::Verdict::pass) {
    fmt::print("parity by hand: the next pass, now the first idea of the backlog. The goal's entry stays as it is.\n");
  } else if (attempt.verdict == ledger::Verdict::fail) {
    fmt::print("falls short: `hillclimb goal block --question ... --evidence {}` may name it, if {} is the worst.\n",
               attempt.object.substr(0, 12), variant);
  } else {
    fmt::print("not decided; --pairs measures more.\n");
  }
}

Result<int> try_source(const Parsed& parsed, const Context& context) {
  const std::optional<knob::Config> config = HC_TRY(read_optional_config(parsed));
  const ClimbOptions options = HC_TRY(read_workbench_options(parsed, "try"));
  if (!parsed.has("--source")) {
    return Diagnostic{Code::usage, "there is no source to try"}.fix(
        "--source FILE; `hillclimb handoff` writes the one to edit");
  }
  std::string why;
  const std::optional<std::string> source = read_file(parsed.get("--source"), &why);
  if (!source) {
    return Diagnostic{Code::file_error, fmt::format("the source {} cannot be read: {}", parsed.get("--source"), why)};
  }
  Workbench bench(options, context);
  HC_TRY(bench.open(parsed.get("--variant")));
  const bool worker = bench.task().candidate.has_value();
  if (worker && config) {
    return Diagnostic{Code::usage, "the config of a worker's candidate is its own, and the source was generated for it"}
        .fix("leave --config and --set out");
  }
  const std::string file_name = std::filesystem::path(parsed.get("--source")).filename().string();
  const Attempt attempt = HC_TRY(worker ? bench.attempt_worker(*source, file_name) : bench.attempt(*source, config));
  HC_TRY(bench.finish());
  bench.progress().line("tried");
  print_attempt(attempt, parsed.get("--variant"));
  return 0;
}

}  // namespace

const Command& try_command() {
  static const Command kCommand{
      "try", false,
      "Measure a hand-edited generated source of one variant (ours, or a worker's) against baselines and stored "
      "winner.",
      workbench_options(
          {{"--source", OptionKind::one, "FILE", "The edited source: same entry, same storages."},
           {"--config", OptionKind::one, "FILE", "The config it was generated for; the stored winner's if left out."},
           {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob of that config."},
           {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those agreed in the task."}}),
      try_source};
  return kCommand;
}

}  // namespace hc::cli
