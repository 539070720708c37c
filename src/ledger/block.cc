// The rules that falsification evidence has to keep before a goal may stop as blocked.
#include "ledger/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace hc::ledger {
namespace {

/// Everything that one request to block is judged by.
struct BlockCase {
  Evidence& evidence;
  const Lock& lock;
  const VariantVerdict& worst;
  const PairsArtifact* reference = nullptr;  ///< the newest measurement of the worst variant against its best baseline
  int64_t goal_seq = -1;                     ///< ledger line that made the goal
};

const Arm* arm_of(const PairsArtifact* a, Role role, const std::string& name) {
  if (!a) return nullptr;
  for (const Arm& arm : a->arms) {
    if (arm.role == role && (name.empty() || arm.name == name)) return &arm;
  }
  return nullptr;
}

std::string named(const PairsArtifact& a) { return fmt::format("{}/{}", a.run, a.name); }

Verdict verdict_of(const BlockCase& c, const PairsArtifact& a) {
  CompareRules rules;
  rules.limit = c.worst.limit;
  rules.alpha = c.lock.criteria.alpha;
  rules.rate_tolerance = c.lock.criteria.rate_tolerance;
  rules.ahead_when_slow = c.lock.rules_version >= 2;
  return compare_pairs(pair_times(a, c.worst.best_baseline), rules).verdict;
}

/// Why this measurement is not of the goal's device, timer and kernel, or empty.
std::string another_setting(const BlockCase& c, const PairsArtifact& a) {
  if (!c.reference) return "";
  if (const std::string devices = other_device(a, *c.reference); !devices.empty()) {
    return fmt::format("{} ran on another device than the goal's measurement: {}", named(a), devices);
  }
  if (a.timer != c.reference->timer) {
    return fmt::format("{} was timed as {} and the goal's measurement as {}", named(a), a.timer, c.reference->timer);
  }
  return "";
}

/// Why this attempt did not run another source than the generated one, or empty. The source hash of a worker's own arm
/// is of its recipe, so only the text that was generated for the very config tells.
std::string not_edited(const BlockCase& c, const PairsArtifact& a) {
  const Arm *edited = arm_of(&a, Role::candidate, ""), *own = arm_of(c.reference, Role::candidate, "");
  if (a.purpose != Purpose::attempt || !edited) return "";
  if (own && edited->source_sha256 == own->source_sha256) {
    return fmt::format("{} ran the goal's own candidate: nothing in it was edited by hand", named(a));
  }
  if (edited->generated_sha256.empty()) {
    return fmt::format("{} does not say what is generated for its config, so no edit is shown", named(a));
  }
  if (edited->source_sha256 != edited->generated_sha256) return "";
  return fmt::format("{} ran the source as it is generated: nothing in it was edited by hand", named(a));
}

/// Why this measurement cannot speak for the worst variant, or empty.
std::string unusable(const BlockCase& c, const PairsArtifact& a, const std::string& id) {
  if (a.variant != c.worst.name) {
    return fmt::format("{} is of {}; the worst failing variant is {}", named(a), a.variant, c.worst.name);
  }
  if (c.evidence.listing(id)->seq < c.goal_seq) return named(a) + " was measured before the goal was made";
  if (const std::vector<std::string> faults = invalidities(a, c.lock); !faults.empty()) return faults.front();
  if (const auto faults = announcement_faults(c.evidence, id, a); !faults.empty()) return faults.front();
  if (const std::string why = refusal(a); !why.empty()) return fmt::format("{}: {}", named(a), why);
  if (std::string why = another_setting(c, a); !why.empty()) return why;
  if (std::string why = not_edited(c, a); !why.empty()) return why;
  if (pair_times(a, c.worst.best_baseline).empty()) {
    return fmt::format("{} does not measure {}, the best baseline", named(a), c.worst.best_baseline);
  }
  return "";
}

/// A hand-edited kernel of the worst variant that reached parity since the goal was made; empty if there is none.
std::string parity_of(BlockCase& c) {
  for (const LedgerLine& line : c.evidence.view().lines) {
    if (line.seq < c.goal_seq || line.kind != "object" || line.variant != c.worst.name) continue;
    std::vector<std::string> ignored;  // whatever is wrong with an object is said where it is evidence
    const std::string* text = c.evidence.text(line.object, &ignored);
    const Result<std::string> kind = text ? artifact_kind(*text, line.name) : Result<std::string>(Diagnostic{});
    if (!kind.ok() || kind.value() != "pairs") continue;
    const PairsArtifact* a = c.evidence.pairs(line.object, &ignored);
    if (!a || a->purpose != Purpose::attempt || !unusable(c, *a, line.object).empty()) continue;
    if (verdict_of(c, *a) == Verdict::pass) return line.object;
  }
  return "";
}

/// Why an ablation of the best baseline is due: it has no structure that could be copied, or empty.
std::string ablation_due(const BlockCase& c) {
  const Arm* arm = arm_of(c.reference, Role::baseline, c.worst.best_baseline);
  if (arm && arm->has_tuner) return "has a tuned config of its own";
  for (const LockedBaseline& baseline : c.lock.baselines) {
    if (baseline.name != c.worst.best_baseline) continue;
    const std::optional<Json> recipe = parse_json(baseline.recipe);
    if (recipe && recipe->is_object() && recipe->contains("source")) return "";
  }
  return "names no `source` in its recipe whose structure could be copied";
}

/// Why this is no ablation of the best baseline's own config, or empty.
std::string no_ablation_of_best(const BlockCase& c, const PairsArtifact& a) {
  const Arm* whole = arm_of(&a, Role::baseline, c.worst.best_baseline);
  const Arm* measured = arm_of(c.reference, Role::baseline, c.worst.best_baseline);
  if (!whole) return fmt::format("{} does not measure {}, the best baseline", named(a), c.worst.best_baseline);
  if (measured && (measured->config != whole->config || measured->binary_sha256 != whole->binary_sha256)) {
    return fmt::format("{} ablates another config or binary of {} than the goal's measurement", named(a), whole->name);
  }
  bool others = false, unbounded = false;
  for (const Arm& arm : a.arms) {
    others |= !arm.varies.empty();
    const bool differs = arm.source_sha256 != whole->source_sha256 || arm.config != whole->config;
    if (arm.varies != whole->name || !differs || arm_seconds(a, arm.name) <= 0) continue;
    const Comparison worth = compare_pairs(times_between(a, arm.name, whole->name), {});
    if (worth.lcb > 0 && std::isfinite(worth.ucb)) return "";
    unbounded = true;
  }
  if (unbounded) {
    return fmt::format("{} bounds nothing that it sets back in {}: it has too few valid rounds", named(a), whole->name);
  }
  return others ? fmt::format("{} is an ablation of another implementation than {}, the best baseline", named(a),
                              c.worst.best_baseline)
                : fmt::format("{} sets nothing of {} back", named(a), c.worst.best_baseline);
}

BlockRuling refused(std::string doubt, std::string fix = "") { return {std::move(doubt), std::move(fix), "", ""}; }

std::string ablation_command(const BlockCase& c) {
  return fmt::format("`hillclimb ablate {} --variant {} --baseline {}` measures it", task_argument(c.lock),
                     c.worst.name, c.worst.best_baseline);
}

/// Where in the ledger the named measurements lie.
struct Places {
  int64_t ablated_at = -1;  ///< the earliest ablation's object
  int64_t tried_at = -1;    ///< the announcement of the latest hand-edited kernel that falls short
};

/// Takes one named object into account.
BlockRuling judge_one(BlockCase& c, const std::string& id, Places* places) {
  std::vector<std::string> broken;
  const PairsArtifact* a = c.evidence.pairs(id, &broken);
  if (!a) return refused(broken.front());
  if (a->purpose != Purpose::attempt && a->purpose != Purpose::ablate) {
    return refused(fmt::format("{} is a measurement to {}; only a hand-edited kernel (`try`) and an ablation count",
                               named(*a), purpose_name(a->purpose)));
  }
  if (const std::string why = unusable(c, *a, id); !why.empty()) return refused(why);
  const LedgerLine& listed = *c.evidence.listing(id);
  if (a->purpose == Purpose::ablate) {
    if (const std::string why = no_ablation_of_best(c, *a); !why.empty()) return refused(why, ablation_command(c));
    places->ablated_at = places->ablated_at < 0 ? listed.seq : std::min(places->ablated_at, listed.seq);
    return {};
  }
  const Verdict verdict = verdict_of(c, *a);
  if (verdict == Verdict::open) {
    return refused(fmt::format("{} is not decided yet; more pairs are needed", named(*a)));
  }
  if (verdict == Verdict::fail) places->tried_at = std::max(places->tried_at, listed.opens);
  return {};
}

BlockRuling judge_named(BlockCase& c, const std::vector<std::string>& ids) {
  Places places;
  for (const std::string& id : ids) {
    if (BlockRuling ruling = judge_one(c, id, &places); !ruling.doubt.empty()) return ruling;
  }
  if (places.tried_at < 0) {
    return refused(fmt::format("no hand-edited kernel of {}, the worst variant, was shown to fall short of {}",
                               c.worst.name, c.worst.best_baseline),
                   "hand-edit its generated source to the baseline's structure and measure it with `hillclimb try`");
  }
  const std::string due = ablation_due(c);
  if (due.empty()) return {};
  if (places.ablated_at < 0) {
    return refused(fmt::format("{} {}: an ablation of its config is needed beside the hand-edited kernel, to show "
                               "which features carry its edge",
                               c.worst.best_baseline, due),
                   ablation_command(c) + "; transplant what carries the edge, then `hillclimb try`");
  }
  if (places.tried_at > places.ablated_at) return {};
  return refused(fmt::format("the hand-edited kernel was measured before the ablation of {}, so it cannot carry what "
                             "that showed",
                             c.worst.best_baseline),
                 "transplant what carries the edge, then `hillclimb try` and name that");
}

/// The worst variant that does not pass, or nullptr.
const VariantVerdict* worst_of(const std::vector<VariantVerdict>& worst_first) {
  for (const VariantVerdict& v : worst_first) {
    if (v.verdict != Verdict::pass) return &v;
  }
  return nullptr;
}

/// The newest measurement of the worst variant that has its best baseline, or the newest at all.
const PairsArtifact* reference_of(BlockCase& c, const Goal& goal) {
  const PairsArtifact* newest = nullptr;
  std::vector<std::string> ignored;
  for (const GoalShape& shape : goal.shapes) {
    if (shape.name != c.worst.name) continue;
    for (auto id = shape.evidence.rbegin(); id != shape.evidence.rend(); ++id) {
      const PairsArtifact* a = c.evidence.pairs(*id, &ignored);
      if (arm_of(a, Role::baseline, c.worst.best_baseline)) return a;
      newest = newest ? newest : a;
    }
  }
  return newest;
}

}  // namespace

std::vector<PairTimes> times_between(const PairsArtifact& artifact, const std::string& changed,
                                     const std::string& whole) {
  const std::vector<PairTimes> a = pair_times(artifact, changed);
  const std::vector<PairTimes> b = pair_times(artifact, whole);
  std::vector<PairTimes> out;
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    out.push_back({a[k].baseline, b[k].baseline, a[k].baseline_mid_s, b[k].baseline_mid_s});
  }
  return out;
}

BlockRuling rule_on_block(Evidence& evidence, const Lock& lock, const Goal& goal,
                          const std::vector<VariantVerdict>& worst_first) {
  const std::string& question = goal.question_for_user;
  if (question.find_first_not_of(" \t\r\n?") == std::string::npos || question.find('?') == std::string::npos) {
    return refused("a concrete question for the owner is needed, with its question mark");
  }
  const VariantVerdict* worst = worst_of(worst_first);
  if (!worst) return refused("no variant fails");
  if (worst->verdict == Verdict::open) {
    return refused(
        fmt::format("{}, the worst variant, is not decided: {}; noise on the machine is a reason to pause, "
                    "never to block",
                    worst->name, worst->reason));
  }
  BlockCase c{evidence, lock, *worst, nullptr, -1};
  for (const LedgerLine& line : evidence.view().lines) {
    if (line.kind == "goal") c.goal_seq = line.seq;
  }
  c.reference = reference_of(c, goal);
  BlockRuling ruling;
  if (const std::string id = parity_of(c); !id.empty()) {
    ruling = refused(fmt::format("the hand-edited kernel of {} (object {}) reaches parity: make it a general pass",
                                 worst->name, id.substr(0, 12)));
    ruling.parity = id;
  } else {
    ruling = judge_named(c, goal.status_evidence);
  }
  ruling.variant = worst->name;
  return ruling;
}

}  // namespace hc::ledger
