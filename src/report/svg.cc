// Plots.
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/pages.h"

namespace hc::report {
namespace {

constexpr double kBar = 13, kBarGap = 3, kGroupGap = 16;
constexpr double kLeft = 120, kWidth = 720, kRight = 70;

/// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks.
double nice_step(double range, int count) {
  if (!(range > 0)) return 1;
  const double raw = range / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

/// As many decimals as the step has.
std::string tick_text(double value, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

struct Axis {
  double low, high, from, to;
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1, x2, y2,
                     style);
}

std::string text(double x, double y, const std::string& words, const char* style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", x, y, style, escape(words));
}

std::string open_svg(double width, double height, const std::string& label) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\" xmlns=\"http://www.w3.org/2000/svg\">",
      width, height, escape(label));
}

/// Vertical grid lines with their numbers underneath.
std::string grid(const Axis& x, double top, double bottom, double step) {
  std::string out;
  for (double v = std::ceil(x.low / step) * step; v <= x.high + step * 1e-9; v += step) {
    out += line(x.at(v), top, x.at(v), bottom, "grid");
    out += text(x.at(v), bottom + 14, tick_text(v, step), "tick mid");
  }
  return out;
}

std::string short_name(const std::string& name) { return name.size() <= 17 ? name : name.substr(0, 16) + "…"; }

struct Bar {
  std::string label, style;
  double value;
};

std::vector<Bar> bars_of(const Row& row) {
  std::vector<Bar> out;
  if (row.before > 0) out.push_back({"before", "before", row.before});
  out.push_back({"after", "after", row.after});
  for (size_t i = 0; i < row.baselines.size(); ++i) {
    const Speed& b = row.baselines[i];
    out.push_back({b.name + (b.nominated.empty() ? "" : " (nominated)"), fmt::format("base{}", i % 4), b.value});
  }
  return out;
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string speed_plot(const Model& m, const std::string& unit) {
  double most = 0, height = 10;
  for (const Row& row : m.rows) {
    if (row.unit != unit) continue;
    most = std::max(most, row.ceiling);
    for (const Bar& bar : bars_of(row)) {
      most = std::max(most, bar.value);
      height += kBar + kBarGap;
    }
    height += kGroupGap;
  }
  if (most <= 0) return "<p class=\"empty\">Nothing was measured yet.</p>";
  const Axis x{0, most * 1.02, kLeft, kWidth - kRight};
  std::string out = open_svg(kWidth, height + 26, "Speed per variant in " + unit);
  out += grid(x, 4, height - kGroupGap / 2, nice_step(most, 6));
  double y = 10;
  for (const Row& row : m.rows) {
    if (row.unit != unit) continue;
    const double top = y;
    for (const Bar& bar : bars_of(row)) {
      const double length = std::max(0.0, x.at(bar.value) - kLeft);
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" class=\"bar {}\"><title>{} {} "
          "{} {}</title></rect>",
          kLeft, y, length, kBar, bar.style, escape(row.name), escape(bar.label), speed_text(bar.value), escape(unit));
      out += text(kLeft + length + 5, y + kBar - 3, speed_text(bar.value), "value");
      y += kBar + kBarGap;
    }
    out += text(kLeft - 8, (top + y - kBarGap) / 2 + 4, short_name(row.name), "name end");
    if (row.ceiling > 0) out += line(x.at(row.ceiling), top - 3, x.at(row.ceiling), y, "ceiling");
    y += kGroupGap;
  }
  return out + text(kWidth - kRight, height + 20, unit, "tick end") + "</svg>";
}

std::string ratio_plot(const Model& m) {
  double low = 0.97, high = 1.03;
  for (const Row& row : m.rows) {
    if (!row.verdict.measured) continue;
    low = std::min({low, row.verdict.ratio, row.verdict.lcb > 0 ? row.verdict.lcb : low});
    high = std::max({high, row.verdict.ratio, std::isfinite(row.verdict.ucb) ? row.verdict.ucb : high});
  }
  const double pad = (high - low) * 0.05;
  const Axis x{low - pad, high + pad, kLeft, kWidth - kRight};
  const double bottom = 12 + 24.0 * static_cast<double>(m.rows.size());
  std::string out = open_svg(kWidth, bottom + 24, "Ratio to the best baseline per variant");
  out += fmt::format("<rect x=\"{:.1f}\" y=\"4\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"behind\"/>", kLeft,
                     std::max(0.0, x.at(0.99) - kLeft), bottom - 4);
  out += grid(x, 4, bottom, nice_step(x.high - x.low, 6));
  out += line(x.at(1), 4, x.at(1), bottom, "parity") + line(x.at(0.99), 4, x.at(0.99), bottom, "limit");
  double y = 22;
  for (const Row& row : m.rows) {
    const ledger::VariantVerdict& v = row.verdict;
    out += text(kLeft - 8, y + 4, short_name(row.name), "name end");
    if (v.measured) {
      const std::string style = v.verdict == ledger::Verdict::pass   ? "pass"
                                : v.verdict == ledger::Verdict::fail ? "fail"
                                                                     : "open";
      if (v.lcb > 0)
        out += line(x.at(v.lcb), y, std::isfinite(v.ucb) ? x.at(v.ucb) : x.to, y, ("whisker " + style).c_str());
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" class=\"dot {}\"/>", x.at(v.ratio), y, style);
      out += text(kWidth - kRight + 8, y + 4, ratio_text(v.ratio), "value");
    } else {
      out += text(kLeft + 8, y + 4, "not measured", "tick");
    }
    y += 24;
  }
  return out + "</svg>";
}

std::string tune_plot(const Row& row, double reference) {
  constexpr double kW = 340, kH = 190, kL = 44, kB = 160, kT = 12;
  const TuneSummary& t = row.tune;
  double most = reference, end = std::max(t.seconds, 1e-3);
  for (const Progress& p : t.tried) {
    most = std::max(most, p.speed);
    end = std::max(end, p.t_s);
  }
  if (most <= 0) return "";
  const Axis x{0, end * 1.02, kL, kW - 8}, y{0, most * 1.08, kB, kT};
  std::string out = open_svg(kW, kH, "Best speed so far while tuning " + row.name);
  const double step = nice_step(most, 4);
  for (double v = 0; v <= y.high; v += step) {
    out += line(kL, y.at(v), kW - 8, y.at(v), "grid") + text(kL - 5, y.at(v) + 4, tick_text(v, step), "tick end");
  }
  const double x_step = nice_step(end, 4);
  for (double v = 0; v <= x.high; v += x_step) out += text(x.at(v), kB + 16, tick_text(v, x_step), "tick mid");
  out += text(kW - 8, kH - 2, "seconds", "tick end");
  for (const double at : t.fell) out += line(x.at(at), kB - 5, x.at(at), kB, "fell");
  std::string path;
  double best = 0;
  for (const Progress& p : t.tried) {
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.8\" class=\"tried\"/>", x.at(p.t_s), y.at(p.speed));
    if (p.speed <= best) continue;
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x.at(p.t_s), y.at(p.speed))
                         : fmt::format("H{:.1f}V{:.1f}", x.at(p.t_s), y.at(p.speed));
    best = p.speed;
  }
  if (!path.empty()) out += fmt::format("<path d=\"{}H{:.1f}\" class=\"best\"/>", path, x.at(end));
  if (reference > 0) out += line(kL, y.at(reference), kW - 8, y.at(reference), "reference");
  return out + "</svg>";
}

}  // namespace hc::report
