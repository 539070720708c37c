// Keeping evidence out of version control.
#pragma once

#include <string>

#include "diag/diag.h"

namespace hc::contract {

/// When `artifacts_dir` lies in a git work tree that does not ignore it, adds a line for it to the .gitignore at the
/// top of that tree and returns the file's path; an empty string when there was nothing to do (ignored already, or no
/// work tree). file_error when the file cannot be written.
Result<std::string> ignore_artifacts(const std::string& artifacts_dir);

}  // namespace hc::contract
