// Precision of each dtype, and roundings of values with a bound.
#include "interp/number.h"

#include <array>
#include <bit>

#include "base/numeric.h"

namespace hc::interp {
namespace {

constexpr double kF32 = 0x1p-24;

// f64's unit is doubled: the oracle itself rounds in f64.
constexpr Precision kF64Precision{0x1p-52, 0x1p-52, 0x1p-1022, 0x1.fffffffffffffp1023};
constexpr Precision kF32Precision{kF32, kF32, 0x1p-126, 0x1.fffffep127};
constexpr Precision kF16Precision{0x1p-11, kF32, 0x1p-25, 65504};
constexpr Precision kBf16Precision{0x1p-8, kF32, 0x1p-126, 0x1.fep127};
constexpr Precision kE4m3Precision{0x1p-4, kF32, 0x1p-10, 448};
constexpr Precision kE5m2Precision{0x1p-3, kF32, 0x1p-17, 57344};

double round_fast(DType dtype, double v) {
  if (dtype == DType::f32) return static_cast<float>(v);
  if (dtype == DType::f64) return v;
  return round_to(dtype, v);
}

}  // namespace

const Precision& precision_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return kF64Precision;
    case DType::f16:
      return kF16Precision;
    case DType::bf16:
      return kBf16Precision;
    case DType::f8e4m3:
      return kE4m3Precision;
    case DType::f8e5m2:
      return kE5m2Precision;
    default:
      return kF32Precision;
  }
}

Num round_num(DType dtype, Num a) {
  const double r = round_fast(dtype, a.v);
  if (a.e == 0) return {r, 0};
  if (!std::isfinite(a.e) || std::isnan(a.v)) return {r, a.e};
  return {r, bound_within(r, round_fast(dtype, a.v - a.e), round_fast(dtype, a.v + a.e))};
}

bool is_exact_narrow(DType dtype, double v) {
  if (dtype == DType::bf16) {
    const auto f = static_cast<float>(v);
    return f == v && (std::bit_cast<uint32_t>(f) & 0xffff) == 0;
  }
  return round_to(dtype, v) == v;
}

}  // namespace hc::interp
