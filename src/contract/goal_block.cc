// Blocking a goal: the rules are the checker's own.
#include <fmt/format.h>

#include <algorithm>

#include "contract/backlog.h"
#include "contract/goal_moves.h"
#include "ledger/block.h"
#include "ledger/checker.h"

namespace hc::contract {
namespace {

Diagnostic refused(std::string message) {
  return Diagnostic{.code = Code::goal_error, .message = "not blocked: " + std::move(message)};
}

}  // namespace

Status block_goal(ledger::Store& store, const std::string& anchor_path, const std::string& question,
                  const std::vector<std::string>& evidence) {
  Goal asked = HC_TRY(read_goal(store.artifacts_dir()));
  const ledger::CheckReport report = ledger::check_goal({goal_path(store.artifacts_dir()), anchor_path});
  if (report.exit_code == ledger::kExitBroken) {
    return refused(report.broken.empty() ? "the goal cannot be judged" : report.broken.front());
  }
  if (report.weak_form) return refused("this goal file has no ledger, so nothing can be shown");
  if (report.met) return refused("the goal is met");
  const ledger::Lock lock = HC_TRY(read_lock(store.artifacts_dir(), asked.lock));
  asked.question_for_user = question;
  asked.status_evidence.clear();
  for (const std::string& one : evidence) {
    asked.status_evidence.push_back(HC_TRY(resolve_object(store.view(), one)));
  }
  ledger::Evidence objects(store.artifacts_dir(), store.view());
  const ledger::BlockRuling ruling = ledger::rule_on_block(objects, lock, asked, report.variants);
  if (!ruling.parity.empty()) {
    const std::string idea = HC_TRY(add_idea(store, asked.run, ruling.doubt, ruling.variant, 1));
    return refused(fmt::format("{}; it is idea {} of the backlog now", ruling.doubt, idea));
  }
  if (ruling.doubt.empty()) return set_status(store, "blocked", question, asked.status_evidence);
  return ruling.fix.empty() ? refused(ruling.doubt) : refused(ruling.doubt).fix(ruling.fix);
}

}  // namespace hc::contract
