// The checks behind the house rules.
#include "tidy/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace hc::tidy {
namespace {

constexpr size_t kMaxFileLines = 600;
constexpr size_t kMaxHeaderLines = 250;
constexpr size_t kMaxColumns = 120;

bool ends_with(const std::string& text, std::string_view ending) { return text.ends_with(ending); }
bool is_header(const File& file) { return ends_with(file.path, ".h"); }

std::string place(const File& file, size_t index, std::string_view message) {
  return fmt::format("{}:{}: {}", file.path, index + 1, message);
}

/// The folder of a path below src/; empty for a file elsewhere.
std::string folder_of(const std::string& path) {
  if (!path.starts_with("src/")) return "";
  const size_t slash = path.rfind('/');
  return slash <= 4 ? "" : path.substr(4, slash - 4);
}

/// Characters, not bytes, of UTF-8 text.
size_t columns(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// A line without its string literals and without a // comment.
std::string code_of(const std::string& line) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line.compare(i, 2, "//") == 0) {
      break;
    } else if (!quoted) {
      out += line[i];
    }
  }
  return out;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

File file_from_text(std::string path, std::string_view text) {
  File file{std::move(path), {}};
  while (!text.empty()) {
    const size_t end = text.find('\n');
    file.lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return file;
}

std::vector<File> files_below(const std::string& root, const std::string& folder,
                              const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  const fs::path base = fs::path(root) / folder;
  if (fs::is_regular_file(base)) paths.push_back(base);
  if (fs::is_directory(base)) {
    for (const auto& entry : fs::recursive_directory_iterator(base)) {
      const std::string name = entry.path().filename().string();
      const bool wanted =
          std::any_of(endings.begin(), endings.end(), [&](const auto& e) { return ends_with(name, e); });
      if (entry.is_regular_file() && wanted) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<File> files;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    files.push_back(file_from_text(fs::relative(path, root).generic_string(), text));
  }
  return files;
}

Layers layers_from(const File& rows) {
  static const std::regex row(R"(^\s*hc_folder\((\S+?)(\s+DEPS\s+([^)]*?))?(\s+LIBS\s[^)]*)?\))");
  static const std::regex test_row(R"(^\s*set\(HC_TEST_DEPS_(\S+)\s+([^)]*)\))");
  Layers layers;
  std::map<std::string, std::string> folder_of_library;
  std::smatch match;
  for (const std::string& line : rows.lines) {
    if (!std::regex_search(line, match, row)) continue;
    const std::string folder = match[1];
    const std::vector<std::string> deps = words(match[3]);
    layers.folders[folder] = {deps.begin(), deps.end()};
    std::string library = folder;
    std::replace(library.begin(), library.end(), '/', '_');
    folder_of_library[library] = folder;
  }
  for (const std::string& line : rows.lines) {
    if (!std::regex_search(line, match, test_row)) continue;
    for (std::string library : words(match[2])) {
      if (library.starts_with("hc_")) library.erase(0, 3);
      layers.tests[folder_of_library[match[1]]].insert(folder_of_library[library]);
    }
  }
  return layers;
}

Exemptions::Exemptions(const File& list) : path_(list.path) {
  for (size_t i = 0; i < list.lines.size(); ++i) {
    if (list.lines[i].empty() || list.lines[i][0] == '#') continue;
    const std::vector<std::string> parts = words(list.lines[i]);
    if (parts.size() < 4) {
      malformed_.push_back(place(list, i, "expected a rule, a path and a reason of some words"));
    } else {
      rows_.push_back({parts[0], parts[1], static_cast<int>(i) + 1, false});
    }
  }
}

bool Exemptions::covers(std::string_view rule, const std::string& path) {
  for (Row& row : rows_) {
    if (row.rule != rule || row.path != path) continue;
    row.used = true;
    return true;
  }
  return false;
}

Violations Exemptions::leftovers() const {
  Violations out = malformed_;
  for (const Row& row : rows_) {
    if (!row.used)
      out.push_back(fmt::format("{}:{}: {} needs no exemption from {}", path_, row.line, row.path, row.rule));
  }
  return out;
}

void check_includes(const File& file, const Layers& layers, Exemptions& exempt, Violations& out) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  const std::string folder = folder_of(file.path);
  const auto row = layers.folders.find(folder);
  if (row == layers.folders.end()) {
    out.push_back(place(file, 0, fmt::format("folder {} has no row in cmake/layers.cmake", folder)));
    return;
  }
  std::set<std::string> allowed = row->second;
  allowed.insert(folder);
  const auto tests = layers.tests.find(folder);
  if (ends_with(file.path, "_test.cc") && tests != layers.tests.end()) {
    allowed.insert(tests->second.begin(), tests->second.end());
  }
  std::smatch match;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    if (!std::regex_search(file.lines[i], match, include)) continue;
    const std::string target = folder_of("src/" + match[1].str());
    if (allowed.count(target) || exempt.covers("include", file.path)) continue;
    out.push_back(place(
        file, i,
        target.empty() ? "an include needs its path from src/" : fmt::format("{} may not include {}", folder, target)));
  }
}

void check_head(const File& file, Exemptions& exempt, Violations& out) {
  if (file.lines.empty() || !file.lines[0].starts_with("// ")) {
    if (!exempt.covers("comment", file.path)) out.push_back(place(file, 0, "line 1 is not a // comment"));
  }
  const bool once = std::find(file.lines.begin(), file.lines.end(), "#pragma once") != file.lines.end();
  if (is_header(file) && !once && !exempt.covers("pragma", file.path)) {
    out.push_back(place(file, 0, "a header without #pragma once"));
  }
}

void check_lengths(const File& file, Exemptions& exempt, Violations& out) {
  const size_t most = is_header(file) ? kMaxHeaderLines : kMaxFileLines;
  if (file.lines.size() > most && !exempt.covers("length", file.path)) {
    out.push_back(place(file, most, fmt::format("{} lines, at most {}", file.lines.size(), most)));
  }
  if (ends_with(file.path, ".def")) return;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const size_t width = columns(file.lines[i]);
    if (width <= kMaxColumns || exempt.covers("columns", file.path)) continue;
    out.push_back(place(file, i, fmt::format("{} columns, at most {}", width, kMaxColumns)));
  }
}

void check_words(const File& file, Exemptions& exempt, Violations& out) {
  static const std::regex environment(R"(\b(secure_)?getenv\s*\()");
  static const std::regex whole_std(R"(\busing\s+namespace\s+std\s*;)");
  static const std::regex mark(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string code = code_of(file.lines[i]);
    if (std::regex_search(code, whole_std)) out.push_back(place(file, i, "`using namespace std`"));
    if (std::regex_search(file.lines[i], mark)) out.push_back(place(file, i, "a mark of unfinished work"));
    const bool below = file.path.starts_with("src/") && !file.path.starts_with("src/cli/");
    if (below && std::regex_search(code, environment) && !exempt.covers("getenv", file.path)) {
      out.push_back(place(file, i, "the environment is read below cli"));
    }
  }
}

void check_codes(const File& table, Violations& out) {
  static const std::regex row(R"re(^HC_CODE\((\w+),\s*(\d+),\s*"(\w+)")re");
  std::map<std::string, size_t> seen;
  std::smatch match;
  for (size_t i = 0; i < table.lines.size(); ++i) {
    if (!std::regex_search(table.lines[i], match, row)) continue;
    const std::string keys[] = {"enumerator " + match[1].str(), "number " + match[2].str(), "slug " + match[3].str()};
    for (const std::string& key : keys) {
      const auto [first, fresh] = seen.emplace(key, i);
      if (!fresh) out.push_back(place(table, i, fmt::format("{} stands in line {} already", key, first->second + 1)));
    }
  }
  if (seen.empty()) out.push_back(place(table, 0, "no row of the table can be read"));
}

void check_paths(const File& page, const std::function<bool(const std::string&)>& exists, Exemptions& exempt,
                 Violations& out) {
  // A pattern or placeholder behind the path (`src/*/x`, `docs/<name>`) makes it no path; what stands behind another
  // path's slash is part of that one.
  static const std::regex path(R"((^|[^\w./-])((src|docs|scripts)/[\w./-]*)([*<{$]?))");
  for (size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    for (std::sregex_iterator match(line.begin(), line.end(), path), end; match != end; ++match) {
      std::string name = (*match)[2];
      while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
      if (!(*match)[4].str().empty() || exists(name) || exempt.covers("path", page.path)) continue;
      out.push_back(place(page, i, fmt::format("{} does not exist", name)));
    }
  }
}

}  // namespace hc::tidy
