// The git history as the last step of a climb wants it: planned in groups, checked by rule, rewritten on a new branch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "contract/git.h"
#include "contract/scope.h"

namespace hc::contract {

/// What belongs where; patterns as in the scope.
struct HistoryRules {
  std::vector<std::string> bench{"benchmarks", "bench", "baselines", "tasks"};  ///< one commit at the start
  std::vector<std::string> noland{"plan.md", "**/plan.md", "plans", "notes", "plots", "**/*.png"};  ///< one at the end
  std::vector<std::pair<std::string, std::string>> prefixes;  ///< subject prefix and the paths that ask for it
  TaskScope scope;             ///< allowed paths, and the command that must pass on every commit
  double test_seconds = 3600;  ///< limit of the test command on one commit
};

/// One commit of the history to be.
struct HistoryGroup {
  std::string message;
  std::string at;                    ///< the commit whose state the paths get; usually the head
  std::vector<std::string> paths;    ///< exact paths
  std::vector<std::string> commits;  ///< subjects of what is gathered here, for the reader
};

struct HistoryPlan {
  std::string base, head;
  std::vector<HistoryGroup> groups;
};

/// Proposes groups: benchmarks first, then commits that share files together, planning files last. The plan is meant to
/// be edited before it is applied.
Result<HistoryPlan> plan_history(const Git& git, const HistoryRules& rules, const std::string& base);
std::string to_json(const HistoryPlan& plan);
Result<HistoryPlan> parse_history_plan(const std::string& text, const std::string& where);
/// What a person reads of a plan.
std::string plan_summary(const HistoryPlan& plan);

/// Builds the planned commits on a new branch, touching neither the work tree nor any other branch; the last commit's
/// tree has to be the head's. Returns the new head. usage when the branch exists or the plan is not of this head.
Result<std::string> apply_history(const Git& git, const HistoryPlan& plan, const std::string& branch);

/// Sentences about everything in base..head that breaks the rules, empty if nothing does.
Result<std::vector<std::string>> check_history(const Git& git, const HistoryRules& rules, const std::string& base,
                                               const std::string& head);

/// The commit that ends a history: planning files that are not meant for upstream.
inline constexpr std::string_view kNoland = "[noland]";

}  // namespace hc::contract
