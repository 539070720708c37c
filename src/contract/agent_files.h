// What is installed into a project for a coding agent: its stop hook and the playbook, in its own formats.
#pragma once

#include <string>
#include <vector>

#include "contract/gate.h"

namespace hc::contract {

struct AgentInstall {
  Agent agent = Agent::claude;
  std::string project;   ///< absolute path of the project's folder
  std::string program;   ///< absolute path of hillclimb
  std::string anchor;    ///< HILLCLIMB_ANCHOR for the hook, empty if none is set
  std::string playbook;  ///< text of the skill
  std::string records;   ///< folder outside of the project where the originals are kept
};

/// Where the agent looks for hooks and skills, relative to the project.
std::string hook_file(Agent agent);
std::string skill_file(Agent agent);
/// The shell command of the hook. Whatever keeps the gate from answering (program gone, crash, signal) blocks.
std::string hook_command(const AgentInstall& install);

/// Writes hook and playbook, keeping everything else in the settings; a second call changes nothing. Returns sentences
/// about what was done. file_error when the settings are not plain JSON (nothing is written then).
Result<std::vector<std::string>> install_agent(const AgentInstall& install);
/// Takes hook and playbook away. Settings that nobody changed since become byte for byte what they were; of others only
/// our entry is taken out.
Result<std::vector<std::string>> remove_agent(const AgentInstall& install);

}  // namespace hc::contract
