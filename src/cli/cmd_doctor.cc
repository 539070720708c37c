// `hillclimb doctor`: what this machine has, what will be skipped, how to get it.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/doctor_probes.h"

namespace hc::cli {
namespace {

constexpr int kSomethingMissing = 69;

Result<int> doctor(const Parsed& parsed, const Context& context) {
  const std::vector<Finding> findings = probe_machine(context);
  bool can_compile = false;
  for (const Finding& finding : findings) can_compile |= finding.topic == "compiler" && finding.there;
  if (parsed.has("--json")) {
    Json out = Json::array();
    for (const Finding& f : findings) {
      out.push_back({{"topic", f.topic}, {"there", f.there}, {"what", f.what}, {"remedy", f.remedy}});
    }
    fmt::print("{}\n", out.dump(1));
    return can_compile ? 0 : kSomethingMissing;
  }
  for (const Finding& f : findings) {
    fmt::print("{} {:<12} {}\n", f.there ? "ok     " : "missing", f.topic, f.what);
    if (!f.there && !f.remedy.empty()) fmt::print("{:21}get it: {}\n", "", f.remedy);
  }
  // Only a compiler is needed by everything; the rest narrows what can be compared.
  return can_compile ? 0 : kSomethingMissing;
}

}  // namespace

const Command& doctor_command() {
  static const Command kCommand{"doctor",
                                false,
                                "Show what this machine has, what will be skipped without it, and how to get it.",
                                {{"--json", OptionKind::flag, "", "Print the findings as JSON."}},
                                doctor};
  return kCommand;
}

}  // namespace hc::cli
