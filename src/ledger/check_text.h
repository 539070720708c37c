// The checker's words.
#pragma once

#include <string>

#include "ledger/checker.h"

namespace hc::ledger {

/// `A/A: ...` lines of the calibrations, each ended by a newline; empty when the goal asks for none.
std::string calibration_lines(const CheckReport& report);

/// First line the verdict, then every variant worst first, the geomean, the status and what is broken.
std::string check_text(const CheckReport& report);

}  // namespace hc::ledger
