// Pools A/A records, and says what they leave of a verdict.
#include "ledger/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "ledger/judge.h"

namespace hc::ledger {
namespace {

constexpr double kBiasAlpha = 0.02;      ///< on each side; six pairs reach it when all lie on one side
constexpr double kReachSeconds = 86400;  ///< a record speaks for a day

/// Seconds since 1970 of `2026-08-30T12:34:56.789Z`.
std::optional<double> seconds_of(const std::string& utc) {
  int year = 0;
  unsigned month = 0, day = 0;
  double hours = 0, minutes = 0, seconds = 0;
  if (std::sscanf(utc.c_str(), "%d-%u-%uT%lf:%lf:%lf", &year, &month, &day, &hours, &minutes, &seconds) != 6)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return static_cast<double>(days.count()) * 86400 + hours * 3600 + minutes * 60 + seconds;
}

bool within_a_day(const std::string& a, const std::string& b) {
  const std::optional<double> x = seconds_of(a), y = seconds_of(b);
  return x && y && std::abs(*x - *y) <= kReachSeconds;
}

/// The baseline arm of a record in which one implementation runs as candidate and as baseline, or nullptr; anchors and
/// ceilings may run beside.
const Arm* implementation_of(const PairsArtifact& a) {
  const Arm *candidate = nullptr, *baseline = nullptr;
  int others = 0;
  for (const Arm& arm : a.arms) {
    if (arm.role == Role::candidate) candidate = &arm;
    others += arm.role == Role::baseline && baseline != nullptr;
    if (arm.role == Role::baseline) baseline = &arm;
  }
  if (!candidate || !baseline || others > 0) return nullptr;
  const Arm &x = *candidate, &y = *baseline;
  const bool same = x.worker == y.worker && x.source_sha256 == y.source_sha256 && x.config == y.config &&
                    x.binary_sha256 == y.binary_sha256 && !x.binary_sha256.empty();
  return same ? baseline : nullptr;
}

/// Announced as a calibration before it ran; nil when the line is no such record.
const PairsArtifact* record_at(Evidence& evidence, const LedgerLine& line) {
  const std::vector<LedgerLine>& lines = evidence.view().lines;
  if (line.kind != "object" || line.opens < 0 || line.opens >= line.seq) return nullptr;
  const LedgerLine& open = lines[static_cast<size_t>(line.opens)];
  if (open.kind != "run_open" || open.purpose != purpose_name(Purpose::aa)) return nullptr;
  std::vector<std::string> ignored;  // whatever is wrong with an object is said where all objects are looked at
  const PairsArtifact* a = evidence.pairs(line.object, &ignored);
  const bool announced = a && a->purpose == Purpose::aa && a->open_seq == line.opens && a->variant == open.variant;
  return announced ? a : nullptr;
}

/// Why a record cannot speak, or empty.
std::string no_use(const PairsArtifact& a, const Arm* implementation, const Lock& lock) {
  if (!implementation) return "its arms are not one and the same implementation";
  const std::vector<std::string> faults = invalidities(a, lock);
  return faults.empty() ? refusal(a) : faults.front();
}

/// The times of a record, centred, so that records of other implementations and days can be pooled with it.
std::vector<PairTimes> centred(const PairsArtifact& a, const std::string& arm) {
  std::vector<PairTimes> pairs = pair_times(a, arm);
  std::vector<double> all;
  for (const PairTimes& p : pairs) {
    all.push_back(p.baseline);
    all.push_back(p.candidate);
  }
  const double centre = median(std::move(all));
  for (PairTimes& p : pairs) {
    p.baseline -= centre;
    p.candidate -= centre;
  }
  return pairs;
}

std::string share_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string bounds_text(const NoiseFloor& noise) {
  if (!noise.bounded) return "[no bounds]";
  return fmt::format("[{:.4f}, {:.4f}]", noise.comparison.lcb, noise.comparison.ucb);
}

}  // namespace

NoiseFloor noise_of(const std::vector<PairTimes>& pairs) {
  NoiseFloor out;
  CompareRules rules;
  rules.ahead_when_slow = false;
  out.comparison = compare_pairs(pairs, rules);
  if (pairs.empty()) return out;
  const Comparison& c = out.comparison;
  out.bounded = c.lcb > 0 && std::isfinite(c.ucb);
  if (out.bounded) {
    out.floor = std::expm1(std::max(std::abs(std::log(c.lcb)), std::abs(std::log(c.ucb))));
    rules.alpha = kBiasAlpha;
    const Comparison sure = compare_pairs(pairs, rules);
    out.biased = sure.lcb > 1 || sure.ucb < 1;
    return out;
  }
  int ahead = 0, behind = 0;
  double farthest = 0;
  for (const PairTimes& p : pairs) {
    const double difference = p.baseline - p.candidate;
    farthest = std::max(farthest, std::abs(difference));
    ahead += difference > 0;
    behind += difference < 0;
  }
  out.floor = std::expm1(farthest);
  out.biased = c.pairs >= kLeastAaPairs && (ahead == c.pairs || behind == c.pairs);
  return out;
}

std::string device_of(const Facts& machine) {
  const std::string gpu = fact(machine, "gpu uuid");
  return gpu.empty() ? fmt::format("{}, {} cores", fact(machine, "cpu"), fact(machine, "cores")) : gpu;
}

Calibration calibration_of(Evidence& evidence, const Lock& lock, const std::string& device, const std::string& timer,
                           const std::string& at) {
  Calibration out;
  out.device = device;
  std::vector<PairTimes> pairs;
  for (const LedgerLine& line : evidence.view().lines) {
    const PairsArtifact* a = record_at(evidence, line);
    if (!a || device_of(a->machine) != device || !within_a_day(a->opened_at, at)) continue;
    if (a->timer != timer) continue;
    const Arm* arm = implementation_of(*a);
    if (std::find(out.ids.begin(), out.ids.end(), line.object) != out.ids.end()) continue;
    if (const std::string why = no_use(*a, arm, lock); !why.empty()) {
      out.unusable = fmt::format("artifacts/{} does not count: {}", line.name, why);
      continue;
    }
    const std::vector<PairTimes> more = centred(*a, arm->name);
    pairs.insert(pairs.end(), more.begin(), more.end());
    out.arm = arm->name;
    out.at = a->opened_at;
    out.ids.push_back(line.object);
    out.names.push_back(line.name);
  }
  out.noise = noise_of(pairs);
  return out;
}

std::string calibration_text(const Calibration& c) {
  if (!c.there()) {
    return fmt::format("no A/A record of {} within a day{}", c.device, c.unusable.empty() ? "" : "; " + c.unusable);
  }
  const NoiseFloor& n = c.noise;
  std::string files;
  for (const std::string& name : c.names) files += (files.empty() ? "artifacts/" : ", artifacts/") + name;
  return fmt::format("{} against itself on {}: {:.4f} {} in {} pairs, noise floor {}{} ({})", c.arm, c.device,
                     n.comparison.ratio, bounds_text(n), n.comparison.pairs, share_text(n.floor),
                     n.biased ? ", and the arms are not treated alike" : "", files);
}

std::string noise_doubt(const Calibration& c, double distance, double margin) {
  if (!c.there() || c.resolves(margin) || distance >= std::log1p(c.noise.floor)) return "";
  const NoiseFloor& n = c.noise;
  const std::string near = fmt::format("the bound lies {} from the limit", share_text(std::expm1(distance)));
  if (n.biased) {
    return fmt::format("A/A: {} against itself reads {:.4f} {}, so the arms are not treated alike here; {}", c.arm,
                       n.comparison.ratio, bounds_text(n), near);
  }
  return fmt::format("A/A: {} against itself scatters by {}, more than the {} that are asked for; {}", c.arm,
                     share_text(n.floor), share_text(margin), near);
}

}  // namespace hc::ledger
