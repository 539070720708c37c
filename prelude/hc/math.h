// Exponentials, logarithms and their kin. f32: branch-free polynomials, at most 4 ulp (exp, log and most others at most
// 2), infinities, NaN, gradual underflow and signed zeros as in C. f64: the C library, lane by lane.
// scripts/fit_polynomials.py makes the coefficients.
#pragma once

#include "hc/basic.h"

namespace hcv {
namespace detail {

/// c[0] + x (c[1] + x (...)).
template <class V>
HCV_INLINE V horner(V, float c) {
  return V(c);
}
template <class V, class... C>
HCV_INLINE V horner(V x, float c, C... rest) {
  return horner(x, rest...) * x + V(c);
}

/// Added to |x| < 2^22 it leaves x rounded to even in the low bits of the sum.
inline constexpr float kMagic = 0x1.8p23f;
inline constexpr float kLn2Hi = 0x1.62e4p-1f;  // 15 bits: its product with an exponent is exact
inline constexpr float kLn2Lo = 0x1.7f7d1cf8p-20f;

/// 2^n for integral n in [-126, 127].
template <int N>
HCV_INLINE vec<float, N> power_of_two(vec<int32_t, N> n) {
  return bit_cast<float>((n + vec<int32_t, N>(127)) << 23);
}
/// p * 2^n, rounded once, for integral n in [-252, 254] that the caller has as magic sum t = n + kMagic too.
template <int N>
HCV_INLINE vec<float, N> scale(vec<float, N> p, [[maybe_unused]] vec<float, N> n, [[maybe_unused]] vec<float, N> t) {
  if constexpr (requires { native::scale_reg(p.v, n.v); }) {
    return vec<float, N>(native::scale_reg(p.v, n.v));
  } else {
    const auto whole = bit_cast<int32_t>(t) - vec<int32_t, N>(__builtin_bit_cast(int32_t, kMagic));
    const auto half = whole >> 1;
    return p * power_of_two(half) * power_of_two(whole - half);
  }
}
/// Clamps; NaN stays.
template <class V>
HCV_INLINE V clamp(V x, float lo, float hi) {
  return smaller(V(hi), larger(V(lo), x));
}

template <class V>
HCV_INLINE V exp_f32(V x) {
  x = clamp(x, -104.0f, 89.0f);
  const V t = x * V(0x1.715476p0f) + V(kMagic);
  const V n = t - V(kMagic);
  const V r = (x - n * V(kLn2Hi)) - n * V(kLn2Lo);
  return scale(horner(r, 1.0f, 1.0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558aap-5f, 0x1.12396ep-7f, 0x1.6a525p-10f), n,
               t);
}
template <class V>
HCV_INLINE V exp2_f32(V x) {
  x = clamp(x, -151.0f, 129.0f);
  const V t = x + V(kMagic);
  const V n = t - V(kMagic);
  const V p = horner(x - n, 1.0f, 0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6af7cp-5f, 0x1.3b2dep-7f, 0x1.5f0838p-10f,
                     0x1.416b8p-13f);
  return scale(p, n, t);
}
template <int N>
HCV_INLINE vec<float, N> expm1_f32(vec<float, N> x0) {
  using V = vec<float, N>;
  const V x = clamp(x0, -30.0f, 89.0f);
  const V t = x * V(0x1.715476p0f) + V(kMagic);
  const V n = t - V(kMagic);
  const V r = (x - n * V(kLn2Hi)) - n * V(kLn2Lo);
  const V q = horner(r, 0x1.fffffep-2f, 0x1.5554b4p-3f, 0x1.5556f6p-5f, 0x1.122538p-7f, 0x1.6b97a2p-10f);
  const V p = r * r * q + r;
  // Half of 2^n (1 + p) - 1, so that 2^n does not overflow before the result does.
  const auto whole = bit_cast<int32_t>(t) - vec<int32_t, N>(__builtin_bit_cast(int32_t, kMagic));
  const V s = power_of_two(whole - vec<int32_t, N>(1));
  const V half = s * p + (s - V(0.5f));
  return select(x0 == V(0), x0, half + half);
}

/// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0.
template <int N>
struct Parts {
  vec<float, N> f, e;
};
template <int N>
HCV_INLINE Parts<N> split_exponent(vec<float, N> x) {
  using V = vec<float, N>;
  using I = vec<int32_t, N>;
  const auto tiny = x < V(0x1p-126f);
  x = select(tiny, x * V(0x1p23f), x);
  const I root(__builtin_bit_cast(int32_t, 0x1.6a09e6p-1f));
  const I i = bit_cast<int32_t>(x) - root;
  const V e = convert<float>((i >> 23) - (tiny & I(23)));
  return {bit_cast<float>((i & I(0x7fffff)) + root) - V(1), e};
}
/// The logarithm's values where x is not finite and positive.
template <class V>
HCV_INLINE V log_edges(V x, V inside) {
  const V y = select(x == V(0), V(-kInf<float>), V(kNan<float>));
  return select(x > V(0), select(x == V(kInf<float>), x, inside), y);
}
/// log(2^e (1 + f)).
template <class V>
HCV_INLINE V log_of_parts(V f, V e) {
  const V p = horner(f, -0x1.fffff8p-2f, 0x1.55555p-2f, -0x1.000438p-2f, 0x1.99a428p-3f, -0x1.542422p-3f,
                     0x1.226b32p-3f, -0x1.0f4cb2p-3f, 0x1.087d7ep-3f, -0x1.385004p-4f);
  return e * V(kLn2Hi) + (f + (f * f * p + e * V(kLn2Lo)));
}
template <int N>
HCV_INLINE vec<float, N> log_f32(vec<float, N> x) {
  const auto [f, e] = split_exponent(x);
  return log_edges(x, log_of_parts(f, e));
}
template <int N>
HCV_INLINE vec<float, N> log2_f32(vec<float, N> x) {
  const auto [f, e] = split_exponent(x);
  const auto p = horner(f, 0x1.715476p+0f, -0x1.715476p-1f, 0x1.ec720ap-2f, -0x1.7156c8p-2f, 0x1.273918p-2f,
                        -0x1.eb1686p-3f, 0x1.abcb4ap-3f, -0x1.8bee1ap-3f, 0x1.4e8534p-3f, -0x1.465138p-4f);
  return log_edges(x, f * p + e);
}
template <int N>
HCV_INLINE vec<float, N> log10_f32(vec<float, N> x) {
  using V = vec<float, N>;
  const auto [f, e] = split_exponent(x);
  const auto p = horner(f, 0x1.bcb7b2p-2f, -0x1.bcb7b2p-3f, 0x1.2878ecp-3f, -0x1.bcb65p-4f, 0x1.64558ap-4f,
                        -0x1.28b472p-4f, 0x1.e9c3aap-5f, -0x1.b57c34p-5f, 0x1.061506p-4f, -0x1.a343a8p-5f);
  // log10(2) in a part of 13 bits and the rest.
  return log_edges(x, e * V(0x1.344p-2f) + (f * p + e * V(0x1.3509f79fp-18f)));
}
template <int N>
HCV_INLINE vec<float, N> log1p_f32(vec<float, N> x) {
  using V = vec<float, N>;
  const V s = x + V(1);
  const V back = s - V(1);
  const V lost = (V(1) - (s - back)) + (x - back);  // s + lost is 1 + x exactly
  const auto [f, e] = split_exponent(s);
  const V bounded = select(e > V(126), V(126), e);
  const V unscale = power_of_two(-convert<int32_t>(select(bounded < V(-126), V(-126), bounded)));
  const V r = log_of_parts(f + lost * unscale, e);
  return select(x == V(0), x, log_edges(s, r));
}

template <class V>
HCV_INLINE V tanh_f32(V x) {
  const V t = expm1_f32(abs(x) * V(-2));
  return copysign(t / (t + V(2)), x);
}
template <class V>
HCV_INLINE V sigmoid_f32(V x) {
  const V z = exp_f32(-abs(x));
  return select(x < V(0), z, V(1)) / (z + V(1));
}
template <class V>
HCV_INLINE V erf_f32(V x) {
  const V z = x * x;
  const V near = horner(z, 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d64p-4f, -0x1.b8012p-6f, 0x1.544aaap-8f,
                        -0x1.a612ap-11f, 0x1.4f8f88p-14f) *
                     x +
                 x;
  const V a = clamp(abs(x), 0.0f, 4.0f);
  const V q = horner(a, -0x1.20e818p+0f, -0x1.4576eep-1f, -0x1.aec696p-4f, 0x1.71e2cap-6f, -0x1.7819a6p-9f,
                     0x1.ce492p-16f, 0x1.a2b6a2p-15f, -0x1.635156p-18f);
  return select(a < V(0.93f), near, copysign(V(1) - exp_f32(a * q), x));
}

}  // namespace detail

// A function of one operand: vectors of float by polynomial, of double lane by lane; a scalar float is a lane of a
// vector.
#define HCV_MATH(name)                                             \
  HCV_INLINE double name(double x) { return __builtin_##name(x); } \
  HCV_MATH_VECTOR(name)
#define HCV_MATH_VECTOR(name)                                      \
  template <class T, int N>                                        \
  HCV_INLINE vec<T, N> name(vec<T, N> x) {                         \
    if constexpr (vec<T, N>::split)                                \
      return vec<T, N>(name(x.lo), name(x.hi));                    \
    else if constexpr (__is_same(T, float))                        \
      return detail::name##_f32(x);                                \
    else                                                           \
      return detail::each_lane<T>([](T e) { return name(e); }, x); \
  }                                                                \
  HCV_INLINE float name(float x) { return name(splat<float, 4>(x))[0]; }
HCV_MATH(exp)
HCV_MATH(exp2)
HCV_MATH(expm1)
HCV_MATH(log)
HCV_MATH(log2)
HCV_MATH(log10)
HCV_MATH(log1p)
HCV_MATH(tanh)
HCV_MATH(erf)
/// 1 / (1 + e^-x), accurate in both tails.
HCV_INLINE double sigmoid(double x) {
  const double z = __builtin_exp(-abs(x));
  return (x < 0 ? z : 1) / (z + 1);
}
HCV_MATH_VECTOR(sigmoid)

}  // namespace hcv
