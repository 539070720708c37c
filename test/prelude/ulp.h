// Error of a computed float in units of the last place, and the points at which functions are tried.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace hc_test {

/// |got - want| in ulps of want as T (of the smallest subnormal below the normal range); 0 where both are NaN or the
/// same infinity.
template <class T>
double ulps(T got, long double want) {
  const T near = T(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(got) || std::isinf(near)) {
    if (got == near) return 0;
    if (std::isinf(got) && std::isinf(near)) return 1e30;
    // One of them overflowed: the other must be next to the largest finite number.
    const T finite = std::isinf(got) ? near : got;
    return std::fabs(finite) >= std::numeric_limits<T>::max() * T(0.999999) ? 1 : 1e30;
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  const int low = std::numeric_limits<T>::min_exponent;
  if (want == 0 || exponent < low) exponent = low;
  return double(std::fabs((long double)got - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

/// Values at which implementations break: zeros, units, subnormals, infinities, NaN, halves, borders of ranges.
template <class T>
std::vector<T> special_points() {
  using L = std::numeric_limits<T>;
  std::vector<T> points;
  for (T x : {T(0),
              T(1),
              T(2),
              T(3),
              T(0.5),
              T(1.5),
              T(2.5),
              T(3.5),
              T(0.1),
              T(0.7),
              T(1e-3),
              T(1e-10),
              T(4.0),
              T(9.1),
              T(10),
              T(16.7),
              T(24),
              T(31),
              T(87.33),
              T(88.0),
              T(88.72),
              T(88.73),
              T(89.5),
              T(103.2),
              T(103.98),
              T(104.5),
              T(127),
              T(127.99),
              T(128),
              T(148.9),
              T(149.5),
              T(151),
              T(1000),
              T(4194303.5),
              T(8388607.5),
              T(8388608),
              T(1e9),
              T(1e18),
              T(1e30),
              L::min(),
              L::min() / 2,
              L::denorm_min(),
              L::denorm_min() * 3,
              L::max(),
              L::infinity(),
              T(3.14159265358979),
              T(1.5707963267949),
              T(0.785398163397448),
              T(0.70710678),
              T(0.92),
              T(0.94),
              T(1048576),
              T(1048577),
              T(1e-38),
              T(1e-42)}) {
    points.push_back(x);
    points.push_back(-x);
  }
  points.push_back(L::quiet_NaN());
  return points;
}

/// The special points, then `count` uniform in [low, high], then as many with random bits (every exponent alike).
template <class T>
std::vector<T> points(uint64_t seed, double low, double high, int count) {
  std::vector<T> result = special_points<T>();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for (int i = 0; i < count; ++i) result.push_back(T(uniform(random)));
  for (int i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 4)
      result.push_back(std::bit_cast<T>(uint32_t(random())));
    else
      result.push_back(std::bit_cast<T>(uint64_t(random())));
  }
  while (result.size() % 64) result.push_back(T(0.25));
  return result;
}

/// The seed of this run, printed by main of the tests on request; fixed so that a failure repeats.
inline constexpr uint64_t kSeed = 20240607;

}  // namespace hc_test
