// What can be seen of a baseline: recipe, versions, its text and its machine code where they are to be had.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/disassembly.h"
#include "contract/task.h"
#include "tune/campaign.h"

namespace hc::cli {

struct BaselineView {
  std::vector<std::pair<std::string, std::string>> facts;  ///< recipe and what its worker said of itself
  std::string source_path;                                 ///< the recipe's `source` as found, or empty
  std::vector<std::string> source;                         ///< its lines
  std::optional<Disassembly> code;
  std::string code_from;  ///< where the machine code comes from
  std::string missing;    ///< what cannot be shown, why, and what would show it; empty when all can
};

/// Starts the baseline's worker and looks at it; nothing is timed. `scratch` is an empty folder for what a library
/// dumps. Errors are the worker's when it cannot start.
Result<BaselineView> view_baseline(const contract::TaskBaseline& baseline, const std::string& task_path,
                                   const tune::Contender& contender, const std::string& scratch);

/// Code that a library generated and dumped, one function per file, without the constants behind it.
Result<Disassembly> disassemble_dump(const std::string& file);
/// Takes objdump's text of such a dump; `name` heads the function.
Disassembly read_dump(std::string_view objdump, const std::string& name);

}  // namespace hc::cli
