// How fast a GPU reads and copies its memory, in a process that sees this one device: bounds and anchor of every run.
#pragma once

#include <string>
#include <vector>

#include "bench/device_stream.h"
#include "diag/diag.h"

namespace hc::bench {

/// Measures the only visible device: a read by the referee's kernel and the driver's copy, 1 GiB each (less where
/// memory lacks), cold L2 before each launch. One line of JSON that names the device. not_available without one.
Result<std::string> gpu_rates_line();
/// Starts `argv`, which prints that line, with `uuid` alone visible. measurement_failed when it fails, lasts longer
/// than `limit_s`, saw another device or read nothing.
Result<GpuRates> gpu_rates(const std::vector<std::string>& argv, const std::string& uuid, double limit_s = 120);
/// argv of our own: this very program with the command `canary --rates`.
std::vector<std::string> own_gpu_rates();

}  // namespace hc::bench
