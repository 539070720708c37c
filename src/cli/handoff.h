// The hand-off folder: everything that somebody needs who goes on by hand with one variant.
#pragma once

#include <string>

#include "cli/worker_listing.h"
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
  ledger::VariantVerdict verdict{};
  const WorkerListing* listing = nullptr;  ///< of a candidate that is a worker, in place of winner and toolchain
};

/// The command that measures the edited source of a hand-off.
std::string try_command_line(const Handoff& handoff);
/// Measured times, rates and ratios as a Markdown table, and the same unrounded as JSON text.
std::string handoff_table(const Handoff& handoff);
std::string handoff_numbers(const Handoff& handoff);
/// Writes kernel.cc, include/, config.txt, numbers.json and README.md.
Status write_handoff(const Handoff& handoff);
/// The same of a worker's candidate: the generated source, config.json, PTX and cubins as the worker listed them,
/// numbers.json and README.md; not_available when the worker lists no source.
Status write_worker_handoff(const Handoff& handoff);
/// `<artifacts>/<run>/handoff/<variant>`.
std::string handoff_folder(const std::string& artifacts, const std::string& run, const std::string& variant);

}  // namespace hc::cli
