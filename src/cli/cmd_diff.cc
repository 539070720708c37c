// `hillclimb diff`: two configs of one variant beside each other, as source and as machine code.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "cli/baseline_view.h"
#include "cli/disassembly.h"
#include "cli/workbench.h"
#include "cli/worker_listing.h"
#include "tune/search.h"

namespace hc::cli {
namespace {

constexpr size_t kWidth = 72;
constexpr int kContext = 3;

/// What stands on the right: --config and --set, the winner of the tune before, or the defaults.
Result<knob::Config> other_config(const Parsed& parsed, const Workbench& bench, std::string* title) {
  if (const std::optional<knob::Config> given = HC_TRY(read_optional_config(parsed))) {
    *title = "the config given";
    return *given;
  }
  if (const auto before = bench.newest_tune(1)) {
    *title = fmt::format("the winner before (seed {})", before->second.seed);
    return tune::config_from_json(before->second.winner);
  }
  *title = "the defaults";
  return bench.defaults();
}

void print_configs(const knob::Config& left, const knob::Config& right) {
  fmt::print("knobs that differ:\n");
  int count = 0;
  for (const auto& [key, value] : left.values()) {
    const std::string other = right.get(key, "-");
    if (value == other) continue;
    ++count;
    fmt::print("  {:<40} {:>12}  {:>12}\n", key, value, other);
  }
  if (count == 0) fmt::print("  none\n");
}

void print_counts(const Disassembly& left, const Disassembly& right) {
  fmt::print("\ninstructions in the text, not how often they run:\n");
  const auto row = [](std::string_view name, int64_t l, int64_t r) {
    fmt::print("  {:<40} {:>12}  {:>12}  {:+}\n", name, l, r, r - l);
  };
  for (size_t i = 0; i < kInstructionClasses; ++i) {
    row(instruction_class_name(static_cast<InstructionClass>(i)), left.counts[i], right.counts[i]);
  }
  row("all", left.instructions, right.instructions);
}

/// Source and machine code of both sides, as far as they are there.
void print_sides(const Parsed& parsed, const std::vector<std::string>& left_source,
                 const std::vector<std::string>& right_source, const Disassembly* left, const Disassembly* right) {
  const int around = parsed.has("--full") ? -1 : kContext;
  if (!right_source.empty()) fmt::print("{}", side_by_side(left_source, right_source, kWidth, around));
  if (!left || !right || parsed.has("--source-only")) return;
  fmt::print("\nmachine code:\n{}", side_by_side(left->lines, right->lines, kWidth, around));
}

/// The implementation of the baseline that the goal's evidence measured, else the first that there is.
Result<tune::Contender> measured_implementation(const Workbench& bench, const contract::TaskBaseline& baseline) {
  std::vector<tune::Contender> all = HC_TRY(bench.implementations(baseline));
  const ledger::GoalShape* shape = nullptr;
  for (const ledger::GoalShape& one : bench.goal().shapes) {
    if (one.name == bench.variant().name) shape = &one;
  }
  if (!shape || shape->evidence.empty()) return std::move(all.front());
  const Result<std::string> text = ledger::read_object(bench.artifacts(), shape->evidence.back());
  const Result<ledger::PairsArtifact> artifact =
      text.ok() ? ledger::parse_pairs(text.value(), shape->artifact) : Result<ledger::PairsArtifact>(text.error());
  if (!artifact.ok()) return std::move(all.front());
  for (const ledger::Arm& arm : artifact.value().arms) {
    for (tune::Contender& one : all) {
      if (arm.name == baseline.name && tune::hash_binary(&one).ok() && one.arm.binary_sha256 == arm.binary_sha256)
        return std::move(one);
    }
  }
  return std::move(all.front());
}

Result<int> diff_with_baseline(const Parsed& parsed, Workbench& bench) {
  const contract::TaskBaseline* const baseline = HC_TRY(bench.baseline(parsed.get("--baseline")));
  const tune::Built left = HC_TRY(bench.built(std::nullopt));
  const TempFolder scratch("baseline");
  const BaselineView view = HC_TRY(
      view_baseline(*baseline, parsed.get("TASK"), HC_TRY(measured_implementation(bench, *baseline)), scratch.path()));
  bench.progress().line("built");
  fmt::print("left: the stored winner; right: {}\n\nthe winner:\n", baseline->name);
  for (const auto& [key, value] : left.compiled.config.values()) fmt::print("  {:<40} {}\n", key, value);
  fmt::print("\n{}:\n", baseline->name);
  for (const auto& [key, value] : view.facts) fmt::print("  {:<40} {}\n", key, value);
  const Result<Disassembly> ours = disassemble(left.manifest.shared_object);
  if (ours.ok() && view.code) {
    print_counts(ours.value(), *view.code);
    fmt::print("  the right side's: {}\n", view.code_from);
  }
  if (!view.source.empty()) fmt::print("\nsource: generated | {}\n", view.source_path);
  print_sides(parsed, lines_of(left.compiled.source), view.source, ours.ok() ? &ours.value() : nullptr,
              view.code ? &*view.code : nullptr);
  if (!ours.ok()) fmt::print("\nno machine code of ours: {}\n", ours.error().message);
  if (!view.missing.empty()) fmt::print("\n{}\n", view.missing);
  return 0;
}

Result<int> diff_with_config(const Parsed& parsed, Workbench& bench) {
  std::string title;
  const knob::Config other = HC_TRY(other_config(parsed, bench, &title));
  const tune::Built left = HC_TRY(bench.built(std::nullopt));
  const tune::Built right = HC_TRY(bench.built(other));
  bench.progress().line("built");
  fmt::print("left: the stored winner; right: {}\n", title);
  print_configs(left.compiled.config, right.compiled.config);
  const Result<Disassembly> left_code = disassemble(left.manifest.shared_object);
  const Result<Disassembly> right_code = disassemble(right.manifest.shared_object);
  const bool code = left_code.ok() && right_code.ok();
  if (code) print_counts(left_code.value(), right_code.value());
  fmt::print("\ngenerated source:\n");
  print_sides(parsed, lines_of(left.compiled.source), lines_of(right.compiled.source),
              code ? &left_code.value() : nullptr, code ? &right_code.value() : nullptr);
  if (!code) {
    fmt::print("\nno machine code: {}\n", left_code.ok() ? right_code.error().message : left_code.error().message);
  }
  return 0;
}

Result<int> diff(const Parsed& parsed, const Context& context) {
  if (parsed.has("--baseline") && (parsed.has("--set") || parsed.has("--config"))) {
    return Diagnostic{Code::usage, "the other side is a baseline or another config, and both are given"};
  }
  Workbench bench(HC_TRY(read_workbench_options(parsed, "diff")), context);
  HC_TRY(bench.open_to_read(parsed.get("--variant")));
  if (bench.task().candidate) return diff_workers(parsed, bench);
  return parsed.has("--baseline") ? diff_with_baseline(parsed, bench) : diff_with_config(parsed, bench);
}

}  // namespace

const Command& diff_command() {
  static const Command kCommand{
      "diff", false,
      "Show the stored winner of one variant beside another config or a baseline: source, machine code (PTX and SASS "
      "on "
      "a GPU), counts.",
      workbench_options(
          {{"--config", OptionKind::one, "FILE", "The other config; the tune before, or the defaults, if left out."},
           {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob of the other config."},
           {"--baseline", OptionKind::one, "NAME", "Show this baseline: recipe, versions, what there is of its code."},
           {"--source-only", OptionKind::flag, "", "Leave the machine code out."},
           {"--full", OptionKind::flag, "", "Print equal lines too."}}),
      diff};
  return kCommand;
}

}  // namespace hc::cli
