// `hillclimb run`: compile, run once in a process of its own on poisoned outputs, compare with the oracle.
#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/kernel_request.h"
#include "tune/build.h"
#include "tune/probe.h"

namespace hc::cli {
namespace {

constexpr int64_t kSamples = 4096;
constexpr double kRunLimit = 120;

void print_outputs(const Json& outputs) {
  int position = 0;
  for (const Json& output : outputs) {
    fmt::print("out.{}  {}", position++, output.value("name", "?"));
    if (output.contains("dtype")) {
      fmt::print("  {}[{}]  {}", output.value("dtype", ""), fmt::join(output["shape"].get<std::vector<int64_t>>(), ","),
                 fmt::join(output["first"].get<std::vector<std::string>>(), " "));
      const auto shape = output["shape"].get<std::vector<int64_t>>();
      int64_t numel = 1;
      for (const int64_t size : shape) numel *= size;
      if (numel > static_cast<int64_t>(output["first"].size())) fmt::print(" ...");
    }
    fmt::print("\n");
  }
}

Result<int> conclude(const tune::ProbeAnswer& answer, bool json, const std::string& config) {
  if (json) {
    Json out = {{"outcome", answer.outcome == tune::ProbeOutcome::ok ? "ok" : "failed"},
                {"reason", answer.reason},
                {"config", config},
                {"outputs", answer.outputs},
                {"checked", answer.checked},
                {"wrong", answer.wrong},
                {"worst", answer.worst}};
    fmt::print("{}\n", out.dump(1));
  } else {
    print_outputs(answer.outputs);
  }
  switch (answer.outcome) {
    case tune::ProbeOutcome::ok:
      break;
    case tune::ProbeOutcome::wrong_answer:
      return Diagnostic{Code::wrong_answer, answer.reason};
    case tune::ProbeOutcome::failed:
      return Diagnostic{Code::measurement_failed, answer.reason};
    default:
      return Diagnostic{Code::worker_failed, answer.reason};
  }
  if (json) return 0;
  if (answer.checked) {
    fmt::print("checked {} elements against the oracle: {} wrong, largest error {:.3g} of the bound\n", answer.checked,
               answer.wrong, answer.worst);
  } else {
    fmt::print("computed by the oracle itself\n");
  }
  return 0;
}

Result<int> run(const Parsed& parsed, const Context& context) {
  const std::string backend = parsed.get("--backend", "cpu");
  if (backend != "cpu" && backend != "oracle") {
    return Diagnostic{Code::usage, fmt::format("there is no backend `{}`", backend)}.fix(
        "the backends are cpu, oracle");
  }
  const KernelCall call = HC_TRY(read_kernel_call(parsed));
  const int64_t seed = HC_TRY(parsed.whole("--seed", 1, 0));
  tune::ProbeSetup setup{call.file, call.request.kernel, call.arg_texts, static_cast<uint64_t>(seed),
                         kSamples,  parsed.get("--load")};
  tune::ProbeRequest request;
  request.limit_s = kRunLimit;
  request.save_folder = parsed.get("--save");
  request.summary = true;
  request.oracle = backend == "oracle";
  if (request.oracle) {
    setup.samples = 0;
    HC_TRY(compile::tile_ir(call.request, call.config));  // so that a mistake is shown with its source line
    request.config = knob::to_text(call.config);
  } else {
    const tune::BuildSite site{target::host(), HC_TRY(runtime::find_toolchain()), context.cache_folder};
    const tune::Built built = HC_TRY(tune::build(call.request, call.config, site));
    request.manifest_path = built.manifest_path;
    request.config = built.manifest.config;
  }
  tune::Probe probe(context.program, setup);
  return conclude(probe.ask(request), parsed.has("--json"), request.config);
}

}  // namespace

const Command& run_command() {
  static const Command kCommand = [] {
    Command command{"run", false, "Compile a kernel, run it once and compare it with the oracle.",
                    kernel_call_options(), run};
    command.options.push_back({"--backend", OptionKind::one, "NAME", "cpu (the default), or oracle: the interpreter."});
    command.options.push_back({"--seed", OptionKind::one, "N", "Seed of the inputs; 1 if left out."});
    command.options.push_back({"--save", OptionKind::one, "DIR", "Write inputs and outputs there as .npy files."});
    command.options.push_back({"--load", OptionKind::one, "DIR", "Take the inputs from NAME.npy there."});
    command.options.push_back({"--json", OptionKind::flag, "", "Print the result as JSON."});
    return command;
  }();
  return kCommand;
}

}  // namespace hc::cli
