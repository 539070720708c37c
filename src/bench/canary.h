// The canary: a fixed piece of compute and memory work that tells whether the machine is as it was.
#pragma once

#include <nlohmann/json_fwd.hpp>

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
/// Largest relative distance of the two parts from those of the reference.
double canary_distance(const CanaryReading& reading, const CanaryReading& reference);

nlohmann::ordered_json to_json(const CanaryReading& reading);
Result<CanaryReading> canary_from_json(const nlohmann::ordered_json& json);

}  // namespace hc::bench
