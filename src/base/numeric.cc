// Conversions between element storage and double: one rounding, to nearest even, by integer arithmetic on the bits.
#include "base/numeric.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace hc {
namespace {

/// Encodes into a format of `E` exponent and `M` fraction bits. Formats without infinity (`kFiniteOnly`) have one NaN
/// pattern, all ones.
template <int E, int M, bool kFiniteOnly>
uint32_t encode(double value) {
  constexpr int kMinExponent = 2 - (1 << (E - 1));
  constexpr uint32_t kAllOnes = (1u << (E + M)) - 1;
  constexpr uint32_t kInfinity = kAllOnes & ~((1u << M) - 1);
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (E + M);
  const int raw_exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t significand = bits & ((uint64_t{1} << 52) - 1);
  if (raw_exponent == 0x7ff) {
    if (significand != 0) return sign | (kFiniteOnly ? kAllOnes : kInfinity | 1u << (M - 1));
    return sign | (kFiniteOnly ? kAllOnes : kInfinity);
  }
  if (raw_exponent == 0) return sign;  // double subnormals are far below half of any smaller format's least value
  significand |= uint64_t{1} << 52;
  const int exponent = raw_exponent - 1023;
  const bool subnormal = exponent < kMinExponent;
  const int shift = 52 - M + (subnormal ? kMinExponent - exponent : 0);
  if (shift > 54) return sign;
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t odd = significand >> shift & 1;
  const uint64_t rounded = (significand + half - 1 + odd) >> shift;
  // A carry out of the fraction raises the exponent, which is the right answer in both cases.
  uint32_t result = static_cast<uint32_t>(rounded);
  if (!subnormal) result += static_cast<uint32_t>(exponent - kMinExponent) << M;
  constexpr uint32_t kOverflow = kFiniteOnly ? kAllOnes : kInfinity;
  return sign | (result >= kOverflow ? kOverflow : result);
}

template <int E, int M, bool kFiniteOnly>
float decode(uint32_t bits) {
  constexpr int kMinExponent = 2 - (1 << (E - 1));
  constexpr uint32_t kExponentMask = (1u << E) - 1;
  const bool negative = bits >> (E + M) & 1;
  const uint32_t exponent = bits >> M & kExponentMask;
  const uint32_t fraction = bits & ((1u << M) - 1);
  float magnitude;
  const bool all_ones = exponent == kExponentMask;
  if (kFiniteOnly ? all_ones && fraction == (1u << M) - 1 : all_ones && fraction != 0) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (!kFiniteOnly && all_ones) {
    magnitude = std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), kMinExponent - M);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction | 1u << M), static_cast<int>(exponent) - 1 + kMinExponent - M);
  }
  return negative ? -magnitude : magnitude;
}

template <typename T>
T at(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void put(void* data, int64_t i, T value) {
  std::memcpy(static_cast<char*>(data) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Truncation toward zero; what lies outside int64 has no defined answer and becomes the lowest value.
int64_t truncate(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace

float f16_to_f32(uint16_t bits) { return decode<5, 10, false>(bits); }
float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t f64_to_f16(double value) { return static_cast<uint16_t>(encode<5, 10, false>(value)); }
uint16_t f64_to_bf16(double value) { return static_cast<uint16_t>(encode<8, 7, false>(value)); }

uint16_t f32_to_bf16(float value) {
  if (value != value) return 0x7fc0;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint8_t f64_to_f8e4m3(double value) { return static_cast<uint8_t>(encode<4, 3, true>(value)); }
uint8_t f64_to_f8e5m2(double value) { return static_cast<uint8_t>(encode<5, 2, false>(value)); }
float f8e4m3_to_f32(uint8_t bits) { return decode<4, 3, true>(bits); }
float f8e5m2_to_f32(uint8_t bits) { return decode<5, 2, false>(bits); }

double load_double(const void* data, DType type, int64_t i) {
  switch (type) {
    case DType::f8e4m3:
      return f8e4m3_to_f32(at<uint8_t>(data, i));
    case DType::f8e5m2:
      return f8e5m2_to_f32(at<uint8_t>(data, i));
    case DType::f16:
      return f16_to_f32(at<uint16_t>(data, i));
    case DType::bf16:
      return bf16_to_f32(at<uint16_t>(data, i));
    case DType::f32:
      return at<float>(data, i);
    case DType::f64:
      return at<double>(data, i);
    default:
      return static_cast<double>(load_int(data, type, i));
  }
}

int64_t load_int(const void* data, DType type, int64_t i) {
  switch (type) {
    case DType::boolean:
      return at<uint8_t>(data, i) != 0;
    case DType::u8:
      return at<uint8_t>(data, i);
    case DType::i8:
      return at<int8_t>(data, i);
    case DType::i16:
      return at<int16_t>(data, i);
    case DType::i32:
      return at<int32_t>(data, i);
    case DType::i64:
      return at<int64_t>(data, i);
    default:
      return truncate(load_double(data, type, i));
  }
}

void store_double(void* data, DType type, int64_t i, double value) {
  switch (type) {
    case DType::f8e4m3:
      return put(data, i, f64_to_f8e4m3(value));
    case DType::f8e5m2:
      return put(data, i, f64_to_f8e5m2(value));
    case DType::f16:
      return put(data, i, f64_to_f16(value));
    case DType::bf16:
      return put(data, i, f64_to_bf16(value));
    case DType::f32:
      return put(data, i, static_cast<float>(value));
    case DType::f64:
      return put(data, i, value);
    case DType::boolean:
      return put(data, i, static_cast<uint8_t>(value != 0));
    default:
      return store_int(data, type, i, truncate(value));
  }
}

void store_int(void* data, DType type, int64_t i, int64_t value) {
  switch (type) {
    case DType::boolean:
      return put(data, i, static_cast<uint8_t>(value != 0));
    case DType::u8:
      return put(data, i, static_cast<uint8_t>(value));
    case DType::i8:
      return put(data, i, static_cast<int8_t>(value));
    case DType::i16:
      return put(data, i, static_cast<int16_t>(value));
    case DType::i32:
      return put(data, i, static_cast<int32_t>(value));
    case DType::i64:
      return put(data, i, value);
    default:
      return store_double(data, type, i, static_cast<double>(value));
  }
}

double round_to(DType type, double value) {
  uint64_t slot = 0;
  store_double(&slot, type, 0, value);
  return load_double(&slot, type, 0);
}

}  // namespace hc
