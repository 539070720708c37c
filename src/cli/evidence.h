// Where evidence and its anchor are, for the commands that read or write it.
#pragma once

#include <string>

#include "cli/command.h"

namespace hc::cli {

/// The folder that holds a goal file, for a goal path as typed.
std::string artifacts_of_goal(const std::string& goal_path);
/// HILLCLIMB_ANCHOR, or the place under the user's state folder for this artifacts folder.
std::string anchor_path(const Context& context, const std::string& artifacts_dir);

}  // namespace hc::cli
