// The checker's report as text and as JSON.
#include "ledger/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace hc::ledger {
namespace {

size_t passing(const CheckReport& r) {
  return static_cast<size_t>(
      std::count_if(r.variants.begin(), r.variants.end(), [](const auto& v) { return v.verdict == Verdict::pass; }));
}

std::string headline(const CheckReport& r) {
  const std::string task = r.task.empty() ? "goal" : r.task;
  const std::string count = fmt::format("{} of {} variants pass", passing(r), r.variants.size());
  if (r.no_goal) return "NO GOAL: none was created here\n";
  if (r.exit_code == kExitBroken)
    return fmt::format("EVIDENCE BROKEN {}: {} found\n", task,
                       r.broken.size() == 1 ? "one fault" : fmt::format("{} faults", r.broken.size()));
  if (r.met) return fmt::format("GOAL MET {}: {}\n", task, count);
  if (r.status == "paused" || r.status == "blocked")
    return fmt::format("GOAL UNMET {} ({}, not met): {}\n", task, r.status, count);
  return fmt::format("GOAL {} {}: {}\n", r.exit_code == kExitUndecided ? "UNDECIDED" : "UNMET", task, count);
}

std::string bound(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "inf"; }

std::string variant_line(const VariantVerdict& v, size_t width, bool weak) {
  const std::string_view word = !v.broken.empty() ? "????" : verdict_name(v.verdict);
  std::string out = fmt::format("  {}  {:<{}}", word, v.name, width);
  if (v.measured && weak) out += fmt::format("  ratio {:.4f}", v.ratio);
  if (v.measured && !weak) {
    out += fmt::format("  ratio {:.4f} [{}, {}] against {} over {} pairs", v.ratio, bound(v.lcb), bound(v.ucb),
                       v.best_baseline, v.pairs);
  }
  if (v.verdict != Verdict::pass && !v.reason.empty()) out += (v.measured ? "; " : "  ") + v.reason;
  return out + "\n";
}

std::string geomean_line(const CheckReport& r) {
  if (r.geomean.value <= 0) return "geomean: none, since not every variant was measured\n";
  const char* word = r.geomean.value >= r.geomean_min ? "reached" : "missed";
  if (r.weak_form)
    return fmt::format("geomean {:.4f}: the minimum {:.4f} is {}\n", r.geomean.value, r.geomean_min, word);
  return fmt::format("geomean {:.4f}, lower bound {}: the minimum {:.4f} is {}\n", r.geomean.value,
                     r.geomean.lower > 0 ? fmt::format("{:.4f}", r.geomean.lower) : "none", r.geomean_min, word);
}

}  // namespace

std::string calibration_lines(const CheckReport& r) {
  std::string out;
  for (const Calibration& c : r.calibrations) out += "A/A: " + calibration_text(c) + "\n";
  return out;
}

std::string check_text(const CheckReport& r) {
  std::string out = headline(r);
  for (const std::string& sentence : r.broken) out += "  broken: " + sentence + "\n";
  size_t width = 0;
  for (const VariantVerdict& v : r.variants) width = std::max(width, v.name.size());
  for (const VariantVerdict& v : r.variants) out += variant_line(v, width, r.weak_form);
  if (!r.variants.empty()) out += geomean_line(r);
  if (!r.variants.empty() && !r.weak_form) {
    out += fmt::format("point rule (ratio >= 0.99 of the target everywhere and the geomean reached): {}\n",
                       r.met_point ? "met" : "not met");
  }
  out += calibration_lines(r);
  if (!r.status.empty()) out += fmt::format("status: {}\n", r.status);
  if (r.weak_form) {
    out +=
        "note: this goal file has no lock and no ledger, so the recorded ratios were believed: this is the weaker form "
        "of the check\n";
  }
  for (const std::string& sentence : r.notes) out += "note: " + sentence + "\n";
  return out;
}

std::string to_json(const CheckReport& r) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json out;
  out["exit_code"] = r.exit_code;
  out["met"] = r.met;
  out["met_point"] = r.met_point;
  out["task"] = r.task;
  out["run"] = r.run;
  out["status"] = r.status;
  out["weak_form"] = r.weak_form;
  out["geomean"] = {{"value", r.geomean.value}, {"lower", r.geomean.lower}, {"minimum", r.geomean_min}};
  out["variants"] = Json::array();
  for (const VariantVerdict& v : r.variants) {
    out["variants"].push_back({{"name", v.name},
                               {"verdict", verdict_name(v.verdict)},
                               {"ratio", v.measured ? finite(v.ratio) : Json(nullptr)},
                               {"lcb", finite(v.lcb)},
                               {"ucb", finite(v.ucb)},
                               {"best_baseline", v.best_baseline},
                               {"pairs", v.pairs},
                               {"undecided", v.undecided},
                               {"met_point", v.met_point},
                               {"reason", v.reason}});
  }
  out["calibrations"] = Json::array();
  for (const Calibration& c : r.calibrations) {
    out["calibrations"].push_back({{"device", c.device},
                                   {"arm", c.arm},
                                   {"at", c.at},
                                   {"evidence", c.ids},
                                   {"ratio", finite(c.noise.comparison.ratio)},
                                   {"lcb", finite(c.noise.comparison.lcb)},
                                   {"ucb", finite(c.noise.comparison.ucb)},
                                   {"pairs", c.noise.comparison.pairs},
                                   {"floor", finite(c.noise.floor)},
                                   {"biased", c.noise.biased}});
  }
  out["broken"] = r.broken;
  out["notes"] = r.notes;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hc::ledger
