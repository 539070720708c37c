// `hillclimb goal`: pause, block, resume and amend.
#include <fmt/format.h>

#include <charconv>

#include "cli/command.h"
#include "cli/writing.h"
#include "contract/goal_moves.h"
#include "ledger/check_text.h"

namespace hc::cli {
namespace {

Result<double> number(const std::string& text, const std::string& what) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) {
    return Diagnostic{Code::usage, fmt::format("{} is `{}`, and a number is needed", what, text)};
  }
  return value;
}

Result<contract::Amendment> read_amendment(const Parsed& parsed) {
  contract::Amendment amendment;
  amendment.reason = parsed.get("--reason");
  if (parsed.has("--margin")) amendment.margin = HC_TRY(number(parsed.get("--margin"), "--margin"));
  if (parsed.has("--geomean-min")) amendment.geomean_min = HC_TRY(number(parsed.get("--geomean-min"), "--geomean-min"));
  for (const std::string& pair : parsed.all("--target")) {
    const size_t equals = pair.rfind('=');
    if (equals == std::string::npos)
      return Diagnostic{Code::usage, fmt::format("--target is `{}`, and VARIANT=RATIO is needed", pair)};
    amendment.targets.emplace_back(pair.substr(0, equals), HC_TRY(number(pair.substr(equals + 1), "--target")));
  }
  return amendment;
}

Result<int> goal(const Parsed& parsed, const Context& context) {
  const std::string action = parsed.get("ACTION");
  if (action != "pause" && action != "block" && action != "resume" && action != "amend") {
    return Diagnostic{Code::usage, fmt::format("`goal {}` is not known", action)}.fix(
        "pause, block, resume and amend are");
  }
  const contract::Amendment amendment = HC_TRY(read_amendment(parsed));
  Writing writing = HC_TRY(open_writing(parsed, context, "goal " + action));
  std::string said;
  if (action == "pause") {
    HC_TRY(contract::pause_goal(writing.store, parsed.get("--quote")));
    said = "paused, not met: the gate lets go, and every report says so";
  } else if (action == "block") {
    HC_TRY(contract::block_goal(writing.store, writing.anchor, parsed.get("--question"), parsed.all("--evidence")));
    said = "blocked, not met: the gate lets go until the owner has answered";
  } else if (action == "resume") {
    HC_TRY(contract::resume_goal(writing.store, parsed.get("--quote")));
    said = "running again";
  } else {
    said = "amended: " + HC_TRY(contract::amend_goal(writing.store, amendment));
  }
  HC_TRY(finish_writing(writing));
  fmt::print("{} ({})\n", said, writing.goal.task);
  if (action == "pause") {
    const ledger::CheckReport report = ledger::check_goal({contract::goal_path(writing.artifacts), writing.anchor});
    fmt::print("{}", ledger::calibration_lines(report));
  }
  return 0;
}

}  // namespace

const Command& goal_command() {
  static const Command kCommand{
      "goal",
      false,
      "Pause, block, resume or tighten the goal; each leaves a line in the ledger for ever.",
      {{"ACTION", OptionKind::word, "", "pause, block, resume or amend."},
       {"--quote", OptionKind::one, "TEXT", "pause, resume: the owner's own words."},
       {"--question", OptionKind::one, "TEXT", "block: what the owner has to answer."},
       {"--evidence", OptionKind::many, "ID",
        "block: the measured hand-edited kernel and, where one is due, the baseline's ablation: ids or paths."},
       {"--margin", OptionKind::one, "X", "amend: a smaller noise margin."},
       {"--geomean-min", OptionKind::one, "X", "amend: a larger minimum of the geomean."},
       {"--target", OptionKind::many, "V=X", "amend: a larger target for a variant."},
       {"--reason", OptionKind::one, "TEXT", "amend: why."},
       artifacts_option()},
      goal};
  return kCommand;
}

}  // namespace hc::cli
