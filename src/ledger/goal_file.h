// The goal file artifacts/goal.json: the spec's fields at their places, ours beside them.
#pragma once

#include <string>
#include <vector>

#include "ledger/records.h"

namespace hc::ledger {

/// One variant's entry. The numbers are for reading: the checker derives them anew from the evidence.
struct GoalShape {
  std::string name;
  double ratio = 0;         ///< baseline time / candidate time against the best baseline; 0 = not measured
  std::string artifact;     ///< `artifacts/<run>/NAME.json`
  double lcb = 0, ucb = 0;  ///< bounds of the ratio; ucb may be infinite (null in the file)
  std::string verdict;      ///< PASS, FAIL, OPEN, or empty before the first measurement
  std::string best_baseline;
  std::vector<std::string> evidence;  ///< object ids behind the ratio
  bool stale = false;                 ///< the candidate would be generated differently today
  double before_ratio = 0;            ///< of the first cold tune, kept for the report
  std::string before_artifact;
  std::vector<std::string> before_evidence;
};

struct Goal {
  std::string task;
  std::string run;
  std::string status = "running";  ///< running, paused, blocked, met
  std::string lock;                ///< object id of the lock; empty in a plain file of the spec
  double geomean_min = 1.0;
  std::vector<GoalShape> shapes;
  std::string paused_reason, question_for_user;
  std::vector<std::string> status_evidence;  ///< object ids behind paused or blocked
  bool has_lock() const { return !lock.empty(); }
  GoalShape* shape(const std::string& name);
};

std::string to_json(const Goal& goal);
Result<Goal> parse_goal(const std::string& text, const std::string& where);

}  // namespace hc::ledger
