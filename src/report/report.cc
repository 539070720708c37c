// Writing a report's files.
#include "report/report.h"

#include <fmt/format.h>

#include "base/files.h"
#include "report/pages.h"

namespace hc::report {
namespace {

Status write(const std::string& path, const std::string& text) {
  const std::string why = write_file_atomic(path, text);
  if (why.empty()) return success();
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be written: {}", path, why)};
}

}  // namespace

Result<ReportPaths> write_report(const std::string& artifacts_dir, const std::string& run, const std::string& out_dir,
                                 const ReportOptions& options) {
  const Model model = HC_TRY(gather(artifacts_dir, run, options.anchor_path));
  const std::string generated = options.generated.empty() ? ledger::utc_now() : options.generated;
  if (const std::string why = make_folders(out_dir); !why.empty()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be made: {}", out_dir, why)};
  }
  const std::string run_dir = join_path(artifacts_dir, model.run);
  if (const std::string why = make_folders(run_dir); !why.empty()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be made: {}", run_dir, why)};
  }
  const ReportPaths paths{join_path(out_dir, "report.md"), join_path(out_dir, "report.html")};
  HC_TRY(write(join_path(run_dir, "check.txt"), model.check.text));
  HC_TRY(write(paths.markdown, markdown_page(model, generated)));
  HC_TRY(write(paths.html, html_page(model, generated)));
  return paths;
}

}  // namespace hc::report
