// `hillclimb report`: Markdown and HTML of a run, from its evidence.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "contract/goal.h"
#include "report/report.h"

namespace hc::cli {
namespace {

Result<int> report(const Parsed& parsed, const Context& context) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  std::string run = parsed.get("RUN");
  if (run.empty()) {
    const ledger::Goal goal = HC_TRY(contract::read_goal(artifacts));
    run = goal.run;
  }
  const std::string out = parsed.get("--out", join_path(artifacts, run));
  const report::ReportPaths paths =
      HC_TRY(report::write_report(artifacts, run, out, {anchor_path(context, artifacts), ""}));
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
       {"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."},
       {"--out", OptionKind::one, "DIR", "Where the report goes; the run's folder if left out."}},
      report};
  return kCommand;
}

}  // namespace hc::cli
