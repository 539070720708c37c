// Sine, cosine, tangent, arctangent of two operands, and powers. f32 by polynomial with double for the argument; f64 by
// the C library.
#pragma once

#include "hc/math.h"

namespace hcv {
namespace detail {

template <int N>
struct Circle {
  vec<float, N> sin, cos;  ///< of the argument
};
/// x = q pi/2 + r: sin and cos of |x| <= 2^20, from polynomials in r, exchanged and negated by the quadrant q.
template <int N>
HCV_INLINE Circle<N> sin_cos_f32(vec<float, N> x) {
  using V = vec<float, N>;
  using D = vec<double, N>;
  using I = vec<int32_t, N>;
  const D wide = convert<double>(x);
  const D t = wide * D(0x1.45f306dc9c883p-1) + D(0x1.8p52);
  const D n = t - D(0x1.8p52);
  // pi/2 in a part of 26 bits, whose product with n is exact, and the rest.
  const V r = convert<float>((wide - n * D(0x1.921fb5p0)) - n * D(0x1.110b4611a6263p-26));
  const I quadrant = convert<int32_t>(bit_cast<int64_t>(t));
  const V z = r * r;
  const V s = horner(z, -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05956p-13f, 0x1.7c2da4p-19f) * z * r + r;
  const V c = horner(z, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f) * z * z + (V(1) - z * V(0.5f));
  const auto odd = (quadrant & I(1)) != I(0);
  const I sin_sign = (quadrant & I(2)) << 30;
  const I cos_sign = ((quadrant + I(1)) & I(2)) << 30;
  return {bit_cast<float>(bit_cast<int32_t>(select(odd, c, s)) ^ sin_sign),
          bit_cast<float>(bit_cast<int32_t>(select(odd, s, c)) ^ cos_sign)};
}
/// `near`, and f of the lanes that lie too far from zero for it.
template <int N, class F>
HCV_INLINE vec<float, N> patch_far(vec<float, N> x, vec<float, N> near, F f) {
  const auto far = abs(x) > vec<float, N>(0x1p20f);
  if (__builtin_expect(any(far), 0)) return select(far, each_lane<float>(f, x), near);
  return near;
}

template <int N>
inline vec<float, N> sin_f32(vec<float, N> x) {
  const auto near = select(x == vec<float, N>(0), x, sin_cos_f32(x).sin);
  return patch_far(x, near, [](float e) { return __builtin_sinf(e); });
}
template <int N>
inline vec<float, N> cos_f32(vec<float, N> x) {
  return patch_far(x, sin_cos_f32(x).cos, [](float e) { return __builtin_cosf(e); });
}
template <int N>
inline vec<float, N> tan_f32(vec<float, N> x) {
  const auto [s, c] = sin_cos_f32(x);
  return patch_far(x, select(x == vec<float, N>(0), x, s / c), [](float e) { return __builtin_tanf(e); });
}

template <int N>
inline vec<float, N> atan2_f32(vec<float, N> y, vec<float, N> x) {
  using V = vec<float, N>;
  const V ax = abs(x), ay = abs(y);
  const V big = select(ax > ay, ax, ay), small = select(ax > ay, ay, ax);
  V t = small / big;
  t = select(big == V(0), V(0), select(small == V(kInf<float>), V(1), t));
  const V z = t * t;
  const V p = horner(z, -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.242086p-3f, 0x1.c08c4ep-4f, -0x1.58091cp-4f,
                     0x1.da2a0ep-5f, -0x1.fd7e1cp-6f, 0x1.6424eep-7f, -0x1.d35a82p-10f);
  V a = p * z * t + t;
  a = select(ay > ax, (V(0x1.921fb6p0f) - a) - V(0x1.777a5cp-25f), a);
  const auto left = bit_cast<int32_t>(x) < vec<int32_t, N>(0);
  a = select(left, (V(0x1.921fb6p1f) - a) - V(0x1.777a5cp-24f), a);
  return select((x != x) | (y != y), x + y, copysign(a, y));
}

/// 2^(y log2 |x|) in double, then rounded; what C says of signs; lanes with 0, infinity or NaN go to the C library.
template <int N>
inline vec<float, N> pow_f32(vec<float, N> x, vec<float, N> y) {
  using V = vec<float, N>;
  using D = vec<double, N>;
  using L = vec<int64_t, N>;
  const V ax = abs(x);
  const auto plain = (ax > V(0)) & (ax < V(kInf<float>)) & (abs(y) < V(kInf<float>));
  const L root(__builtin_bit_cast(int64_t, 0x1.6a09e667f3bcdp-1));
  const L i = bit_cast<int64_t>(convert<double>(ax)) - root;
  const D f = bit_cast<double>((i & L(0xfffffffffffff)) + root) - D(1);
  const D e = convert<double>(convert<int32_t>(i >> 52));
  constexpr double log_c[] = {0x1.71547652b8476p+0, -0x1.71547652bd4b9p-1, 0x1.ec709dc2243b5p-2, -0x1.715476437676cp-2,
                              0x1.2776c60205a59p-2, -0x1.ec70abb1c63d1p-3, 0x1.a616f2ea67bb5p-3, -0x1.715190039cf4ep-3,
                              0x1.48564e4f9ec9fp-3, -0x1.27c70a44741dcp-3, 0x1.0c280f729b7eep-3, -0x1.e33fa0c2abca5p-4,
                              0x1.c569f3a14e1e5p-4, -0x1.e6e8b7d78e945p-4, 0x1.d9878bd3dbd6bp-4, -0x1.d7061ba1beadcp-5};
  D p(log_c[15]);
  for (int k = 14; k >= 0; --k) p = p * f + D(log_c[k]);
  D w = (p * f + e) * convert<double>(y);
  w = select(w > D(200), D(200), select(w < D(-200), D(-200), w));
  const D t = w + D(0x1.8p52);
  const D r = w - (t - D(0x1.8p52));
  constexpr double exp_c[] = {1,
                              0x1.62e42fefa37d1p-1,
                              0x1.ebfbdff81bd9fp-3,
                              0x1.c6b08d70c889ep-5,
                              0x1.3b2ab7241e668p-7,
                              0x1.5d87fd9392b4dp-10,
                              0x1.430897d9d579ep-13,
                              0x1.ffce2f5439347p-17,
                              0x1.63e6b5081be0ap-20,
                              0x1.b3dedf81c4422p-24};
  D q(exp_c[9]);
  for (int k = 8; k >= 0; --k) q = q * r + D(exp_c[k]);
  const D power = bit_cast<double>((bit_cast<int64_t>(t) + L(1023)) << 52);
  const V magnitude = convert<float>(q * power);
  const V half = y * V(0.5f);
  const V negative = select(y != trunc(y), V(kNan<float>), select(half != trunc(half), -magnitude, magnitude));
  const V signed_power = select(x < V(0), negative, magnitude);
  if (__builtin_expect(all(plain), 1)) return signed_power;
  return select(plain, signed_power, each_lane<float>([](float a, float b) { return __builtin_powf(a, b); }, x, y));
}

}  // namespace detail

HCV_MATH(sin)
HCV_MATH(cos)
HCV_MATH(tan)
#define HCV_MATH2(name)                                                         \
  HCV_INLINE double name(double a, double b) { return __builtin_##name(a, b); } \
  template <class T, int N>                                                     \
  requires(is_float<T>) HCV_INLINE vec<T, N> name(vec<T, N> a, vec<T, N> b) {   \
    if constexpr (vec<T, N>::split)                                             \
      return vec<T, N>(name(a.lo, b.lo), name(a.hi, b.hi));                     \
    else if constexpr (__is_same(T, float))                                     \
      return detail::name##_f32(a, b);                                          \
    else                                                                        \
      return detail::each_lane<T>([](T p, T q) { return name(p, q); }, a, b);   \
  }                                                                             \
  HCV_INLINE float name(float a, float b) { return name(splat<float, 4>(a), splat<float, 4>(b))[0]; }
HCV_MATH2(pow)
/// The angle of the point (b, a).
HCV_MATH2(atan2)
#undef HCV_MATH2
#undef HCV_MATH
#undef HCV_MATH_VECTOR

/// Integer powers wrap; a negative exponent gives 1 for 1, 1 or -1 for -1, else 0.
template <class T>
requires(!is_float<T>) HCV_INLINE T pow(T a, T b) {
  if (is_signed_int<T> && b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? ((b & 1) ? T(-1) : T(1)) : T(0);
  uint64_t base = uint64_t(a), result = 1;
  for (auto left = uint_of<T>(b); left; left = uint_of<T>(left >> 1), base *= base)
    if (left & 1) result *= base;
  return T(result);
}
template <class T, int N>
requires(!is_float<T>) HCV_INLINE vec<T, N> pow(vec<T, N> a, vec<T, N> b) {
  return detail::each_lane<T>([](T p, T q) { return pow(p, q); }, a, b);
}

}  // namespace hcv
