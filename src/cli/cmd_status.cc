// `hillclimb status`: where the goal stands, for somebody who lost all context.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/evidence.h"
#include "contract/goal.h"
#include "contract/status.h"

namespace hc::cli {
namespace {

Result<int> status(const Parsed& parsed, const Context& context) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  HC_TRY(contract::read_goal(artifacts));
  const contract::Standing standing = contract::look(artifacts, anchor_path(context, artifacts));
  fmt::print("{}", parsed.has("--json") ? contract::status_json(standing) : contract::status_text(standing));
  return 0;
}

}  // namespace

const Command& status_command() {
  static const Command kCommand{
      "status",
      false,
      "Show at a glance where the goal stands: verdict, variants worst first, next step, backlog, last log lines.",
      {{"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."},
       {"--json", OptionKind::flag, "", "Print the same as JSON."}},
      status};
  return kCommand;
}

}  // namespace hc::cli
