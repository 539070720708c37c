// Reads stored measurements as plain JSON for the audit.
#include "contract/audit_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"

namespace hc::contract {
namespace {

std::vector<std::string> ids_of(const Json& list) {
  std::vector<std::string> out;
  for (const Json& id : list) out.push_back(id.is_string() ? id.get<std::string>() : "");
  return out;
}

const Json* arm_named(const Json& artifact, const std::string& name) {
  for (const Json& arm : list_of(artifact, "arms")) {
    if (text_of(arm, "name") == name && text_of(arm, "role") == "baseline") return &arm;
  }
  return nullptr;
}

const Json* candidate_arm(const Json& artifact) {
  for (const Json& arm : list_of(artifact, "arms")) {
    if (text_of(arm, "role") == "candidate") return &arm;
  }
  return nullptr;
}

/// Log of the median time per call of one process; nothing when its samples are not positive numbers.
std::optional<double> log_time(const Json& reading) {
  const Json &seconds = list_of(reading, "seconds"), &launches = list_of(reading, "launches");
  if (seconds.empty() || seconds.size() != launches.size()) return std::nullopt;
  std::vector<double> calls;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (!seconds[i].is_number() || !launches[i].is_number()) return std::nullopt;
    calls.push_back(seconds[i].get<double>() / launches[i].get<double>());
    if (!(calls.back() > 0) || !std::isfinite(calls.back())) return std::nullopt;
  }
  return std::log(audit_median(std::move(calls)));
}

/// The valid rounds of candidate and baseline, or nothing when a reading cannot be used.
std::optional<std::vector<AuditRound>> rounds_of(const Json& artifact, const std::string& baseline) {
  const Json* candidate = candidate_arm(artifact);
  if (!candidate) return std::nullopt;
  std::vector<AuditRound> out;
  for (const Json& pair : list_of(artifact, "pairs")) {
    if (!pair.is_object() || !pair.contains("valid") || pair["valid"] != true) continue;
    AuditRound round;
    int found = 0;
    for (const Json& reading : list_of(pair, "readings")) {
      const std::string arm = text_of(reading, "arm");
      const bool is_candidate = arm == text_of(*candidate, "name");
      if (!is_candidate && arm != baseline) continue;
      const std::optional<double> log = log_time(reading);
      if (!log) return std::nullopt;
      (is_candidate ? round.candidate : round.baseline) = *log;
      (is_candidate ? round.candidate_mid_s : round.baseline_mid_s) = number_of(reading, "mid_s", 0);
      ++found;
    }
    if (found == 2) out.push_back(round);
  }
  return out;
}

}  // namespace

std::string text_of(const Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

double number_of(const Json& json, const char* key, double otherwise) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() && at->is_number() ? at->get<double>() : otherwise;
}

const Json& list_of(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() && at->is_array() ? *at : kNone;
}

AuditEvidence::AuditEvidence(std::string artifacts, Goal goal)
    : artifacts_(std::move(artifacts)), view_(ledger::read_ledger(artifacts_)), goal_(std::move(goal)) {}

const AuditDocument& AuditEvidence::document(const std::string& id) {
  const auto [at, fresh] = documents_.try_emplace(id);
  AuditDocument& out = at->second;
  if (!fresh) return out;
  const std::optional<std::string> text = read_file(ledger::object_path(artifacts_, id));
  if (!text) {
    out.fault = fmt::format("the object {} is not on disk", id.substr(0, 12));
  } else if (sha256_hex(*text) != id) {
    out.fault = fmt::format("the object {} has another hash now", id.substr(0, 12));
  } else if (std::optional<Json> json = parse_json(*text); !json || !json->is_object()) {
    out.fault = fmt::format("the object {} is not JSON", id.substr(0, 12));
  } else {
    out.json = std::move(*json);
  }
  return out;
}

/// Object lines of announced confirming runs since the goal was created, each object once.
std::vector<const ledger::LedgerLine*> AuditEvidence::confirming() const {
  std::set<int64_t> opens;
  std::set<std::string> seen;
  std::vector<const ledger::LedgerLine*> out;
  for (const ledger::LedgerLine& line : view_.lines) {
    if (line.kind == "goal") {
      opens.clear();
      out.clear();
    }
    if (line.kind == "run_open" && line.purpose == "confirm") opens.insert(line.seq);
    if (line.kind == "object" && opens.count(line.opens) && seen.insert(line.object).second) out.push_back(&line);
  }
  return out;
}

int AuditEvidence::announced(const std::string& variant, const std::string& subject, int64_t before) const {
  std::map<int64_t, bool> spent;
  std::set<int64_t> stored;
  for (const ledger::LedgerLine& line : view_.lines) {
    if (line.seq >= before) break;
    if (line.kind == "goal") spent.clear();
    const bool confirm = line.kind == "run_open" && line.purpose == "confirm";
    if (confirm && line.variant == variant && line.subject == subject) spent[line.seq] = true;
    if (line.kind == "object") stored.insert(line.opens);
    if (line.kind == "run_close" && line.note.substr(0, 4) == "void" && !stored.count(line.opens))
      spent.erase(line.opens);
  }
  return std::max<int>(1, static_cast<int>(spent.size()));
}

/// Derived records and goal entries whose evidence has the measurement.
std::vector<AuditRecord> AuditEvidence::records_on(const std::string& id) {
  std::vector<AuditRecord> out;
  const auto rests_on_it = [&](const AuditRecord& r) {
    return std::find(r.evidence.begin(), r.evidence.end(), id) != r.evidence.end();
  };
  for (const ledger::LedgerLine& line : view_.lines) {
    if (line.kind != "object") continue;
    const Json& json = document(line.object).json;
    if (text_of(json, "schema") != ledger::kDerivedSchema) continue;
    AuditRecord record;
    record.what = "artifacts/" + line.name;
    record.variant = text_of(json, "variant");
    record.lock = text_of(json, "lock");
    record.evidence = ids_of(list_of(json, "evidence"));
    record.before = line.seq;
    for (const Json& b : list_of(json, "baselines")) {
      record.numbers.push_back({text_of(b, "name"), number_of(b, "ratio", 0), number_of(b, "lcb", 0),
                                number_of(b, "ucb", INFINITY), text_of(b, "verdict"),
                                static_cast<int>(number_of(b, "pairs", -1)),
                                static_cast<int>(number_of(b, "used", -1))});
    }
    if (rests_on_it(record)) out.push_back(std::move(record));
  }
  for (const GoalShape& shape : goal_.shapes) {
    AuditRecord record;
    record.what = "goal.json";
    record.variant = shape.name;
    record.lock = goal_.lock;
    record.evidence = shape.evidence;
    record.before = static_cast<int64_t>(view_.lines.size());
    record.numbers.push_back({shape.best_baseline, shape.ratio, shape.lcb, shape.ucb, shape.verdict});
    record.goal_entry = true;
    if (rests_on_it(record)) out.push_back(std::move(record));
  }
  return out;
}

/// The rounds of all confirming runs of the record, those with the baseline's newest binary.
std::optional<std::vector<AuditRound>> AuditEvidence::pooled(const AuditRecord& record, const std::string& baseline,
                                                             size_t* runs) {
  std::string binary;
  std::vector<const Json*> artifacts;
  for (const std::string& id : record.evidence) {
    const Json& json = document(id).json;
    if (text_of(json, "purpose") != "confirm") continue;
    const Json* arm = arm_named(json, baseline);
    if (!arm) continue;
    binary = text_of(*arm, "binary_sha256");
    artifacts.push_back(&json);
  }
  std::vector<AuditRound> out;
  *runs = 0;
  for (const Json* artifact : artifacts) {
    if (text_of(*arm_named(*artifact, baseline), "binary_sha256") != binary) continue;
    const std::optional<std::vector<AuditRound>> more = rounds_of(*artifact, baseline);
    if (!more) return std::nullopt;
    out.insert(out.end(), more->begin(), more->end());
    ++*runs;
  }
  return out;
}

std::string AuditEvidence::subject_of(const AuditRecord& record) {
  std::string out;
  for (const std::string& id : record.evidence) {
    const Json& json = document(id).json;
    const int64_t open = static_cast<int64_t>(number_of(json, "open_seq", -1));
    const bool known = open >= 0 && open < static_cast<int64_t>(view_.lines.size());
    if (text_of(json, "purpose") == "confirm" && known) out = view_.lines[static_cast<size_t>(open)].subject;
  }
  return out;
}

}  // namespace hc::contract
