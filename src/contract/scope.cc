// Path patterns and the scope of a change.
#include "contract/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hc::contract {
namespace {

/// Matches with backtracking over the last wildcard of each kind.
bool glob(std::string_view p, std::string_view t) {
  if (p.empty()) return t.empty();
  if (p.starts_with("**")) {
    std::string_view rest = p.substr(2);
    // `**/` fits no folder at all as well
    if (rest.starts_with("/") && glob(rest.substr(1), t)) return true;
    for (size_t i = 0; i <= t.size(); ++i) {
      if (glob(rest, t.substr(i))) return true;
    }
    return false;
  }
  if (p.front() == '*') {
    for (size_t i = 0; i <= t.size(); ++i) {
      if (glob(p.substr(1), t.substr(i))) return true;
      if (i < t.size() && t[i] == '/') return false;
    }
    return false;
  }
  if (t.empty()) return false;
  const bool one = p.front() == '?' ? t.front() != '/' : p.front() == t.front();
  return one && glob(p.substr(1), t.substr(1));
}

}  // namespace

bool path_fits(std::string_view pattern, std::string_view path) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  while (pattern.size() > 1 && pattern.ends_with("/")) pattern.remove_suffix(1);
  if (pattern.empty()) return false;
  if (pattern == ".") return true;
  if (glob(pattern, path)) return true;
  // a pattern that fits a folder fits what is below it
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    if (glob(pattern, path.substr(0, slash))) return true;
  }
  return false;
}

bool fits_any(const std::vector<std::string>& patterns, std::string_view path) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return path_fits(p, path); });
}

Result<ScopeReport> check_scope(const Git& git, const TaskScope& scope, const std::string& base) {
  ScopeReport report;
  report.base = HC_TRY(git.base(base, "HEAD"));
  std::set<std::string> paths;
  // --no-renames, so that a file moved out of an allowed folder is seen at both places
  for (std::string& path : HC_TRY(git.list({"diff", "--name-only", "--no-renames", "-z", report.base, "--"}))) {
    paths.insert(std::move(path));
  }
  for (std::string& path : HC_TRY(git.list({"ls-files", "--others", "--exclude-standard", "-z"}))) {
    paths.insert(std::move(path));
  }
  // what was changed in between and changed back is not in the final difference, but is in the history
  for (std::string& path :
       HC_TRY(git.list({"log", "--format=", "--name-only", "--no-renames", "-z", report.base + "..HEAD", "--"}))) {
    paths.insert(std::move(path));
  }
  for (const std::string& path : paths) {
    report.changed.push_back(path);
    if (!scope.allow.empty() && !fits_any(scope.allow, path)) report.outside.push_back(path);
    if (fits_any(scope.deny, path)) report.denied.push_back(path);
  }
  return report;
}

std::string scope_text(const ScopeReport& report) {
  std::string out =
      fmt::format("{} since {}: {} changed\n", report.inside() ? "inside the scope" : "OUTSIDE THE SCOPE",
                  report.base.substr(0, 12),
                  report.changed.size() == 1 ? "one path" : fmt::format("{} paths", report.changed.size()));
  for (const std::string& path : report.denied) out += "  denied:      " + path + "\n";
  for (const std::string& path : report.outside) out += "  not allowed: " + path + "\n";
  return out;
}

}  // namespace hc::contract
