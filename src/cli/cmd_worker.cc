// `hillclimb worker` and `hillclimb probe`: the processes that hillclimb starts to time and to check.
#include "bench/protocol.h"
#include "cli/command.h"
#include "tune/probe.h"

namespace hc::cli {

const Command& worker_command() {
  static const Command kCommand{"worker",
                                true,
                                "Time implementations for the referee, by JSON lines (docs/worker-protocol.md).",
                                {},
                                [](const Parsed&, const Context&) -> Result<int> { return bench::worker_main(); }};
  return kCommand;
}

const Command& probe_command() {
  static const Command kCommand{"probe",
                                true,
                                "Check compiled configs against the oracle, by JSON lines.",
                                {},
                                [](const Parsed&, const Context&) -> Result<int> { return tune::serve_probe(); }};
  return kCommand;
}

}  // namespace hc::cli
