// Where a goal stands, for a reader who knows nothing of what went before: the glance, the next step, the plan
// document.
#pragma once

#include <string>
#include <vector>

#include "contract/backlog.h"
#include "contract/iteration_log.h"
#include "ledger/checker.h"
#include "ledger/goal_file.h"

namespace hc::contract {

/// Everything that the glance, the plan and the gate speak of.
struct Standing {
  std::string artifacts_dir;
  ledger::CheckReport report;
  ledger::LedgerView view;
  std::vector<Idea> ideas;
  std::vector<Iteration> log;
  std::string paused_reason, question_for_user;
  std::string task = "TASK";            ///< the task file as an argument, where the lock names it
  std::vector<std::string> unfinished;  ///< announced runs that never ended, as sentences
  std::string live;                     ///< who is writing the goal at this moment, or empty
};

/// Checks the goal and reads backlog and log; never fails, what is wrong is in the report.
Standing look(const std::string& artifacts_dir, const std::string& anchor_path);
/// What to do now, in one or two sentences that name commands.
std::string next_step(const Standing& standing);
/// A failing variant in one line: verdict, ratio with bounds, best baseline, reason.
std::string variant_line(const ledger::VariantVerdict& verdict);
/// The glance: verdict, variants worst first, next step, backlog, last log lines.
std::string status_text(const Standing& standing);
/// The same as JSON: the checker's report with `next`, `backlog`, `log`, `unfinished` and `live` beside it.
std::string status_json(const Standing& standing);
/// The plan document in Markdown.
std::string plan_text(const Standing& standing);
/// Rewrites artifacts/<run>/plan.md; returns its path, or an empty one when there is no goal.
Result<std::string> write_plan(const std::string& artifacts_dir, const std::string& anchor_path);
/// Who holds the goal's writer lock, or empty.
std::string live_writer(const std::string& artifacts_dir);

}  // namespace hc::contract
