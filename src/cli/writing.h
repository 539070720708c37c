// What the commands that write the goal share: the writer's lock, the store, and the plan document afterwards.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "ledger/goal_file.h"
#include "ledger/store.h"

namespace hc::cli {

/// The goal with its store, and the writer's lock for those who change the goal itself, held as long as this lives.
struct Writing {
  std::string artifacts, anchor;
  std::optional<ledger::WriterLock> lock;
  ledger::Store store;
  ledger::Goal goal;
};

/// The option `--artifacts DIR`.
Option artifacts_option();
/// Takes the lock in the name of `who` (empty: only lines are added, which needs none), opens the store and reads the
/// goal; says what was repaired.
Result<Writing> open_writing(const Parsed& parsed, const Context& context, const std::string& who);
/// Rewrites the plan document.
Status finish_writing(const Writing& writing);

}  // namespace hc::cli
