// The checker: goal file, lock, ledger and objects in; a verdict and one of four exit codes out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ledger/judge.h"

namespace hc::ledger {

inline constexpr int kExitMet = 0;
inline constexpr int kExitUnmet = 1;
inline constexpr int kExitBroken = 2;
inline constexpr int kExitUndecided = 3;

struct CheckOptions {
  std::string goal_path = "artifacts/goal.json";
  std::string anchor_path;               ///< empty: no anchor is looked at
  std::function<void()> after_anchor{};  ///< called between two reads, where another process might write
  bool strict = false;                   ///< a goal file without lock and ledger is never met
};

struct CheckReport {
  int exit_code = kExitBroken;
  std::string text;  ///< what a person reads, ends with a newline
  std::string task, run, status;
  bool no_goal = false;    ///< there is no goal file and the ledger never saw one created
  bool weak_form = false;  ///< a goal file without lock and ledger
  bool met = false, met_point = false;
  Geomean geomean;
  double geomean_min = 1.0;
  std::vector<VariantVerdict> variants;  ///< worst first
  std::vector<GoalShape> shapes;         ///< as the goal file has them
  std::vector<std::string> broken;       ///< sentences
  std::vector<std::string> notes;
  std::vector<Calibration> calibrations;  ///< A/A records that the verdicts rest on, each once
};

/// How the goal file's status differs from the last decision in the ledger, or empty: paused and blocked come from
/// `hillclimb goal` alone.
std::string status_disagreement(const LedgerView& view, const Goal& goal);
/// Judges a goal; never fails, everything wrong is in the report. Reading an anchor that a writer moves meanwhile is no
/// fault.
CheckReport check_goal(const CheckOptions& options);
/// The report as JSON text.
std::string to_json(const CheckReport& report);

}  // namespace hc::ledger
