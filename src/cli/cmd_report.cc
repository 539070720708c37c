// `hillclimb report`: Markdown and HTML of a run, from its evidence.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "contract/goal.h"
#include "ledger/checker.h"
#include "report/report.h"

namespace hc::cli {
namespace {

/// 0 when every number follows from the evidence, 2 when one does not, 3 when the ledger has grown since.
Result<int> verify(const std::string& artifacts, const std::string& out, const std::string& anchor) {
  const report::Verification found = HC_TRY(report::verify_report(artifacts, out, anchor));
  for (const std::string& difference : found.differences) fmt::print("{}\n", difference);
  if (!found.differences.empty()) return ledger::kExitBroken;
  if (found.grown) {
    fmt::print("the ledger has grown since the report was written: `hillclimb report` writes it anew\n");
    return ledger::kExitUndecided;
  }
  fmt::print("every number of {} follows from the raw samples\n", out);
  return 0;
}

Result<int> report(const Parsed& parsed, const Context& context) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  std::string run = parsed.get("RUN");
  if (run.empty()) {
    const ledger::Goal goal = HC_TRY(contract::read_goal(artifacts));
    run = goal.run;
  }
  const std::string out = parsed.get("--out", join_path(artifacts, run));
  const std::string anchor = anchor_path(context, artifacts);
  if (parsed.has("--verify")) return verify(artifacts, out, anchor);
  report::ReportOptions options{anchor};
  options.base = parsed.get("--base");
  options.claims = parsed.get("--claims");
  const report::ReportPaths paths = HC_TRY(report::write_report(artifacts, run, out, options));
  fmt::print("{}\n{}\n", paths.markdown, paths.html);
  return 0;
}

}  // namespace

const Command& report_command() {
  static const Command kCommand{
      "report",
      false,
      "Write the report of a run as Markdown and one HTML file, every number linked to its artifact.",
      {{"RUN", OptionKind::optional_word, "", "Name of the run; the goal's own if left out."},
       {"--verify", OptionKind::flag, "", "Derive the written report anew: 0 it agrees, 2 it does not, 3 it is older."},
       {"--claims", OptionKind::one, "FILE", "What you say: changes and risks; numbers only as {{VARIANT.ratio}}."},
       {"--base", OptionKind::one, "COMMIT", "List the commits since this one; the upstream's if left out."},
       {"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."},
       {"--out", OptionKind::one, "DIR", "Where the report goes; the run's folder if left out."}},
      report};
  return kCommand;
}

}  // namespace hc::cli
