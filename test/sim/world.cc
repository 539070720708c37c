// Noise of the simulated machines.
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numbers>
#include <sstream>

namespace hc::sim {
namespace {

constexpr double kStartSeconds = 1.5;  ///< of a process before its first block
constexpr double kBlockSeconds = 0.2;
constexpr int kBlocks = 7;
constexpr double kDriftEnd = 0.03;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "sim: {}\n", why);
  std::exit(70);
}

std::map<std::string, Processes> read_measured() {
  const std::string path = std::string(HC_SOURCE_DIR) + "/test/data/h200_processes.txt";
  std::ifstream file(path);
  if (!file) give_up(path + " cannot be read");
  std::map<std::string, Processes> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kernel;
    double seconds = 0;
    words >> kernel >> seconds;
    std::vector<double> logs;
    for (double us = 0; words >> us;) logs.push_back(std::log(us));
    if (logs.empty()) give_up(path + " has a line without readings: " + line);
    out[kernel].push_back(std::move(logs));
  }
  for (auto& [kernel, processes] : out) {
    std::vector<double> medians;
    for (const std::vector<double>& p : processes) medians.push_back(ledger::median(p));
    const double centre = ledger::median(std::move(medians));
    for (std::vector<double>& p : processes) {
      for (double& reading : p) reading -= centre;
    }
  }
  return out;
}

const Processes& measured(const std::string& kernel) {
  static const std::map<std::string, Processes> kAll = read_measured();
  const auto it = kAll.find(kernel);
  if (it == kAll.end()) give_up("no measured processes of " + kernel);
  return it->second;
}

}  // namespace

uint64_t Random::bits() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double Random::normal(double sigma) {
  if (!std::isnan(spare_)) {
    const double value = spare_;
    spare_ = NAN;
    return sigma * value;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  return sigma * radius * std::cos(angle);
}

const std::vector<WorldSpec>& worlds() {
  static const std::vector<WorldSpec> kWorlds{
      {.name = "iid"},
      {.name = "drift", .drift_per_minute = 0.01},
      {.name = "outlier", .outlier_share = 0.02},
      {.name = "process-variance", .process_sigma = 0.003},
      {.name = "modes", .slow_baseline = 0.2, .slow_candidate = 0.2},
      {.name = "everything",
       .process_sigma = 0.003,
       .drift_per_minute = 0.01,
       .outlier_share = 0.02,
       .slow_baseline = 0.2,
       .slow_candidate = 0.2},
      {.name = "h200-copy-512MB", .measured = "copy_512_MB"},
      {.name = "h200-gemm-4096", .measured = "gemm_4096"},
      {.name = "h200-copy-16MB", .measured = "copy_16_MB"},
      {.name = "slow-candidate", .process_sigma = 0.003, .slow_candidate = 0.5},
  };
  return kWorlds;
}

const WorldSpec& world(const std::string& name) {
  for (const WorldSpec& spec : worlds()) {
    if (spec.name == name) return spec;
  }
  give_up("no world " + name);
}

Processes measured_processes(const std::string& kernel) { return measured(kernel); }

Machine::Machine(const WorldSpec& spec, double ratio, uint64_t seed)
    : spec_(spec), random_(seed), candidate_log_(-std::log(ratio)) {
  // how slow the slow mode is stays the same for the whole campaign
  const double least = spec.slow_baseline > 0 ? 1.02 : 1.05;
  slow_log_ = std::log(least) + random_.uniform() * (std::log(2.0) - std::log(least));
  if (spec.slow_by > 0) slow_log_ = std::log(spec.slow_by);
}

double Machine::block(double level) {
  const double drift = std::min(kDriftEnd, spec_.drift_per_minute * now_s_ / 60);
  double reading = level + drift + random_.normal(spec_.block_sigma);
  if (spec_.outlier_share > 0 && random_.uniform() < spec_.outlier_share) reading += std::log(1.05);
  now_s_ += kBlockSeconds;
  return reading;
}

double Machine::process(double true_log, double slow_share, double* mid_s) {
  now_s_ += kStartSeconds;
  *mid_s = now_s_ + kBlockSeconds * kBlocks / 2;
  if (!spec_.measured.empty()) {
    now_s_ += kBlockSeconds * kBlocks;
    const Processes& all = measured(spec_.measured);
    return true_log + ledger::median(all[static_cast<size_t>(random_.uniform() * static_cast<double>(all.size()))]);
  }
  double level = true_log;
  if (spec_.process_sigma > 0) level += random_.normal(spec_.process_sigma);
  if (slow_share > 0 && random_.uniform() < slow_share) level += slow_log_;
  std::vector<double> readings;
  for (int b = 0; b < kBlocks; ++b) readings.push_back(block(level));
  return ledger::median(std::move(readings));
}

ledger::PairTimes Machine::next_pair() {
  ledger::PairTimes pair;
  const bool candidate_first = count_++ % 2 != 0;
  for (const bool candidate : {candidate_first, !candidate_first}) {
    if (candidate) {
      pair.candidate = process(candidate_log_, spec_.slow_candidate, &pair.candidate_mid_s);
    } else {
      pair.baseline = process(0, spec_.slow_baseline, &pair.baseline_mid_s);
    }
  }
  return pair;
}

std::vector<ledger::PairTimes> Machine::pairs(int count) {
  std::vector<ledger::PairTimes> out;
  for (int k = 0; k < count; ++k) out.push_back(next_pair());
  return out;
}

}  // namespace hc::sim
