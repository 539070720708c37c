// The canary of a GPU: a fixed copy and the core clock, in a process that sees this one device.
#pragma once

#include <string>
#include <vector>

#include "bench/canary.h"
#include "diag/diag.h"

namespace hc::bench {

/// Measures the only visible device: `memory_s` is the median time of a 256 MiB copy with cold L2, `compute_s` that of
/// a million cycles of a multiprocessor. Returns one line of JSON that names the device. not_available without one.
Result<std::string> gpu_canary_line();
/// Starts `argv`, which prints that line, with `uuid` alone visible. measurement_failed when it fails, lasts longer
/// than `limit_s` or saw another device.
Result<CanaryReading> gpu_canary(const std::vector<std::string>& argv, const std::string& uuid, double limit_s = 60);
/// argv of our own: this very program with the command `canary`.
std::vector<std::string> own_gpu_canary();

}  // namespace hc::bench
