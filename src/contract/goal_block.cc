// Blocking a goal: the rules that falsification evidence has to keep.
#include <fmt/format.h>

#include <algorithm>

#include "contract/backlog.h"
#include "contract/goal_moves.h"
#include "ledger/checker.h"

namespace hc::contract {
namespace {

using ledger::PairsArtifact;
using ledger::Purpose;
using ledger::VariantVerdict;
using ledger::Verdict;

Diagnostic refused(std::string message) {
  return Diagnostic{.code = Code::goal_error, .message = "not blocked: " + std::move(message)};
}

/// Everything that one request to block is judged by.
struct Case {
  ledger::Evidence& evidence;
  const ledger::Lock& lock;
  const VariantVerdict& worst;
  const PairsArtifact* reference = nullptr;  ///< the newest measurement of the worst variant
};

/// The device that a measurement ran on, by the most telling facts that both have; empty when they agree.
std::string other_device(const PairsArtifact& a, const PairsArtifact& b) {
  for (const char* key : {"gpu_uuid", "uuid", "gpu", "cpu", "cores"}) {
    const std::string left = ledger::fact(a.machine, key), right = ledger::fact(b.machine, key);
    if (!left.empty() && !right.empty() && left != right) return fmt::format("{} and {}", left, right);
  }
  return "";
}

Verdict verdict_of(const Case& c, const PairsArtifact& a) {
  ledger::CompareRules rules;
  rules.limit = c.worst.limit;
  rules.alpha = c.lock.criteria.alpha;
  rules.rate_tolerance = c.lock.criteria.rate_tolerance;
  return ledger::compare_pairs(ledger::pair_times(a, c.worst.best_baseline), rules).verdict;
}

/// Why this measurement cannot speak for the worst variant, or empty.
std::string unusable(const Case& c, const PairsArtifact& a, const ledger::LedgerLine& listed) {
  const std::string name = fmt::format("{}/{}", a.run, a.name);
  if (a.variant != c.worst.name) {
    return fmt::format("{} is of {}; the worst failing variant is {}", name, a.variant, c.worst.name);
  }
  const std::vector<std::string> faults = ledger::invalidities(a, c.lock);
  if (!faults.empty()) return faults.front();
  const auto& lines = c.evidence.view().lines;
  const bool known = listed.opens >= 0 && listed.opens < listed.seq;
  if (!known || lines[static_cast<size_t>(listed.opens)].kind != "run_open" ||
      lines[static_cast<size_t>(listed.opens)].purpose != ledger::purpose_name(a.purpose)) {
    return fmt::format("{} was not announced in the ledger before it ran", name);
  }
  if (a.purpose == Purpose::ablate) return "";
  if (const std::string why = ledger::refusal(a); !why.empty()) return fmt::format("{}: {}", name, why);
  if (c.reference) {
    const std::string devices = other_device(a, *c.reference);
    if (!devices.empty()) return fmt::format("{} ran on another device than the goal's measurement: {}", name, devices);
  }
  if (ledger::pair_times(a, c.worst.best_baseline).empty()) {
    return fmt::format("{} does not measure {}, the best baseline", name, c.worst.best_baseline);
  }
  return "";
}

/// A hand-edited kernel of the worst variant that reached parity since the goal was created; empty if there is none.
std::string parity(Case& c) {
  std::vector<const ledger::LedgerLine*> since;
  for (const ledger::LedgerLine& line : c.evidence.view().lines) {
    if (line.kind == "goal") since.clear();
    if (line.kind == "object" && line.variant == c.worst.name) since.push_back(&line);
  }
  for (const ledger::LedgerLine* line : since) {
    std::vector<std::string> broken;
    const std::string* text = c.evidence.text(line->object, &broken);
    if (!text || text->find("\"pairs\"") == std::string::npos) continue;
    const PairsArtifact* a = c.evidence.pairs(line->object, &broken);
    if (!a || a->purpose != Purpose::attempt || !unusable(c, *a, *line).empty()) continue;
    if (verdict_of(c, *a) == Verdict::pass) return line->object;
  }
  return "";
}

/// Whether the best baseline has a config of its own that can be ablated.
bool best_has_tuner(const Case& c) {
  if (!c.reference) return false;
  return std::any_of(c.reference->arms.begin(), c.reference->arms.end(),
                     [&](const ledger::Arm& arm) { return arm.name == c.worst.best_baseline && arm.has_tuner; });
}

Status judge_evidence(Case& c, const std::vector<std::string>& ids) {
  bool falls_short = false, ablated = false;
  for (const std::string& id : ids) {
    std::vector<std::string> broken;
    const PairsArtifact* a = c.evidence.pairs(id, &broken);
    if (!a) return refused(broken.front());
    const std::string name = fmt::format("{}/{}", a->run, a->name);
    if (a->purpose != Purpose::attempt && a->purpose != Purpose::ablate) {
      return refused(fmt::format("{} is a measurement to {}; only a hand-edited kernel (`try`) and an ablation count",
                                 name, ledger::purpose_name(a->purpose)));
    }
    if (const std::string why = unusable(c, *a, *c.evidence.listing(id)); !why.empty()) return refused(why);
    if (a->purpose == Purpose::ablate) {
      ablated = true;
      continue;
    }
    const Verdict verdict = verdict_of(c, *a);
    if (verdict == Verdict::open) return refused(fmt::format("{} is not decided yet; more pairs are needed", name));
    falls_short = falls_short || verdict == Verdict::fail;
  }
  if (!falls_short) {
    return refused(fmt::format("no hand-edited kernel of {} was shown to fall short of {}", c.worst.name,
                               c.worst.best_baseline))
        .fix("hand-edit its generated source to the baseline's structure and measure it with `hillclimb try`");
  }
  if (best_has_tuner(c) && !ablated) {
    return refused(fmt::format("{} has a tuned config of its own: an ablation of it is needed beside the hand-edited "
                               "kernel, to show which features carry its edge",
                               c.worst.best_baseline))
        .fix("`hillclimb ablate` measures it; transplant what carries the edge, then `hillclimb try`");
  }
  return success();
}

/// The worst variant that fails, or why none can be blocked on.
Result<VariantVerdict> failing_variant(const ledger::CheckReport& report) {
  if (report.exit_code == ledger::kExitBroken) {
    return refused(report.broken.empty() ? "the goal cannot be judged" : report.broken.front());
  }
  if (report.weak_form) return refused("this goal file has no ledger, so nothing can be shown");
  if (report.met) return refused("the goal is met");
  for (const VariantVerdict& v : report.variants) {
    if (v.verdict == Verdict::pass) continue;
    if (v.verdict == Verdict::fail) return v;
    return refused(
        fmt::format("{}, the worst variant, is not decided: {}; noise on the machine is a reason to pause, "
                    "never to block",
                    v.name, v.reason));
  }
  return refused("no variant fails");
}

}  // namespace

Status block_goal(ledger::Store& store, const std::string& anchor_path, const std::string& question,
                  const std::vector<std::string>& evidence) {
  const size_t mark = question.find('?');
  if (question.find_first_not_of(" \t\r\n") == std::string::npos || mark == std::string::npos) {
    return refused("a concrete question for the owner is needed, with its question mark");
  }
  const Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  const ledger::CheckReport report = ledger::check_goal({goal_path(store.artifacts_dir()), anchor_path});
  const VariantVerdict worst = HC_TRY(failing_variant(report));
  const ledger::Lock lock = HC_TRY(read_lock(store.artifacts_dir(), goal.lock));
  ledger::Evidence objects(store.artifacts_dir(), store.view());
  Case c{objects, lock, worst, nullptr};
  for (const GoalShape& shape : goal.shapes) {
    std::vector<std::string> broken;
    if (shape.name == worst.name && !shape.evidence.empty())
      c.reference = objects.pairs(shape.evidence.back(), &broken);
  }
  if (const std::string id = parity(c); !id.empty()) {
    const std::string text =
        fmt::format("the hand-edited kernel of {} (object {}) reaches parity: make it a general pass", worst.name,
                    id.substr(0, 12));
    const std::string idea = HC_TRY(add_idea(store, goal.run, text, worst.name, 1));
    return refused(fmt::format("{}; it is idea {} of the backlog now", text, idea));
  }
  std::vector<std::string> ids;
  for (const std::string& one : evidence) ids.push_back(HC_TRY(resolve_object(store.view(), one)));
  HC_TRY(judge_evidence(c, ids));
  return set_status(store, "blocked", question, ids);
}

}  // namespace hc::contract
