// A real value with a bound on what a correct implementation's value may differ by, and the precision of each dtype.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dtype.h"

namespace hc::interp {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// `e` is 0 where the value is certain and infinite where nothing can be said.
struct Num {
  double v = 0;
  double e = 0;
};

/// What one rounding in a dtype may add.
struct Precision {
  double u;     ///< largest relative error of one rounding
  double fu;    ///< unit of the ulp table and of sums: f32's for narrower types, which compute in f32
  double tiny;  ///< absolute error of one rounding near zero; a result below the least normal number may become zero
  double max;   ///< largest finite value
};

const Precision& precision_of(DType dtype);

/// The bound of a value known to lie in [low, high].
inline double bound_within(double v, double low, double high) {
  if (std::isnan(v) || std::isnan(low) || std::isnan(high))
    return std::isnan(v) && std::isnan(low) && std::isnan(high) ? 0 : kInfinite;
  const double above = high == v ? 0 : high - v;
  const double below = low == v ? 0 : v - low;
  return std::fmax(above, below);
}

/// Rounds to a dtype's storage: the ideal value is the rounded one, the bound reaches as far as rounding [v-e, v+e]
/// does.
Num round_num(DType dtype, Num a);

/// One rounding of an operation's result: `units` of `fu`, then the dtype's own rounding when `units` is 0 or the dtype
/// is narrow. `in` is the bound of the operands that led here; values beyond the dtype's range have no bound.
inline Num rounded_result(const Precision& p, Num r, double units, double in) {
  if (!std::isfinite(r.v)) {
    // An infinity or a NaN that uncertain operands led to might as well be a number.
    r.e = in > 0 ? kInfinite : 0;
    return r;
  }
  const double size = std::fabs(r.v);
  double error = units * p.fu;
  if (p.u != p.fu || units == 0) error += p.u;
  r.e += size * error + p.tiny;
  if (!(size + r.e <= p.max)) r.e = kInfinite;  // also where the bound is not a number
  return r;
}

/// Whether the value is a number of a narrow floating dtype.
bool is_exact_narrow(DType dtype, double v);

/// Whether the value is a number of this dtype. f64 says no: the oracle itself rounds there.
inline bool is_exact(DType dtype, double v) {
  if (dtype == DType::f32) return static_cast<double>(static_cast<float>(v)) == v;
  return dtype != DType::f64 && is_exact_narrow(dtype, v);
}

}  // namespace hc::interp
