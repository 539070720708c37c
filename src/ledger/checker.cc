// Judging a goal from its lock, ledger and objects; nothing recorded in the goal file is believed.
#include "ledger/checker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "ledger/block.h"
#include "ledger/check_text.h"
#include "ledger/fairness.h"
#include "ledger/ledger_line.h"
#include "ledger/staleness.h"

namespace hc::ledger {
namespace {

constexpr int kLooks = 2;  ///< more, when what is there looks broken
constexpr useconds_t kBetweenLooksMicroseconds = 20000;
constexpr double kSameNumber = 1e-6;  ///< recorded and derived numbers may differ by this share

/// Everything that the steps of one check share.
struct Check {
  std::string artifacts_dir, root;
  std::string goal_text;
  std::optional<Anchor> anchor_before, anchor_after;  ///< as read before and after the ledger
  Goal goal;
  Lock lock;
  LedgerView view;
  CheckReport report;
  void broken(std::string sentence) { report.broken.push_back(std::move(sentence)); }
  void note(std::string sentence) { report.notes.push_back(std::move(sentence)); }
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The line that made the present lock, or nullptr.
const LedgerLine* lock_line(const LedgerView& view) {
  const LedgerLine* last = nullptr;
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "goal" || line.kind == "amend") last = &line;
  }
  return last;
}

/// What of `now` is weaker than `before`, empty if nothing is.
std::string weakened(const Lock& before, const Lock& now) {
  const Criteria &a = before.criteria, &b = now.criteria;
  if (b.margin > a.margin) return "the margin was widened";
  if (b.geomean_min < a.geomean_min || b.geomean_slack > a.geomean_slack) return "the geomean's minimum was lowered";
  if (b.alpha > a.alpha || b.rate_tolerance > a.rate_tolerance) return "the error level was raised";
  if (b.looks != a.looks) return "the looks were changed";
  if (now.back_to_back != before.back_to_back) return "the mode of timing was changed";
  if (b.aa_pairs < a.aa_pairs) return "pairs of the A/A calibration were dropped";
  if (now.rules_version != before.rules_version) return "the version of the rules was changed";
  for (const LockedVariant& v : before.variants) {
    const auto it =
        std::find_if(now.variants.begin(), now.variants.end(), [&](const auto& w) { return w.name == v.name; });
    if (it == now.variants.end()) return fmt::format("the variant {} was removed", v.name);
    if (it->hash != v.hash) return fmt::format("the variant {} was changed", v.name);
    if (it->target < v.target) return fmt::format("the target of {} was lowered", v.name);
    if (it->work.unit != v.work.unit || it->work.amount != v.work.amount)
      return fmt::format("the work of {} was changed", v.name);
  }
  for (const LockedBaseline& v : before.baselines) {
    const auto kept =
        std::find_if(now.baselines.begin(), now.baselines.end(), [&](const auto& w) { return w.name == v.name; });
    if (kept == now.baselines.end()) return fmt::format("the baseline {} was removed", v.name);
    if (kept->worker != v.worker || kept->recipe != v.recipe)
      return fmt::format("the recipe of the baseline {} was changed", v.name);
  }
  return "";
}

bool load_lock(Check& c, const std::string& id, Lock* out) {
  const Result<std::string> text = read_object(c.artifacts_dir, id);
  if (!text.ok()) {
    c.broken("the goal's lock: " + text.error().message);
    return false;
  }
  Result<Lock> lock = parse_lock(text.value(), "the goal's lock");
  if (!lock.ok()) {
    c.broken(lock.error().message);
    return false;
  }
  *out = std::move(lock).value();
  return true;
}

/// Each amendment may tighten what the lock before it agreed, never loosen it.
void check_amendments(Check& c) {
  std::string before;
  for (const LedgerLine& line : c.view.lines) {
    if (line.kind == "amend" && !before.empty()) {
      Lock a, b;
      if (!load_lock(c, before, &a) || !load_lock(c, line.object, &b)) return;
      const std::string what = weakened(a, b);
      if (!what.empty())
        c.broken(fmt::format("the amendment in ledger line {} is not allowed: {}", line.seq + 1, what));
      c.note(fmt::format("the goal was amended in ledger line {}{}{}", line.seq + 1, line.note.empty() ? "" : ": ",
                         line.note));
    }
    if (line.kind == "goal" || line.kind == "amend") before = line.object;
  }
}

bool check_lock(Check& c) {
  if (!load_lock(c, c.goal.lock, &c.lock)) return false;
  const Criteria& criteria = c.lock.criteria;
  if (c.lock.rules_version < 1 || c.lock.rules_version > kRulesVersion) {
    c.broken(fmt::format("the lock was made under rules {}; this checker knows rules 1 to {}", c.lock.rules_version,
                         kRulesVersion));
    return false;
  }
  if (c.lock.rules_version < kRulesVersion) {
    c.note(fmt::format("the goal was locked under rules {} and is judged by them; the newest are rules {}",
                       c.lock.rules_version, kRulesVersion));
  } else if (c.lock.rules_sha256 != rules_sha256()) {
    c.note("the goal was locked by a checker built from other sources of the same rules version");
  }
  if (c.lock.rules_version >= 2 && criteria.aa_pairs == 0) {
    c.note("A/A calibration is switched off (aa_pairs = 0): a machine that treats the arms differently goes unnoticed");
  }
  if (criteria.geomean_min < 1)
    c.note(
        fmt::format("the geomean's minimum is {:g}: the goal is met behind the best baselines", criteria.geomean_min));
  if (criteria.margin > 0.01) c.broken(fmt::format("the lock has a margin of {}; 0.01 is the widest", criteria.margin));
  if (criteria.looks.empty() || criteria.alpha <= 0 || criteria.alpha > 0.05) {
    c.broken("the lock's looks or error level are not usable");
  }
  if (c.lock.task != c.goal.task)
    c.broken(fmt::format("the goal is for {}, its lock for {}", c.goal.task, c.lock.task));
  if (c.goal.geomean_min != criteria.geomean_min) {
    c.broken(fmt::format("the goal file asks for a geomean of {}, the lock for {}", c.goal.geomean_min,
                         criteria.geomean_min));
  }
  return true;
}

void check_ledger(Check& c) {
  for (const std::string& sentence : c.view.broken) c.broken(sentence);
  if (!c.view.torn.empty())
    c.note("the ledger's last line is torn (a killed run); the next command that writes sets it aside");
  const LedgerLine* line = lock_line(c.view);
  if (!line) {
    c.broken("the ledger does not know of this goal");
  } else if (line->object != c.goal.lock) {
    c.broken(fmt::format("the goal file names the lock {}, the ledger {}", c.goal.lock.substr(0, 12),
                         line->object.substr(0, 12)));
  }
  if (c.anchor_before) {
    for (const std::string& sentence : compare_with_anchor(c.view, *c.anchor_before)) c.broken(sentence);
    const std::string past = written_past_anchor(c.view, c.anchor_after.value_or(*c.anchor_before));
    if (!past.empty()) c.broken(past);
  } else {
    c.note("the ledger has no anchor here, so a cut end could not be noticed");
  }
  int goals = 0;
  for (const LedgerLine& l : c.view.lines) {
    goals += l.kind == "goal" && l.name.find("goal.lock") != std::string::npos;
    if (l.kind == "lost" || l.kind == "caught_up" || l.kind == "adopted") c.note(l.note);
  }
  if (goals > 1) c.note(fmt::format("this is goal number {} in this ledger", goals));
}

/// Every object that the ledger lists is there and unchanged, whether or not the goal names it.
void check_objects(Check& c, Evidence& evidence) {
  std::set<std::string> seen;
  for (const LedgerLine& line : c.view.lines) {
    if (line.object.empty() || !seen.insert(line.object).second) continue;
    std::vector<std::string> faults;
    if (evidence.listing(line.object)) {
      evidence.text(line.object, &faults);
    } else if (const Result<std::string> text = read_object(c.artifacts_dir, line.object); !text.ok()) {
      faults.push_back(text.error().message);
    }
    for (std::string& fault : faults) c.broken(std::move(fault));
  }
}

bool differs(double recorded, double derived) {
  if (std::isinf(recorded) && std::isinf(derived)) return false;
  return !(std::abs(recorded - derived) <= kSameNumber * std::max(std::abs(recorded), std::abs(derived)));
}

/// Where a path of the goal file lies: `artifacts/` is the folder of the goal file, whatever that is called.
std::string on_disk(const Check& c, const std::string& path) {
  constexpr std::string_view kFolder = "artifacts/";
  if (path.starts_with(kFolder)) return join_path(c.artifacts_dir, path.substr(kFolder.size()));
  return join_path(c.root, path);
}

/// The named file of a shape is one of its objects, byte for byte.
void check_artifact_file(Check& c, const GoalShape& shape, const std::string& path,
                         const std::vector<std::string>& ids) {
  const std::optional<std::string> text = read_file(on_disk(c, path));
  if (path.empty() || !text) {
    c.broken(fmt::format("{}: its artifact \"{}\" is not on disk", shape.name, path));
  } else if (const std::string id = sha256_hex(*text); std::find(ids.begin(), ids.end(), id) == ids.end()) {
    c.broken(fmt::format("{}: the file {} is not one of its evidence", shape.name, path));
  }
}

void compare_recorded(Check& c, const GoalShape& s, const VariantVerdict& v) {
  const auto number = [&](const char* field, double recorded, double derived) {
    if (differs(recorded, derived)) {
      c.broken(fmt::format("{}: the goal file says {} {:.6g}, the evidence {:.6g}", s.name, field, recorded, derived));
    }
  };
  number("ratio", s.ratio, v.ratio);
  number("lcb", s.lcb, v.lcb);
  number("ucb", s.ucb, v.ucb);
  if (s.verdict != verdict_name(v.verdict)) {
    c.broken(fmt::format("{}: the goal file says {}, the evidence {}", s.name, s.verdict, verdict_name(v.verdict)));
  }
  if (s.best_baseline != v.best_baseline) {
    c.broken(fmt::format("{}: the goal file says that {} is the best baseline, the evidence {}", s.name,
                         s.best_baseline, v.best_baseline));
  }
}

/// Evidence that no writer of ours anchored. A goal file is written after the lines that it rests on were anchored, so
/// beyond the anchor it is broken; a line that a later command caught up is named here, and has to be measured again.
std::string never_anchored(Check& c, const GoalShape& shape) {
  const std::optional<Anchor>& anchor = c.anchor_after ? c.anchor_after : c.anchor_before;
  std::string out;
  for (const LedgerLine& line : c.view.lines) {
    if (line.kind != "object" || !is_evidence(shape, line.object)) continue;
    if (anchor && anchor->count >= 0 && line.seq >= anchor->count) {
      c.broken(fmt::format("{}: artifacts/{} rests on ledger line {}, which lies beyond the anchor", shape.name,
                           line.name, line.seq + 1));
    }
    const auto next = static_cast<size_t>(line.seq) + 1;
    if (next < c.view.lines.size() && c.view.lines[next].kind == "caught_up") {
      out = fmt::format("artifacts/{} was not anchored by the run that measured it; measure it again", line.name);
    }
  }
  return out;
}

/// Folders from which workers were told to load code come before what they would load by themselves.
void note_environment(Check& c, const PairsArtifact& a) {
  const std::string inherited = fact(a.machine, kEnvironmentFact);
  for (const std::string_view name : {"PYTHONPATH=", "LD_LIBRARY_PATH=", "PYTHONHOME="}) {
    const size_t at = inherited.find(name);
    if (at == std::string::npos) continue;
    const std::string entry = inherited.substr(at, inherited.find("; ", at) - at);
    const std::string text =
        fmt::format("workers inherited {}: code that lies there runs in every arm's process", entry);
    if (std::find(c.report.notes.begin(), c.report.notes.end(), text) == c.report.notes.end()) c.note(text);
  }
}

/// What changed since the first numbers; no fault, but the reader has to know.
void note_changes(Check& c, Evidence& evidence, const GoalShape& shape) {
  std::vector<std::string> ignored;
  const std::vector<std::string> all = measured_ids(evidence, shape.name);  // whatever the goal file calls `before`
  if (all.empty() || shape.evidence.empty()) return;
  const PairsArtifact* first = evidence.pairs(all.front(), &ignored);
  const PairsArtifact* now = evidence.pairs(shape.evidence.back(), &ignored);
  if (!first || !now) return;
  note_environment(c, *now);
  for (const Reading& r : now->pairs.empty() ? std::vector<Reading>{} : now->pairs.front().readings) {
    if (!fact(r.facts, kInPlaceFact).empty())
      c.note(fmt::format("{}: {} says that it works in place, so no output of its timed launches was looked at",
                         shape.name, r.arm));
  }
  if (first == now) return;
  if (first->kernel_sha256 != now->kernel_sha256) {
    c.note(fmt::format("{}: the kernel's source is another one than at the first numbers", shape.name));
  }
  if (const std::string then = fact(first->machine, kEnvironmentFact), today = fact(now->machine, kEnvironmentFact);
      !then.empty() && !today.empty() && then != today) {
    c.note(fmt::format("{}: workers inherited another environment than at the first numbers: \"{}\" and \"{}\"",
                       shape.name, then, today));
  }
  for (const Arm& a : first->arms) {
    for (const Arm& b : now->arms) {
      if (a.role != Role::baseline || b.role != Role::baseline || a.name != b.name) continue;
      if (a.binary_sha256 == b.binary_sha256) continue;
      c.note(fmt::format("{}: the baseline {} runs another binary than at the first numbers", shape.name, a.name));
    }
  }
}

/// How a verdict may have come about by choosing: low targets, baselines that are not there, many candidates.
void note_choices(Check& c, const GoalShape& shape, const VariantVerdict& v) {
  for (const LockedVariant& locked : c.lock.variants) {
    if (locked.name == shape.name && locked.target < 1)
      c.note(
          fmt::format("{}: its target is {:g}, so that it passes behind the best baseline", shape.name, locked.target));
  }
  for (const auto& [name, why] : v.left_out)
    c.note(fmt::format("{}: not compared with the baseline {}, which did not run: {}", shape.name, name, why));
  std::set<std::string> subjects;
  for (const LedgerLine& line : c.view.lines) {
    if (line.kind == "goal") subjects.clear();
    if (line.kind == "run_open" && line.purpose == "confirm" && line.variant == shape.name)
      subjects.insert(line.subject);
  }
  if (subjects.size() > 1)
    c.note(fmt::format("{}: {} candidates were confirmed, each at an error level of its own", shape.name,
                       subjects.size()));
}

/// The "before" number follows from its own objects.
void check_before(Check& c, Evidence& evidence, const GoalShape& shape) {
  if (shape.before_ratio <= 0) return;
  check_artifact_file(c, shape, shape.before_artifact, shape.before_evidence);
  std::vector<std::string> faults;
  double derived = 0;
  for (const std::string& id : shape.before_evidence) {
    const PairsArtifact* a = evidence.pairs(id, &faults);
    if (a) derived = lowest_ratio(*a, c.lock);
    if (a && a->purpose == Purpose::aa)
      faults.push_back(fmt::format("{}: its `before` is an A/A calibration", shape.name));
    if (a && a->variant != shape.name)
      faults.push_back(fmt::format("{}: its `before` is of {}", shape.name, a->variant));
  }
  if (faults.empty() && differs(shape.before_ratio, derived)) {
    c.broken(fmt::format("{}: the goal file says before {:.6g}, the evidence {:.6g}", shape.name, shape.before_ratio,
                         derived));
  }
  for (std::string& fault : faults) c.broken(std::move(fault));
}

/// Each record once, whichever variants rest on it.
void add_calibration(Check& c, const Calibration& calibration) {
  if (calibration.device.empty()) return;
  std::vector<Calibration>& all = c.report.calibrations;
  const bool known = std::any_of(all.begin(), all.end(), [&](const Calibration& one) {
    return one.device == calibration.device && one.ids == calibration.ids;
  });
  if (!known) all.push_back(calibration);
}

void check_shape(Check& c, Evidence& evidence, const GoalShape& shape) {
  VariantVerdict v = judge_variant(evidence, c.lock, shape.name, shape.evidence);
  for (const std::string& sentence : v.broken) c.broken(sentence);
  if (v.measured && v.broken.empty()) {
    compare_recorded(c, shape, v);
    check_artifact_file(c, shape, shape.artifact, shape.evidence);
  } else if (!v.measured && shape.ratio > 0 && v.broken.empty()) {
    c.broken(fmt::format("{}: a ratio of {:.6g} is recorded without evidence", shape.name, shape.ratio));
  }
  if (v.broken.empty()) {
    check_before(c, evidence, shape);
    note_changes(c, evidence, shape);
    note_choices(c, shape, v);
  }
  if (std::string why = never_anchored(c, shape); !why.empty()) {
    v.verdict = Verdict::open;
    v.undecided = false;
    v.reason = std::move(why);
  }
  const bool stale = marked_stale(c.view, shape);
  if (stale != shape.stale)
    c.broken(fmt::format("{}: the ledger and the goal file differ on whether it is stale", shape.name));
  if (stale || shape.stale) {
    v.verdict = Verdict::open;
    v.undecided = false;
    v.reason = "stale: the candidate would be generated differently today";
  }
  add_calibration(c, v.calibration);
  c.report.variants.push_back(std::move(v));
}

void check_shapes(Check& c, Evidence& evidence) {
  std::set<std::string> names;
  for (const GoalShape& shape : c.goal.shapes) {
    if (!names.insert(shape.name).second) {
      c.broken(fmt::format("the goal file lists the variant {} twice", shape.name));
      continue;
    }
    check_shape(c, evidence, shape);
  }
  for (const LockedVariant& v : c.lock.variants) {
    if (!names.count(v.name)) c.broken(fmt::format("the locked variant {} is missing from the goal file", v.name));
  }
}

/// The geomean over the locked list; a variant that was not measured leaves no geomean.
void check_geomean(Check& c) {
  std::vector<Comparison> comparisons;
  for (const VariantVerdict& v : c.report.variants) comparisons.push_back(v.best);
  c.report.geomean = geomean(comparisons, c.lock.criteria.alpha);
}

void check_status(Check& c, Evidence& evidence) {
  const std::string& status = c.goal.status;
  if (const std::string doubt = status_disagreement(c.view, c.goal); !doubt.empty()) c.broken(doubt);
  if (status == "paused" && c.goal.paused_reason.empty()) {
    c.broken("the status is paused without the owner's words in paused_reason");
  } else if (status == "blocked") {
    const BlockRuling ruling = rule_on_block(evidence, c.lock, c.goal, c.report.variants);
    if (!ruling.doubt.empty()) c.broken("the status is blocked, but " + ruling.doubt);
  } else if (status == "met" && !c.report.met) {
    c.broken("the goal file says met, the evidence does not");
  } else if (status != "running" && status != "paused" && status != "met") {
    c.broken(fmt::format("the status \"{}\" is not one of running, paused, blocked, met", status));
  }
}

void settle(Check& c) {
  CheckReport& r = c.report;
  bool all_pass = !r.variants.empty(), only_undecided = true, all_points = !r.variants.empty();
  for (const VariantVerdict& v : r.variants) {
    all_pass = all_pass && v.verdict == Verdict::pass;
    all_points = all_points && v.met_point;
    only_undecided = only_undecided && (v.verdict == Verdict::pass || v.undecided);
  }
  const Criteria& criteria = c.lock.criteria;
  const bool value = r.geomean.value >= criteria.geomean_min;
  const bool bound = r.geomean.lower >= criteria.geomean_min - criteria.geomean_slack;
  r.geomean_min = criteria.geomean_min;
  r.met = all_pass && value && bound;
  r.met_point = all_points && value;
  r.exit_code = r.met ? kExitMet : only_undecided && value ? kExitUndecided : kExitUnmet;
}

void sort_worst_first(std::vector<VariantVerdict>* variants) {
  const auto rank = [](const VariantVerdict& v) {
    return !v.broken.empty() ? 0 : v.verdict == Verdict::fail ? 1 : v.verdict == Verdict::open ? 2 : 3;
  };
  std::stable_sort(variants->begin(), variants->end(), [&](const VariantVerdict& a, const VariantVerdict& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.ratio < b.ratio;
  });
}

CheckReport finish(Check& c) {
  if (!c.report.broken.empty()) c.report.exit_code = kExitBroken;
  if (!c.report.broken.empty()) c.report.met = c.report.met_point = false;
  c.report.shapes = c.goal.shapes;
  c.report.text = check_text(c.report);
  return std::move(c.report);
}

/// The spec's own rule for a goal file without lock and ledger.
void check_plain(Check& c) {
  CheckReport& r = c.report;
  r.weak_form = true;
  r.geomean_min = c.goal.geomean_min;
  std::set<std::string> names;
  std::vector<Comparison> comparisons;
  bool all = true;
  for (const GoalShape& shape : c.goal.shapes) {
    VariantVerdict v;
    v.name = shape.name;
    v.ratio = v.best.ratio = shape.ratio;
    v.measured = shape.ratio > 0;
    const bool backed = !shape.artifact.empty() && file_exists(on_disk(c, shape.artifact));
    v.met_point = shape.ratio >= v.limit && backed;
    v.verdict = v.met_point ? Verdict::pass : Verdict::fail;
    if (!names.insert(shape.name).second) c.broken(fmt::format("the goal file lists the variant {} twice", shape.name));
    if (!v.measured) v.reason = "no ratio";
    if (v.measured && shape.ratio < v.limit) v.reason = fmt::format("the ratio is below {:.2f}", v.limit);
    if (v.measured && !backed) v.reason = fmt::format("its artifact \"{}\" is not on disk", shape.artifact);
    all = all && v.met_point;
    comparisons.push_back(v.best);
    r.variants.push_back(std::move(v));
  }
  r.geomean = geomean(comparisons, 0.05);
  r.met_point = all && r.geomean.value >= r.geomean_min;
  r.met = r.met_point;
  r.exit_code = r.met ? kExitMet : kExitUnmet;
  if (c.goal.status == "paused" && c.goal.paused_reason.empty()) c.broken("the status is paused without paused_reason");
  if (c.goal.status == "blocked" && c.goal.question_for_user.empty())
    c.broken("the status is blocked without question_for_user");
  sort_worst_first(&r.variants);
}

void refuse_plain(Check& c) {
  c.report.met = c.report.met_point = false;
  c.report.exit_code = kExitUnmet;
  c.note("a strict check was asked for, which needs a goal with lock and ledger: the weaker form is not accepted");
}

/// Everything that needs the lock.
void judge_evidence(Check& c) {
  check_ledger(c);
  check_amendments(c);
  Evidence evidence(c.artifacts_dir, c.view);
  check_objects(c, evidence);
  check_shapes(c, evidence);
  sort_worst_first(&c.report.variants);
  check_geomean(c);
  settle(c);
  check_status(c, evidence);
  // the same missing object may be met on several ways
  std::vector<std::string> unique;
  for (std::string& sentence : c.report.broken) {
    if (std::find(unique.begin(), unique.end(), sentence) == unique.end()) unique.push_back(std::move(sentence));
  }
  c.report.broken = std::move(unique);
}

/// The anchor before the ledger and the ledger before the anchor: a writer in between moves both.
void read_all(Check& c, const CheckOptions& options, std::string* why) {
  c.goal_text = read_file(options.goal_path, why).value_or("");
  c.anchor_before = read_anchor(options.anchor_path);
  if (options.after_anchor) options.after_anchor();
  c.view = read_ledger(c.artifacts_dir);
  if (options.after_anchor) options.after_anchor();
  c.anchor_after = read_anchor(options.anchor_path);
}

CheckReport judge_goal(const CheckOptions& options) {
  Check c;
  c.artifacts_dir = folder_of(options.goal_path);
  c.root = join_path(c.artifacts_dir, "..");
  if (std::string link = symlinked_folder(c.artifacts_dir); !link.empty()) {
    c.broken(std::move(link));
    return finish(c);
  }
  std::string why;
  read_all(c, options, &why);
  const bool created = lock_line(c.view) != nullptr;
  if (!why.empty()) {
    c.report.no_goal = !created && !file_exists(ledger_path(c.artifacts_dir));
    c.broken(fmt::format("{} cannot be read: {}{}", options.goal_path, why,
                         created ? "; the ledger knows that a goal was created" : ""));
    return finish(c);
  }
  Result<Goal> goal = parse_goal(c.goal_text, options.goal_path);
  if (!goal.ok()) {
    c.broken(goal.error().message);
    return finish(c);
  }
  c.goal = std::move(goal).value();
  c.report.task = c.goal.task;
  c.report.run = c.goal.run;
  c.report.status = c.goal.status;
  if (!c.goal.has_lock() && !created && c.anchor_before && c.anchor_before->count > 0) {
    c.broken(
        fmt::format("the anchor knows of a ledger of {} lines, and it is gone: a goal file without lock is not "
                    "judged in its place",
                    c.anchor_before->count));
    return finish(c);
  }
  if (!c.goal.has_lock() && !created) {
    check_plain(c);
    if (options.strict) refuse_plain(c);
    return finish(c);
  }
  if (!c.goal.has_lock()) {
    c.broken("the ledger knows of a goal with a lock, but the goal file has none");
    return finish(c);
  }
  if (!check_lock(c)) return finish(c);
  judge_evidence(c);
  return finish(c);
}

}  // namespace

std::string status_disagreement(const LedgerView& view, const Goal& goal) {
  std::string last, object;
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "goal") last.clear();
    if (line.kind != "status") continue;
    last = line.note;
    object = line.object;
  }
  const bool ended = last.starts_with("paused: ") || last.starts_with("blocked: ");
  const bool says_ended = goal.status == "paused" || goal.status == "blocked";
  if (!ended && !says_ended) return "";
  const std::string word = goal.status == "paused" ? "pause" : goal.status == "blocked" ? "block" : "resume";
  const std::string& words = goal.status == "paused" ? goal.paused_reason : goal.question_for_user;
  const std::string backing = goal.status_evidence.empty() ? "" : goal.status_evidence.front();
  if (says_ended && last == goal.status + ": " + words && backing == object) return "";
  return fmt::format("the goal file says {}, but the ledger has no such decision: `hillclimb goal {}` makes it",
                     goal.status, word);
}

CheckReport check_goal(const CheckOptions& options) {
  CheckReport report = judge_goal(options);
  // a writer between its line in the ledger and the goal file is no fault either: look again when something moved
  for (int again = 0; again < kLooks && report.exit_code == kExitBroken && !report.no_goal; ++again) {
    ::usleep(kBetweenLooksMicroseconds);
    CheckReport next = judge_goal(options);
    const bool same = next.broken == report.broken;
    report = std::move(next);
    if (same) break;
  }
  return report;
}

}  // namespace hc::ledger
