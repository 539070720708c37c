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
/// The speed with " (nominated)" behind it where no confirming run has it.
std::string baseline_text(const Speed& baseline);
/// As it, for the mean of the baseline number `index` over all rows.
std::string baseline_mean_text(const Model& model, size_t index);
/// "[0.975, 0.990]", or a dash.
std::string bounds_text(const ledger::VariantVerdict& verdict);
/// The sentence above the table: machine, versions, timer.
std::string machine_line(const Model& model);

/// A number as a link to the artifact that it follows from; the text alone where there is none.
std::string markdown_link(const Model& model, const std::string& text, const std::string& artifact);
/// A number that several artifacts give together: a link to the first, and a `+` to each further one.
std::string markdown_links(const Model& model, const std::string& text, const std::vector<std::string>& artifacts);
std::string html_links(const Model& model, const std::string& text, const std::vector<std::string>& artifacts);
/// The sentence that says so, or empty where no number is pooled.
std::string pooled_text(const Model& model);
/// Where a link to an artifact goes: relative to the report's folder.
std::string href(const Model& model, const std::string& artifact);
/// Pairs and modes, every run, log, amendments, commits, what the author says.
std::string markdown_life(const Model& model);
std::string html_life(const Model& model);
/// The last line of a page: what it was made from, for `report --verify`.
std::string stamp(const Model& model, const std::string& generated);

}  // namespace hc::report
