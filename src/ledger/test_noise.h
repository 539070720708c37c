// Random numbers for tests, the same everywhere.
#pragma once

#include <cstdint>

namespace hc::ledger::testing {

/// A small generator whose numbers are the same everywhere (splitmix64).
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  double uniform() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  /// Sum of twelve uniforms: close enough to a normal.
  double normal(double sigma) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sigma * sum;
  }

 private:
  uint64_t state_;
};

}  // namespace hc::ledger::testing
