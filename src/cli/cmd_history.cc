// `hillclimb history`: plan, check and apply the history of a climb.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "contract/history.h"

namespace hc::cli {
namespace {

Result<contract::HistoryRules> read_rules(const Parsed& parsed) {
  contract::HistoryRules rules;
  if (parsed.has("--bench")) rules.bench = parsed.all("--bench");
  if (parsed.has("--noland")) rules.noland = parsed.all("--noland");
  for (const std::string& pair : parsed.all("--prefix")) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Diagnostic{Code::usage, fmt::format("--prefix is `{}`, and PREFIX=PATHS is needed", pair)};
    }
    rules.prefixes.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (parsed.has("TASK")) rules.scope = HC_TRY(contract::read_task(parsed.get("TASK"))).scope;
  if (parsed.has("--no-test")) rules.scope.test.clear();
  return rules;
}

Result<int> plan(const contract::Git& git, const Parsed& parsed, const std::string& file) {
  const contract::HistoryRules rules = HC_TRY(read_rules(parsed));
  const contract::HistoryPlan made = HC_TRY(contract::plan_history(git, rules, parsed.get("--base")));
  std::string why = make_folders(file.substr(0, file.rfind('/')));
  if (why.empty()) why = write_file_atomic(file, contract::to_json(made));
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", file, why)};
  fmt::print("{}{} holds the plan; edit it, then `hillclimb history apply --branch NEW`\n",
             contract::plan_summary(made), file);
  return 0;
}

Result<int> apply(const contract::Git& git, const Parsed& parsed, const std::string& file) {
  if (!parsed.has("--branch")) {
    return Diagnostic{Code::usage, "`history apply` lacks --branch"}.fix("the rewritten history goes on a new branch");
  }
  std::string why;
  const std::optional<std::string> text = read_file(file, &why);
  if (!text) {
    return Diagnostic{Code::file_error, fmt::format("{} cannot be read: {}", file, why)}.fix(
        "`hillclimb history plan` makes it");
  }
  const contract::HistoryPlan read = HC_TRY(contract::parse_history_plan(*text, file));
  const std::string head = HC_TRY(contract::apply_history(git, read, parsed.get("--branch")));
  fmt::print("{} on the new branch {} ({})\n", counted(read.groups.size(), "commit"), parsed.get("--branch"),
             head.substr(0, 12));
  return 0;
}

Result<int> check(const contract::Git& git, const Parsed& parsed) {
  const contract::HistoryRules rules = HC_TRY(read_rules(parsed));
  const auto found = HC_TRY(contract::check_history(git, rules, parsed.get("--base"), parsed.get("--head", "HEAD")));
  for (const std::string& sentence : found) fmt::print("{}\n", sentence);
  if (found.empty()) fmt::print("the history is in order\n");
  return found.empty() ? 0 : 1;
}

Result<int> history(const Parsed& parsed, const Context&) {
  const std::string action = parsed.get("ACTION");
  const contract::Git git = HC_TRY(contract::Git::open(parsed.get("--project", ".")));
  const std::string file = parsed.get("--plan", join_path(git.top(), "artifacts/history.json"));
  if (action == "plan") return plan(git, parsed, file);
  if (action == "apply") return apply(git, parsed, file);
  if (action == "check") return check(git, parsed);
  return Diagnostic{Code::usage, fmt::format("`history {}` is not known", action)}.fix("plan, check and apply are");
}

}  // namespace

const Command& history_command() {
  static const Command kCommand{
      "history",
      false,
      "Group the commits of a climb, check the result, and write it on a new branch.",
      {{"ACTION", OptionKind::word, "", "plan, check or apply."},
       {"TASK", OptionKind::optional_word, "", "The task file: its [scope] and test command are checked too."},
       {"--base", OptionKind::one, "COMMIT", "Where the work began; the merge base with origin/main if left out."},
       {"--head", OptionKind::one, "COMMIT", "check: the last commit; HEAD if left out."},
       {"--branch", OptionKind::one, "NAME", "apply: the new branch."},
       {"--plan", OptionKind::one, "FILE", "The plan; artifacts/history.json if left out."},
       {"--bench", OptionKind::many, "PATHS", "Paths of benchmarks and baselines, one commit at the start."},
       {"--noland", OptionKind::many, "PATHS", "Paths of planning files and plots, one commit at the end."},
       {"--prefix", OptionKind::many, "P=PATHS",
        "Subject prefix of commits that touch these paths, such as [cutedsl]=lib/cute."},
       {"--no-test", OptionKind::flag, "", "check: do not run the task's test command."},
       {"--project", OptionKind::one, "DIR", "The repository; this one if left out."}},
      history};
  return kCommand;
}

}  // namespace hc::cli
