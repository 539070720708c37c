// The stored measurements as the audit sees them: plain JSON, hashes taken anew, none of the ledger's parsers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "contract/audit_math.h"
#include "contract/goal.h"
#include "ledger/store.h"

namespace hc::contract {

/// One object of the evidence.
struct AuditDocument {
  Json json;
  std::string fault;  ///< why it cannot be used, or empty
};

/// Numbers of one baseline as somebody recorded them.
struct AuditNumbers {
  std::string baseline;
  double ratio = 0, lower = 0, upper = 0;
  std::string verdict;
  int pairs = -1, used = -1;  ///< -1: not recorded
};

/// Numbers that were derived from measurements: a derived record, or a variant's entry in the goal file.
struct AuditRecord {
  std::string what, variant, lock;
  std::vector<std::string> evidence;
  int64_t before = 0;  ///< only ledger lines before this one counted when it was made
  std::vector<AuditNumbers> numbers;
  bool goal_entry = false;  ///< one row: the best baseline, and bounds that hold over all of them
};

/// A text, number or list of an object, or nothing of the kind.
std::string text_of(const Json& json, const char* key);
double number_of(const Json& json, const char* key, double otherwise);
const Json& list_of(const Json& json, const char* key);

class AuditEvidence {
 public:
  AuditEvidence(std::string artifacts, Goal goal);
  /// The object, read and hashed once.
  const AuditDocument& document(const std::string& id);
  /// Object lines of announced confirming runs since the goal was created, each object once.
  std::vector<const ledger::LedgerLine*> confirming() const;
  /// Derived records and goal entries whose evidence has the measurement.
  std::vector<AuditRecord> records_on(const std::string& id);
  /// Confirming runs of a candidate announced before a ledger line, without those that were void; at least 1.
  int announced(const std::string& variant, const std::string& subject, int64_t before) const;
  /// The valid rounds of all confirming runs of a record, those with the baseline's newest binary, and how many runs
  /// these are; nothing when a reading cannot be used.
  std::optional<std::vector<AuditRound>> pooled(const AuditRecord& record, const std::string& baseline, size_t* runs);
  /// What the newest confirming run of a record was announced as.
  std::string subject_of(const AuditRecord& record);
  const ledger::LedgerView& view() const { return view_; }
  const std::string& artifacts() const { return artifacts_; }

 private:
  std::string artifacts_;
  ledger::LedgerView view_;
  Goal goal_;
  std::map<std::string, AuditDocument> documents_;
};

}  // namespace hc::contract
