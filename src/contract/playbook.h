// The playbook: the whole climb as a skill whose every step is a command, for an agent that has never seen it.
#pragma once

#include <set>
#include <string>

namespace hc::contract {

/// The skill as Markdown with the front matter that agents read. Lines that need a command which is not among
/// `commands` are left out, so that nothing is named that the program does not have.
std::string playbook(const std::set<std::string>& commands);

/// A line by which a file is recognised as ours.
inline constexpr const char* kPlaybookMark = "<!-- written by `hillclimb agent install`; `--remove` takes it away -->";

}  // namespace hc::contract
