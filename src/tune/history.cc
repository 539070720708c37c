// SQLite behind the tuning history.
#include "tune/history.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/files.h"
#include "tune/search.h"

namespace hc::tune {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS candidate (machine TEXT, kernel_sha256 TEXT, kernel TEXT, args TEXT, config TEXT,"
    " origin TEXT, outcome TEXT, reason TEXT, seconds REAL, added TEXT DEFAULT CURRENT_TIMESTAMP);"
    "CREATE INDEX IF NOT EXISTS by_key ON candidate (kernel_sha256, kernel, args, machine, seconds);"
    "PRAGMA user_version = 1;";
constexpr int kBusyMs = 5000;

Diagnostic trouble(sqlite3* database, const std::string& what) {
  return Diagnostic{Code::file_error, fmt::format("the tuning history {}: {}", what, sqlite3_errmsg(database))};
}

/// A prepared statement that is always finalised.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  explicit operator bool() const { return statement_ != nullptr; }
  void text(int at, std::string_view value) {
    sqlite3_bind_text(statement_, at, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
  void real(int at, double value) { sqlite3_bind_double(statement_, at, value); }
  void integer(int at, int value) { sqlite3_bind_int(statement_, at, value); }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  std::string column(int at) {
    const unsigned char* value = sqlite3_column_text(statement_, at);
    return value ? reinterpret_cast<const char*>(value) : "";
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<History>> History::open(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos) {
    const std::string why = make_folders(path.substr(0, slash));
    if (!why.empty())
      return Diagnostic{Code::file_error, fmt::format("the folder of {} cannot be made: {}", path, why)};
  }
  sqlite3* database = nullptr;
  const int status = sqlite3_open(path.c_str(), &database);
  std::unique_ptr<History> history(new History(database));
  if (status != SQLITE_OK) return trouble(database, fmt::format("{} cannot be opened", path));
  sqlite3_busy_timeout(database, kBusyMs);
  if (sqlite3_exec(database, kSchema, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return trouble(database, fmt::format("{} cannot be used", path));
  }
  return history;
}

History::~History() { sqlite3_close(database_); }

Status History::add(const HistoryKey& key, const std::vector<ledger::Candidate>& candidates) {
  Statement statement(database_,
                      "INSERT INTO candidate (machine, kernel_sha256, kernel, args, config, origin, outcome,"
                      " reason, seconds) VALUES (?,?,?,?,?,?,?,?,?)");
  if (!statement || sqlite3_exec(database_, "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return trouble(database_, "cannot be written");
  }
  for (const ledger::Candidate& c : candidates) {
    int at = 0;
    for (const std::string& value : {key.machine, key.kernel_sha256, key.kernel, key.args, c.config, c.origin,
                                     std::string(ledger::outcome_name(c.outcome)), c.reason}) {
      statement.text(++at, value);
    }
    statement.real(++at, c.seconds);
    if (statement.step() != SQLITE_DONE) {
      const Diagnostic error = trouble(database_, "cannot be written");
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
      return error;
    }
    statement.reset();
  }
  if (sqlite3_exec(database_, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK)
    return trouble(database_, "cannot be written");
  return success();
}

Result<std::vector<knob::Config>> History::best(const HistoryKey& key, int count) const {
  Statement statement(database_,
                      "SELECT config, MIN(seconds) AS least FROM candidate WHERE outcome = 'ok' AND"
                      " kernel_sha256 = ? AND kernel = ? AND args = ? AND machine = ? AND seconds > 0"
                      " GROUP BY config ORDER BY least LIMIT ?");
  if (!statement) return trouble(database_, "cannot be read");
  statement.text(1, key.kernel_sha256);
  statement.text(2, key.kernel);
  statement.text(3, key.args);
  statement.text(4, key.machine);
  statement.integer(5, count);
  std::vector<knob::Config> out;
  while (statement.step() == SQLITE_ROW) {
    Result<knob::Config> config = config_from_json(statement.column(0));
    if (config.ok()) out.push_back(std::move(config).value());
  }
  return out;
}

}  // namespace hc::tune
