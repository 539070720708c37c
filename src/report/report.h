// The report: Markdown and one self-contained HTML file, written from the ledger alone.
#pragma once

#include <string>

#include "diag/diag.h"

namespace hc::report {

struct ReportPaths {
  std::string markdown, html;
};

struct ReportOptions {
  std::string anchor_path;  ///< for the checker; empty: none
  std::string generated;    ///< time shown in the foot; empty: now
};

/// Writes report.md and report.html of a run into `out_dir` (made if missing), and the checker's output as check.txt
/// into artifacts/<run>/. Needs a goal file and its ledger; verdict first, INTERIM while the goal is unmet.
Result<ReportPaths> write_report(const std::string& artifacts_dir, const std::string& run, const std::string& out_dir,
                                 const ReportOptions& options = {});

}  // namespace hc::report
