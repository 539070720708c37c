// The hand-off folder: everything that somebody needs who goes on by hand with one variant.
#pragma once

#include <string>

#include "contract/task.h"
#include "ledger/judge.h"
#include "tune/build.h"

namespace hc::cli {

struct Handoff {
  std::string folder;  ///< made if need be; what is in it is replaced
  std::string task_path, artifacts;
  const contract::Task* task = nullptr;
  const contract::TaskVariant* variant = nullptr;
  const tune::Built* winner = nullptr;
  const runtime::Toolchain* toolchain = nullptr;
  ledger::VariantVerdict verdict;
};

/// The command that measures the edited source of a hand-off.
std::string try_command_line(const Handoff& handoff);
/// Writes kernel.cc, include/, config.txt, numbers.json and README.md.
Status write_handoff(const Handoff& handoff);
/// `<artifacts>/<run>/handoff/<variant>`.
std::string handoff_folder(const std::string& artifacts, const std::string& run, const std::string& variant);

}  // namespace hc::cli
