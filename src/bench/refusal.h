// The error of a measurement that cannot be made.
#pragma once

#include <string>
#include <utility>

#include "diag/diag.h"

namespace hc::bench {

/// measurement_failed with these words.
inline Diagnostic refusal(std::string message) {
  return Diagnostic{.code = Code::measurement_failed, .message = std::move(message)};
}

}  // namespace hc::bench
