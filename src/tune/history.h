// Tuning history: every candidate of every tune in an SQLite file, so that a warm tune starts from what was good
// before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diag/diag.h"
#include "knob/knob.h"
#include "ledger/records.h"

struct sqlite3;

namespace hc::tune {

/// What a stored candidate is valid for: another kernel text, other arguments or another machine never share configs.
struct HistoryKey {
  std::string machine;        ///< target's name and cores
  std::string kernel_sha256;  ///< of the kernel file
  std::string kernel;
  std::string args;  ///< argument texts joined by spaces
};

class History {
 public:
  /// Opens or creates; file_error when the file cannot be used.
  static Result<std::unique_ptr<History>> open(const std::string& path);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  Status add(const HistoryKey& key, const std::vector<ledger::Candidate>& candidates);
  /// The fastest configs of that key, best first.
  Result<std::vector<knob::Config>> best(const HistoryKey& key, int count) const;

 private:
  explicit History(sqlite3* database) : database_(database) {}
  sqlite3* database_;
};

}  // namespace hc::tune
