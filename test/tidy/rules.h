// The house rules that a program can judge: each check takes a file and adds a line per violation.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hc::tidy {

/// A file of the tree; `path` is relative to the root.
struct File {
  std::string path;
  std::vector<std::string> lines;
};

File file_from_text(std::string path, std::string_view text);
/// Files below `root`/`folder` (or that file itself) with one of these endings, sorted by path.
std::vector<File> files_below(const std::string& root, const std::string& folder,
                              const std::vector<std::string>& endings);

/// "path:line: message" each.
using Violations = std::vector<std::string>;

/// What a folder under src/ may include: its library's rows, and what its tests are linked with besides.
struct Layers {
  std::map<std::string, std::set<std::string>> folders;
  std::map<std::string, std::set<std::string>> tests;
};

/// Reads the rows of cmake/layers.cmake.
Layers layers_from(const File& rows);

/// Exemptions "rule path reason", one a line. A reason must be given, and an exemption that nothing needs is a
/// violation.
class Exemptions {
 public:
  explicit Exemptions(const File& list);
  /// Whether the rule does not hold for this file.
  bool covers(std::string_view rule, const std::string& path);
  /// Malformed and unused lines.
  Violations leftovers() const;

 private:
  struct Row {
    std::string rule;
    std::string path;
    int line = 0;
    bool used = false;
  };
  std::string path_;
  std::vector<Row> rows_;
  Violations malformed_;
};

/// Includes by path from src/, and only of folders in the file's row.
void check_includes(const File& file, const Layers& layers, Exemptions& exempt, Violations& out);
/// Line 1 is a comment; headers have #pragma once.
void check_head(const File& file, Exemptions& exempt, Violations& out);
/// Files of at most 600 lines, headers 250; lines of at most 120 columns (tables keep one row to a line).
void check_lengths(const File& file, Exemptions& exempt, Violations& out);
/// No `using namespace std`, no unfinished-work marks, no environment below the command line.
void check_words(const File& file, Exemptions& exempt, Violations& out);
/// Numbers, names and slugs of diagnostics stand once.
void check_codes(const File& table, Violations& out);
/// Paths named in prose exist.
void check_paths(const File& page, const std::function<bool(const std::string&)>& exists, Exemptions& exempt,
                 Violations& out);

}  // namespace hc::tidy
