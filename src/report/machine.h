// The machine's facts in a report's head.
#pragma once

#include <string>

#include "ledger/records.h"

namespace hc::report {

/// Which of idle temperature, temperature before and after the cool-down, and its outcome a fact is; -1: none of them.
int cooling_column(const std::string& name);
/// Adds what is not known yet and not empty; a GPU's fact that differs between variants is told with all its values.
void add_machine_fact(const std::string& name, const std::string& value, ledger::Facts* machine);
/// Puts the GPU first, whatever the evidence's order; what should be known of one and is not is said to be missing.
void order_machine(ledger::Facts* machine);

}  // namespace hc::report
