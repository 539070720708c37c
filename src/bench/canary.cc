// The canary's two parts: a chain of multiply-adds in registers, and a read of a buffer larger than the L2 caches.
#include "bench/canary.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/json_reader.h"
#include "bench/timer.h"

namespace hc::bench {
namespace {

constexpr int kRepetitions = 5;
constexpr int64_t kMultiplyAdds = int64_t{1} << 20;
constexpr double kMadToSigma = 1.4826;  ///< of a normal distribution
constexpr double kRobustDeviations = 4;
constexpr double kWidestBand = 1;             ///< a machine at half its speed is never as it was
constexpr int64_t kWords = int64_t{4} << 20;  // 32 MiB

/// Eight independent chains, so that the result depends on the clock and not on one latency.
double compute_part() {
  double chain[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t i = 0; i < kMultiplyAdds; ++i) {
    for (double& value : chain) value = value * 0.999999 + 1e-7;
  }
  double sum = 0;
  for (double value : chain) sum += value;
  return sum;
}

void keep(double value) { asm volatile("" : : "r,m"(value) : "memory"); }

double time_compute() {
  const double begin = hillclimb_timer_now();
#pragma omp parallel
  keep(compute_part());
  return hillclimb_timer_now() - begin;
}

double time_memory(const std::vector<uint64_t>& words) {
  const double begin = hillclimb_timer_now();
  uint64_t sum = 0;
  const auto count = static_cast<int64_t>(words.size());
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (int64_t i = 0; i < count; ++i) sum += words[static_cast<size_t>(i)];
  keep(static_cast<double>(sum));
  return hillclimb_timer_now() - begin;
}

}  // namespace

CanaryReading run_canary() {
  static const std::vector<uint64_t> kBuffer(static_cast<size_t>(kWords), 3);
  CanaryReading reading{1e30, 1e30, 0};
  const double begin = hillclimb_timer_now();
  for (int i = 0; i < kRepetitions; ++i) {
    reading.compute_s = std::min(reading.compute_s, time_compute());
    reading.memory_s = std::min(reading.memory_s, time_memory(kBuffer));
  }
  reading.mid_monotonic_s = (begin + hillclimb_timer_now()) / 2;
  return reading;
}

bool within(const CanaryReading& reading, const CanaryReading& reference, const CanaryBand& band) {
  return std::abs(reading.compute_s / reference.compute_s - 1) <= band.compute &&
         std::abs(reading.memory_s / reference.memory_s - 1) <= band.memory;
}

CanaryReading median_canary(std::vector<CanaryReading> readings) {
  const double time = readings.back().mid_monotonic_s;
  const auto middle = [&](double CanaryReading::*part) {
    std::sort(readings.begin(), readings.end(),
              [&](const CanaryReading& a, const CanaryReading& b) { return a.*part < b.*part; });
    return readings[readings.size() / 2].*part;
  };
  return {middle(&CanaryReading::compute_s), middle(&CanaryReading::memory_s), time};
}

double memory_scatter(const std::vector<CanaryReading>& readings, const CanaryReading& middle, double least) {
  std::vector<double> distances;
  for (const CanaryReading& reading : readings) distances.push_back(std::abs(reading.memory_s / middle.memory_s - 1));
  std::sort(distances.begin(), distances.end());
  const double robust = kRobustDeviations * kMadToSigma * distances[distances.size() / 2];
  return std::clamp(std::max(robust, distances.back()), least, kWidestBand);
}

double memory_scatter_now() {
  constexpr int kReadings = 16;
  constexpr useconds_t kApartMicroseconds = 50000;
  std::vector<CanaryReading> readings;
  for (int i = 0; i < kReadings; ++i) {
    if (i > 0) ::usleep(kApartMicroseconds);
    readings.push_back(run_canary());
  }
  return memory_scatter(readings, median_canary(readings), 0);
}

Json to_json(const CanaryReading& reading) {
  return {
      {"compute_s", reading.compute_s}, {"memory_s", reading.memory_s}, {"mid_monotonic_s", reading.mid_monotonic_s}};
}

Json to_json(const CanaryBand& band) { return {{"compute", band.compute}, {"memory", band.memory}}; }

Result<CanaryReading> canary_from_json(const Json& json) {
  JsonReader reader(json);
  CanaryReading value;
  reader.required("compute_s", &value.compute_s);
  reader.required("memory_s", &value.memory_s);
  reader.required("mid_monotonic_s", &value.mid_monotonic_s);
  return reader.finish(value);
}

}  // namespace hc::bench
