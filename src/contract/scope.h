// Whether a change stays inside the paths that its task allows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/git.h"
#include "contract/task.h"

namespace hc::contract {

/// Whether a path fits a pattern: `*` and `?` stay within a folder, `**` crosses folders, a pattern without wildcards
/// fits the path itself and everything below it.
bool path_fits(std::string_view pattern, std::string_view path);
/// Whether any of the patterns fits.
bool fits_any(const std::vector<std::string>& patterns, std::string_view path);

struct ScopeReport {
  std::string base;  ///< commit that was compared with
  std::vector<std::string> changed;
  std::vector<std::string> outside;  ///< changed paths that no `allow` fits (empty `allow` allows everything)
  std::vector<std::string> denied;   ///< changed paths that a `deny` fits
  bool inside() const { return outside.empty() && denied.empty(); }
};

/// Compares the work tree (commits since `base`, changes not committed, new files that are not ignored) with the scope.
Result<ScopeReport> check_scope(const Git& git, const TaskScope& scope, const std::string& base);
/// What a person reads, ends with a newline.
std::string scope_text(const ScopeReport& report);

}  // namespace hc::contract
