// Floating functions with first-order bounds: how far the operands' bounds move the result, then the function's own
// error.
#include <algorithm>
#include <numbers>

#include "interp/functions.h"

namespace hc::interp {
namespace {

using ir::OpKind;

// Ulps that an implementation of each function may err by, in units of f32 (f64 for f64); docs/ir.md prints the table.
constexpr double kDivide = 4;
constexpr double kRoot = 4;
constexpr double kExp = 4;
constexpr double kLog = 4;
constexpr double kTrigonometric = 4;
constexpr double kTanh = 8;
constexpr double kSigmoid = 8;
constexpr double kErf = 8;
constexpr double kPow = 16;

/// e^(bound) - 1, cheap where the bound is small.
double growth(double e) { return e < 1e-3 ? e * (1 + e) : std::expm1(e); }

Num neg(const Precision&, Num a) { return {-a.v, a.e}; }
Num abs(const Precision&, Num a) { return {std::fabs(a.v), a.e}; }

template <double (*kStep)(double)>
Num step_function(const Precision&, Num a) {
  const double v = kStep(a.v);
  if (a.e == 0) return {v, 0};
  if (!std::isfinite(a.e) || std::isnan(a.v)) return {v, a.e};
  return {v, bound_within(v, kStep(a.v - a.e), kStep(a.v + a.e))};
}

double sign_of(double v) { return (v > 0) - (v < 0); }
double floor_of(double v) { return std::floor(v); }
double ceil_of(double v) { return std::ceil(v); }
double trunc_of(double v) { return std::trunc(v); }
double round_of(double v) { return std::nearbyint(v); }

Num sqrt(const Precision& p, Num a) {
  const double v = std::sqrt(a.v);
  double moved = 0;
  if (a.e > 0) {
    // Below zero an implementation may find NaN; a bound made of underflow alone does not count.
    const double low = a.v - a.e;
    if (low < 0 && a.e > 1e-30) return {v, kInfinite};
    moved = a.v == 0 ? std::sqrt(a.e) : a.e / (v + std::sqrt(std::max(low, 0.0)));
  }
  return rounded_result(p, {v, moved}, kRoot, a.e);
}

/// Relative change of x^-power-like functions when x moves by its fraction t.
double inverse_growth(double t, double power) {
  return t < 0.05 ? power * t * (1 + 2 * t) : std::pow(1 - t, -power) - 1;
}

Num rsqrt(const Precision& p, Num a) {
  const double v = 1 / std::sqrt(a.v);
  if (a.e > 0 && !(a.e < a.v)) return {v, kInfinite};
  return rounded_result(p, {v, a.e > 0 ? v * inverse_growth(a.e / a.v, 0.5) : 0}, kRoot, a.e);
}

Num reciprocal(const Precision& p, Num a) {
  const double v = 1 / a.v;
  const double size = std::fabs(a.v);
  if (a.e > 0 && !(a.e < size)) return {v, kInfinite};
  return rounded_result(p, {v, a.e > 0 ? a.e / (size * (size - a.e)) : 0}, kDivide, a.e);
}

/// The product with the logarithm of the base may be rounded before an exponential: |a| more units.
double exp_units(double a) { return kExp + 1.5 * std::min(std::fabs(a), 1e4); }

Num exp(const Precision& p, Num a) {
  const double v = std::exp(a.v);
  return rounded_result(p, {v, a.e > 0 ? v * growth(a.e) : 0}, exp_units(a.v), a.e);
}

Num exp2(const Precision& p, Num a) {
  const double v = std::exp2(a.v);
  return rounded_result(p, {v, a.e > 0 ? v * growth(a.e * std::numbers::ln2) : 0}, exp_units(a.v), a.e);
}

Num expm1(const Precision& p, Num a) {
  const double v = std::expm1(a.v);
  return rounded_result(p, {v, a.e > 0 ? (v + 1) * growth(a.e) : 0}, exp_units(a.v), a.e);
}

/// log of base `kBase` of `x`, an operand plus `kShift`.
template <double (*kLogarithm)(double)>
Num logarithm(const Precision& p, Num a, double shifted, double scale) {
  const double v = kLogarithm(a.v);
  if (a.e > 0 && !(a.e < shifted)) return {v, kInfinite};
  return rounded_result(p, {v, a.e > 0 ? -std::log1p(-a.e / shifted) * scale : 0}, kLog, a.e);
}

double log_of(double v) { return std::log(v); }
double log2_of(double v) { return std::log2(v); }
double log10_of(double v) { return std::log10(v); }
double log1p_of(double v) { return std::log1p(v); }

Num log(const Precision& p, Num a) { return logarithm<log_of>(p, a, a.v, 1); }
Num log2(const Precision& p, Num a) { return logarithm<log2_of>(p, a, a.v, std::numbers::log2e); }
Num log10(const Precision& p, Num a) { return logarithm<log10_of>(p, a, a.v, std::numbers::log10e); }
Num log1p(const Precision& p, Num a) { return logarithm<log1p_of>(p, a, 1 + a.v, 1); }

/// A change that the function's range limits; an operand of which nothing is known may be NaN, and so may the result.
double limited(double change, double range, double e) { return std::isinf(e) ? kInfinite : std::min(range, change); }

/// The bound with which a sine's argument is known after its reduction to one period.
double reduced(const Precision& p, Num a) { return a.e + p.fu * std::fabs(a.v); }

Num sin(const Precision& p, Num a) {
  const double v = std::sin(a.v), e = reduced(p, a);
  return rounded_result(p, {v, limited(std::fabs(std::cos(a.v)) * e + e * e / 2, 2, a.e)}, kTrigonometric, a.e);
}

Num cos(const Precision& p, Num a) {
  const double v = std::cos(a.v), e = reduced(p, a);
  return rounded_result(p, {v, limited(std::fabs(std::sin(a.v)) * e + e * e / 2, 2, a.e)}, kTrigonometric, a.e);
}

Num tan(const Precision& p, Num a) {
  const double v = std::tan(a.v), e = reduced(p, a);
  const double t = e < 1 ? std::tan(e) : 2;
  const double rest = 1 - std::fabs(v) * t;
  if (!(rest > 0) || e >= 1) return {v, std::isfinite(a.v) || a.e > 0 ? kInfinite : 0};
  return rounded_result(p, {v, (1 + v * v) * t / rest}, kTrigonometric, a.e);
}

Num tanh(const Precision& p, Num a) {
  const double v = std::tanh(a.v);
  const double moved = a.e > 0 ? limited((1 - v * v) * a.e + 0.39 * a.e * a.e, 2, a.e) : 0;
  return rounded_result(p, {v, moved}, kTanh, a.e);
}

Num sigmoid(const Precision& p, Num a) {
  const double v = 1 / (1 + std::exp(-a.v));
  const double moved = a.e > 0 ? limited(v * (1 - v) * a.e + 0.05 * a.e * a.e, 1, a.e) : 0;
  // Far on the left the value is e^a and has the error of an exponential.
  return rounded_result(p, {v, moved}, kSigmoid + (a.v < 0 ? exp_units(a.v) : 0), a.e);
}

Num erf(const Precision& p, Num a) {
  const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-a.v * a.v);
  const double moved = a.e > 0 ? limited(slope * a.e + 0.49 * a.e * a.e, 2, a.e) : 0;
  return rounded_result(p, {std::erf(a.v), moved}, kErf, a.e);
}

Num div(const Precision& p, Num a, Num b) {
  const double v = a.v / b.v;
  const double size = std::fabs(b.v);
  if (b.e > 0 && !(b.e < size)) return {v, kInfinite};
  if (!std::isfinite(v) || std::isinf(b.v)) return {v, a.e + b.e > 0 && !(a.e < std::fabs(a.v)) ? kInfinite : 0};
  return rounded_result(p, {v, (a.e + std::fabs(v) * b.e) / (size - b.e)}, kDivide, a.e + b.e);
}

double quotient_floor(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

/// How far the quotient of two uncertain numbers may be from a.v / b.v; an exact multiple of exact numbers is certain.
double quotient_bound(const Precision& p, Num a, Num b) {
  if (a.e == 0 && b.e == 0 && std::fmod(a.v, b.v) == 0) return 0;
  const double size = std::fabs(b.v) - b.e;
  if (!(size > 0)) return kInfinite;
  const double quotient = std::fabs(a.v / b.v);
  return (a.e + quotient * b.e) / size + p.u * quotient;
}

Num floor_divide(const Precision& p, Num a, Num b) {
  const double v = quotient_floor(a.v, b.v);
  if (!std::isfinite(v) || !std::isfinite(a.v) || !std::isfinite(b.v)) return {v, a.e + b.e > 0 ? kInfinite : 0};
  const double q = a.v / b.v, e = quotient_bound(p, a, b);
  if (!std::isfinite(e)) return {v, kInfinite};
  const double moved = e == 0 ? 0 : std::max(std::fabs(std::floor(q + e) - v), std::fabs(std::floor(q - e) - v));
  // Whole numbers up to 1/u are numbers of the dtype.
  return std::fabs(v) + moved <= 1 / p.u ? Num{v, moved} : rounded_result(p, {v, moved}, 0, a.e + b.e);
}

/// Both remainders: the quotient's whole part decides, and where that is uncertain the result may jump by |b|.
Num rest_of(const Precision& p, Num a, Num b, double v, double (*whole)(double)) {
  if (!std::isfinite(v) || !std::isfinite(b.v)) return {v, a.e + b.e > 0 ? kInfinite : 0};
  if (a.e == 0 && b.e == 0 && v == std::fmod(a.v, b.v)) return {v, 0};  // exact, unlike the sum with a divisor
  const double q = a.v / b.v, e = quotient_bound(p, a, b);
  if (!std::isfinite(e)) return {v, kInfinite};
  const double jump = whole(q + e) != whole(q - e) ? std::fabs(b.v) : 0;
  return rounded_result(p, {v, a.e + std::fabs(whole(q)) * b.e + jump}, 0, a.e + b.e);
}

Num remainder(const Precision& p, Num a, Num b) {
  double v = std::fmod(a.v, b.v);
  if (v != 0 && (b.v < 0) != (v < 0)) v += b.v;
  return rest_of(p, a, b, v, floor_of);
}

Num fmod(const Precision& p, Num a, Num b) { return rest_of(p, a, b, std::fmod(a.v, b.v), trunc_of); }

Num pow(const Precision& p, Num a, Num b) {
  const double v = std::pow(a.v, b.v);
  const double size = std::fabs(a.v);
  if (!std::isfinite(v) || size == 0) return {v, a.e + b.e > 0 ? kInfinite : 0};
  if (a.e == 0 && b.e == 0 && (b.v == 0 || b.v == 1)) return {v, 0};
  if (a.e >= size || (a.v < 0 && b.e > 0)) {
    if (a.e + b.e > 0) return {v, kInfinite};
  }
  const double log_size = std::fabs(std::log(size));
  const double relative = std::fabs(b.v) * -std::log1p(-a.e / size) + (b.e > 0 ? log_size * b.e : 0);
  const double units = kPow + 2 * std::min(std::fabs(b.v) * log_size, 1e4);
  return rounded_result(p, {v, std::fabs(v) * growth(relative)}, units, a.e + b.e);
}

Num pick(Num a, Num b, double v, double low, double high) {
  if (std::isnan(v)) return {v, std::isfinite(a.e) && std::isfinite(b.e) ? 0 : kInfinite};
  return {v, bound_within(v, low, high)};
}

double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::min(a, b); }

/// An end of [v-e, v+e]; an infinite value with an infinite bound may be anything.
double low_end(Num a) { return std::isinf(a.e) ? -kInfinite : a.v - a.e; }
double high_end(Num a) { return std::isinf(a.e) ? kInfinite : a.v + a.e; }

Num maximum(const Precision&, Num a, Num b) {
  const double v = larger(a.v, b.v);
  if (a.e == 0 && b.e == 0) return {v, 0};
  return pick(a, b, v, std::max(low_end(a), low_end(b)), std::max(high_end(a), high_end(b)));
}

Num minimum(const Precision&, Num a, Num b) {
  const double v = smaller(a.v, b.v);
  if (a.e == 0 && b.e == 0) return {v, 0};
  return pick(a, b, v, std::min(low_end(a), low_end(b)), std::min(high_end(a), high_end(b)));
}

Num atan2(const Precision& p, Num a, Num b) {
  const double v = std::atan2(a.v, b.v);
  const double e = a.e + b.e;
  double moved = 0;
  if (std::isinf(e)) return {v, kInfinite};
  if (e > 0) {
    const double radius = std::hypot(a.v, b.v);
    if (radius <= 2 * e || (b.v - b.e < 0 && std::fabs(a.v) <= a.e)) return {v, 2 * std::numbers::pi};
    moved = e / (radius - e);
  }
  return rounded_result(p, {v, moved}, kTrigonometric, e);
}

}  // namespace

FloatUnary float_unary(OpKind kind) {
  switch (kind) {
    case OpKind::neg:
      return neg;
    case OpKind::abs:
      return abs;
    case OpKind::sign:
      return step_function<sign_of>;
    case OpKind::floor:
      return step_function<floor_of>;
    case OpKind::ceil:
      return step_function<ceil_of>;
    case OpKind::trunc:
      return step_function<trunc_of>;
    case OpKind::round:
      return step_function<round_of>;
    case OpKind::sqrt:
      return sqrt;
    case OpKind::rsqrt:
      return rsqrt;
    case OpKind::reciprocal:
      return reciprocal;
    case OpKind::exp:
      return exp;
    case OpKind::exp2:
      return exp2;
    case OpKind::expm1:
      return expm1;
    case OpKind::log:
      return log;
    case OpKind::log2:
      return log2;
    case OpKind::log10:
      return log10;
    case OpKind::log1p:
      return log1p;
    case OpKind::sin:
      return sin;
    case OpKind::cos:
      return cos;
    case OpKind::tan:
      return tan;
    case OpKind::tanh:
      return tanh;
    case OpKind::sigmoid:
      return sigmoid;
    case OpKind::erf:
      return erf;
    default:
      return nullptr;
  }
}

FloatBinary float_binary(OpKind kind) {
  switch (kind) {
    case OpKind::div:
      return div;
    case OpKind::floor_divide:
      return floor_divide;
    case OpKind::remainder:
      return remainder;
    case OpKind::fmod:
      return fmod;
    case OpKind::pow:
      return pow;
    case OpKind::maximum:
      return maximum;
    case OpKind::minimum:
      return minimum;
    case OpKind::atan2:
      return atan2;
    default:
      return nullptr;
  }
}

}  // namespace hc::interp
