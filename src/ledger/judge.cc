// The verdict of one variant from its evidence.
#include "ledger/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/hash.h"
#include "ledger/fairness.h"
#include "ledger/json_reader.h"

#ifndef HC_RULES_SHA256
#define HC_RULES_SHA256 ""
#endif

namespace hc::ledger {
namespace {

const Arm* candidate_of(const PairsArtifact& a) {
  for (const Arm& arm : a.arms) {
    if (arm.role == Role::candidate) return &arm;
  }
  return nullptr;
}

/// A loaded artifact with its id.
struct Item {
  std::string id;
  const PairsArtifact* artifact;
  std::string subject;
};

/// Everything that judge_variant works with.
struct Case {
  Evidence& evidence;
  const Lock& lock;
  const LockedVariant& variant;
  VariantVerdict verdict;
  std::vector<Item> confirming, nominating;
  std::vector<std::string> measured;  ///< ids of all paired measurements since the goal was created
};

void load(Case& c, const std::vector<std::string>& ids) {
  std::set<std::string> seen;
  for (const std::string& id : ids) {
    if (!seen.insert(id).second) {
      c.verdict.broken.push_back(fmt::format("{}: object {} is listed twice", c.variant.name, id.substr(0, 12)));
      continue;
    }
    const PairsArtifact* a = c.evidence.pairs(id, &c.verdict.broken);
    if (!a) continue;
    if (a->purpose == Purpose::aa) {
      c.verdict.broken.push_back(fmt::format("{}: {}/{} is an A/A calibration, which says nothing of a candidate",
                                             c.variant.name, a->run, a->name));
      continue;
    }
    if (a->variant != c.variant.name) {
      c.verdict.broken.push_back(
          fmt::format("{}: the artifact {}/{} belongs to the variant {}", c.variant.name, a->run, a->name, a->variant));
      continue;
    }
    const std::vector<std::string> faults = invalidities(*a, c.lock);
    c.verdict.broken.insert(c.verdict.broken.end(), faults.begin(), faults.end());
    const Arm* candidate = candidate_of(*a);
    if (!faults.empty() || !candidate) continue;
    const Item item{id, a, candidate_subject(candidate->source_sha256, candidate->config)};
    const std::vector<std::string> unannounced = announcement_faults(c.evidence, id, *a);
    c.verdict.broken.insert(c.verdict.broken.end(), unannounced.begin(), unannounced.end());
    (a->purpose == Purpose::confirm ? c.confirming : c.nominating).push_back(item);
  }
}

/// All confirming runs of the same candidate have to be there, and only of one candidate.
void check_pooling(Case& c) {
  if (c.confirming.empty()) return;
  const std::string& subject = c.confirming.front().subject;
  std::set<std::string> used;
  for (const Item& item : c.confirming) {
    used.insert(item.id);
    if (item.subject != subject) {
      c.verdict.broken.push_back(fmt::format("{}: the confirming runs are of different candidates", c.variant.name));
      return;
    }
    if (const std::string& timer = c.confirming.front().artifact->timer; item.artifact->timer != timer) {
      c.verdict.broken.push_back(fmt::format("{}: confirming runs timed by {} and by {} cannot be pooled",
                                             c.variant.name, timer, item.artifact->timer));
      return;
    }
  }
  for (const std::string& id : confirming_ids(c.evidence.view(), c.variant.name, subject)) {
    if (used.count(id)) continue;
    c.verdict.broken.push_back(fmt::format("{}: a confirming run of the same candidate is left out (artifacts/{})",
                                           c.variant.name, c.evidence.listing(id)->name));
  }
}

/// Number of confirming runs announced for a candidate before the last of `items` was stored, whether or not they came
/// to an end; one announced later costs what is stored after it. Only a run that was closed as void, with nothing
/// stored, gave no sight of a result and costs nothing.
int announced(const LedgerView& view, const std::string& variant, const std::vector<Item>& items) {
  const std::string& subject = items.front().subject;
  int64_t last = -1;
  for (const LedgerLine& line : view.lines) {
    for (const Item& item : items) {
      if (line.kind == "object" && line.object == item.id) last = line.seq;
    }
  }
  std::set<int64_t> opened, stored;
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "run_open" && line.seq > last) break;
    if (line.kind == "goal") opened.clear();
    if (line.kind == "run_open" && line.purpose == "confirm" && line.variant == variant && line.subject == subject) {
      opened.insert(line.seq);
    }
    if (line.kind == "object") stored.insert(line.opens);
    if (line.kind == "run_close" && line.note.starts_with("void") && !stored.count(line.opens))
      opened.erase(line.opens);
  }
  return static_cast<int>(opened.size());
}

/// Largest agreed look that `pairs` reach, or 0.
int look_for(const std::vector<int>& looks, size_t pairs) {
  int best = 0;
  for (const int look : looks) {
    if (look <= static_cast<int>(pairs)) best = std::max(best, look);
  }
  return best;
}

Comparison compare_one(const Case& c, const std::vector<Item>& items, const std::string& baseline, bool confirming) {
  // of the pooled runs only those with the baseline's newest binary are of the same pair of binaries
  std::string binary;
  for (const Item& item : items) {
    if (const Arm* arm = baseline_of(*item.artifact, baseline)) binary = arm->binary_sha256;
  }
  std::vector<PairTimes> pairs;
  size_t pooled = 0;
  for (const Item& item : items) {
    const Arm* arm = baseline_of(*item.artifact, baseline);
    if (!arm || arm->binary_sha256 != binary) continue;
    const std::vector<PairTimes> more = pair_times(*item.artifact, baseline);
    pairs.insert(pairs.end(), more.begin(), more.end());
    ++pooled;
  }
  const Criteria& criteria = c.lock.criteria;
  CompareRules rules;
  rules.limit = c.variant.target * (1 - criteria.margin);
  rules.rate_tolerance = criteria.rate_tolerance;
  rules.ahead_when_slow = c.lock.rules_version >= 2;
  const int opened = confirming ? announced(c.evidence.view(), c.variant.name, items) : 1;
  rules.alpha = look_alpha(criteria, opened);
  if (!confirming) return compare_pairs(pairs, rules);
  const int look = look_for(criteria.looks, pairs.size());
  if (pooled == 1 && look > 0) pairs.resize(static_cast<size_t>(look));
  Comparison out = compare_pairs(pairs, rules);
  if (look == 0) {
    out.verdict = Verdict::open;
    const int agreed = criteria.looks.empty() ? 0 : *std::min_element(criteria.looks.begin(), criteria.looks.end());
    out.reason = fmt::format("{} of the {} agreed pairs were measured; {} more are needed", pairs.size(), agreed,
                             std::max(agreed - static_cast<int>(pairs.size()), 0));
  }
  return out;
}

bool same_json(const std::string& a, const std::string& b) {
  const std::optional<Json> x = parse_json(a), y = parse_json(b);
  // compared without regard to the order of keys
  return x && y && nlohmann::json::parse(x->dump()) == nlohmann::json::parse(y->dump());
}

/// Why the arm's config is not the winner of a cold full tune, or empty.
std::string tune_doubt(Case& c, const Arm& arm) {
  if (arm.tune.empty()) return fmt::format("{} names no tune; only the winner of a cold full tune can pass", arm.name);
  const TuneRecord* tune = c.evidence.tune(arm.tune, &c.verdict.broken);
  if (!tune) return "its tune record is missing";
  if (tune->variant != c.variant.name || tune->variant_hash != c.variant.hash || tune->arm != arm.name) {
    c.verdict.broken.push_back(
        fmt::format("{}: the tune {}/{} is of another variant or arm", c.variant.name, tune->run, tune->name));
  }
  if (!same_json(tune->winner, arm.config)) {
    c.verdict.broken.push_back(fmt::format("{}: {} did not run the winner of the tune {}/{}", c.variant.name, arm.name,
                                           tune->run, tune->name));
  }
  if (!tune->winner_source_sha256.empty() && tune->winner_source_sha256 != arm.source_sha256) {
    c.verdict.broken.push_back(fmt::format("{}: the source of {} is not the one that the tune {}/{} found",
                                           c.variant.name, arm.name, tune->run, tune->name));
  }
  if (tune->without_search())
    return fmt::format("no search found the config of {}; only the winner of a cold full tune can pass", arm.name);
  if (!tune->started_cold) return fmt::format("the tune of {} did not start cold", arm.name);
  if (tune->ended_by != "converged")
    return fmt::format("the tune of {} was ended by a limit before it converged", arm.name);
  if (!tune->full) return fmt::format("the tune of {} was not run at full effort", arm.name);
  return "";
}

/// Why the tune speaks for another machine than the one measured on, or empty.
std::string tuned_elsewhere(Case& c, const Arm& arm, const PairsArtifact& a) {
  std::vector<std::string> ignored;
  const TuneRecord* tune = arm.tune.empty() ? nullptr : c.evidence.tune(arm.tune, &ignored);
  if (!tune) return "";
  for (const char* key : {"cpu", "cores"}) {
    const std::string then = fact(tune->machine, key), now = fact(a.machine, key);
    if (then.empty() || now.empty() || then == now) continue;
    return fmt::format("tuned with {} {} and measured with {}", key, then, now);
  }
  return "";
}

/// Compares with every registered baseline that `items` measured.
void compare_all(Case& c, const std::vector<Item>& items, bool confirming) {
  for (const LockedBaseline& baseline : c.lock.baselines) {
    const Arm* last = nullptr;
    const PairsArtifact* from = nullptr;
    for (const Item& item : items) {
      if (const Arm* arm = baseline_of(*item.artifact, baseline.name)) {
        last = arm;
        from = item.artifact;
      }
    }
    if (!last) continue;
    BaselineVerdict b;
    b.name = baseline.name;
    b.comparison = compare_one(c, items, baseline.name, confirming);
    b.seconds = arm_seconds(*from, baseline.name);
    b.confirmed = confirming;
    b.full_tune = !last->has_tuner || tune_doubt(c, *last).empty();
    c.verdict.baselines.push_back(std::move(b));
  }
  if (items.empty()) return;
  const PairsArtifact& newest = *items.back().artifact;
  if (const Arm* arm = candidate_of(newest)) c.verdict.candidate_seconds = arm_seconds(newest, arm->name);
}

/// Best baseline, and bounds that hold against all of them.
void combine(Case& c) {
  VariantVerdict& v = c.verdict;
  if (v.baselines.empty()) return;
  v.measured = true;
  v.ratio = v.lcb = v.ucb = std::numeric_limits<double>::infinity();
  bool all_pass = true, any_fail = false;
  for (const BaselineVerdict& b : v.baselines) {
    if (b.comparison.ratio < v.ratio) {
      v.ratio = b.comparison.ratio;
      v.best_baseline = b.name;
      v.best = b.comparison;
    }
    v.lcb = std::min(v.lcb, b.comparison.lcb);
    v.ucb = std::min(v.ucb, b.comparison.ucb);
    all_pass = all_pass && b.comparison.verdict == Verdict::pass;
    any_fail = any_fail || b.comparison.verdict == Verdict::fail;
    if (b.comparison.verdict != Verdict::pass && (v.reason.empty() || b.comparison.verdict == Verdict::fail)) {
      const bool several = v.baselines.size() > 1;
      v.reason = several ? fmt::format("against {}: {}", b.name, b.comparison.reason) : b.comparison.reason;
    }
  }
  v.pairs = v.best.pairs;
  v.met_point = v.ratio >= v.limit;
  v.verdict = any_fail ? Verdict::fail : all_pass ? Verdict::pass : Verdict::open;
  v.undecided = v.verdict == Verdict::open;
  if (v.verdict == Verdict::pass) v.reason.clear();
}

/// The newest record of an arm's config since the goal was created, or nullptr; an empty arm takes any.
const TuneRecord* newest_record(Evidence& evidence, const LockedVariant& variant, const std::string& arm) {
  const std::vector<LedgerLine>& lines = evidence.view().lines;
  for (auto line = lines.rbegin(); line != lines.rend() && line->kind != "goal"; ++line) {
    if (line->kind != "object" || line->variant != variant.name) continue;
    std::vector<std::string> ignored;  // whatever is wrong with an object is said where it is evidence
    const std::string* text = evidence.text(line->object, &ignored);
    const Result<std::string> kind = text ? artifact_kind(*text, line->name) : Result<std::string>(Diagnostic{});
    if (!kind.ok() || kind.value() != "tune") continue;
    const TuneRecord* record = evidence.tune(line->object, &ignored);
    if (record && record->variant_hash == variant.hash && (arm.empty() || record->arm == arm)) return record;
  }
  return nullptr;
}

/// Why the newest try to get a config out of the arm got none, or empty.
std::string refused_because(Evidence& evidence, const LockedVariant& variant, const std::string& arm, bool by_itself) {
  const TuneRecord* record = newest_record(evidence, variant, arm);
  if (!record || record->candidates.size() != 1) return "";
  const Candidate& only = record->candidates.front();
  const bool fell = by_itself ? only.outcome == Outcome::refused : only.outcome != Outcome::ok;
  return fell ? only.reason : "";
}

/// Why the newest run of the variant that measures came to nothing, or empty.
std::string failed_because(const LedgerView& view, const std::string& variant) {
  std::string why;
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "goal") why.clear();
    if (line.kind != "run_close" || line.opens < 0 || line.opens >= static_cast<int64_t>(view.lines.size())) continue;
    const LedgerLine& opened = view.lines[static_cast<size_t>(line.opens)];
    if (opened.variant == variant && opened.purpose != "aa") why = line.note == "done" ? "" : line.note;
  }
  return why;
}

/// A registered baseline that no confirming run has must be slower than the best one over all measurements of the goal,
/// or have refused the variant itself.
std::string unconfirmed_baseline(Case& c) {
  for (const LockedBaseline& baseline : c.lock.baselines) {
    bool settled = false;
    for (const BaselineVerdict& b : c.verdict.baselines) settled = settled || b.name == baseline.name;
    if (settled) continue;
    const double behind = times_behind(c.evidence, c.measured, baseline.name, c.verdict.best_baseline);
    if (behind > kNearBest) continue;
    const std::string refused = refused_because(c.evidence, c.variant, baseline.name, true);
    if (behind == 0 && refused.empty())
      return fmt::format("the registered baseline {} was not measured", baseline.name);
    if (behind == 0) {  // what ran once in this goal cannot be refused away
      c.verdict.left_out.emplace_back(baseline.name, refused);
      continue;
    }
    return fmt::format(
        "the registered baseline {} was not confirmed: over all measurements of this goal it took {:.3f} "
        "times as long as {}",
        baseline.name, behind, c.verdict.best_baseline);
  }
  return "";
}

void hold_back(VariantVerdict& v, std::string reason) {
  if (reason.empty() || v.verdict == Verdict::fail) return;
  v.verdict = Verdict::open;
  v.undecided = false;
  v.reason = std::move(reason);
}

/// A verdict has to be farther from its limit than identical code differed from itself on the machine.
void weigh_noise(Case& c) {
  VariantVerdict& v = c.verdict;
  if (c.lock.rules_version < 2 || c.lock.criteria.aa_pairs == 0) return;
  for (const Item& item : c.confirming) {
    const PairsArtifact& a = *item.artifact;
    Calibration one = calibration_of(c.evidence, c.lock, device_of(a.machine), a.timer, a.opened_at);
    const bool weaker = v.calibration.device.empty() || (v.calibration.there() && !one.there()) ||
                        (v.calibration.there() && one.noise.floor > v.calibration.noise.floor);
    if (weaker) v.calibration = std::move(one);
  }
  if (v.verdict == Verdict::open) return;
  const bool pass = v.verdict == Verdict::pass;
  const double distance = pass ? std::log(v.lcb / v.limit) : std::log(v.limit / v.ucb);
  std::string doubt = noise_doubt(v.calibration, distance, c.lock.criteria.margin);
  if (pass && !v.calibration.there()) doubt = calibration_text(v.calibration);
  if (doubt.empty()) return;
  v.verdict = Verdict::open;
  v.undecided = true;  // more pairs of either kind may settle it
  v.reason = std::move(doubt);
}

void judge_confirmed(Case& c) {
  compare_all(c, c.confirming, true);
  combine(c);
  const Arm* candidate = candidate_of(*c.confirming.back().artifact);
  hold_back(c.verdict, tune_doubt(c, *candidate));
  hold_back(c.verdict, tuned_elsewhere(c, *candidate, *c.confirming.back().artifact));
  hold_back(c.verdict, unconfirmed_baseline(c));
  for (const BaselineVerdict& b : c.verdict.baselines) {
    if (!b.full_tune) hold_back(c.verdict, fmt::format("{}: not a full tune of its own", b.name));
  }
  std::vector<std::string> ids;
  std::vector<const PairsArtifact*> all;
  for (const Item& item : c.confirming) {
    hold_back(c.verdict, reading_refusal(*item.artifact));
    ids.push_back(item.id);
    all.push_back(item.artifact);
  }
  int more = 0;
  std::string restless = void_refusal(all, &more);
  if (!restless.empty()) restless += fmt::format("; {} valid pairs more are needed", more);
  const bool settled_else = c.verdict.verdict == Verdict::open && !c.verdict.undecided;
  hold_back(c.verdict, restless);
  // quiet pairs mend it
  if (!restless.empty() && c.verdict.verdict == Verdict::open) c.verdict.undecided = !settled_else;
  for (const BaselineVerdict& b : c.verdict.baselines) {
    hold_back(c.verdict, slower_than_itself(c.evidence, c.lock, c.variant, b.name, ids));
  }
  for (const LockedBaseline& baseline : c.lock.baselines) {
    hold_back(c.verdict, changed_program(c.evidence, c.measured, baseline.name));
  }
  weigh_noise(c);
}

}  // namespace

const Arm* baseline_of(const PairsArtifact& a, const std::string& name) {
  for (const Arm& arm : a.arms) {
    if (arm.role == Role::baseline && arm.name == name) return &arm;
  }
  return nullptr;
}

std::string rules_sha256() { return HC_RULES_SHA256; }

std::string candidate_subject(const std::string& source_sha256, const std::string& config) {
  const std::optional<Json> json = parse_json(config);
  // sorted keys, so that the same config written in another order is the same candidate
  const std::string canonical = json ? nlohmann::json::parse(json->dump()).dump() : config;
  return sha256_hex(source_sha256 + "\n" + canonical);
}

std::vector<std::string> confirming_ids(const LedgerView& view, const std::string& variant,
                                        const std::string& subject) {
  std::set<int64_t> opens;
  std::vector<std::string> out;
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "goal") {
      opens.clear();
      out.clear();
    }
    if (line.kind == "run_open" && line.purpose == "confirm" && line.variant == variant && line.subject == subject) {
      opens.insert(line.seq);
    }
    if (line.kind != "object" || !opens.count(line.opens) || line.variant != variant) continue;
    if (std::find(out.begin(), out.end(), line.object) == out.end()) out.push_back(line.object);
  }
  return out;
}

double lowest_ratio(const PairsArtifact& artifact, const Lock& lock) {
  double lowest = 0;
  for (const LockedBaseline& baseline : lock.baselines) {
    const std::vector<PairTimes> pairs = pair_times(artifact, baseline.name);
    if (pairs.empty()) continue;
    const double ratio = compare_pairs(pairs, {}).ratio;
    if (lowest == 0 || ratio < lowest) lowest = ratio;
  }
  return lowest;
}

VariantVerdict judge_variant(Evidence& evidence, const Lock& lock, const std::string& variant,
                             const std::vector<std::string>& ids) {
  VariantVerdict none;
  none.name = variant;
  none.reason = "not measured yet";
  const auto locked = std::find_if(lock.variants.begin(), lock.variants.end(),
                                   [&](const LockedVariant& v) { return v.name == variant; });
  if (locked == lock.variants.end()) {
    none.broken.push_back(fmt::format("the variant {} is not in the lock", variant));
    return none;
  }
  Case c{evidence, lock, *locked, {}, {}, {}, {}};
  c.verdict.name = variant;
  c.verdict.limit = locked->target * (1 - lock.criteria.margin);
  load(c, ids);
  check_pooling(c);
  if (!c.confirming.empty()) {
    c.measured = measured_ids(evidence, variant);
    judge_confirmed(c);
  } else if (!c.nominating.empty()) {
    // only the newest nomination speaks of the present candidate
    const std::vector<Item> newest{c.nominating.back()};
    compare_all(c, newest, false);
    combine(c);
    hold_back(c.verdict, "only nominated; a confirming run is needed");
  }
  if (!c.verdict.measured && c.verdict.reason.empty()) {
    std::string why = refused_because(evidence, *locked, "", false);
    if (why.empty()) why = failed_because(evidence.view(), variant);
    c.verdict.reason = why.empty() ? "not measured yet" : "not measured: " + why;
  }
  return c.verdict;
}

}  // namespace hc::ledger
