// The goal file as JSON text.
#include "ledger/goal_file.h"

#include <cmath>
#include <limits>

#include "ledger/json_reader.h"

namespace hc::ledger {
namespace {

Json ids_json(const std::vector<std::string>& ids) { return Json(ids); }

Json shape_json(const GoalShape& s) {
  Json out;
  out["name"] = s.name;
  out["ratio"] = s.ratio > 0 ? Json(s.ratio) : Json(nullptr);
  out["artifact"] = s.artifact;
  out["lcb"] = s.lcb;
  out["ucb"] = std::isfinite(s.ucb) ? Json(s.ucb) : Json(nullptr);
  out["verdict"] = s.verdict;
  out["best_baseline"] = s.best_baseline;
  out["evidence"] = ids_json(s.evidence);
  out["stale"] = s.stale;
  Json before;
  before["ratio"] = s.before_ratio > 0 ? Json(s.before_ratio) : Json(nullptr);
  before["artifact"] = s.before_artifact;
  before["evidence"] = ids_json(s.before_evidence);
  out["before"] = std::move(before);
  return out;
}

/// A number that may be null or absent.
double number_or(const Json& object, const char* key, double otherwise, std::string* failure) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return otherwise;
  if (!it->is_number()) {
    if (failure->empty())
      *failure = fmt::format("field `{}` is {} and must be a number", key, it->dump().substr(0, 60));
    return otherwise;
  }
  return it->get<double>();
}

GoalShape parse_shape(const Json& json, const std::string& path, bool plain, std::string* failure) {
  GoalShape s;
  const JsonReader in(json, path, failure);
  if (!failure->empty()) return s;
  s.name = in.text("name");
  s.ratio = number_or(json, "ratio", 0, failure);
  s.artifact = json.contains("artifact") && json["artifact"].is_null() ? "" : in.text_or("artifact", "");
  if (plain) return s;
  s.lcb = number_or(json, "lcb", 0, failure);
  s.ucb = number_or(json, "ucb", std::numeric_limits<double>::infinity(), failure);
  s.verdict = in.text_or("verdict", "");
  s.best_baseline = in.text_or("best_baseline", "");
  s.evidence = in.texts("evidence");
  s.stale = in.boolean_or("stale", false);
  if (in.has("before") && json["before"].is_object()) {
    const JsonReader before = in.object("before");
    s.before_ratio = number_or(json["before"], "ratio", 0, failure);
    s.before_artifact = before.text_or("artifact", "");
    s.before_evidence = before.texts("evidence");
  }
  return s;
}

}  // namespace

GoalShape* Goal::shape(const std::string& name) {
  for (GoalShape& s : shapes) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::string to_json(const Goal& goal) {
  Json out;
  out["schema"] = kGoalSchema;
  out["task"] = goal.task;
  out["run"] = goal.run;
  out["status"] = goal.status;
  out["lock"] = goal.lock;
  out["criteria"] = {{"geomean_min", goal.geomean_min}};
  out["shapes"] = Json::array();
  for (const GoalShape& s : goal.shapes) out["shapes"].push_back(shape_json(s));
  if (!goal.paused_reason.empty()) out["paused_reason"] = goal.paused_reason;
  if (!goal.question_for_user.empty()) out["question_for_user"] = goal.question_for_user;
  if (!goal.status_evidence.empty()) out["status_evidence"] = ids_json(goal.status_evidence);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Goal> parse_goal(const std::string& text, const std::string& where) {
  const auto wrong = [&](const std::string& why) {
    return Diagnostic{.code = Code::goal_error, .message = fmt::format("{}: {}", where, why)};
  };
  std::optional<Json> json = parse_json(text);
  if (!json || !json->is_object()) return wrong("this is not a JSON object");
  // a plain file of the spec has neither schema nor lock
  const bool plain = !json->contains("schema");
  if (!plain) HC_TRY(parse_document(text, where, kGoalSchema));
  std::string failure;
  const JsonReader in(*json, "", &failure);
  Goal goal;
  goal.task = in.text("task");
  goal.run = in.text_or("run", "");
  goal.status = in.text_or("status", "running");
  goal.lock = in.text_or("lock", "");
  if (in.has("criteria")) goal.geomean_min = in.object("criteria").number_or("geomean_min", 1.0);
  for (const JsonReader& shape : in.objects("shapes")) (void)shape;
  if (!failure.empty()) return wrong(failure);
  size_t index = 0;
  for (const Json& shape : (*json)["shapes"]) {
    goal.shapes.push_back(parse_shape(shape, fmt::format("shapes[{}]", index++), plain, &failure));
  }
  goal.paused_reason = in.text_or("paused_reason", "");
  goal.question_for_user = in.text_or("question_for_user", "");
  goal.status_evidence = in.texts("status_evidence");
  if (!failure.empty()) return wrong(failure);
  if (!plain && goal.lock.empty()) return wrong("a goal of schema hillclimb.goal/1 needs its `lock`");
  if (goal.shapes.empty()) return wrong("`shapes` is empty; one entry per variant is needed");
  return goal;
}

}  // namespace hc::ledger
