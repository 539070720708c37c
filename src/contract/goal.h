// The goal's life: lock and goal file created, shapes updated from evidence, an earlier goal archived.
#pragma once

#include <string>
#include <vector>

#include "contract/task.h"
#include "ledger/goal_file.h"
#include "ledger/judge.h"
#include "ledger/store.h"

namespace hc::contract {

using ledger::Goal;
using ledger::GoalShape;

/// The lock that a task asks for, ready to be stored.
ledger::Lock make_lock(const Task& task, const std::string& run);
/// Stores the lock as an object and as artifacts/<run>/goal.lock, lists it in the ledger; returns its object id.
Result<std::string> store_lock(ledger::Store& store, const ledger::Lock& lock);
/// Moves an earlier artifacts/goal.json into its own run's folder as goal.json (goal-2.json, ...); returns where, or an
/// empty string if there was none.
Result<std::string> archive_goal(ledger::Store& store);
/// Creates artifacts/goal.json with one entry per variant and no ratios yet; archives an earlier one.
Result<Goal> create_goal(ledger::Store& store, const Task& task, const std::string& run);

std::string goal_path(const std::string& artifacts_dir);
Result<Goal> read_goal(const std::string& artifacts_dir);
Status write_goal(const std::string& artifacts_dir, const Goal& goal);
/// The lock that a goal names, its hash verified.
Result<ledger::Lock> read_lock(const std::string& artifacts_dir, const std::string& lock_id);

/// Sets one shape from the evidence given (object ids of pairs artifacts; earlier confirming runs of the same candidate
/// are pooled in by themselves), stores the derived record, rewrites the goal atomically and returns the verdict. The
/// first evidence of a shape also becomes its `before`.
Result<ledger::VariantVerdict> update_shape(ledger::Store& store, const std::string& variant,
                                            const std::vector<std::string>& evidence);
/// Marks a shape's evidence as stale (the compiler or kernel would make another candidate today).
Status mark_stale(ledger::Store& store, const std::string& variant, const std::string& why);
/// Sets status and its text: running, paused (needs the owner's words) or blocked (needs a question and evidence).
Status set_status(ledger::Store& store, const std::string& status, const std::string& words,
                  const std::vector<std::string>& evidence);

}  // namespace hc::contract
