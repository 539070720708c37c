// `hillclimb gate`: the verdict in the dialect of an agent's stop hook.
#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/evidence.h"
#include "contract/gate.h"

namespace hc::cli {
namespace {

constexpr int kSilenceMs = 2000;          ///< an agent that says nothing for this long has said all
constexpr size_t kMostInput = 16u << 20;  ///< last messages can be long

/// What the agent wrote; nothing from a terminal, and never a wait without end.
std::string read_input() {
  std::string text;
  if (::isatty(0)) return text;
  char buffer[1 << 14];
  while (text.size() < kMostInput) {
    pollfd wait{0, POLLIN, 0};
    if (::poll(&wait, 1, kSilenceMs) <= 0) break;
    const ssize_t n = ::read(0, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

Result<int> gate(const Parsed& parsed, const Context& context) {
  const std::string name = parsed.get("--agent", "exit");
  const std::optional<contract::Agent> agent = contract::agent_from(name);
  if (!agent) {
    return Diagnostic{Code::usage, "there is no agent `" + name + "`"}.fix(
        "claude, codex, cursor, gemini and exit are there");
  }
  contract::GateRequest request;
  request.agent = *agent;
  request.artifacts_dir = parsed.get("--artifacts", "artifacts");
  request.anchor_path = anchor_path(context, request.artifacts_dir);
  request.give_up_after = static_cast<int>(HC_TRY(parsed.whole("--patience", contract::kGiveUpAfter, 1)));
  if (*agent != contract::Agent::exit) request.input = read_input();
  const contract::GateReply reply = contract::gate(request);
  std::fputs(reply.err.c_str(), stderr);
  // an answer that does not arrive would let the agent go: exit status 2 blocks without one
  const bool said = std::fputs(reply.out.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!said && !reply.allowed) {
    std::fputs("the gate could not write its answer, so this turn cannot end\n", stderr);
    return 2;
  }
  return reply.exit_code;
}

}  // namespace

const Command& gate_command() {
  static const Command kCommand{
      "gate",
      false,
      "Answer an agent that wants to end its turn: the same verdict as `check`, and it fails closed.",
      {{"--agent", OptionKind::one, "NAME", "claude, codex, cursor, gemini, or exit for a plain exit status."},
       {"--artifacts", OptionKind::one, "DIR", "Where the evidence is; artifacts if left out."},
       {"--patience", OptionKind::one, "N",
        "Blocks without new evidence before one stop is let through; 6 if left out."}},
      gate};
  return kCommand;
}

}  // namespace hc::cli
