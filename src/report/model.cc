// Gathering the numbers of a report.
#include "report/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "report/machine.h"
#include "report/timing.h"

namespace hc::report {
namespace {

using ledger::Arm;
using ledger::Outcome;
using ledger::PairsArtifact;
using ledger::Role;

constexpr double kModeGap = 0.02;  ///< mixture and fast-mode ratio further apart than this are flagged
constexpr double kNearLimit = 0.005;

double speed(const ledger::Work& work, double seconds) {
  if (seconds <= 0) return 0;
  return work.amount / seconds * (work.unit == "TFLOPS" ? 1e-12 : 1e-9);
}

const Arm* arm_of(const PairsArtifact& a, Role role) {
  for (const Arm& arm : a.arms) {
    if (arm.role == role) return &arm;
  }
  return nullptr;
}

double candidate_seconds(const PairsArtifact& a) {
  const Arm* arm = arm_of(a, Role::candidate);
  return arm ? ledger::arm_seconds(a, arm->name) : 0;
}

/// Collects while rows are filled.
struct Gatherer {
  Model model;
  ledger::Evidence evidence;
  std::vector<std::string> ignored;  ///< faults that the checker reports anyway
};

void fill_tune(Gatherer& g, const std::string& id, const ledger::Work& work, TuneSummary* out) {
  const ledger::TuneRecord* t = g.evidence.tune(id, &g.ignored);
  if (!t) return;
  out->present = true;
  out->file = "artifacts/" + g.evidence.listing(id)->name;
  out->seed = t->seed;
  out->cold = t->started_cold;
  out->full = t->full;
  out->ended_by = t->ended_by;
  out->seconds = t->seconds;
  out->space = t->space_size;
  out->winner = t->winner;
  out->candidates = static_cast<int>(t->candidates.size());
  int counts[7] = {};
  for (const ledger::Candidate& c : t->candidates) {
    ++counts[static_cast<int>(c.outcome)];
    if (c.outcome == Outcome::ok) {
      out->tried.push_back({c.t_s, speed(work, c.seconds)});
    } else {
      out->fell.push_back(c.t_s);
    }
  }
  for (int i = 0; i < 7; ++i) {
    if (counts[i] > 0)
      out->outcomes.emplace_back(std::string(ledger::outcome_name(static_cast<Outcome>(i))), counts[i]);
  }
}

/// The candidate's newest tune of a variant: the one that its measurement names, or the last in the ledger.
std::string newest_tune(Gatherer& g, const std::string& variant, const PairsArtifact* artifact) {
  if (artifact) {
    const Arm* arm = arm_of(*artifact, Role::candidate);
    if (arm && !arm->tune.empty()) return arm->tune;
  }
  std::string id;
  for (const ledger::LedgerLine& line : g.evidence.view().lines) {
    if (line.kind == "object" && line.variant == variant && line.name.find("tune") != std::string::npos)
      id = line.object;
  }
  return id;
}

/// Speed of the copy in the newest measurement of the variant that was announced for it, 0 if there is none.
double separate_ceiling(Gatherer& g, const std::string& variant) {
  double out = 0;
  const std::vector<ledger::LedgerLine>& lines = g.evidence.view().lines;
  for (const ledger::LedgerLine& line : lines) {
    if (line.kind == "goal") out = 0;
    if (line.kind != "object" || line.variant != variant || line.opens < 0) continue;
    if (lines[static_cast<size_t>(line.opens)].purpose != ledger::purpose_name(ledger::Purpose::ceiling)) continue;
    const PairsArtifact* a = g.evidence.pairs(line.object, &g.ignored);
    const Arm* ceiling = a ? arm_of(*a, Role::ceiling) : nullptr;
    if (ceiling) out = speed(a->work, ledger::arm_seconds(*a, ceiling->name));
  }
  return out;
}

/// Speed of a baseline that was timed only to find the best ones, by the newest nomination that has it.
Speed nominated_speed(Gatherer& g, const std::string& variant, const std::string& baseline) {
  Speed out{baseline, 0, {}};
  const std::vector<ledger::LedgerLine>& lines = g.evidence.view().lines;
  for (const ledger::LedgerLine& line : lines) {
    if (line.kind == "goal") out = {baseline, 0, {}};
    if (line.kind != "object" || line.variant != variant || line.opens < 0) continue;
    if (lines[static_cast<size_t>(line.opens)].purpose != ledger::purpose_name(ledger::Purpose::nominate)) continue;
    const PairsArtifact* a = g.evidence.pairs(line.object, &g.ignored);
    if (a && ledger::is_back_to_back(*a) != g.model.lock.back_to_back) continue;  // stands beside, in the other mode
    const double value = a ? speed(a->work, ledger::arm_seconds(*a, baseline)) : 0;
    if (value > 0) out = {baseline, value, "artifacts/" + line.name};
  }
  return out;
}

/// What the pool gives: as `a`, with the rounds of all confirming runs that the verdict is taken over.
void fill_measurement(Gatherer& g, const PairsArtifact& a, const PairsArtifact& pool, Row* row) {
  row->after = speed(pool.work, candidate_seconds(pool));
  row->timer = a.timer;
  row->empty_launches = empty_launch_text(a);
  row->thin_win = thin_win_text(g.evidence, g.model.lock, row->verdict, a);
  for (const ledger::LockedBaseline& b : g.model.lock.baselines) {
    row->baselines.push_back({b.name, speed(pool.work, ledger::arm_seconds(pool, b.name)), {}});
  }
  if (const Arm* ceiling = arm_of(a, Role::ceiling)) {
    row->ceiling = speed(a.work, ledger::arm_seconds(a, ceiling->name));
  } else {
    row->ceiling = separate_ceiling(g, row->name);
  }
  if (row->ceiling > 0) g.model.has_ceiling = true;
  for (const auto& [name, value] : a.machine) {
    add_machine_fact(name, value, &g.model.machine);
    if (const int column = cooling_column(name); column >= 0) row->cooling[static_cast<size_t>(column)] = value;
  }
  for (const Arm& arm : a.arms) {
    for (const auto& [name, value] : arm.versions) {
      if (value.empty() || value == arm.name) continue;
      const std::string key = name == "version" ? arm.name : arm.name + " " + name;
      if (ledger::fact(g.model.versions, key).empty()) g.model.versions.emplace_back(key, value);
    }
  }
}

/// How much one pair scatters: what the bounds are made of, and the least difference that a single pair could show.
double pair_scatter(const PairsArtifact& a, const std::string& baseline) {
  std::vector<double> differences;
  for (const ledger::PairTimes& t : ledger::pair_times(a, baseline)) differences.push_back(t.baseline - t.candidate);
  if (differences.size() < 3) return 0;
  const double middle = ledger::median(differences);
  for (double& d : differences) d = std::abs(d - middle);
  return 1.4826 * ledger::median(differences);
}

/// The newest measurement with the rounds of every earlier confirming run of the shape, as the verdict pools them.
PairsArtifact pool_of(Gatherer& g, const ledger::GoalShape& shape, const PairsArtifact& newest, Row* row) {
  PairsArtifact pool = newest;
  row->pooled = {shape.artifact};
  for (size_t i = shape.evidence.size() - 1; i-- > 0;) {
    const PairsArtifact* a = g.evidence.pairs(shape.evidence[i], &g.ignored);
    if (!a || a->purpose != ledger::Purpose::confirm) continue;
    row->pooled.push_back("artifacts/" + g.evidence.listing(shape.evidence[i])->name);
    pool.pairs.insert(pool.pairs.end(), a->pairs.begin(), a->pairs.end());
    for (const Arm& arm : a->arms) {
      const bool there =
          std::any_of(pool.arms.begin(), pool.arms.end(), [&](const Arm& p) { return p.name == arm.name; });
      if (!there) pool.arms.push_back(arm);
    }
  }
  for (const ledger::Pair& pair : pool.pairs) ++(pair.valid ? row->valid_pairs : row->void_pairs);
  return pool;
}

Row make_row(Gatherer& g, const ledger::LockedVariant& locked) {
  Row row;
  row.name = locked.name;
  row.inputs = locked.text;
  row.unit = locked.work.unit;
  for (const ledger::VariantVerdict& v : g.model.check.variants) {
    if (v.name == locked.name) row.verdict = v;
  }
  const PairsArtifact* newest = nullptr;
  for (const ledger::GoalShape& shape : g.model.check.shapes) {
    if (shape.name != locked.name) continue;
    row.artifact = shape.artifact;
    row.stale = shape.stale;
    row.before_ratio = shape.before_ratio;
    row.before_artifact = shape.before_artifact;
    if (!shape.evidence.empty()) newest = g.evidence.pairs(shape.evidence.back(), &g.ignored);
    if (!shape.before_evidence.empty()) {
      const PairsArtifact* before = g.evidence.pairs(shape.before_evidence.back(), &g.ignored);
      if (before) row.before = speed(before->work, candidate_seconds(*before));
    }
    if (newest) {
      const PairsArtifact pool = pool_of(g, shape, *newest, &row);
      fill_measurement(g, *newest, pool, &row);
      row.scatter = pair_scatter(pool, row.verdict.best_baseline);
    }
  }
  if (row.baselines.empty()) {
    for (const ledger::LockedBaseline& b : g.model.lock.baselines) row.baselines.push_back({b.name, 0, {}});
  }
  for (Speed& b : row.baselines) {
    if (!(b.value > 0)) b = nominated_speed(g, locked.name, b.name);
  }
  const std::string tune = newest_tune(g, locked.name, newest);
  if (!tune.empty()) fill_tune(g, tune, locked.work, &row.tune);
  return row;
}

/// Digits become #, so that the same reason with other numbers is one row.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

/// Reasons over every tune of the run, most frequent first.
void gather_losses(Gatherer& g) {
  std::map<std::string, Loss> losses;
  std::set<std::string> seen;
  for (const ledger::LedgerLine& line : g.evidence.view().lines) {
    if (line.kind != "object" || line.run != g.model.run || !seen.insert(line.object).second) continue;
    const std::string* text = g.evidence.text(line.object, &g.ignored);
    if (!text) continue;
    const Result<std::string> kind = ledger::artifact_kind(*text, line.name);
    if (!kind.ok() || kind.value() != "tune") continue;
    const ledger::TuneRecord* t = g.evidence.tune(line.object, &g.ignored);
    if (!t) continue;
    for (const ledger::Candidate& c : t->candidates) {
      if (c.outcome == Outcome::ok) continue;
      Loss& loss = losses[std::string(ledger::outcome_name(c.outcome)) + without_numbers(c.reason)];
      if (loss.count++ == 0) {
        loss.outcome = ledger::outcome_name(c.outcome);
        loss.reason = c.reason;
        loss.example = c.config;
      }
    }
  }
  for (auto& [key, loss] : losses) g.model.losses.push_back(std::move(loss));
  std::stable_sort(g.model.losses.begin(), g.model.losses.end(),
                   [](const Loss& a, const Loss& b) { return a.count > b.count; });
}

void row_risks(const Row& row, std::vector<std::string>* out) {
  const ledger::Comparison& c = row.verdict.best;
  const auto flag = [&](std::string text) { out->push_back(fmt::format("{}: {}", row.name, std::move(text))); };
  if (row.stale) flag("its evidence is stale");
  if (!row.verdict.measured) return;
  if (c.ratio > 0 && std::abs(c.mixture_ratio / c.ratio - 1) > kModeGap) {
    flag(fmt::format("over all pairs, modes not separated, the ratio is {:.3f} instead of {:.3f}", c.mixture_ratio,
                     c.ratio));
  }
  if (c.slow_candidate > 0)
    flag(fmt::format("the candidate was in a slow mode in {} of {} processes{}", c.slow_candidate, c.pairs,
                     c.by_slowest ? ", and is judged by its slowest against the fastest of the baseline" : ""));
  if (row.verdict.verdict == ledger::Verdict::pass && row.verdict.lcb < row.verdict.limit * (1 + kNearLimit)) {
    flag(fmt::format("it passes narrowly: the lower bound {:.4f} against {:.4f}", row.verdict.lcb, row.verdict.limit));
  }
  if (!row.thin_win.empty()) flag(row.thin_win);
  if (row.void_pairs > 0)
    flag(fmt::format("{} of {} pairs were void", row.void_pairs, row.void_pairs + row.valid_pairs));
  if (row.ceiling > 0 && row.after > 1.02 * row.ceiling) {
    flag(fmt::format("{:.1f} {} is above the streaming copy of the same run ({:.1f})", row.after, row.unit,
                     row.ceiling));
  }
  if (row.tune.present && !row.tune.searched()) {
    flag("no search found its config: only the winner of a cold full tune can pass");
  } else if (row.tune.present && !(row.tune.cold && row.tune.full && row.tune.ended_by == "converged")) {
    flag(fmt::format("its tune was {}, {} and ended by {}", row.tune.cold ? "cold" : "warm",
                     row.tune.full ? "full" : "cut short",
                     row.tune.ended_by == "converged" ? "its own convergence" : "a limit"));
  }
}

void gather_runs(Gatherer& g) {
  std::set<int64_t> closed;
  for (const ledger::LedgerLine& line : g.evidence.view().lines) {
    if (line.kind == "run_close") closed.insert(line.opens);
  }
  for (const ledger::LedgerLine& line : g.evidence.view().lines) {
    if (line.run != g.model.run) continue;
    g.model.stored += line.kind == "object";
    if (line.kind != "run_open") continue;
    ++g.model.announced;
    if (!closed.count(line.seq)) g.model.runs.push_back(fmt::format("{} of {}", line.purpose, line.variant));
  }
}

void gather_risks(Gatherer& g) {
  std::vector<std::string>& out = g.model.risks;
  for (const Row& row : g.model.rows) row_risks(row, &out);
  for (const std::string& run : g.model.runs) out.push_back("a run was announced and never ended: " + run);
  if (g.model.check.status == "running" && g.model.log.empty() && g.model.announced > 0)
    out.push_back("no iteration was logged, so the way here is not told");
  for (const ledger::LedgerLine& line : g.evidence.view().lines) {
    if (line.kind == "lost") out.push_back("an earlier ledger was lost: " + line.note);
  }
  if (!g.model.lock.waive.empty()) out.push_back("fewer baselines than usual: " + g.model.lock.waive);
  for (const std::string& note : g.model.check.notes) out.push_back(note);
}

std::string state_of(const ledger::CheckReport& check) {
  if (check.exit_code == ledger::kExitBroken) return "EVIDENCE BROKEN";
  if (check.met) return "MET";
  if (check.status == "paused") return "PAUSED";
  if (check.status == "blocked") return "BLOCKED";
  return check.exit_code == ledger::kExitUndecided ? "UNDECIDED" : "UNMET";
}

}  // namespace

std::string TuneSummary::how() const {
  return searched() ? fmt::format("{}, {}", cold ? "cold" : "warm", ended_by) : ended_by;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) {
    if (!(v > 0)) return 0;
    sum += std::log(v);
  }
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double arithmetic_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) {
    if (!(v > 0)) return 0;
    sum += v;
  }
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Result<Model> gather(const std::string& artifacts_dir, const std::string& run, const std::string& anchor_path) {
  const contract::Goal goal = HC_TRY(contract::read_goal(artifacts_dir));
  if (!goal.has_lock()) {
    return Diagnostic{.code = Code::goal_error,
                      .message = "a report needs a goal with lock and ledger; this goal file is the plain form"}
        .fix("`hillclimb start TASK` makes one");
  }
  if (!run.empty() && run != goal.run) {
    return Diagnostic{.code = Code::goal_error,
                      .message = fmt::format("the goal file is of the run {}, not of {}", goal.run, run)}
        .fix(fmt::format("ask for the report of {}", goal.run));
  }
  const ledger::LedgerView view = ledger::read_ledger(artifacts_dir);
  Gatherer g{{}, ledger::Evidence(artifacts_dir, view), {}};
  g.model.run = goal.run;
  g.model.check = ledger::check_goal({contract::goal_path(artifacts_dir), anchor_path});
  g.model.lock = HC_TRY(contract::read_lock(artifacts_dir, goal.lock));
  g.model.state = state_of(g.model.check);
  g.model.interim = g.model.state != "MET" && g.model.state != "PAUSED" && g.model.state != "BLOCKED";
  g.model.question = goal.status == "blocked" ? goal.question_for_user : goal.paused_reason;
  const std::string& text = g.model.check.text;
  g.model.headline = text.substr(0, text.find('\n'));
  for (const ledger::LockedVariant& v : g.model.lock.variants) {
    g.model.rows.push_back(make_row(g, v));
    if (std::find(g.model.units.begin(), g.model.units.end(), v.work.unit) == g.model.units.end())
      g.model.units.push_back(v.work.unit);
  }
  order_machine(&g.model.machine);
  gather_losses(g);
  gather_runs(g);
  g.model.history = run_history(g.evidence, g.model.lock, g.model.run);
  g.model.amendments = amendments(view);
  g.model.log = contract::iterations(view, g.model.run);
  g.model.ledger_lines = static_cast<int64_t>(view.lines.size());
  g.model.ledger_head = view.head();
  gather_risks(g);
  return std::move(g.model);
}

}  // namespace hc::report
