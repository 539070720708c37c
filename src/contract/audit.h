// An independent replay of stored measurements: hashes taken anew, bounds computed by a second implementation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diag/diag.h"

namespace hc::contract {

struct AuditOptions {
  std::string artifacts_dir = "artifacts";
  double share = 0.1;  ///< of the confirming measurements, at least one
  uint64_t seed = 0;   ///< which ones; 0: a fresh one
};

/// One confirming measurement that was replayed.
struct AuditedItem {
  std::string object, name, variant;
  int rounds = 0;                        ///< valid ones
  int records = 0;                       ///< derived records and goal entries that rest on it
  std::vector<std::string> differences;  ///< sentences
};

struct AuditReport {
  uint64_t seed = 0;
  size_t confirming = 0;  ///< measurements that there were to choose from
  std::vector<AuditedItem> items;
  bool agrees() const;
};

/// Replays a random part of the confirming measurements of the present goal. goal_error without any; evidence_broken
/// when the ledger or goal file cannot be read at all.
Result<AuditReport> audit(const AuditOptions& options);
/// What a person reads, ends with a newline.
std::string audit_text(const AuditReport& report);

}  // namespace hc::contract
