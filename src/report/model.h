// What a report shows, gathered from goal, ledger and objects; the pages only format it.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "contract/goal.h"
#include "contract/iteration_log.h"
#include "ledger/checker.h"
#include "report/history.h"

namespace hc::report {

struct Speed {
  std::string name;
  double value = 0;         ///< in the variant's unit, 0 if not measured
  std::string nominated{};  ///< the nomination that it is from, where no confirming run has it; or empty
};

/// Best time so far during a tune.
struct Progress {
  double t_s = 0;
  double speed = 0;
};

struct TuneSummary {
  bool present = false;
  std::string file;  ///< artifacts/<run>/NAME.json
  uint64_t seed = 0;
  bool cold = false, full = false;
  std::string ended_by;
  std::string how() const;  ///< such as "cold, converged"
  bool searched() const { return ended_by != ledger::kNoSearch; }
  double seconds = 0, space = 0;
  std::string winner;
  std::vector<std::pair<std::string, int>> outcomes;  ///< name and count, in the order of the enumeration
  std::vector<Progress> tried;                        ///< every candidate that ran
  std::vector<double> fell;                           ///< times at which candidates fell
  int candidates = 0;
};

struct Row {
  std::string name, inputs, unit;
  ledger::VariantVerdict verdict;
  double before = 0, after = 0, ceiling = 0;  ///< in `unit`
  double before_ratio = 0;
  std::vector<Speed> baselines;  ///< in the order of the lock
  std::string artifact, before_artifact, timer;
  std::vector<std::string> pooled;  ///< the artifacts that ratio, speeds and pairs follow from, the newest first
  std::string empty_launches;       ///< arms in whose readings an empty launch is a good part, or empty
  std::string thin_win;             ///< why a small win may be none, or empty
  int valid_pairs = 0, void_pairs = 0;
  bool stale = false;
  std::array<std::string, 4> cooling;  ///< see cooling_column(); empty where nothing was recorded
  double scatter = 0;  ///< of one pair: 1.4826 times the median distance of the log differences from their median
  TuneSummary tune;
};

/// A reason for which candidates fell, how often, and one config as an example.
struct Loss {
  std::string outcome, reason, example;
  int count = 0;
};

struct Model {
  ledger::CheckReport check;
  ledger::Lock lock;
  std::string run, headline, state;  ///< state: MET, UNMET, UNDECIDED, EVIDENCE BROKEN, PAUSED, BLOCKED
  bool interim = false;
  std::string question;   ///< of a blocked goal, or the owner's words of a paused one
  std::vector<Row> rows;  ///< in the order of the lock
  std::vector<std::string> units;
  bool has_ceiling = false;
  ledger::Facts machine, versions;
  std::vector<Loss> losses;
  std::vector<std::string> risks;
  std::vector<std::string> runs;  ///< measurements announced but not ended
  int announced = 0, stored = 0;
  std::vector<RunLine> history;          ///< every announced run, losing ones too
  std::vector<std::string> amendments;   ///< since the goal was made
  std::vector<contract::Iteration> log;  ///< oldest first
  Commits commits;
  std::string claims;        ///< what the author says, placeholders filled in; or empty
  std::string link_prefix;   ///< from the report's folder to the artifacts, ends with a slash
  int64_t ledger_lines = 0;  ///< that the report was made from
  std::string ledger_head;
};

/// Reads everything that the report of `run` needs; an empty run means the goal's own.
Result<Model> gather(const std::string& artifacts_dir, const std::string& run, const std::string& anchor_path);

/// Geometric mean of the positive ones, 0 if one is missing.
double geometric_mean(const std::vector<double>& values);
/// Arithmetic mean, 0 if one is missing.
double arithmetic_mean(const std::vector<double>& values);

}  // namespace hc::report
