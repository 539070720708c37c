// 16-bit and 8-bit floats in memory as unsigned integers, as f32 in registers: conversions to nearest even, loads and
// stores.
#pragma once

#include "hc/memory.h"

namespace hcv {

/// bf16 is the upper half of f32.
template <int N>
HCV_INLINE vec<float, N> bf16_to_f32(vec<uint16_t, N> h) {
  return bit_cast<float>(convert<uint32_t>(h) << 16);
}
/// Rounds to nearest even; NaN stays a quiet NaN.
template <int N>
HCV_INLINE vec<uint16_t, N> f32_to_bf16(vec<float, N> x) {
  using U = vec<uint32_t, N>;
  const U bits = bit_cast<uint32_t>(x);
  const U rounded = (bits + U(0x7fff) + ((bits >> 16) & U(1))) >> 16;
  return convert<uint16_t>(select(x != x, (bits >> 16) | U(0x40), rounded));
}
HCV_INLINE float bf16_to_f32(uint16_t h) { return __builtin_bit_cast(float, uint32_t(h) << 16); }
HCV_INLINE uint16_t f32_to_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return uint16_t(x != x ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

namespace detail {
/// f16 bits to f32 by integer arithmetic: exponents are rebased by a multiplication, which also makes subnormals
/// normal.
template <int N>
HCV_INLINE vec<float, N> f16_widen(vec<uint16_t, N> h) {
  using U = vec<uint32_t, N>;
  using V = vec<float, N>;
  const U bits = convert<uint32_t>(h);
  const U magnitude = bits & U(0x7fff);
  const V value = bit_cast<float>(magnitude << 13) * V(0x1p112f);
  const U special = (magnitude << 13) | U(0x7f800000);
  const U quiet = select(magnitude > U(0x7c00), special | U(0x400000), special);
  return bit_cast<float>(select(magnitude >= U(0x7c00), quiet, bit_cast<uint32_t>(value)) | ((bits & U(0x8000)) << 16));
}
template <int N>
HCV_INLINE vec<uint16_t, N> f16_narrow(vec<float, N> x) {
  using U = vec<uint32_t, N>;
  using V = vec<float, N>;
  const U bits = bit_cast<uint32_t>(x);
  const U magnitude = bits & U(0x7fffffff);
  // Normal: round at bit 13 and rebase the exponent. Subnormal: the addition of 2^-1 puts the result's last place at
  // f32's.
  const U normal = (magnitude + U(0xfff) + ((magnitude >> 13) & U(1)) - U(112u << 23)) >> 13;
  const U subnormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + V(0.5f)) - U(0x3f000000);
  U r = select(magnitude < U(113u << 23), subnormal, normal);
  r = select(magnitude >= U(0x477ff000), U(0x7c00), r);
  r = select(magnitude > U(0x7f800000), ((magnitude >> 13) & U(0x3ff)) | U(0x7e00), r);
  return convert<uint16_t>(r | ((bits >> 16) & U(0x8000)));
}
}  // namespace detail

template <int N>
HCV_INLINE vec<float, N> f16_to_f32(vec<uint16_t, N> h) {
  if constexpr (vec<float, N>::split)
    return vec<float, N>(f16_to_f32(lower(h)), f16_to_f32(upper(h)));
  else if constexpr (requires { native::f16_to_f32_reg((native::reg<short, N>)h.v); })
    return vec<float, N>(native::f16_to_f32_reg((native::reg<short, N>)h.v));
  else
    return detail::f16_widen(h);
}
/// Rounds to nearest even; overflow to infinity; NaN stays a quiet NaN.
template <int N>
HCV_INLINE vec<uint16_t, N> f32_to_f16(vec<float, N> x) {
  if constexpr (vec<float, N>::split)
    return join(f32_to_f16(x.lo), f32_to_f16(x.hi));
  else if constexpr (requires { native::f32_to_f16_reg(x.v); })
    return vec<uint16_t, N>((native::reg<uint16_t, N>)native::f32_to_f16_reg(x.v));
  else
    return detail::f16_narrow(x);
}
HCV_INLINE float f16_to_f32(uint16_t h) { return f16_to_f32(splat<uint16_t, 8>(h))[0]; }
HCV_INLINE uint16_t f32_to_f16(float x) { return f32_to_f16(splat<float, 8>(x))[0]; }

/// fp8 with 4 exponent and 3 fraction bits ("fn": no infinity, S.1111.111 is NaN).
template <int N>
HCV_INLINE vec<float, N> f8e4m3_to_f32(vec<uint8_t, N> b) {
  using U = vec<uint32_t, N>;
  const U bits = convert<uint32_t>(b), magnitude = bits & U(0x7f);
  const vec<float, N> value = bit_cast<float>(magnitude << 20) * vec<float, N>(0x1p120f);
  return bit_cast<float>(select(magnitude == U(0x7f), U(0x7fc00000), bit_cast<uint32_t>(value)) |
                         ((bits & U(0x80)) << 24));
}
/// fp8 with 5 exponent and 2 fraction bits: the upper half of f16.
template <int N>
HCV_INLINE vec<float, N> f8e5m2_to_f32(vec<uint8_t, N> b) {
  return f16_to_f32(convert<uint16_t>(b) << 8);
}
/// Rounds to nearest even; beyond 448 after rounding: NaN.
template <int N>
HCV_INLINE vec<uint8_t, N> f32_to_f8e4m3(vec<float, N> x) {
  using U = vec<uint32_t, N>;
  const U bits = bit_cast<uint32_t>(x), magnitude = bits & U(0x7fffffff);
  const U normal = (magnitude + U(0x7ffff) + ((magnitude >> 20) & U(1)) - U(120u << 23)) >> 20;
  const U subnormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + vec<float, N>(0x1p14f)) - U(0x46800000);
  U r = select(magnitude < U(121u << 23), subnormal, normal);
  r = select(magnitude > U(0x43e80000), U(0x7f), r);  // above 464, half way from 448 to the next step
  return convert<uint8_t>(r | ((bits >> 24) & U(0x80)));
}
/// Rounds to nearest even; overflow to infinity; NaN stays a quiet NaN.
template <int N>
HCV_INLINE vec<uint8_t, N> f32_to_f8e5m2(vec<float, N> x) {
  using U = vec<uint32_t, N>;
  const U bits = bit_cast<uint32_t>(x), magnitude = bits & U(0x7fffffff);
  const U normal = (magnitude + U(0xfffff) + ((magnitude >> 21) & U(1)) - U(112u << 23)) >> 21;
  const U subnormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + vec<float, N>(0x1p7f)) - U(0x43000000);
  U r = select(magnitude < U(113u << 23), subnormal, normal);
  r = select(magnitude >= U(0x47700000), U(0x7c), r);  // from 61440, half way from 57344 to the next step
  r = select(magnitude > U(0x7f800000), U(0x7f), r);
  return convert<uint8_t>(r | ((bits >> 24) & U(0x80)));
}
HCV_INLINE float f8e4m3_to_f32(uint8_t b) { return f8e4m3_to_f32(splat<uint8_t, 4>(b))[0]; }
HCV_INLINE float f8e5m2_to_f32(uint8_t b) { return f8e5m2_to_f32(splat<uint8_t, 8>(b))[0]; }
HCV_INLINE uint8_t f32_to_f8e4m3(float x) { return f32_to_f8e4m3(splat<float, 4>(x))[0]; }
HCV_INLINE uint8_t f32_to_f8e5m2(float x) { return f32_to_f8e5m2(splat<float, 4>(x))[0]; }

// load_X<N>(p), load_X_n<N>(p, n), store_X(p, v), store_X_n(p, v, n), stream_X(p, v): as load, load_n, ... through
// conversions.
#define HCV_NARROW(name, BITS)                                              \
  template <int N>                                                          \
  HCV_INLINE vec<float, N> load_##name(const BITS* p) {                     \
    return name##_to_f32(load<N>(p));                                       \
  }                                                                         \
  template <int N>                                                          \
  HCV_INLINE vec<float, N> load_##name##_n(const BITS* p, int64_t n) {      \
    return name##_to_f32(load_n<N>(p, n));                                  \
  }                                                                         \
  HCV_INLINE float load_##name(const BITS* p) { return name##_to_f32(*p); } \
  template <int N>                                                          \
  HCV_INLINE void store_##name(BITS* p, vec<float, N> a) {                  \
    store(p, f32_to_##name(a));                                             \
  }                                                                         \
  template <int N>                                                          \
  HCV_INLINE void store_##name##_n(BITS* p, vec<float, N> a, int64_t n) {   \
    store_n(p, f32_to_##name(a), n);                                        \
  }                                                                         \
  HCV_INLINE void store_##name(BITS* p, float a) { *p = f32_to_##name(a); } \
  template <int N>                                                          \
  HCV_INLINE void stream_##name(BITS* p, vec<float, N> a) {                 \
    stream(p, f32_to_##name(a));                                            \
  }
HCV_NARROW(bf16, uint16_t)
HCV_NARROW(f16, uint16_t)
HCV_NARROW(f8e4m3, uint8_t)
HCV_NARROW(f8e5m2, uint8_t)
#undef HCV_NARROW

}  // namespace hcv
