// What `doctor` looks for on a machine: each probe says what is there, or what will be skipped and how to get it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace hc::cli {

struct Finding {
  std::string topic;  ///< "compiler", "oneDNN", "GPU", ...
  bool there = false;
  std::string what;    ///< what was found, or what will be skipped without it
  std::string remedy;  ///< how to get it, empty when it is there
};

std::vector<Finding> probe_machine(const Context& context);

}  // namespace hc::cli
