// `hillclimb worker`, `probe` and `canary`: the processes that hillclimb starts to time and to check.
#include <fmt/format.h>

#include "bench/gpu_canary.h"
#include "bench/gpu_rates.h"
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

const Command& canary_command() {
  static const Command kCommand{"canary",
                                true,
                                "Time a fixed copy and the clock of the one visible GPU, as a line of JSON.",
                                {{"--rates", OptionKind::flag, "", "Its memory's read and copy rates instead."}},
                                [](const Parsed& parsed, const Context&) -> Result<int> {
                                  const bool rates = parsed.has("--rates");
                                  fmt::print("{}\n",
                                             HC_TRY(rates ? bench::gpu_rates_line() : bench::gpu_canary_line()));
                                  return 0;
                                }};
  return kCommand;
}

}  // namespace hc::cli
