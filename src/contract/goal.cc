// Creating, updating and archiving the goal.
#include "contract/goal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/json.h"
#include "contract/faults.h"

namespace hc::contract {
namespace {

/// Reading the goal, changing one shape and writing it is one step; parts of a climb on several GPUs take turns.
std::string goal_lock_path(const std::string& artifacts) { return join_path(artifacts, ".goal"); }

/// Inputs as one line for the reader of a lock.
std::string inputs_text(const TaskVariant& v) {
  std::string out;
  for (const TaskInput& input : v.inputs) out += fmt::format("{}{}={}", out.empty() ? "" : " ", input.name, input.text);
  return out;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

Json comparison_json(const ledger::BaselineVerdict& b) {
  Json out;
  out["name"] = b.name;
  out["ratio"] = b.comparison.ratio;
  out["lcb"] = b.comparison.lcb;
  out["ucb"] = std::isfinite(b.comparison.ucb) ? Json(b.comparison.ucb) : Json(nullptr);
  out["mixture_ratio"] = b.comparison.mixture_ratio;
  out["slowest_ratio"] = b.comparison.slowest_ratio;
  out["pairs"] = b.comparison.pairs;
  out["used"] = b.comparison.used;
  out["slow_baseline"] = b.comparison.slow_baseline;
  out["slow_candidate"] = b.comparison.slow_candidate;
  out["alpha"] = b.comparison.alpha;
  out["verdict"] = ledger::verdict_name(b.comparison.verdict);
  out["reason"] = b.comparison.reason;
  out["seconds"] = b.seconds;
  return out;
}

/// The derived record: numbers that can be thrown away and made again from the raw objects that it names.
std::string derived_text(const Goal& goal, const ledger::VariantVerdict& v, const std::vector<std::string>& evidence) {
  Json out;
  out["schema"] = ledger::kDerivedSchema;
  out["task"] = goal.task;
  out["variant"] = v.name;
  out["lock"] = goal.lock;
  out["rules"] = {{"version", ledger::kRulesVersion}, {"sha256", ledger::rules_sha256()}};
  out["evidence"] = evidence;
  out["verdict"] = ledger::verdict_name(v.verdict);
  out["reason"] = v.reason;
  out["ratio"] = v.ratio;
  out["best_baseline"] = v.best_baseline;
  out["candidate_seconds"] = v.candidate_seconds;
  if (v.calibration.there()) {
    out["calibration"] = {
        {"evidence", v.calibration.ids}, {"floor", v.calibration.noise.floor}, {"biased", v.calibration.noise.biased}};
  }
  out["baselines"] = Json::array();
  for (const ledger::BaselineVerdict& b : v.baselines) out["baselines"].push_back(comparison_json(b));
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Adds the earlier confirming runs of the same candidate, in ledger order, as the rules of pooling ask.
Result<std::vector<std::string>> pooled(ledger::Evidence& evidence, const std::string& variant,
                                        const std::vector<std::string>& ids) {
  std::vector<std::string> broken, confirming, others;
  for (const std::string& id : ids) {
    const ledger::PairsArtifact* a = evidence.pairs(id, &broken);
    if (!a) return Diagnostic{.code = Code::evidence_broken, .message = broken.front()};
    if (a->purpose != ledger::Purpose::confirm) {
      others.push_back(id);
      continue;
    }
    for (const ledger::Arm& arm : a->arms) {
      if (arm.role != ledger::Role::candidate) continue;
      const std::string subject = ledger::candidate_subject(arm.source_sha256, arm.config);
      for (const std::string& one : ledger::confirming_ids(evidence.view(), variant, subject)) {
        if (std::find(confirming.begin(), confirming.end(), one) == confirming.end()) confirming.push_back(one);
      }
    }
    if (std::find(confirming.begin(), confirming.end(), id) == confirming.end()) confirming.push_back(id);
  }
  others.insert(others.end(), confirming.begin(), confirming.end());
  return others;
}

void fill_shape(const ledger::Store& store, const ledger::VariantVerdict& v, const std::vector<std::string>& evidence,
                GoalShape* shape) {
  shape->ratio = v.ratio;
  shape->lcb = v.lcb;
  shape->ucb = v.ucb;
  shape->verdict = ledger::verdict_name(v.verdict);
  shape->best_baseline = v.best_baseline;
  shape->evidence = evidence;
  shape->artifact = store.named_path(evidence.back());
  shape->stale = false;
}

}  // namespace

ledger::Lock make_lock(const Task& task, const std::string& run) {
  ledger::Lock lock;
  lock.task = task.name;
  lock.run = run;
  lock.created = ledger::utc_now();
  lock.task_sha256 = task.sha256;
  lock.kernel = task.kernel;
  lock.rules_version = ledger::kRulesVersion;
  lock.rules_sha256 = ledger::rules_sha256();
  lock.criteria = task.criteria;
  lock.criteria.aa_pairs = task.effort.aa_pairs;
  lock.waive = task.waive;
  lock.task_file = task.path;
  lock.back_to_back = task.effort.back_to_back;
  for (const TaskVariant& v : task.variants)
    lock.variants.push_back({v.name, v.hash, inputs_text(v), v.target, v.work});
  for (const TaskBaseline& b : task.baselines) {
    Json recipe = Json::object();
    for (const auto& [key, value] : b.recipe) recipe[key] = parse_json(value).value_or(Json(value));
    lock.baselines.push_back({b.name, joined(b.worker), recipe.dump()});
  }
  return lock;
}

Result<std::string> store_lock(ledger::Store& store, const ledger::Lock& lock) {
  return store.put(lock.run, "goal.lock", ledger::to_json(lock), "", -1);
}

std::string goal_path(const std::string& artifacts_dir) { return join_path(artifacts_dir, "goal.json"); }

Result<std::string> archive_goal(ledger::Store& store) {
  const std::string path = goal_path(store.artifacts_dir());
  if (!file_exists(path)) return std::string();
  const Result<Goal> old = read_goal(store.artifacts_dir());
  const std::string run = old.ok() && !old.value().run.empty() ? old.value().run : "unnamed-run";
  const std::string folder = join_path(store.artifacts_dir(), run);
  if (const std::string why = make_folders(folder); !why.empty()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be made: {}", folder, why)};
  }
  std::string target = join_path(folder, "goal.json");
  for (int i = 2; file_exists(target); ++i) target = join_path(folder, fmt::format("goal-{}.json", i));
  if (std::rename(path.c_str(), target.c_str()) != 0) {
    return Diagnostic{.code = Code::file_error,
                      .message = fmt::format("{} cannot be moved to {}: {}", path, target, std::strerror(errno))};
  }
  ledger::LedgerLine line;
  line.kind = "archive";
  line.run = run;
  line.note = target;
  HC_TRY(store.append(std::move(line)));
  return target;
}

Result<Goal> create_goal(ledger::Store& store, const Task& task, const std::string& run) {
  HC_TRY(archive_goal(store));
  const ledger::Lock lock = make_lock(task, run);
  Goal goal;
  goal.task = task.name;
  goal.run = run;
  goal.lock = HC_TRY(store_lock(store, lock));
  goal.geomean_min = lock.criteria.geomean_min;
  for (const TaskVariant& v : task.variants) {
    GoalShape shape;
    shape.name = v.name;
    shape.ucb = INFINITY;
    goal.shapes.push_back(std::move(shape));
  }
  ledger::LedgerLine line;
  line.kind = "goal";
  line.run = run;
  line.object = goal.lock;
  line.name = store.named_path(goal.lock).substr(std::strlen("artifacts/"));
  line.note = task.name;
  HC_TRY(store.append(std::move(line)));
  HC_TRY(write_goal(store.artifacts_dir(), goal));
  return goal;
}

Result<Goal> read_goal(const std::string& artifacts_dir) {
  const std::string path = goal_path(artifacts_dir);
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text)
    return goal_error(fmt::format("there is no goal file {} ({})", path, why)).fix("`hillclimb start TASK` makes one");
  return ledger::parse_goal(*text, path);
}

Status write_goal(const std::string& artifacts_dir, const Goal& goal) {
  const std::string why = write_file_atomic(goal_path(artifacts_dir), ledger::to_json(goal));
  if (why.empty()) return success();
  return Diagnostic{.code = Code::file_error,
                    .message = fmt::format("{} cannot be written: {}", goal_path(artifacts_dir), why)};
}

Result<ledger::Lock> read_lock(const std::string& artifacts_dir, const std::string& lock_id) {
  const std::string text = HC_TRY(ledger::read_object(artifacts_dir, lock_id));
  return ledger::parse_lock(text, "the goal's lock");
}

Result<ledger::VariantVerdict> update_shape(ledger::Store& store, const std::string& variant,
                                            const std::vector<std::string>& ids) {
  const FileLock guard(goal_lock_path(store.artifacts_dir()));
  Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  const ledger::Lock lock = HC_TRY(read_lock(store.artifacts_dir(), goal.lock));
  GoalShape* shape = goal.shape(variant);
  if (!shape) return goal_error(fmt::format("the goal has no variant \"{}\"", variant));
  if (ids.empty()) return goal_error(fmt::format("no evidence was given for \"{}\"", variant));
  ledger::Evidence evidence(store.artifacts_dir(), store.view());
  const std::vector<std::string> all = HC_TRY(pooled(evidence, variant, ids));
  ledger::VariantVerdict v = ledger::judge_variant(evidence, lock, variant, all);
  if (!v.broken.empty()) return Diagnostic{.code = Code::evidence_broken, .message = v.broken.front()};
  if (!v.measured)
    return goal_error(fmt::format("the evidence given for \"{}\" measures no registered baseline", variant));
  fill_shape(store, v, all, shape);
  if (shape->before_ratio <= 0) {
    std::vector<std::string> broken;
    const ledger::PairsArtifact* first = evidence.pairs(ids.front(), &broken);
    shape->before_ratio = ledger::lowest_ratio(*first, lock);
    shape->before_artifact = store.named_path(ids.front());
    shape->before_evidence = {ids.front()};
  }
  HC_TRY(store.put(goal.run, fmt::format("derived-{}", variant), derived_text(goal, v, all), variant, -1));
  if (goal.status == "met" && v.verdict != ledger::Verdict::pass) goal.status = "running";
  HC_TRY(write_goal(store.artifacts_dir(), goal));
  return v;
}

Status mark_stale(ledger::Store& store, const std::string& variant, const std::string& why) {
  const FileLock guard(goal_lock_path(store.artifacts_dir()));
  Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  GoalShape* shape = goal.shape(variant);
  if (!shape) return goal_error(fmt::format("the goal has no variant \"{}\"", variant));
  if (shape->evidence.empty() || shape->stale) return success();
  ledger::LedgerLine line;
  line.kind = "stale";
  line.run = goal.run;
  line.object = shape->evidence.back();
  line.variant = variant;
  line.note = why;
  HC_TRY(store.append(std::move(line)));
  shape->stale = true;
  if (goal.status == "met") goal.status = "running";
  return write_goal(store.artifacts_dir(), goal);
}

Status set_status(ledger::Store& store, const std::string& status, const std::string& words,
                  const std::vector<std::string>& evidence) {
  Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  if (status != "running" && status != "paused" && status != "blocked" && status != "met") {
    return goal_error(fmt::format("\"{}\" is not a status; running, paused, blocked and met are", status));
  }
  if (status == "paused" && words.empty()) return goal_error("paused needs the owner's words");
  if (status == "blocked" && (words.empty() || evidence.empty()))
    return goal_error("blocked needs a question and evidence");
  goal.status = status;
  goal.paused_reason = status == "paused" ? words : "";
  goal.question_for_user = status == "blocked" ? words : "";
  goal.status_evidence = evidence;
  ledger::LedgerLine line;
  line.kind = "status";
  line.run = goal.run;
  line.object = evidence.empty() ? "" : evidence.front();
  line.note = words.empty() ? status : status + ": " + words;
  HC_TRY(store.append(std::move(line)));
  return write_goal(store.artifacts_dir(), goal);
}

}  // namespace hc::contract
