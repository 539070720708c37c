// `hillclimb agent`: the stop hook and the playbook in a project, for a coding agent.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "cli/command.h"
#include "contract/agent_files.h"
#include "contract/playbook.h"

namespace hc::cli {
namespace {

std::set<std::string> command_names() {
  std::set<std::string> out;
  for (const Command& one : commands()) out.insert(one.name);
  return out;
}

Result<int> agent(const Parsed& parsed, const Context& context) {
  const std::string action = parsed.get("ACTION");
  if (action != "install" && action != "playbook") {
    return Diagnostic{Code::usage, fmt::format("`agent {}` is not known", action)}.fix("install and playbook are");
  }
  if (action == "playbook") {
    fmt::print("{}", contract::playbook(command_names()));
    return 0;
  }
  const std::string name = parsed.get("--agent");
  const std::optional<contract::Agent> which = contract::agent_from(name);
  if (!which) {
    return Diagnostic{Code::usage, name.empty() ? "--agent is missing" : fmt::format("there is no agent `{}`", name)}
        .fix("claude, codex, cursor and gemini are there");
  }
  contract::AgentInstall install;
  install.agent = *which;
  std::error_code error;
  install.project =
      std::filesystem::weakly_canonical(std::filesystem::absolute(parsed.get("--project", ".")), error).string();
  install.program = context.program;
  install.anchor = context.anchor;
  install.playbook = contract::playbook(command_names());
  install.records = join_path(context.state_folder, "agents");
  if (parsed.has("--print")) {
    fmt::print("{}\n", contract::hook_command(install));
    return 0;
  }
  const auto said = HC_TRY(parsed.has("--remove") ? contract::remove_agent(install) : contract::install_agent(install));
  for (const std::string& sentence : said) fmt::print("{}\n", sentence);
  if (*which == contract::Agent::codex && !parsed.has("--remove")) {
    fmt::print("codex runs a hook only after you trusted it: open /hooks once, and again after every change\n");
  }
  return 0;
}

}  // namespace

const Command& agent_command() {
  static const Command kCommand{
      "agent",
      false,
      "Install the stop hook and the playbook for a coding agent into a project, or take them out.",
      {{"ACTION", OptionKind::word, "", "install, or playbook to print the playbook alone."},
       {"--agent", OptionKind::one, "NAME", "claude, codex, cursor or gemini."},
       {"--project", OptionKind::one, "DIR", "The project's folder; this one if left out."},
       {"--remove", OptionKind::flag, "", "Take hook and playbook out; settings become what they were."},
       {"--print", OptionKind::flag, "", "Only print the hook's command."}},
      agent};
  return kCommand;
}

}  // namespace hc::cli
