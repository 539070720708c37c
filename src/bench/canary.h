// The canary: a fixed piece of compute and memory work that tells whether the machine is as it was.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <vector>

#include "diag/diag.h"

namespace hc::bench {

/// Seconds of the two parts, each the least of a few repetitions on all cores.
struct CanaryReading {
  double compute_s = 0;
  double memory_s = 0;
  double mid_monotonic_s = 0;
};

/// Runs the canary in this process: about 30 ms.
CanaryReading run_canary();
/// How far each part may lie from its reference, relative.
struct CanaryBand {
  double compute = 0;
  double memory = 0;
};

/// Both parts lie in their bands.
bool within(const CanaryReading& reading, const CanaryReading& reference, const CanaryBand& band);
/// The middle of each part; the time is that of the last reading.
CanaryReading median_canary(std::vector<CanaryReading> readings);
/// What the memory rate does by itself: four robust standard deviations of the readings (1.4826 times the median
/// distance from the middle) or the largest distance seen, whichever is more; never less than `least` nor more than 1.
double memory_scatter(const std::vector<CanaryReading>& readings, const CanaryReading& middle, double least);
/// The same of 16 readings taken now, about 1.5 s.
double memory_scatter_now();

nlohmann::ordered_json to_json(const CanaryReading& reading);
nlohmann::ordered_json to_json(const CanaryBand& band);
Result<CanaryReading> canary_from_json(const nlohmann::ordered_json& json);

}  // namespace hc::bench
