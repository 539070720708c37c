// What happened in a run, for its report: every announced run, amendments, commits with what was measured after them.
#pragma once

#include <string>
#include <vector>

#include "ledger/judge.h"

namespace hc::report {

/// An announced measurement or tune, whether it helped or not.
struct RunLine {
  std::string time;      ///< UTC
  std::string purpose;   ///< confirm, nominate, tune, ...
  std::string variant;   ///< or empty
  std::string outcome;   ///< how it ended, in the ledger's words; empty: it never did
  std::string artifact;  ///< the last object that came of it, or empty
  double ratio = 0;      ///< against the best baseline that it measured, 0 if none
  bool won = false;      ///< ratio within the margin of the target
};

/// A commit of the climb.
struct CommitLine {
  std::string id;       ///< first ten digits
  std::string subject;  ///< its first line
  std::string purpose;  ///< its text below that, in one line
  std::string effect;   ///< ratios measured from its time on until the next commit's, against those before; or empty
  int files = 0;        ///< changed by it
};

struct Commits {
  std::string since;  ///< what they are counted from, for the reader
  std::vector<CommitLine> lines;
  std::string base, head;  ///< full names of what was looked at, or empty
  std::string trouble;     ///< why there are none, or empty
};

/// Announced runs of `run` in the ledger's order, checks left out.
std::vector<RunLine> run_history(ledger::Evidence& evidence, const ledger::Lock& lock, const std::string& run);
/// Amendments since the present goal was made, as sentences.
std::vector<std::string> amendments(const ledger::LedgerView& view);
/// Commits of the repository that `folder` lies in: those since it left `base` (empty: its upstream), or, where there
/// are none, those made after the goal was; up to `head` (empty: HEAD).
Commits gather_commits(const std::string& folder, const std::string& base, const std::string& head,
                       ledger::Evidence& evidence, const ledger::Lock& lock, const std::string& run);
/// Seconds since 1970 of `2026-08-30T12:34:56.789Z`, 0 when it is no such time.
double unix_time(const std::string& utc);

}  // namespace hc::report
