// Status and plan from the checker, the backlog and the log.
#include "contract/status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "contract/goal.h"
#include "ledger/check_text.h"

namespace hc::contract {
namespace {

constexpr size_t kGlanceLines = 5;

using ledger::VariantVerdict;
using ledger::Verdict;

std::string bound(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "inf"; }

/// Runs of the present goal that were announced and never ended.
std::vector<std::string> unfinished_runs(const ledger::LedgerView& view) {
  std::set<int64_t> ended;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "run_close") ended.insert(line.opens);
  }
  std::vector<std::string> out;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "goal") out.clear();
    if (line.kind != "run_open" || ended.count(line.seq)) continue;
    out.push_back(fmt::format("{} of {} was begun at {} and never ended (ledger line {})", line.purpose,
                              line.variant.empty() ? "the run" : line.variant, line.time.substr(0, 19), line.seq + 1));
  }
  return out;
}

const Idea* best_idea(const Standing& s, const std::string& variant) {
  for (const Idea& idea : s.ideas) {
    if (idea.open && (idea.variant.empty() || idea.variant == variant)) return &idea;
  }
  return nullptr;
}

/// The step for the worst variant that does not pass.
std::string step_for(const Standing& s, const VariantVerdict& v) {
  if (!v.measured || v.reason.starts_with("stale")) {
    return fmt::format("`hillclimb confirm {} --variant {}` tunes it cold and measures it.", s.task, v.name);
  }
  if (v.reason.starts_with("A/A")) {
    return fmt::format(
        "{} lies within the noise of this machine: `hillclimb verify {} --variant {}` calibrates it once more and "
        "measures further pairs; when it stays restless, ask the owner, and a pause names the A/A record.",
        v.name, s.task, v.name);
  }
  if (v.reason.find("too restless") != std::string::npos) {
    return fmt::format(
        "too few pairs of {} hold, whatever its kernel is worth: wait until nothing else runs here, then `hillclimb "
        "verify {} --variant {}` measures further pairs: void ones are counted over all runs of the candidate, so that "
        "a "
        "quiet run mends a restless one.",
        v.name, s.task, v.name);
  }
  if (v.undecided || v.reason.starts_with("only nominated")) {
    return fmt::format("{} is not decided yet: `hillclimb verify {} --variant {}` measures the pairs that are due.",
                       v.name, s.task, v.name);
  }
  const Idea* idea = best_idea(s, v.name);
  if (idea) {
    return fmt::format("work on {}: idea {} ({}), then a cold full tune: `hillclimb confirm {} --variant {}`.", v.name,
                       idea->id, idea->text, s.task, v.name);
  }
  return fmt::format(
      "work on {}: its backlog is empty, so compare the generated source with {} down to the instructions, write down "
      "what differs (`hillclimb idea add`), transplant it by hand (`hillclimb handoff {} --variant {}` has the file "
      "and the command), and turn what reaches parity into a pass.",
      v.name, v.best_baseline.empty() ? "the best baseline" : v.best_baseline, s.task, v.name);
}

size_t open_ideas(const Standing& s) {
  return static_cast<size_t>(std::count_if(s.ideas.begin(), s.ideas.end(), [](const Idea& i) { return i.open; }));
}

std::string headline(const Standing& s) {
  const ledger::CheckReport& r = s.report;
  if (r.no_goal) return "no goal was created here\n";
  const std::string name =
      fmt::format("{} (run {})", r.task.empty() ? "the goal" : r.task, r.run.empty() ? "?" : r.run);
  if (r.exit_code == ledger::kExitBroken)
    return fmt::format("{}: EVIDENCE BROKEN, nothing counts until it is mended\n", name);
  if (r.met) return fmt::format("{}: MET\n", name);
  const std::string why = r.status == "paused" || r.status == "blocked" ? " (" + r.status + ", not met)" : "";
  return fmt::format("{}: {}{}\n", name, r.exit_code == ledger::kExitUndecided ? "UNDECIDED" : "UNMET", why);
}

std::string idea_line(const Idea& idea, size_t rank) {
  const std::string variant = idea.variant.empty() ? "" : fmt::format(" [{}]", idea.variant);
  if (idea.open) return fmt::format("{}. {}{} {}", rank, idea.id, variant, idea.text);
  return fmt::format("{}{} {}: {} ({})", idea.id, variant, idea.text, idea.outcome, idea.evidence.substr(0, 12));
}

std::string geomean_line(const ledger::CheckReport& r) {
  if (r.geomean.value <= 0) return "geomean: none yet, since not every variant was measured\n";
  return fmt::format("geomean {:.4f}, needed {:.4f}\n", r.geomean.value, r.geomean_min);
}

}  // namespace

std::string live_writer(const std::string& artifacts_dir) {
  const std::string path = join_path(artifacts_dir, ".writer");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0;
  ::close(fd);
  return held ? read_file(path).value_or("another process") : "";
}

Standing look(const std::string& artifacts_dir, const std::string& anchor_path) {
  Standing s;
  s.artifacts_dir = artifacts_dir;
  s.report = ledger::check_goal({goal_path(artifacts_dir), anchor_path});
  s.view = ledger::read_ledger(artifacts_dir);
  s.ideas = backlog(s.view, s.report.run);
  s.log = iterations(s.view, s.report.run);
  const Result<Goal> goal = read_goal(artifacts_dir);
  if (goal.ok()) {
    s.paused_reason = goal.value().paused_reason;
    s.question_for_user = goal.value().question_for_user;
    const Result<ledger::Lock> lock = read_lock(artifacts_dir, goal.value().lock);
    if (goal.value().has_lock() && lock.ok()) s.task = ledger::task_argument(lock.value());
  }
  s.live = live_writer(artifacts_dir);
  s.unfinished = unfinished_runs(s.view);
  return s;
}

std::string variant_line(const VariantVerdict& v) {
  std::string out = fmt::format("{:<4}  {}", v.broken.empty() ? ledger::verdict_name(v.verdict) : "????", v.name);
  if (v.measured) {
    out += fmt::format("  {:.4f} [{}, {}] needs {:.4f}", v.ratio, bound(v.lcb), bound(v.ucb), v.limit);
    if (!v.best_baseline.empty()) out += " against " + v.best_baseline;
  }
  if (v.verdict != Verdict::pass && !v.reason.empty()) out += "; " + v.reason;
  return out;
}

std::string next_step(const Standing& s) {
  const ledger::CheckReport& r = s.report;
  if (!s.live.empty()) return fmt::format("`hillclimb wait`: {} is at work on this goal.", s.live);
  if (r.no_goal) return "`hillclimb start TASK` creates a goal and begins.";
  if (r.exit_code == ledger::kExitBroken) {
    return "restore the files that `hillclimb check` names from a copy; what cannot be restored is measured anew. Do "
           "not "
           "edit anything under artifacts/.";
  }
  if (r.met) {
    const size_t left = open_ideas(s);
    const std::string beyond = fmt::format(" `hillclimb climb {} --beyond` tunes on, the smallest lead first.", s.task);
    if (left == 0) {
      return "the goal is met and the backlog is empty: clean up the history and write the report." + beyond;
    }
    return fmt::format("the goal is met, which is a floor: {} in the backlog first, then history and report.",
                       left == 1 ? "one idea is left" : fmt::format("{} ideas are left", left)) +
           beyond;
  }
  if (r.status == "paused")
    return fmt::format("paused, not met. The owner said: \"{}\". `hillclimb goal resume` goes on.", s.paused_reason);
  if (r.status == "blocked") {
    return fmt::format("blocked, not met. The owner has to answer: {} `hillclimb goal resume` goes on.",
                       s.question_for_user);
  }
  for (const VariantVerdict& v : r.variants) {
    if (v.verdict != Verdict::pass) return step_for(s, v);
  }
  return "every variant passes and the geomean does not: raise the smallest ratio, " +
         (r.variants.empty() ? std::string("and measure again.") : r.variants.front().name + ".");
}

std::string status_text(const Standing& s) {
  const ledger::CheckReport& r = s.report;
  std::string out = headline(s);
  for (const std::string& sentence : r.broken) out += "  broken: " + sentence + "\n";
  for (const VariantVerdict& v : r.variants) out += "  " + variant_line(v) + "\n";
  if (!r.variants.empty()) out += geomean_line(r);
  out += ledger::calibration_lines(r);
  out += "next: " + next_step(s) + "\n";
  for (const std::string& sentence : s.unfinished) out += "incomplete: " + sentence + "\n";
  if (const size_t count = open_ideas(s); count > 0) {
    out += fmt::format("backlog ({} open):\n", count);
    for (size_t i = 0; i < s.ideas.size() && s.ideas[i].open && i < kGlanceLines; ++i)
      out += "  " + idea_line(s.ideas[i], i + 1) + "\n";
  } else {
    out += "backlog: empty\n";
  }
  if (!s.log.empty()) out += "log:\n";
  for (size_t i = s.log.size() > kGlanceLines ? s.log.size() - kGlanceLines : 0; i < s.log.size(); ++i) {
    out += "  " + iteration_line(s.log[i]) + "\n";
  }
  for (const std::string& sentence : r.notes) out += "note: " + sentence + "\n";
  return out;
}

std::string status_json(const Standing& s) {
  Json out = parse_json(ledger::to_json(s.report)).value_or(Json::object());
  out["next"] = next_step(s);
  out["backlog"] = Json::array();
  for (const Idea& idea : s.ideas) {
    out["backlog"].push_back({{"id", idea.id},
                              {"text", idea.text},
                              {"variant", idea.variant},
                              {"open", idea.open},
                              {"outcome", idea.outcome},
                              {"evidence", idea.evidence}});
  }
  out["log"] = Json::array();
  for (const Iteration& one : s.log) {
    out["log"].push_back({{"time", one.time},
                          {"variant", one.variant},
                          {"idea", one.idea},
                          {"result", one.result},
                          {"verdict", one.verdict}});
  }
  out["unfinished"] = s.unfinished;
  out["live"] = s.live;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string plan_text(const Standing& s) {
  const ledger::CheckReport& r = s.report;
  std::string out = fmt::format("# Plan of {}, run {}\n\n", r.task, r.run);
  out +=
      "Generated from the ledger by `hillclimb`; edits are lost. Change it with `hillclimb idea` and `hillclimb "
      "log`.\n\n";
  out += "## Verdict\n\n" + headline(s) + "\n";
  for (const std::string& sentence : r.broken) out += "* broken: " + sentence + "\n";
  for (const VariantVerdict& v : r.variants) out += "* " + variant_line(v) + "\n";
  out += "\n" + geomean_line(r) + ledger::calibration_lines(r) + "\nNext: " + next_step(s) +
         "\n\n## Backlog, best first\n\n";
  size_t rank = 0;
  for (const Idea& idea : s.ideas) {
    if (idea.open) out += idea_line(idea, ++rank) + "\n";
  }
  if (rank == 0) out += "Empty.\n";
  out += "\n## Closed ideas\n\n";
  for (const Idea& idea : s.ideas) {
    if (!idea.open) out += "* " + idea_line(idea, 0) + "\n";
  }
  out += "\n## Log\n\n";
  for (const Iteration& one : s.log) out += "* " + iteration_line(one) + "\n";
  return out;
}

Result<std::string> write_plan(const std::string& artifacts_dir, const std::string& anchor_path) {
  const Standing s = look(artifacts_dir, anchor_path);
  if (s.report.run.empty()) return std::string();
  const std::string folder = join_path(artifacts_dir, s.report.run);
  const std::string path = join_path(folder, "plan.md");
  std::string why = make_folders(folder);
  if (why.empty()) why = write_file_atomic(path, plan_text(s));
  if (!why.empty())
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be written: {}", path, why)};
  return path;
}

}  // namespace hc::contract
