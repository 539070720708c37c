// A worker's winner beside a baseline: facts, source, PTX and SASS with counts per class of instruction.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "cli/disassembly.h"
#include "cli/workbench.h"
#include "cli/worker_listing.h"

namespace hc::cli {
namespace {

constexpr size_t kWidth = 72;
constexpr int kContext = 3;

/// The baseline asked for, else the best that was measured, else the first.
Result<const contract::TaskBaseline*> right_side(const Parsed& parsed, const Workbench& bench) {
  if (parsed.has("--baseline")) return bench.baseline(parsed.get("--baseline"));
  const Result<ledger::VariantVerdict> verdict = bench.verdict();
  if (verdict.ok() && !verdict.value().best_baseline.empty()) {
    const Result<const contract::TaskBaseline*> best = bench.baseline(verdict.value().best_baseline);
    if (best.ok()) return best;
  }
  return &bench.task().baselines.front();
}

void print_facts(const std::string& title, const WorkerListing& listing) {
  fmt::print("\n{}:\n", title);
  for (const auto& [key, value] : listing.facts) fmt::print("  {:<16} {}\n", key, value);
}

void print_missing(const std::string& title, const WorkerListing& listing) {
  for (const std::string& sentence : listing.missing) fmt::print("\nnot shown of {}: {}\n", title, sentence);
}

/// Classes that either side has; one side that has no such code is a dash.
void print_gpu_counts(const char* what, const std::optional<GpuCode>& left, const std::optional<GpuCode>& right) {
  if (!left && !right) return;
  const auto cell = [](const std::optional<GpuCode>& code, int64_t count) {
    return code ? std::to_string(count) : std::string("-");
  };
  fmt::print("\n{} instructions in the text, not how often they run:\n", what);
  const auto row = [&](std::string_view name, int64_t l, int64_t r) {
    const std::string difference = left && right ? fmt::format("{:+}", r - l) : "";
    fmt::print("  {:<40} {:>12}  {:>12}  {}\n", name, cell(left, l), cell(right, r), difference);
  };
  for (size_t i = 0; i < kGpuClasses; ++i) {
    const int64_t l = left ? left->counts[i] : 0, r = right ? right->counts[i] : 0;
    if (l != 0 || r != 0) row(gpu_class_name(static_cast<GpuClass>(i)), l, r);
  }
  row("all", left ? left->instructions : 0, right ? right->instructions : 0);
}

void print_code(const char* what, const std::vector<std::string>& left, const std::vector<std::string>& right,
                int around) {
  if (left.empty() && right.empty()) return;
  fmt::print("\n{}:\n{}", what, side_by_side(left, right, kWidth, around));
}

std::vector<std::string> lines_in(const std::optional<GpuCode>& code) {
  return code ? code->lines : std::vector<std::string>{};
}

}  // namespace

Result<int> diff_workers(const Parsed& parsed, Workbench& bench) {
  if (parsed.has("--set") || parsed.has("--config")) {
    return Diagnostic{Code::usage,
                      "the config of a worker's candidate is its own; only a baseline can be set beside it"}
        .fix("--baseline NAME");
  }
  const contract::TaskBaseline* const baseline = HC_TRY(right_side(parsed, bench));
  const tune::Contender ours = HC_TRY(bench.stored_worker());
  const tune::Contender theirs = HC_TRY(bench.stored_baseline(*baseline));
  const TempFolder scratch("listing");
  bench.progress().now("asking both workers for their code");
  const WorkerListing a = HC_TRY(list_worker(ours, join_path(scratch.path(), "left")));
  const WorkerListing b = HC_TRY(list_worker(theirs, join_path(scratch.path(), "right")));
  bench.progress().line("listed");
  const std::string& name = bench.task().candidate->name;
  fmt::print("left: the stored winner of {}; right: {}\n", name, baseline->name);
  print_facts(name, a);
  print_facts(baseline->name, b);
  print_gpu_counts("PTX", a.ptx, b.ptx);
  print_gpu_counts("SASS", a.sass, b.sass);
  const int around = parsed.has("--full") ? -1 : kContext;
  print_code("generated source", lines_of(a.source), lines_of(b.source), around);
  if (!parsed.has("--source-only")) {
    print_code("PTX", lines_in(a.ptx), lines_in(b.ptx), around);
    print_code("SASS", lines_in(a.sass), lines_in(b.sass), around);
  }
  print_missing(name, a);
  print_missing(baseline->name, b);
  return 0;
}

}  // namespace hc::cli
