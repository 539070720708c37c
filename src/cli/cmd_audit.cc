// `hillclimb audit`: a random part of the confirming measurements, replayed by a second implementation.
#include <fmt/format.h>

#include <cstdlib>

#include "base/json.h"
#include "cli/command.h"
#include "cli/writing.h"
#include "contract/audit.h"

namespace hc::cli {
namespace {

constexpr int kDisagrees = 2;

Result<int> run_audit(const Parsed& parsed, const Context&) {
  contract::AuditOptions options;
  options.artifacts_dir = parsed.get("--artifacts", options.artifacts_dir);
  options.seed = static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0)));
  if (parsed.has("--share")) {
    const std::string text = parsed.get("--share");
    char* end = nullptr;
    options.share = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end || !(options.share > 0) || options.share > 1) {
      return Diagnostic{Code::usage, fmt::format("--share is a part above 0 and at most 1, not \"{}\"", text)};
    }
  }
  const contract::AuditReport report = HC_TRY(contract::audit(options));
  if (parsed.has("--json")) {
    Json out{{"agrees", report.agrees()}, {"seed", report.seed}, {"confirming", report.confirming}};
    out["audited"] = Json::array();
    for (const contract::AuditedItem& item : report.items) {
      out["audited"].push_back({{"object", item.object},
                                {"name", item.name},
                                {"variant", item.variant},
                                {"rounds", item.rounds},
                                {"records", item.records},
                                {"differences", item.differences}});
    }
    fmt::print("{}\n", out.dump(1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}", contract::audit_text(report));
  }
  return report.agrees() ? 0 : kDisagrees;
}

}  // namespace

const Command& audit_command() {
  static const Command kCommand{
      "audit",
      false,
      "Replay a random part of the confirming measurements by a second implementation: exit 0 agrees, 2 does not.",
      {{"--share", OptionKind::one, "PART", "How many of them, above 0 and at most 1; 0.1 if left out, at least one."},
       {"--seed", OptionKind::one, "N", "Which ones; a fresh seed, printed, if left out."},
       artifacts_option(),
       {"--json", OptionKind::flag, "", "Print the findings as JSON."}},
      run_audit};
  return kCommand;
}

}  // namespace hc::cli
