// Writing a report's files.
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "report/claims.h"
#include "report/pages.h"

namespace hc::report {
namespace {

Status write(const std::string& path, const std::string& text) {
  const std::string why = write_file_atomic(path, text);
  if (why.empty()) return success();
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be written: {}", path, why)};
}

/// The author's words: those given, else those kept with the run.
Status read_claims(const std::string& run_dir, const std::string& given, Model* model) {
  const std::string kept = join_path(run_dir, "claims.md");
  if (given.empty() && !file_exists(kept)) return success();
  const std::string& path = given.empty() ? kept : given;
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be read: {}", path, why)};
  model->claims = HC_TRY(fill_claims(*text, path, *model));
  return given.empty() ? success() : write(kept, *text);
}

struct Pages {
  Model model;
  std::string markdown, html;
};

Result<Pages> make_pages(const std::string& artifacts_dir, const std::string& run, const std::string& out_dir,
                         const ReportOptions& options, const std::string& generated) {
  Pages out{HC_TRY(gather(artifacts_dir, run, options.anchor_path)), "", ""};
  const std::string run_dir = join_path(artifacts_dir, out.model.run);
  if (const std::string why = make_folders(run_dir); !why.empty()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be made: {}", run_dir, why)};
  }
  const ledger::LedgerView view = ledger::read_ledger(artifacts_dir);
  ledger::Evidence evidence(artifacts_dir, view);
  out.model.commits =
      gather_commits(artifacts_dir, options.base, options.head, evidence, out.model.lock, out.model.run);
  std::error_code unknown;
  const std::filesystem::path from = std::filesystem::weakly_canonical(artifacts_dir, unknown);
  out.model.link_prefix =
      from.lexically_relative(std::filesystem::weakly_canonical(out_dir, unknown)).generic_string() + "/";
  HC_TRY(read_claims(run_dir, options.claims, &out.model));
  out.markdown = markdown_page(out.model, generated);
  out.html = html_page(out.model, generated);
  return out;
}

/// What stamp() wrote.
struct Stamp {
  std::string run, generated, head, base, commit;
  int64_t lines = -1;
};

std::optional<Stamp> read_stamp(const std::string& page) {
  const size_t begin = page.rfind("<!-- hillclimb report of ");
  if (begin == std::string::npos) return std::nullopt;
  std::vector<std::string> words;
  for (size_t at = begin; at < page.size();) {
    const size_t end = std::min(page.find_first_of(" \n", at), page.size());
    if (end > at) words.push_back(page.substr(at, end - at));
    at = end + 1;
  }
  // <!-- hillclimb report of RUN; written TIME; ledger N HEAD; commits BASE HEAD -->
  if (words.size() < 13) return std::nullopt;
  const auto bare = [](std::string word) {
    if (word.ends_with(';')) word.pop_back();
    return word == "-" ? std::string() : word;
  };
  return Stamp{bare(words[4]),  bare(words[6]),  bare(words[9]),
               bare(words[11]), bare(words[12]), std::atoll(words[8].c_str())};
}

/// The first lines in which a page differs from what the evidence gives.
void compare_page(const std::string& name, const std::string& found, const std::string& derived,
                  std::vector<std::string>* out) {
  constexpr size_t kShown = 5, kWidth = 160;
  size_t line = 1, a = 0, b = 0, shown = 0;
  while ((a < found.size() || b < derived.size()) && shown < kShown) {
    const size_t a_end = std::min(found.find('\n', a), found.size());
    const size_t b_end = std::min(derived.find('\n', b), derived.size());
    const std::string x = a < found.size() ? found.substr(a, a_end - a) : "";
    const std::string y = b < derived.size() ? derived.substr(b, b_end - b) : "";
    if (x != y) {
      out->push_back(fmt::format("{}, line {}: it says `{}`, and the evidence gives `{}`", name, line,
                                 x.substr(0, kWidth), y.substr(0, kWidth)));
      ++shown;
    }
    a = std::min(a_end + 1, found.size());
    b = std::min(b_end + 1, derived.size());
    ++line;
  }
}

}  // namespace

Result<ReportPaths> write_report(const std::string& artifacts_dir, const std::string& run, const std::string& out_dir,
                                 const ReportOptions& options) {
  const std::string generated = options.generated.empty() ? ledger::utc_now() : options.generated;
  const Pages pages = HC_TRY(make_pages(artifacts_dir, run, out_dir, options, generated));
  if (const std::string why = make_folders(out_dir); !why.empty()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be made: {}", out_dir, why)};
  }
  const ReportPaths paths{join_path(out_dir, "report.md"), join_path(out_dir, "report.html")};
  HC_TRY(write(join_path(join_path(artifacts_dir, pages.model.run), "check.txt"), pages.model.check.text));
  HC_TRY(write(paths.markdown, pages.markdown));
  HC_TRY(write(paths.html, pages.html));
  return paths;
}

Result<Verification> verify_report(const std::string& artifacts_dir, const std::string& out_dir,
                                   const std::string& anchor_path) {
  const std::string markdown = join_path(out_dir, "report.md"), html = join_path(out_dir, "report.html");
  std::string why;
  const std::optional<std::string> text = read_file(markdown, &why);
  const std::optional<std::string> page = text ? read_file(html, &why) : std::nullopt;
  if (!page) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("there is no report in {}: {}", out_dir, why)}
        .fix("`hillclimb report` writes one");
  }
  Verification out;
  const std::optional<Stamp> stamp = read_stamp(*text);
  if (!stamp) {
    out.differences.push_back(fmt::format("{} does not say what it was made from", markdown));
    return out;
  }
  const ledger::LedgerView view = ledger::read_ledger(artifacts_dir);
  const auto lines = static_cast<size_t>(std::max<int64_t>(stamp->lines, 0));
  if (lines == 0 || lines > view.lines.size() || view.hashes[lines - 1] != stamp->head) {
    out.differences.push_back(fmt::format("{} was made from another ledger than the one here", markdown));
    return out;
  }
  // each stop of an agent leaves a line that says nothing of the numbers
  out.grown = std::any_of(view.lines.begin() + static_cast<std::ptrdiff_t>(lines), view.lines.end(),
                          [](const ledger::LedgerLine& line) { return line.kind != "gate"; });
  if (out.grown) return out;
  ReportOptions options{anchor_path, stamp->generated, stamp->base, stamp->commit, ""};
  Pages pages = HC_TRY(make_pages(artifacts_dir, stamp->run, out_dir, options, stamp->generated));
  pages.model.ledger_lines = stamp->lines;
  pages.model.ledger_head = stamp->head;
  pages.markdown = markdown_page(pages.model, stamp->generated);
  pages.html = html_page(pages.model, stamp->generated);
  compare_page(markdown, *text, pages.markdown, &out.differences);
  compare_page(html, *page, pages.html, &out.differences);
  const std::string check = join_path(join_path(artifacts_dir, pages.model.run), "check.txt");
  compare_page(check, read_file(check).value_or(""), pages.model.check.text, &out.differences);
  return out;
}

}  // namespace hc::report
