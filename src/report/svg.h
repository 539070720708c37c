// Plots as inline SVG; they take their colours from the page's styles.
#pragma once

#include <string>

#include "report/model.h"

namespace hc::report {

/// `&`, `<`, `>` and quotes as entities.
std::string escape(const std::string& text);
/// Grouped horizontal bars: before, after and each baseline per variant of `unit`, the streaming copy as a mark.
std::string speed_plot(const Model& model, const std::string& unit);
/// Ratio and bounds per variant against parity and the limit.
std::string ratio_plot(const Model& model);
/// Best speed so far over the seconds of one tune, every candidate as a dot; `reference` is the best baseline's speed
/// or 0.
std::string tune_plot(const Row& row, double reference);

}  // namespace hc::report
