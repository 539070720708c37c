// The report: Markdown and one self-contained HTML file, written from the ledger alone.
#pragma once

#include <string>
#include <vector>

#include "diag/diag.h"

namespace hc::report {

struct ReportPaths {
  std::string markdown, html;
};

struct ReportOptions {
  std::string anchor_path;  ///< for the checker; empty: none
  std::string generated{};  ///< time shown in the foot; empty: now
  std::string base{};       ///< commits since it are listed; empty: the branch's upstream, or the goal's time
  std::string head{};       ///< up to this one; empty: HEAD
  std::string claims{};     ///< file of what the author says; it is kept in the run's folder. Empty: the one kept there
};

/// Writes report.md and report.html of a run into `out_dir` (made if missing), and the checker's output as check.txt
/// into artifacts/<run>/. Needs a goal file and its ledger; verdict first, INTERIM while the goal is unmet.
Result<ReportPaths> write_report(const std::string& artifacts_dir, const std::string& run, const std::string& out_dir,
                                 const ReportOptions& options = {});

/// What came of writing a report's pages again from the evidence.
struct Verification {
  std::vector<std::string> differences;  ///< sentences: file, line, what stands there and what the evidence gives
  bool grown = false;                    ///< the ledger has grown since; then the pages were not compared
};
/// Derives every number of the pages in `out_dir` anew from the raw samples and compares page by page; file_error when
/// there is no report.
Result<Verification> verify_report(const std::string& artifacts_dir, const std::string& out_dir,
                                   const std::string& anchor_path);

}  // namespace hc::report
