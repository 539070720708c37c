// Elementwise functions of one element: floating ones carry their bound, integer ones wrap in their dtype.
#pragma once

#include "interp/number.h"
#include "ir/tile_ir.h"

namespace hc::interp {

/// An integer or bool; `e` is how far an implementation's value may be off (0 nearly always).
struct Int {
  int64_t i = 0;
  double e = 0;
};

using FloatUnary = Num (*)(const Precision& p, Num a);
using FloatBinary = Num (*)(const Precision& p, Num a, Num b);
using IntBinary = int64_t (*)(DType dtype, int64_t a, int64_t b, bool* defined);

/// Null when the op is none of one floating operand with a floating result.
FloatUnary float_unary(ir::OpKind kind);
FloatBinary float_binary(ir::OpKind kind);
/// Null when the op is none of two integers with an integer result. `defined` becomes false for a quotient by zero.
IntBinary int_binary(ir::OpKind kind);

/// add, sub, mul with their exact cases; these are the ops of most lanes.
inline Num add(const Precision& p, DType dtype, Num a, Num b) {
  const double v = a.v + b.v;
  const double e = a.e + b.e;
  if (e == 0 && is_exact(dtype, v)) return {v, 0};
  return rounded_result(p, {v, e}, 0, e);
}

inline Num mul(const Precision& p, DType dtype, Num a, Num b) {
  const double v = a.v * b.v;
  if (a.e == 0 && b.e == 0) {
    if (is_exact(dtype, v)) return {v, 0};
    return rounded_result(p, {v, 0}, 0, 0);
  }
  return rounded_result(p, {v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e}, 0, a.e + b.e);
}

/// The wrapped value of an integer dtype; bool is whether it is not zero.
int64_t wrap(DType dtype, int64_t value);

}  // namespace hc::interp
