// `hillclimb audit`: a random part of the confirming measurements, replayed by a second implementation.
#include <fmt/format.h>

#include <cstdlib>

#include "base/json.h"
#include "cli/command.h"
#include "cli/workbench.h"
#include "cli/writing.h"
#include "contract/audit.h"

namespace hc::cli {
namespace {

constexpr int kDisagrees = 2;

constexpr int kUndecided = 3;

void print_findings(const contract::AuditReport& report, bool as_json) {
  if (!as_json) {
    fmt::print("{}", contract::audit_text(report));
    return;
  }
  Json out{{"agrees", report.agrees()}, {"seed", report.seed}, {"confirming", report.confirming}};
  out["audited"] = Json::array();
  for (const contract::AuditedItem& item : report.items) {
    out["audited"].push_back({{"object", item.object},
                              {"name", item.name},
                              {"variant", item.variant},
                              {"rounds", item.rounds},
                              {"records", item.records},
                              {"differences", item.differences}});
  }
  fmt::print("{}\n", out.dump(1, ' ', false, Json::error_handler_t::replace));
}

/// What the same measurements say when they are made once more: 0 they agree, 2 they do not, 3 more pairs are needed.
Result<int> measure_again(const Parsed& parsed, const Context& context, const contract::AuditReport& report) {
  ClimbOptions options;
  options.task_path = parsed.get("--measure");
  options.artifacts = parsed.get("--artifacts", options.artifacts);
  options.who = "audit";
  options.pairs = static_cast<int>(HC_TRY(parsed.whole("--pairs", 0, 1)));
  Workbench bench(std::move(options), context);
  HC_TRY(bench.open(report.items.front().variant));
  int status = 0;
  for (const contract::AuditedItem& item : report.items) {
    const Replay replay = HC_TRY(bench.replay(item.object));
    bench.progress().line("measured once more");
    for (const Replay::Against& b : replay.baselines) {
      const bool open = b.disagreement.empty() && b.fresh.verdict == ledger::Verdict::open;
      fmt::print("  {}  {} against {}: stored {:.4f} [{:.4f}, {:.4f}], fresh {:.4f} [{:.4f}, {:.4f}] in {} pairs{}\n",
                 !b.disagreement.empty() ? "DIFFER"
                 : open                  ? "open  "
                                         : "same  ",
                 replay.variant, b.name, b.stored.ratio, b.stored.lcb, b.stored.ucb, b.fresh.ratio, b.fresh.lcb,
                 b.fresh.ucb, b.fresh.pairs, b.disagreement.empty() ? "" : "; " + b.disagreement);
      if (!b.disagreement.empty()) status = kDisagrees;
      if (open && status == 0) status = kUndecided;
    }
  }
  HC_TRY(bench.finish());
  return status;
}

Result<int> run_audit(const Parsed& parsed, const Context& context) {
  contract::AuditOptions options;
  options.artifacts_dir = parsed.get("--artifacts", options.artifacts_dir);
  options.seed = static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0)));
  if (parsed.has("--share")) {
    const std::string text = parsed.get("--share");
    char* end = nullptr;
    options.share = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end || !(options.share > 0) || options.share > 1) {
      return Diagnostic{Code::usage, fmt::format("--share is a part above 0 and at most 1, not \"{}\"", text)};
    }
  }
  const contract::AuditReport report = HC_TRY(contract::audit(options));
  print_findings(report, parsed.has("--json"));
  if (!report.agrees()) return kDisagrees;
  if (parsed.has("--measure")) return measure_again(parsed, context, report);
  if (!parsed.has("--json")) fmt::print("Nothing was measured; --measure TASK does the same measurements once more.\n");
  return 0;
}

}  // namespace

const Command& audit_command() {
  static const Command kCommand{
      "audit",
      false,
      "Replay a random part of the confirming measurements by a second implementation: exit 0 agrees, 2 does not.",
      {{"--share", OptionKind::one, "PART", "How many of them, above 0 and at most 1; 0.1 if left out, at least one."},
       {"--seed", OptionKind::one, "N", "Which ones; a fresh seed, printed, if left out."},
       {"--measure", OptionKind::one, "TASK", "Make them once more and compare: 0 same, 2 they differ, 3 open."},
       {"--pairs", OptionKind::one, "N", "measure: N pairs instead of those agreed in the task."},
       artifacts_option(),
       {"--json", OptionKind::flag, "", "Print the findings as JSON."}},
      run_audit};
  return kCommand;
}

}  // namespace hc::cli
