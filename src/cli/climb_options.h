// Options that commands share which tune and measure: read in one place, listed in one place.
#pragma once

#include <string>
#include <vector>

#include "cli/climb.h"
#include "cli/command.h"

namespace hc::cli {

/// The options of `start` and `climb`; `more` stand behind --fresh, and `pairs` says whose number --pairs replaces.
std::vector<Option> climb_options(const std::vector<Option>& more, const std::string& pairs);
/// What those options, and the single steps', say alike: task, folder, mode, seed and limits; usage where one is wrong.
Result<ClimbOptions> read_climb_options(const Parsed& parsed);

}  // namespace hc::cli
