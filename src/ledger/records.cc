// JSON text of the record types.
#include "ledger/records.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>

#include "ledger/json_reader.h"

namespace hc::ledger {
namespace {

Json work_json(const Work& work) {
  Json out;
  out["unit"] = work.unit;
  out["amount"] = work.amount;
  return out;
}

Json arm_json(const Arm& arm) {
  Json out;
  out["name"] = arm.name;
  out["role"] = role_name(arm.role);
  out["worker"] = arm.worker;
  out["source_sha256"] = arm.source_sha256;
  if (!arm.generated_sha256.empty()) out["generated_sha256"] = arm.generated_sha256;
  out["binary_sha256"] = arm.binary_sha256;
  out["config"] = embedded(arm.config);
  out["tune"] = arm.tune;
  out["has_tuner"] = arm.has_tuner;
  if (!arm.varies.empty()) out["varies"] = arm.varies;
  if (!arm.loaded.empty()) out["loaded"] = facts_json(arm.loaded);
  out["versions"] = facts_json(arm.versions);
  return out;
}

Json reading_json(const Reading& reading) {
  Json seconds = Json::array(), launches = Json::array();
  for (const Block& block : reading.blocks) {
    seconds.push_back(block.seconds);
    launches.push_back(block.launches);
  }
  Json out;
  out["arm"] = reading.arm;
  out["pid"] = reading.pid;
  out["started_s"] = reading.started_s;
  out["mid_s"] = reading.mid_s;
  if (reading.wall_s > 0) out["wall_s"] = reading.wall_s;
  out["seconds"] = std::move(seconds);
  out["launches"] = std::move(launches);
  out["correct"] = reading.correct;
  out["worst_error"] = reading.worst_error;
  out["nonfinite"] = reading.nonfinite;
  out["binary_sha256"] = reading.binary_sha256;
  out["inputs_sha256"] = reading.inputs_sha256;
  if (!reading.mode.empty()) out["mode"] = reading.mode;
  out["facts"] = facts_json(reading.facts);
  return out;
}

/// A canary that failed took for ever, which JSON has no number for.
Json canary_json(const Canary& canary) {
  const bool whole = std::isfinite(canary.compute_s) && std::isfinite(canary.memory_s);
  return {{"compute_s", whole ? canary.compute_s : 0}, {"memory_s", whole ? canary.memory_s : 0}};
}

Json pair_json(const Pair& pair) {
  Json out;
  out["valid"] = pair.valid;
  out["rule"] = pair.rule;
  if (pair.reference.compute_s > 0) {
    out["canary_before"] = canary_json(pair.before);
    out["canary_after"] = canary_json(pair.after);
    out["canary_reference"] = canary_json(pair.reference);
  }
  Json readings = Json::array();
  for (const Reading& reading : pair.readings) readings.push_back(reading_json(reading));
  out["readings"] = std::move(readings);
  return out;
}

Json candidate_json(const Candidate& candidate) {
  Json out;
  out["seq"] = candidate.seq;
  out["t_s"] = candidate.t_s;
  out["config"] = embedded(candidate.config);
  out["origin"] = candidate.origin;
  out["outcome"] = outcome_name(candidate.outcome);
  out["reason"] = candidate.reason;
  out["seconds"] = candidate.seconds;
  return out;
}

/// The fields that every artifact begins with.
Json artifact_head(std::string_view kind, const std::string& run, const std::string& name, const std::string& task,
                   const std::string& variant, const std::string& variant_hash) {
  Json out;
  out["schema"] = kArtifactSchema;
  out["kind"] = kind;
  out["run"] = run;
  out["name"] = name;
  out["task"] = task;
  out["variant"] = variant;
  out["variant_hash"] = variant_hash;
  return out;
}

std::string document(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json criteria_json(const Criteria& criteria) {
  Json out;
  out["margin"] = criteria.margin;
  out["geomean_min"] = criteria.geomean_min;
  out["geomean_slack"] = criteria.geomean_slack;
  out["alpha"] = criteria.alpha;
  out["looks"] = criteria.looks;
  out["rate_tolerance"] = criteria.rate_tolerance;
  out["aa_pairs"] = criteria.aa_pairs;
  return out;
}

}  // namespace

std::string_view mode_name(bool back_to_back) { return back_to_back ? "back_to_back" : "single"; }

bool is_back_to_back(const PairsArtifact& artifact) { return artifact.timer.find("back-to-back") != std::string::npos; }

std::string fact(const Facts& facts, std::string_view name) {
  for (const auto& [key, value] : facts) {
    if (key == name) return value;
  }
  return "";
}

std::string utc_now() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm tm{};
  ::gmtime_r(&seconds, &tm);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  const auto millis = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{}.{:03}Z", text, millis);
}

std::string_view role_name(Role role) {
  constexpr std::string_view kNames[] = {"candidate", "baseline", "anchor", "ceiling"};
  return kNames[static_cast<int>(role)];
}

std::string_view purpose_name(Purpose purpose) {
  constexpr std::string_view kNames[] = {"nominate", "confirm", "aa", "try", "ablate", "ceiling", "audit"};
  return kNames[static_cast<int>(purpose)];
}

std::string task_argument(const Lock& lock) {
  if (lock.task_file.empty()) return "TASK";
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
           c == '_' || c == '-' || c == '+';
  };
  if (std::all_of(lock.task_file.begin(), lock.task_file.end(), plain)) return lock.task_file;
  std::string out = "'";
  for (const char c : lock.task_file) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"PASS", "FAIL", "OPEN"};
  return kNames[static_cast<int>(verdict)];
}

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view kNames[] = {"ok",      "refused",   "compile_failed", "wrong_answer",
                                         "crashed", "timed_out", "unstable"};
  return kNames[static_cast<int>(outcome)];
}

std::string to_json(const PairsArtifact& a) {
  Json out = artifact_head("pairs", a.run, a.name, a.task, a.variant, a.variant_hash);
  out["lock"] = a.lock;
  out["purpose"] = purpose_name(a.purpose);
  out["open_seq"] = a.open_seq;
  out["opened_at"] = a.opened_at;
  out["closed_at"] = a.closed_at;
  out["compiler_sha256"] = a.compiler_sha256;
  out["kernel_sha256"] = a.kernel_sha256;
  out["timer"] = a.timer;
  out["machine"] = facts_json(a.machine);
  if (!a.machine_close.empty()) out["machine_close"] = facts_json(a.machine_close);
  out["input"] = facts_json(a.input);
  out["work"] = work_json(a.work);
  out["read_gbs"] = a.read_gbs;
  out["cache_bytes"] = a.cache_bytes;
  out["arms"] = Json::array();
  for (const Arm& arm : a.arms) out["arms"].push_back(arm_json(arm));
  out["pairs"] = Json::array();
  for (const Pair& pair : a.pairs) out["pairs"].push_back(pair_json(pair));
  return document(out);
}

std::string to_json(const TuneRecord& t) {
  Json out = artifact_head("tune", t.run, t.name, t.task, t.variant, t.variant_hash);
  out["arm"] = t.arm;
  out["opened_at"] = t.opened_at;
  out["closed_at"] = t.closed_at;
  out["compiler_sha256"] = t.compiler_sha256;
  out["kernel_sha256"] = t.kernel_sha256;
  out["seed"] = t.seed;
  out["started_cold"] = t.started_cold;
  out["ended_by"] = t.ended_by;
  out["full"] = t.full;
  out["space_size"] = t.space_size;
  out["seconds"] = t.seconds;
  out["winner"] = embedded(t.winner);
  out["winner_seconds"] = t.winner_seconds;
  out["winner_source_sha256"] = t.winner_source_sha256;
  out["machine"] = facts_json(t.machine);
  out["candidates"] = Json::array();
  for (const Candidate& candidate : t.candidates) out["candidates"].push_back(candidate_json(candidate));
  return document(out);
}

std::string to_json(const CheckRecord& c) {
  Json out = artifact_head("check", c.run, c.name, c.task, c.variant, c.variant_hash);
  out["backend"] = c.backend;
  out["passed"] = c.passed;
  out["worst_error"] = c.worst_error;
  out["elements"] = c.elements;
  out["nonfinite"] = c.nonfinite;
  out["reference"] = c.reference;
  out["at"] = c.at;
  return document(out);
}

std::string to_json(const Lock& lock) {
  Json out;
  out["schema"] = kLockSchema;
  out["task"] = lock.task;
  out["run"] = lock.run;
  out["created"] = lock.created;
  out["task_sha256"] = lock.task_sha256;
  out["kernel"] = lock.kernel;
  out["rules"] = {{"version", lock.rules_version}, {"sha256", lock.rules_sha256}};
  out["criteria"] = criteria_json(lock.criteria);
  out["variants"] = Json::array();
  for (const LockedVariant& v : lock.variants) {
    out["variants"].push_back(
        {{"name", v.name}, {"hash", v.hash}, {"text", v.text}, {"target", v.target}, {"work", work_json(v.work)}});
  }
  out["baselines"] = Json::array();
  for (const LockedBaseline& b : lock.baselines) {
    out["baselines"].push_back({{"name", b.name}, {"worker", b.worker}, {"recipe", embedded(b.recipe)}});
  }
  out["waive"] = lock.waive;
  if (!lock.task_file.empty()) out["task_file"] = lock.task_file;
  out["mode"] = mode_name(lock.back_to_back);
  return document(out);
}

}  // namespace hc::ledger
