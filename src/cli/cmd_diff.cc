// `hillclimb diff`: two configs of one variant beside each other, as source and as machine code.
#include <fmt/format.h>

#include "cli/disassembly.h"
#include "cli/workbench.h"
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

Result<int> diff(const Parsed& parsed, const Context& context) {
  Workbench bench(HC_TRY(read_workbench_options(parsed, "diff")), context);
  HC_TRY(bench.open_to_read(parsed.get("--variant")));
  std::string title;
  const knob::Config other = HC_TRY(other_config(parsed, bench, &title));
  const tune::Built left = HC_TRY(bench.built(std::nullopt));
  const tune::Built right = HC_TRY(bench.built(other));
  bench.progress().line("built");
  const int context_lines = parsed.has("--full") ? -1 : kContext;
  fmt::print("left: the stored winner; right: {}\n", title);
  print_configs(left.compiled.config, right.compiled.config);
  const Result<Disassembly> left_code = disassemble(left.manifest.shared_object);
  const Result<Disassembly> right_code = disassemble(right.manifest.shared_object);
  const bool code = left_code.ok() && right_code.ok();
  if (code) print_counts(left_code.value(), right_code.value());
  fmt::print("\ngenerated source:\n{}",
             side_by_side(lines_of(left.compiled.source), lines_of(right.compiled.source), kWidth, context_lines));
  if (!code) {
    fmt::print("\nno machine code: {}\n", left_code.ok() ? right_code.error().message : left_code.error().message);
  } else if (!parsed.has("--source-only")) {
    fmt::print("\nmachine code:\n{}",
               side_by_side(left_code.value().lines, right_code.value().lines, kWidth, context_lines));
  }
  return 0;
}

}  // namespace

const Command& diff_command() {
  static const Command kCommand{
      "diff", false,
      "Show the stored winner of one variant beside another config: source, machine code, instruction counts.",
      workbench_options(
          {{"--config", OptionKind::one, "FILE", "The other config; the tune before, or the defaults, if left out."},
           {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob of the other config."},
           {"--source-only", OptionKind::flag, "", "Leave the machine code out."},
           {"--full", OptionKind::flag, "", "Print equal lines too."}}),
      diff};
  return kCommand;
}

}  // namespace hc::cli
