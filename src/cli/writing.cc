// Opening the goal for writing.
#include "cli/writing.h"

#include <fmt/format.h>

#include "cli/evidence.h"
#include "contract/goal.h"
#include "contract/status.h"

namespace hc::cli {

Option artifacts_option() {
  return {"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."};
}

Result<Writing> open_writing(const Parsed& parsed, const Context& context, const std::string& who) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  // before anything is made: a command on a folder without goal leaves no trace
  ledger::Goal goal = HC_TRY(contract::read_goal(artifacts));
  const std::string anchor = anchor_path(context, artifacts);
  std::optional<ledger::WriterLock> lock;
  if (!who.empty()) lock = HC_TRY(ledger::WriterLock::take(artifacts, who));
  ledger::Store store = HC_TRY(ledger::Store::open(artifacts, anchor));
  for (const std::string& sentence : store.repairs()) fmt::print(stderr, "note: {}\n", sentence);
  goal = HC_TRY(contract::read_goal(artifacts));
  return Writing{artifacts, anchor, std::move(lock), std::move(store), std::move(goal)};
}

Status finish_writing(const Writing& writing) {
  HC_TRY(contract::write_plan(writing.artifacts, writing.anchor));
  return success();
}

}  // namespace hc::cli
