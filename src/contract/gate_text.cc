// The gate's messages and dialects.
#include "contract/gate_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace hc::contract {
namespace {

using ledger::VariantVerdict;
using ledger::Verdict;

constexpr size_t kFullLines = 8;  ///< failing variants that are described; of the others only the names

std::string failing_list(const ledger::CheckReport& r) {
  std::string out, names;
  size_t count = 0;
  for (const VariantVerdict& v : r.variants) {
    if (v.verdict == Verdict::pass) continue;
    if (++count <= kFullLines) {
      out += "  " + variant_line(v) + "\n";
    } else {
      names += (names.empty() ? "  and " : ", ") + v.name;
    }
  }
  return names.empty() ? out : out + names + "\n";
}

size_t failing(const ledger::CheckReport& r) {
  return static_cast<size_t>(
      std::count_if(r.variants.begin(), r.variants.end(), [](const auto& v) { return v.verdict != Verdict::pass; }));
}

std::string ledger_tail(const Standing& s) {
  if (s.view.lines.empty()) return "";
  return fmt::format("ledger: {} lines, head {}\n", s.view.lines.size(), s.view.head().substr(0, 16));
}

std::string exits(const ledger::CheckReport& r) {
  std::string worst = r.variants.empty() ? "the worst variant" : r.variants.front().name;
  return fmt::format(
      "The only two ways to end unmet: the owner says so (`hillclimb goal pause --quote \"their words\"`), or a "
      "hand-edited kernel of {} was measured and still falls short (`hillclimb goal block --question \"...\" "
      "--evidence "
      "ID`).\n",
      worst);
}

std::string task_name(const ledger::CheckReport& r) { return r.task.empty() ? "the goal" : r.task; }

std::string unmet_text(const GateRequest& request, const Standing& s, int64_t blocks) {
  const ledger::CheckReport& r = s.report;
  std::string out = fmt::format("{} is not met, so this turn cannot end: {} of {} variants fail.\n", task_name(r),
                                failing(r), r.variants.size());
  out += failing_list(r);
  if (r.geomean.value > 0) out += fmt::format("geomean {:.4f}, needed {:.4f}\n", r.geomean.value, r.geomean_min);
  out += "Next: " + next_step(s) + "\n";
  if (s.live.empty()) out += "Do not summarise; read `hillclimb status` and go on with the worst variant.\n";
  out += exits(r) + ledger_tail(s);
  if (request.agent != Agent::exit && blocks > 1) {
    out += fmt::format("This is block {} of {} without new evidence.\n", blocks, request.give_up_after);
  }
  return out;
}

std::string broken_text(const Standing& s, const std::vector<std::string>& faults) {
  std::string out =
      fmt::format("{} cannot be judged, so this turn cannot end: the evidence is broken.\n", task_name(s.report));
  for (const std::string& sentence : faults) out += "  " + sentence + "\n";
  for (const std::string& sentence : s.report.broken) out += "  " + sentence + "\n";
  out += failing_list(s.report);
  return out +
         "Next: restore what is named from a copy, or measure it anew; `hillclimb check` says what is wrong. Do not "
         "edit anything under artifacts/. If it cannot be mended, say so to the owner.\n" +
         ledger_tail(s);
}

std::string gave_up_text(const GateRequest& request, const Standing& s, const std::vector<std::string>& faults) {
  std::string out = fmt::format(
      "HILLCLIMB GIVES UP FOR NOW: {} is NOT MET. {} stops were blocked without one new measurement, so this one is "
      "let "
      "through to save the owner's money. Nothing is decided by that: the state stays UNMET and the next stop is "
      "blocked "
      "again.\n",
      task_name(s.report), request.give_up_after);
  for (const std::string& sentence : faults) out += "  " + sentence + "\n";
  for (const std::string& sentence : s.report.broken) out += "  " + sentence + "\n";
  return out + failing_list(s.report) + ledger_tail(s);
}

std::string stopped_text(const Standing& s) {
  const ledger::CheckReport& r = s.report;
  const std::string words = r.status == "paused" ? fmt::format("the owner said: \"{}\"", s.paused_reason)
                                                 : fmt::format("the owner has to answer: {}", s.question_for_user);
  const std::string stop = words.ends_with('?') ? "" : ".";
  return fmt::format("stopped, not met: {} is {}; {}{} {} of {} variants fail.\n", task_name(r), r.status, words, stop,
                     failing(r), r.variants.size()) +
         failing_list(r) + ledger_tail(s);
}

std::string met_text(const Standing& s) {
  if (s.report.weak_form) {
    return fmt::format(
        "{} is met in the weaker form of the check only: its goal file has no lock and no ledger, so the "
        "recorded ratios were believed and nothing was proven. `hillclimb check --strict` does not accept "
        "it.\n",
        task_name(s.report));
  }
  return fmt::format("{} is met. Next: {}\n", task_name(s.report), next_step(s)) + ledger_tail(s);
}

std::string text_for(const GateRequest& request, GateReason reason, const Standing& s,
                     const std::vector<std::string>& faults, int64_t blocks) {
  switch (reason) {
    case GateReason::no_goal:
      if (request.agent != Agent::exit) return "";  // most projects have no goal, and their agents hear nothing
      return fmt::format(
          "no goal: {} holds none and none was ever seen here, so nothing can be judged. A checkout needs the goal's "
          "artifacts folder (`--artifacts DIR` names another place); `hillclimb start TASK` creates a goal.\n",
          request.artifacts_dir);
    case GateReason::met:
      return met_text(s);
    case GateReason::stopped:
      return stopped_text(s);
    case GateReason::unmet:
      return unmet_text(request, s, blocks);
    case GateReason::broken:
      return broken_text(s, faults);
    case GateReason::gave_up:
      return gave_up_text(request, s, faults);
    case GateReason::aborted:
      return fmt::format("broken off by the user: {} is not met\n", task_name(s.report));
  }
  return "";
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// A block as the agent's hook protocol has it.
void say_block(Agent agent, const std::string& message, GateReply* reply) {
  reply->exit_code = 0;
  if (agent == Agent::cursor) {
    reply->out = json_line({{"followup_message", message}});
  } else if (agent == Agent::gemini) {
    reply->out = json_line({{"decision", "deny"}, {"reason", message}});
  } else {
    reply->out = json_line({{"decision", "block"}, {"reason", message}});
  }
}

void say_allow(Agent agent, const std::string& message, GateReply* reply) {
  reply->exit_code = 0;
  // Cursor's stop hook knows no field for a word to the user
  if (agent == Agent::cursor || message.empty()) {
    reply->out = "{}\n";
    reply->err = message;
  } else {
    reply->out = json_line({{"systemMessage", message}});
  }
}

int exit_status(GateReason reason, const ledger::CheckReport& report) {
  switch (reason) {
    case GateReason::met:
      return ledger::kExitMet;
    case GateReason::no_goal:  // as `check`: where CI lacks the evidence, nothing is shown
    case GateReason::broken:
      return ledger::kExitBroken;
    default:
      return report.exit_code == ledger::kExitMet ? ledger::kExitUnmet : report.exit_code;
  }
}

}  // namespace

std::string_view gate_reason_word(GateReason reason) {
  switch (reason) {
    case GateReason::no_goal:
      return "no goal";
    case GateReason::met:
      return "met";
    case GateReason::stopped:
      return "stopped, not met";
    case GateReason::unmet:
      return "blocked";
    case GateReason::broken:
      return "broken";
    case GateReason::gave_up:
      return "gave up, not met";
    case GateReason::aborted:
      return "broken off by the user";
  }
  return "";
}

GateReply gate_reply(const GateRequest& request, GateReason reason, const Standing& standing,
                     const std::vector<std::string>& faults, int64_t blocks) {
  GateReply reply;
  reply.reason = reason;
  reply.allowed = reason != GateReason::unmet && reason != GateReason::broken;
  if (reason == GateReason::no_goal && request.agent == Agent::exit) reply.allowed = false;
  reply.message = text_for(request, reason, standing, faults, blocks);
  if (request.agent == Agent::exit) {
    reply.exit_code = exit_status(reason, standing.report);
    (reply.allowed ? reply.out : reply.err) = reply.message;
  } else if (reply.allowed) {
    say_allow(request.agent, reply.message, &reply);
  } else {
    say_block(request.agent, reply.message, &reply);
  }
  return reply;
}

GateReply gate_failure(Agent agent, const std::string& why) {
  GateReply reply;
  reply.reason = GateReason::broken;
  reply.message = fmt::format("the gate could not verify the goal, so this turn cannot end: {}\n", why);
  if (agent == Agent::exit) {
    reply.exit_code = ledger::kExitBroken;
    reply.err = reply.message;
  } else {
    say_block(agent, reply.message, &reply);
  }
  return reply;
}

}  // namespace hc::contract
