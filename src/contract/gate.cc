// The gate's decision.
#include "contract/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/files.h"
#include "base/json.h"
#include "contract/gate_state.h"
#include "contract/gate_text.h"
#include "contract/goal.h"
#include "contract/status.h"

namespace hc::contract {
namespace {

/// What the agent told about its turn; every field may be missing.
struct TurnInput {
  std::string session;
  bool aborted = false;  ///< the user broke the turn off: nothing is asked of the agent
};

/// Reads the hook's input, tolerating a byte-order mark, nothing at all, and anything that is not JSON.
TurnInput read_turn(std::string_view text) {
  TurnInput turn;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::optional<Json> json = parse_json(text);
  if (!json || !json->is_object()) return turn;
  const auto word = [&](const char* name) {
    const auto it = json->find(name);
    return it != json->end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  turn.session = word("session_id").empty() ? word("conversation_id") : word("session_id");
  turn.aborted = word("status") == "aborted";
  return turn;
}

/// Everything that one stop is judged by.
struct Stop {
  const GateRequest& request;
  Standing standing;
  GateState state;
  std::vector<std::string> faults;  ///< what the gate itself found wrong, beyond the checker
};

bool ledger_knows_goal(const ledger::LedgerView& view) {
  return std::any_of(view.lines.begin(), view.lines.end(), [](const ledger::LedgerLine& line) {
    // a lost ledger may have held the goal, so it counts as one
    return line.kind == "goal" || line.kind == "amend" || line.kind == "lost";
  });
}

/// Whether a goal was ever created here, as far as ledger, anchor and the gate's memory tell.
bool goal_existed(Stop& stop) {
  const ledger::LedgerView& view = stop.standing.view;
  if (stop.state.damaged) stop.faults.push_back("the gate's own state is damaged, so a goal is assumed");
  if (stop.state.goal_seen || ledger_knows_goal(view) || !view.broken.empty()) return true;
  const std::optional<ledger::Anchor> anchor = ledger::read_anchor(stop.request.anchor_path);
  if (!anchor) return false;
  for (std::string& sentence : ledger::compare_with_anchor(view, *anchor)) stop.faults.push_back(std::move(sentence));
  return !stop.faults.empty();
}

/// The ledger against the head that the last stop saw.
void compare_with_memory(Stop& stop) {
  if (stop.state.head.count <= 0) return;
  for (const std::string& sentence : ledger::compare_with_anchor(stop.standing.view, stop.state.head)) {
    stop.faults.push_back("since the last stop: " + sentence);
  }
}

GateReason judge(Stop& stop) {
  const ledger::CheckReport& r = stop.standing.report;
  // the checker says so; without a goal file in the linked folder the stop would pass for one without a goal
  if (!ledger::symlinked_folder(stop.request.artifacts_dir).empty()) return GateReason::broken;
  const bool here = file_exists(goal_path(stop.request.artifacts_dir));
  if (!here && !goal_existed(stop)) return GateReason::no_goal;
  if (!here) {
    stop.faults.push_back("a goal was created here, and its goal file is gone");
    return GateReason::broken;
  }
  stop.state.goal_seen = true;
  compare_with_memory(stop);
  if (r.exit_code == ledger::kExitBroken || !stop.faults.empty()) return GateReason::broken;
  if (r.met) return GateReason::met;
  return r.status == "paused" || r.status == "blocked" ? GateReason::stopped : GateReason::unmet;
}

/// Counts a block; true when the agent is to be let go to save its owner's money.
bool spent(Stop& stop, const std::string& session_id, int64_t* blocks) {
  const int64_t evidence = evidence_lines(stop.standing.view);
  GateSession* session = stop.state.session(session_id);
  if (session->evidence != evidence) session->blocks = 0;
  session->evidence = evidence;
  *blocks = ++session->blocks;
  if (stop.request.agent == Agent::exit || session->blocks <= stop.request.give_up_after) return false;
  // begins to count anew: the next stop is blocked again
  session->blocks = 0;
  ++stop.state.give_ups;
  return true;
}

/// A line in the ledger for every stop, so that a report shows whether the gate was alive; failures do not matter here.
void leave_trace(Stop& stop, GateReason reason) {
  if (reason == GateReason::no_goal || reason == GateReason::broken || stop.standing.report.weak_form) return;
  Result<ledger::Store> store = ledger::Store::open(stop.request.artifacts_dir, stop.request.anchor_path);
  if (!store.ok()) return;
  ledger::LedgerLine line;
  line.kind = reason == GateReason::gave_up ? "gate_giveup" : "gate";
  line.run = stop.standing.report.run;
  line.purpose = agent_name(stop.request.agent);
  line.note = fmt::format("{}; {}", gate_reason_word(reason), short_verdict(stop.standing.report));
  if (store.value().append(std::move(line)).ok()) stop.standing.view = store.value().view();
}

GateReply decide(const GateRequest& request) {
  const TurnInput turn = read_turn(request.input);
  Stop stop{request, look(request.artifacts_dir, request.anchor_path), {}, {}};
  // a writer at work may have changed things between two reads of one look
  if (stop.standing.report.exit_code == ledger::kExitBroken && !stop.standing.report.no_goal) {
    stop.standing = look(request.artifacts_dir, request.anchor_path);
  }
  const std::string path = gate_state_path(request.anchor_path);
  stop.state = read_gate_state(path);
  GateReason reason = judge(stop);
  int64_t blocks = 0;
  if (turn.aborted && (reason == GateReason::unmet || reason == GateReason::broken)) {
    reason = GateReason::aborted;
  } else if (reason == GateReason::unmet || reason == GateReason::broken) {
    if (spent(stop, turn.session, &blocks)) reason = GateReason::gave_up;
  }
  leave_trace(stop, reason);
  ++stop.state.calls;
  const bool trusted = stop.faults.empty() && stop.standing.report.exit_code != ledger::kExitBroken;
  if (trusted && reason != GateReason::no_goal) {
    stop.state.head = {static_cast<int64_t>(stop.standing.view.lines.size()), stop.standing.view.head()};
  }
  if (reason != GateReason::no_goal || !stop.state.sessions.empty()) {
    const std::string why = write_gate_state(path, stop.state);
    if (!why.empty()) stop.faults.push_back("the gate cannot count its blocks: " + why);
  }
  return gate_reply(request, reason, stop.standing, stop.faults, blocks);
}

}  // namespace

const std::vector<std::string_view>& agent_names() {
  static const std::vector<std::string_view> kNames{"claude", "codex", "cursor", "gemini", "exit"};
  return kNames;
}

std::optional<Agent> agent_from(std::string_view name) {
  const auto& names = agent_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Agent>(it - names.begin());
}

std::string_view agent_name(Agent agent) { return agent_names()[static_cast<size_t>(agent)]; }

std::string gate_state_path(const std::string& anchor_path) {
  if (anchor_path.empty()) return "";
  return (anchor_path.ends_with(".json") ? anchor_path.substr(0, anchor_path.size() - 5) : anchor_path) + ".gate.json";
}

int64_t evidence_lines(const ledger::LedgerView& view) {
  return std::count_if(view.lines.begin(), view.lines.end(),
                       [](const ledger::LedgerLine& line) { return line.kind == "object" || line.kind == "run_open"; });
}

GateReply gate(const GateRequest& request) {
  // the one place that must answer whatever happens below it: the system's libraries may throw
  try {
    return decide(request);
  } catch (const std::exception& error) {
    return gate_failure(request.agent, error.what());
  }
}

}  // namespace hc::contract
