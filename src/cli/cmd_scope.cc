// `hillclimb scope`: whether the change stays inside the paths that its task allows.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/command.h"
#include "contract/scope.h"

namespace hc::cli {
namespace {

Result<int> scope(const Parsed& parsed, const Context&) {
  const contract::Task task = HC_TRY(contract::read_task(parsed.get("TASK")));
  const contract::Git git = HC_TRY(contract::Git::open(parsed.get("--project", ".")));
  const contract::ScopeReport report = HC_TRY(contract::check_scope(git, task.scope, parsed.get("--base")));
  if (parsed.has("--json")) {
    const Json out{{"inside", report.inside()},
                   {"base", report.base},
                   {"changed", report.changed},
                   {"outside", report.outside},
                   {"denied", report.denied}};
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    if (task.scope.allow.empty() && task.scope.deny.empty())
      fmt::print("note: the task has no [scope], so every path is allowed\n");
    fmt::print("{}", contract::scope_text(report));
  }
  return report.inside() ? 0 : 1;
}

}  // namespace

const Command& scope_command() {
  static const Command kCommand{
      "scope",
      false,
      "Check a change against the paths that the task allows: exit 0 inside, 1 outside.",
      {{"TASK", OptionKind::word, "", "The task file with its [scope]."},
       {"--base", OptionKind::one, "COMMIT", "Where the work began; the merge base with origin/main if left out."},
       {"--project", OptionKind::one, "DIR", "The repository; this one if left out."},
       {"--json", OptionKind::flag, "", "Print the findings as JSON."}},
      scope};
  return kCommand;
}

}  // namespace hc::cli
