// `hillclimb handoff`: the folder for going on by hand.
#include <fmt/format.h>

#include "cli/handoff.h"
#include "cli/workbench.h"

namespace hc::cli {
namespace {

Handoff frame(const Parsed& parsed, const Workbench& bench) {
  Handoff out;
  out.folder = parsed.get("--out", handoff_folder(bench.artifacts(), bench.goal().run, bench.variant().name));
  out.task_path = parsed.get("TASK");
  out.artifacts = bench.artifacts();
  out.task = &bench.task();
  out.variant = &bench.variant();
  return out;
}

/// What the worker generates, listed right into the folder.
Result<int> handoff_of_worker(const Parsed& parsed, Workbench& bench) {
  Handoff out = frame(parsed, bench);
  bench.progress().now("asking the worker for its code");
  const WorkerListing listing = HC_TRY(list_worker(HC_TRY(bench.stored_worker()), out.folder));
  out.listing = &listing;
  out.verdict = HC_TRY(bench.verdict());
  HC_TRY(write_worker_handoff(out));
  bench.progress().line("written");
  fmt::print("{}/README.md\nedit {}/{}, then\n  {}\n", out.folder, out.folder, listing.source_file,
             try_command_line(out));
  return 0;
}

Result<int> handoff(const Parsed& parsed, const Context& context) {
  Workbench bench(HC_TRY(read_workbench_options(parsed, "handoff")), context);
  HC_TRY(bench.open_to_read(parsed.get("--variant")));
  if (bench.task().candidate) return handoff_of_worker(parsed, bench);
  const tune::Built winner = HC_TRY(bench.built(std::nullopt));
  Handoff out = frame(parsed, bench);
  out.winner = &winner;
  out.toolchain = &bench.site().toolchain;
  out.verdict = HC_TRY(bench.verdict());
  HC_TRY(write_handoff(out));
  bench.progress().line("written");
  fmt::print("{}/README.md\nedit {}/kernel.cc, then\n  {}\n", out.folder, out.folder, try_command_line(out));
  return 0;
}

}  // namespace

const Command& handoff_command() {
  static const Command kCommand{
      "handoff", false, "Write winning source, config, headers, numbers and rules of one variant into a folder.",
      workbench_options({{"--out", OptionKind::one, "DIR", "The folder; under the run's artifacts if left out."}}),
      handoff};
  return kCommand;
}

}  // namespace hc::cli
