// The stop gate: the checker's verdict as an answer to an agent that wants to end its turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/checker.h"

namespace hc::contract {

/// Whose stop hook asks; `exit` is a plain exit status for CI and git hooks.
enum class Agent : uint8_t { claude, codex, cursor, gemini, exit };
/// The names as typed, in the order of the enumerators.
const std::vector<std::string_view>& agent_names();
std::optional<Agent> agent_from(std::string_view name);
std::string_view agent_name(Agent agent);

/// Blocks without new evidence after which one stop is let through, so that a stuck agent does not spend for ever.
inline constexpr int kGiveUpAfter = 6;

struct GateRequest {
  Agent agent = Agent::exit;
  std::string artifacts_dir = "artifacts";
  std::string anchor_path;  ///< the gate's own state lies beside it; empty: no state is kept
  std::string input;        ///< what the agent wrote to standard input: JSON, empty or damaged
  int give_up_after = kGiveUpAfter;
};

/// Why the gate answered as it did.
enum class GateReason : uint8_t { no_goal, met, stopped, unmet, broken, gave_up, aborted };

struct GateReply {
  bool allowed = false;
  GateReason reason = GateReason::broken;
  std::string message;  ///< for the agent or its owner; empty when there is nothing to say
  int exit_code = 2;    ///< what the hook ends with
  std::string out;      ///< exactly what goes to standard output
  std::string err;      ///< exactly what goes to standard error
};

/// Judges the goal and answers in the agent's dialect. Never fails: whatever cannot be judged blocks.
GateReply gate(const GateRequest& request);
/// The answer when the judgement itself broke down: blocks in every dialect.
GateReply gate_failure(Agent agent, const std::string& why);

/// Where the gate counts its blocks and remembers that a goal was seen: beside the anchor, outside of artifacts/.
std::string gate_state_path(const std::string& anchor_path);
/// Number of ledger lines that are evidence: announced runs and stored objects. Talk (log, idea, gate) is none.
int64_t evidence_lines(const ledger::LedgerView& view);

}  // namespace hc::contract
