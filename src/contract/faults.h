// Errors that several commands of the contract give.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "diag/diag.h"

namespace hc::contract {

/// What the goal as it stands does not allow.
inline Diagnostic goal_error(std::string message) {
  return Diagnostic{.code = Code::goal_error, .message = std::move(message)};
}
/// What the system says of a file.
inline Diagnostic file_error(const std::string& path, const std::string& why) {
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{}: {}", path, why)};
}

}  // namespace hc::contract
