// Blocking a goal: the rules that falsification evidence has to keep.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
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

const ledger::Arm* baseline_arm(const PairsArtifact* a, const std::string& name) {
  if (!a) return nullptr;
  for (const ledger::Arm& arm : a->arms) {
    if (arm.role == ledger::Role::baseline && arm.name == name) return &arm;
  }
  return nullptr;
}

/// Why an ablation of the best baseline is due: it has no structure that could be copied, or empty.
std::string ablation_due(const Case& c) {
  const ledger::Arm* arm = baseline_arm(c.reference, c.worst.best_baseline);
  if (arm && arm->has_tuner) return "has a tuned config of its own";
  for (const ledger::LockedBaseline& baseline : c.lock.baselines) {
    if (baseline.name != c.worst.best_baseline) continue;
    const std::optional<Json> recipe = parse_json(baseline.recipe);
    if (recipe && recipe->is_object() && recipe->contains("source")) return "";
  }
  return "names no `source` in its recipe whose structure could be copied";
}

/// Why this is no ablation of the best baseline's own config, or empty.
std::string no_ablation_of_best(const Case& c, const PairsArtifact& a) {
  const std::string name = fmt::format("{}/{}", a.run, a.name);
  const ledger::Arm* whole = baseline_arm(&a, c.worst.best_baseline);
  const ledger::Arm* measured = baseline_arm(c.reference, c.worst.best_baseline);
  if (!whole) return fmt::format("{} does not measure {}, the best baseline", name, c.worst.best_baseline);
  if (measured && (measured->config != whole->config || measured->binary_sha256 != whole->binary_sha256)) {
    return fmt::format("{} ablates another config or binary of {} than the goal's measurement", name, whole->name);
  }
  bool others = false;
  for (const ledger::Arm& arm : a.arms) {
    others |= !arm.varies.empty();
    const bool differs = arm.source_sha256 != whole->source_sha256 || arm.config != whole->config;
    if (arm.varies == whole->name && differs && ledger::arm_seconds(a, arm.name) > 0) return "";
  }
  return others ? fmt::format("{} is an ablation of another implementation than {}, the best baseline", name,
                              c.worst.best_baseline)
                : fmt::format("{} sets nothing of {} back", name, c.worst.best_baseline);
}

std::string ablation_command(const Case& c) {
  return fmt::format("`hillclimb ablate TASK --variant {} --baseline {}` measures it", c.worst.name,
                     c.worst.best_baseline);
}

Status judge_evidence(Case& c, const std::vector<std::string>& ids) {
  bool falls_short = false;
  int64_t ablated_at = -1;
  int64_t tried_at = -1;
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
      if (const std::string why = no_ablation_of_best(c, *a); !why.empty()) {
        return refused(why).fix(ablation_command(c));
      }
      ablated_at = ablated_at < 0 ? c.evidence.listing(id)->seq : std::min(ablated_at, c.evidence.listing(id)->seq);
      continue;
    }
    const Verdict verdict = verdict_of(c, *a);
    if (verdict == Verdict::open) return refused(fmt::format("{} is not decided yet; more pairs are needed", name));
    falls_short = falls_short || verdict == Verdict::fail;
    if (verdict == Verdict::fail) tried_at = std::max(tried_at, c.evidence.listing(id)->opens);
  }
  if (!falls_short) {
    return refused(fmt::format("no hand-edited kernel of {} was shown to fall short of {}", c.worst.name,
                               c.worst.best_baseline))
        .fix("hand-edit its generated source to the baseline's structure and measure it with `hillclimb try`");
  }
  const std::string due = ablation_due(c);
  if (due.empty()) return success();
  if (ablated_at < 0) {
    return refused(fmt::format("{} {}: an ablation of its config is needed beside the hand-edited kernel, to show "
                               "which features carry its edge",
                               c.worst.best_baseline, due))
        .fix(ablation_command(c) + "; transplant what carries the edge, then `hillclimb try`");
  }
  if (tried_at < ablated_at) {
    return refused(fmt::format("the hand-edited kernel was measured before the ablation of {}, so it cannot carry what "
                               "that showed",
                               c.worst.best_baseline))
        .fix("transplant what carries the edge, then `hillclimb try` and name that");
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
