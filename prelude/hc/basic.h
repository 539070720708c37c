// Elementwise functions without polynomials: rounding, roots, signs, tests, and division of integers and floats as
// PyTorch defines it.
#pragma once

#include "hc/memory.h"
#include "hc/reduce.h"

namespace hcv {

template <class T>
inline constexpr T kInf = T(__builtin_inf());
template <class T>
inline constexpr T kNan = T(__builtin_nan(""));

// Rounding to integral values; integers stay. Modes are those of native::round_reg.
#define HCV_ROUNDING(name, mode, BUILTIN)                              \
  HCV_INLINE float name(float x) { return __builtin_##BUILTIN##f(x); } \
  HCV_INLINE double name(double x) { return __builtin_##BUILTIN(x); }  \
  template <class T>                                                   \
  requires(!is_float<T>) HCV_INLINE T name(T x) { return x; }          \
  template <class T, int N>                                            \
  HCV_INLINE vec<T, N> name(vec<T, N> x) {                             \
    if constexpr (!is_float<T>)                                        \
      return x;                                                        \
    else if constexpr (vec<T, N>::split)                               \
      return vec<T, N>(name(x.lo), name(x.hi));                        \
    else if constexpr (requires { native::round_reg<mode>(x.v); })     \
      return vec<T, N>(native::round_reg<mode>(x.v));                  \
    else                                                               \
      return detail::each_lane<T>([](T e) { return name(e); }, x);     \
  }
HCV_ROUNDING(round, 0, rint)
HCV_ROUNDING(floor, 1, floor)
HCV_ROUNDING(ceil, 2, ceil)
HCV_ROUNDING(trunc, 3, trunc)
#undef HCV_ROUNDING

HCV_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
HCV_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
template <class T, int N>
HCV_INLINE vec<T, N> sqrt(vec<T, N> x) {
  if constexpr (vec<T, N>::split)
    return vec<T, N>(sqrt(x.lo), sqrt(x.hi));
  else if constexpr (requires { native::sqrt_reg(x.v); })
    return vec<T, N>(native::sqrt_reg(x.v));
  else
    return detail::each_lane<T>([](T e) { return sqrt(e); }, x);
}
template <class V>
HCV_INLINE V reciprocal(V x) {
  return V(1) / x;
}
template <class V>
HCV_INLINE V rsqrt(V x) {
  return V(1) / sqrt(x);
}

/// One number that many vectors are divided by: x / divisor is x * a * b, within 1.5 ulp and far cheaper than a
/// division.
template <class T, int N>
struct divisor {
  vec<T, N> a, b;  ///< 1 / (d 2^k) and 2^k; k keeps the first one normal where d is huge or tiny
  friend HCV_INLINE vec<T, N> operator/(vec<T, N> x, divisor d) { return x * d.a * d.b; }
};
template <int N, class T>
HCV_INLINE divisor<T, N> make_divisor(T d) {
  constexpr bool wide = sizeof(T) == 8;
  const T magnitude = d < 0 ? -d : d;
  const T scale = magnitude > T(wide ? 0x1p1020 : 0x1p124)     ? T(wide ? 0x1p-128 : 0x1p-32)
                  : magnitude < T(wide ? 0x1p-1020 : 0x1p-124) ? T(wide ? 0x1p256 : 0x1p64)
                                                               : T(1);
  return {vec<T, N>(T(1) / (d * scale)), vec<T, N>(scale)};
}

template <class T, int N>
HCV_INLINE mask_of<T, N> isnan(vec<T, N> x) {
  return x != x;
}
template <class T>
HCV_INLINE bool isnan(T x) {
  return x != x;
}

/// |x|; the lowest integer stays as it is.
template <class T, int N>
HCV_INLINE vec<T, N> abs(vec<T, N> x) {
  if constexpr (is_float<T>)
    return bit_cast<T>(bit_cast<uint_of<T>>(x) & vec<uint_of<T>, N>(uint_of<T>(~uint_of<T>(0)) >> 1));
  else if constexpr (is_signed_int<T>)
    return select(x < vec<T, N>(0), -x, x);
  else
    return x;
}
template <class T>
HCV_INLINE T abs(T x) {
  if constexpr (is_float<T>)
    return bit_cast<T>(bit_cast<uint_of<T>>(x) & (uint_of<T>(~uint_of<T>(0)) >> 1));
  else
    return x < T(0) ? T(-uint_of<T>(x)) : x;
}
template <class T, int N>
HCV_INLINE mask_of<T, N> isinf(vec<T, N> x) {
  if constexpr (is_float<T>)
    return abs(x) == vec<T, N>(kInf<T>);
  else
    return mask_of<T, N>(0);
}
template <class T>
HCV_INLINE bool isinf(T x) {
  if constexpr (is_float<T>) return abs(x) == kInf<T>;
  return false;
}
/// The magnitude of a with the sign bit of b.
template <class T, int N>
HCV_INLINE vec<T, N> copysign(vec<T, N> a, vec<T, N> b) {
  using U = uint_of<T>;
  const vec<U, N> magnitude(U(~U(0)) >> 1);
  return bit_cast<T>((bit_cast<U>(a) & magnitude) | (bit_cast<U>(b) & ~magnitude));
}
HCV_INLINE float copysign(float a, float b) { return __builtin_copysignf(a, b); }
HCV_INLINE double copysign(double a, double b) { return __builtin_copysign(a, b); }

/// -1, 0 or 1; 0 of NaN.
template <class T, int N>
HCV_INLINE vec<T, N> sign(vec<T, N> x) {
  using V = vec<T, N>;
  if constexpr (is_float<T> || is_signed_int<T>)
    return select(x > V(0), V(1), select(x < V(0), V(T(-1)), V(0)));
  else
    return select(x != V(0), V(1), V(0));
}
template <class T>
HCV_INLINE T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
}

// Integer division. By zero: quotient and remainder are 0 (PyTorch raises); the lowest value by -1 wraps.
template <class T>
requires(!is_float<T>) HCV_INLINE T trunc_divide(T a, T b) {
  if (b == 0) return 0;
  if (is_signed_int<T> && b == T(-1)) return T(-uint_of<T>(a));
  return T(a / b);
}
/// The remainder with the dividend's sign.
template <class T>
requires(!is_float<T>) HCV_INLINE T fmod(T a, T b) {
  if (b == 0 || (is_signed_int<T> && b == T(-1))) return 0;
  return T(a % b);
}
/// The remainder with the divisor's sign.
template <class T>
requires(!is_float<T>) HCV_INLINE T remainder(T a, T b) {
  const T r = fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r;
}
/// The quotient rounded down.
template <class T>
requires(!is_float<T>) HCV_INLINE T floor_divide(T a, T b) {
  const T q = trunc_divide(a, b);
  const T r = fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? T(q - 1) : q;
}

HCV_INLINE float fmod(float a, float b) { return __builtin_fmodf(a, b); }
HCV_INLINE double fmod(double a, double b) { return __builtin_fmod(a, b); }
template <class T, int N>
inline vec<T, N> fmod(vec<T, N> a, vec<T, N> b) {
  if constexpr (vec<T, N>::split) {
    return vec<T, N>(fmod(a.lo, b.lo), fmod(a.hi, b.hi));
  } else if constexpr (__is_same(T, float)) {
    // Exact in double while the quotient has few bits: quotient * divisor then needs at most 53.
    const auto x = convert<double>(a), y = convert<double>(b);
    const auto quotient = trunc(x / y);
    const auto fits = (abs(quotient) < vec<double, N>(double(1 << 27))) & (abs(y) < vec<double, N>(kInf<double>));
    if (all(fits)) return copysign(convert<float>(x - quotient * y), a);
    return detail::each_lane<T>([](T p, T q) { return fmod(p, q); }, a, b);
  } else {
    return detail::each_lane<T>([](T p, T q) { return fmod(p, q); }, a, b);
  }
}

namespace detail {
/// Python's % and // from the exact fmod: m = fmod(a, b).
template <class V>
HCV_INLINE V float_remainder(V m, V b) {
  return select((m != V(0)) & ((m < V(0)) != (b < V(0))), m + b, m);
}
template <class V>
HCV_INLINE V float_floor_divide(V a, V b, V m) {
  V q = (a - m) / b;
  q = select((m != V(0)) & ((m < V(0)) != (b < V(0))), q - V(1), q);
  V down = floor(q);
  down = select(q - down > V(0.5f), down + V(1), down);
  const V exact = a / b;
  return select(b == V(0), exact, select(q == V(0), copysign(V(0), exact), down));
}
}  // namespace detail
HCV_INLINE float remainder(float a, float b) { return detail::float_remainder(fmod(a, b), b); }
HCV_INLINE double remainder(double a, double b) { return detail::float_remainder(fmod(a, b), b); }
HCV_INLINE float floor_divide(float a, float b) { return detail::float_floor_divide(a, b, fmod(a, b)); }
HCV_INLINE double floor_divide(double a, double b) { return detail::float_floor_divide(a, b, fmod(a, b)); }
template <class T, int N>
HCV_INLINE vec<T, N> remainder(vec<T, N> a, vec<T, N> b) {
  if constexpr (is_float<T>)
    return detail::float_remainder(fmod(a, b), b);
  else
    return detail::each_lane<T>([](T p, T q) { return remainder(p, q); }, a, b);
}
template <class T, int N>
HCV_INLINE vec<T, N> floor_divide(vec<T, N> a, vec<T, N> b) {
  if constexpr (is_float<T>)
    return detail::float_floor_divide(a, b, fmod(a, b));
  else
    return detail::each_lane<T>([](T p, T q) { return floor_divide(p, q); }, a, b);
}
template <class T, int N>
HCV_INLINE vec<T, N> trunc_divide(vec<T, N> a, vec<T, N> b) {
  return detail::each_lane<T>([](T p, T q) { return trunc_divide(p, q); }, a, b);
}

/// a * 2^b, wrapping; 0 where b is not in [0, bits).
template <class T>
HCV_INLINE T shift_left(T a, T b) {
  return uint64_t(b) < 8 * sizeof(T) ? T(uint_of<T>(uint64_t(uint_of<T>(a)) << b)) : T(0);
}
/// a / 2^b rounded down; the sign's fill where b is not in [0, bits).
template <class T>
HCV_INLINE T shift_right(T a, T b) {
  constexpr uint64_t last = 8 * sizeof(T) - 1;
  if (uint64_t(b) > last) return is_signed_int<T> ? T(a >> last) : T(0);
  return T(a >> b);
}
template <class T, int N>
HCV_INLINE vec<T, N> shift_left(vec<T, N> a, vec<T, N> b) {
  return detail::each_lane<T>([](T p, T q) { return shift_left(p, q); }, a, b);
}
template <class T, int N>
HCV_INLINE vec<T, N> shift_right(vec<T, N> a, vec<T, N> b) {
  return detail::each_lane<T>([](T p, T q) { return shift_right(p, q); }, a, b);
}

}  // namespace hcv
