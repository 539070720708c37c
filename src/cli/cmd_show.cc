// `hillclimb show`: the kernel after any stage of the pipeline, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cli/command.h"
#include "cli/kernel_request.h"

namespace hc::cli {
namespace {

Result<int> show(const Parsed& parsed, const Context&) {
  const std::string stage = parsed.get("--stage", "all");
  const std::vector<std::string>& names = compile::stage_names();
  if (stage != "all" && std::find(names.begin(), names.end(), stage) == names.end()) {
    return Diagnostic{Code::usage, fmt::format("there is no stage `{}`", stage)}.fix(
        fmt::format("the stages are {}, all", fmt::join(names, ", ")));
  }
  const KernelCall call = HC_TRY(read_kernel_call(parsed));
  const target::Target target = target::host();
  const auto stages = HC_TRY(compile::stages(call.request, call.config, target, stage == "all" ? "" : stage));
  if (parsed.has("--json")) {
    Json out;
    for (const compile::Stage& s : stages) out[s.name] = s.text;
    fmt::print("{}\n", out.dump(1));
    return 0;
  }
  for (const compile::Stage& s : stages) {
    if (stage == "all") fmt::print("==== {}\n", s.name);
    if (stage == "all" || s.name == stage) fmt::print("{}{}", s.text, s.text.ends_with('\n') ? "" : "\n");
  }
  return 0;
}

}  // namespace

const Command& show_command() {
  static const Command kCommand = [] {
    Command command{"show", false, "Print a kernel after any stage: syntax tree, tile IR, kernel IR, generated source.",
                    kernel_call_options(), show};
    command.options.push_back(
        {"--stage", OptionKind::one, "STAGE", "tree, tile, kernel, source, or all (the default)."});
    command.options.push_back({"--json", OptionKind::flag, "", "Print the stages as one JSON object."});
    return command;
  }();
  return kCommand;
}

}  // namespace hc::cli
