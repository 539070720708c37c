// Errors that several commands of the contract give.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "diag/diag.h"

namespace hc::contract {

/// What the goal as it stands does not allow.
inline Diagnostic goal_error(std::string message) {
  return Diagnostic{.code = Code::goal_error, .message = std::move(message)};
}
/// What was typed in a way that no goal would allow.
inline Diagnostic usage_error(std::string message) {
  return Diagnostic{.code = Code::usage, .message = std::move(message)};
}
/// What the system says of a file.
inline Diagnostic file_error(const std::string& path, const std::string& why) {
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{}: {}", path, why)};
}

/// The names with commas between, or `none`.
inline std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace hc::contract
