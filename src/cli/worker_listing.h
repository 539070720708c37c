// What can be seen of the code that a worker runs: its generated source, PTX, SASS, and what it says of itself.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/protocol.h"
#include "cli/command.h"
#include "cli/gpu_code.h"
#include "tune/campaign.h"

namespace hc::cli {

class Workbench;

struct WorkerListing {
  std::vector<std::pair<std::string, std::string>> facts;  ///< command, config, and what the worker said of itself
  std::vector<bench::ListedFile> files;                    ///< as written into the folder
  std::string source;                                      ///< text of the generated source, or empty
  std::string source_file;                                 ///< its file's name, or empty
  std::optional<GpuCode> ptx, sass;                        ///< of all its kernels; nothing where there is none
  std::vector<std::string> missing;                        ///< sentences: what cannot be shown and why
};

/// Starts the worker, has it make itself ready, launch once and write its code into `folder`, and disassembles the
/// cubins. Nothing is timed. What cannot be had is among `missing`; an error is one of a worker that does not start.
Result<WorkerListing> list_worker(const tune::Contender& contender, const std::string& folder);

/// `hillclimb diff` of a task whose candidate is a worker: the stored winner beside a baseline.
Result<int> diff_workers(const Parsed& parsed, Workbench& bench);

}  // namespace hc::cli
