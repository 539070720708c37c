// Made-up machines whose true ratios are known: what a measuring campaign sees in each of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/statistics.h"

namespace hc::sim {

/// Random numbers that are the same everywhere (splitmix64; normals by Box and Muller).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits();
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  ///< in [0, 1)
  double normal(double sigma);

 private:
  uint64_t state_;
  double spare_ = NAN;
};

/// One disturbance of a machine each; all of them multiply the true time. Levels as in the simulations that the
/// procedure was chosen by, except where a card was measured.
struct WorldSpec {
  std::string name;
  double block_sigma = 0.005;   ///< of the log of one block's reading
  double process_sigma = 0;     ///< of the log factor that a process keeps for its life
  double drift_per_minute = 0;  ///< shared slow-down, up to 3 %
  double outlier_share = 0;     ///< of blocks that read 5 % slow
  double slow_baseline = 0;     ///< share of the baseline's processes in a slow mode
  double slow_candidate = 0;    ///< share of the candidate's
  double slow_by = 0;           ///< factor of the slow mode; 0: drawn once a campaign
  std::string measured = {};    ///< kernel of the data file whose processes are drawn instead of made up, or empty
};

/// iid, drift, outlier, process-variance, modes, everything, three measured ones, and a candidate with a slow mode.
const std::vector<WorldSpec>& worlds();
const WorldSpec& world(const std::string& name);

/// Logs of the block readings of each measured process of one kernel, centred on the kernel's median.
using Processes = std::vector<std::vector<double>>;
/// Reads the data file; ends the program when it is not there or has no such kernel.
Processes measured_processes(const std::string& kernel);

/// One campaign: pairs of fresh processes of a baseline and a candidate with the given true ratio.
class Machine {
 public:
  Machine(const WorldSpec& spec, double ratio, uint64_t seed);
  /// The next pair; the order changes from one to the next.
  ledger::PairTimes next_pair();
  std::vector<ledger::PairTimes> pairs(int count);

 private:
  double process(double true_log, double slow_share, double* mid_s);
  double block(double level);

  const WorldSpec& spec_;
  Random random_;
  double candidate_log_;
  double slow_log_;
  double now_s_ = 0;
  int64_t count_ = 0;
};

}  // namespace hc::sim
