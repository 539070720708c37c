// The two forms of a report.
#pragma once

#include <string>

#include "report/model.h"

namespace hc::report {

std::string markdown_page(const Model& model, const std::string& generated);
/// One file that needs nothing else: styles and plots inside, no scripts.
std::string html_page(const Model& model, const std::string& generated);

/// 0.98213 -> "0.982"; a dash for what was not measured.
std::string ratio_text(double ratio);
/// Three significant digits at least; a dash for what was not measured.
std::string speed_text(double speed);
/// "[0.975, 0.990]", or a dash.
std::string bounds_text(const ledger::VariantVerdict& verdict);
/// The sentence above the table: machine, versions, timer.
std::string machine_line(const Model& model);

}  // namespace hc::report
