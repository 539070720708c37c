// Integer functions: they wrap in their dtype; a quotient by zero has no defined value.
#include <algorithm>

#include "interp/functions.h"

namespace hc::interp {
namespace {

using ir::OpKind;

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

int64_t add(DType, int64_t a, int64_t b, bool*) { return static_cast<int64_t>(bits(a) + bits(b)); }
int64_t sub(DType, int64_t a, int64_t b, bool*) { return static_cast<int64_t>(bits(a) - bits(b)); }
int64_t mul(DType, int64_t a, int64_t b, bool*) { return static_cast<int64_t>(bits(a) * bits(b)); }
int64_t maximum(DType, int64_t a, int64_t b, bool*) { return std::max(a, b); }
int64_t minimum(DType, int64_t a, int64_t b, bool*) { return std::min(a, b); }
int64_t bitwise_and(DType, int64_t a, int64_t b, bool*) { return a & b; }
int64_t bitwise_or(DType, int64_t a, int64_t b, bool*) { return a | b; }
int64_t bitwise_xor(DType, int64_t a, int64_t b, bool*) { return a ^ b; }

int64_t floor_divide(DType, int64_t a, int64_t b, bool* defined) {
  if (b == 0) return *defined = false, 0;
  if (b == -1) return static_cast<int64_t>(0 - bits(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t fmod(DType, int64_t a, int64_t b, bool* defined) {
  if (b == 0) return *defined = false, 0;
  return b == -1 ? 0 : a % b;
}

int64_t remainder(DType dtype, int64_t a, int64_t b, bool* defined) {
  const int64_t rest = fmod(dtype, a, b, defined);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t pow(DType, int64_t a, int64_t b, bool* defined) {
  if (b < 0) return *defined = false, 0;
  uint64_t result = 1, base = bits(a);
  for (uint64_t n = bits(b); n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return static_cast<int64_t>(result);
}

int64_t width(DType dtype) { return dtype_bytes(dtype) * 8; }

int64_t shift_left(DType dtype, int64_t a, int64_t b, bool*) {
  return b < 0 || b >= width(dtype) ? 0 : static_cast<int64_t>(bits(a) << b);
}

int64_t shift_right(DType dtype, int64_t a, int64_t b, bool*) { return a >> (b < 0 || b >= width(dtype) ? 63 : b); }

}  // namespace

int64_t wrap(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::boolean:
      return value != 0;
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::i16:
      return static_cast<int16_t>(value);
    case DType::i32:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

IntBinary int_binary(OpKind kind) {
  switch (kind) {
    case OpKind::add:
      return add;
    case OpKind::sub:
      return sub;
    case OpKind::mul:
      return mul;
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
    case OpKind::bitwise_and:
      return bitwise_and;
    case OpKind::bitwise_or:
      return bitwise_or;
    case OpKind::bitwise_xor:
      return bitwise_xor;
    case OpKind::shift_left:
      return shift_left;
    case OpKind::shift_right:
      return shift_right;
    default:
      return nullptr;
  }
}

}  // namespace hc::interp
