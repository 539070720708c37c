// One implementation measured against itself: what a device shows of a difference that is not there.
#pragma once

#include <string>
#include <vector>

#include "ledger/statistics.h"

namespace hc::ledger {

class Evidence;

/// Fewest pairs of a calibration: the fewest that can show a bias.
inline constexpr int kLeastAaPairs = 6;

/// What a device told apart of one and the same implementation.
struct NoiseFloor {
  Comparison comparison;  ///< of it with itself; no pairs when there are none
  double floor = 0;  ///< share by which identical code may differ here: the end of the bounds that is farthest from 1
  bool bounded = false;  ///< false: too few fast pairs for bounds, and the floor is the pair that is farthest from 1
  bool biased = false;   ///< bounds at 2 % on each side exclude 1: the arms are not treated alike
};
/// `pairs` of one implementation with itself, at the level of 5 % on each side.
NoiseFloor noise_of(const std::vector<PairTimes>& pairs);

/// All valid A/A records of one device and timer within a day of a moment, pooled.
struct Calibration {
  std::string device;              ///< UUID of the GPU, or the processor
  std::string arm;                 ///< implementation of the newest record
  std::string at;                  ///< when the newest record was opened, UTC
  std::vector<std::string> ids;    ///< object ids in ledger order; empty: there is no record
  std::vector<std::string> names;  ///< paths of their named copies under artifacts/
  std::string unusable;            ///< the newest record that does not count, with its reason; or empty
  NoiseFloor noise{};
  bool there() const { return !ids.empty(); }
  /// Whether it resolves a share without telling identical code apart.
  bool resolves(double share) const { return there() && !noise.biased && noise.floor <= share; }
};

/// The device that a measurement ran on, from its machine facts.
std::string device_of(const Facts& machine);
/// The records that count for a measurement on `device` with `timer` opened at `at` under `lock`.
Calibration calibration_of(Evidence& evidence, const Lock& lock, const std::string& device, const std::string& timer,
                           const std::string& at);
/// `onednn against itself on GPU-..: 1.0004 [0.9980, 1.0030] in 6 pairs, noise floor 0.30 % (r1/aa-v)`.
std::string calibration_text(const Calibration& calibration);
/// Why a verdict whose bound lies `distance` (of the log) from its limit is not believed, or empty.
std::string noise_doubt(const Calibration& calibration, double distance, double margin);

}  // namespace hc::ledger
