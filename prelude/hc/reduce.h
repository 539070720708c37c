// Horizontal reductions: sum, product, maximum, minimum, any and all over a vector's lanes, halving the lanes each
// step.
#pragma once

#include "hc/arith.h"

namespace hcv {

/// The larger lanes; NaN where either is NaN. `minimum` likewise.
template <class T, int N>
HCV_INLINE vec<T, N> maximum(vec<T, N> a, vec<T, N> b) {
  if constexpr (is_float<T>)
    return select(a != a, a, detail::larger(a, b));  // larger() yields b where either is NaN
  else
    return select(a > b, a, b);
}
template <class T, int N>
HCV_INLINE vec<T, N> minimum(vec<T, N> a, vec<T, N> b) {
  if constexpr (is_float<T>)
    return select(a != a, a, detail::smaller(a, b));
  else
    return select(a < b, a, b);
}
#define HCV_SCALAR(T)                                                   \
  HCV_INLINE T maximum(T a, T b) { return a != a ? a : a > b ? a : b; } \
  HCV_INLINE T minimum(T a, T b) { return a != a ? a : a < b ? a : b; } \
  HCV_INLINE T reduce_sum(T a) { return a; }                            \
  HCV_INLINE T reduce_prod(T a) { return a; }                           \
  HCV_INLINE T reduce_max(T a) { return a; }                            \
  HCV_INLINE T reduce_min(T a) { return a; }
HCV_SCALAR(float)
HCV_SCALAR(double)
HCV_SCALAR(int8_t)
HCV_SCALAR(uint8_t)
HCV_SCALAR(int16_t)
HCV_SCALAR(int32_t)
HCV_SCALAR(int64_t)
#undef HCV_SCALAR

namespace detail {
template <class F, class T, int N>
HCV_INLINE T fold(F f, vec<T, N> a) {
  if constexpr (N > 2)
    return fold(f, f(lower(a), upper(a)));
  else
    return f(splat<T, 2>(a[0]), splat<T, 2>(a[1]))[0];
}
}  // namespace detail

/// Sum and product of all lanes in a tree of halves; integers wrap.
template <class T, int N>
HCV_INLINE T reduce_sum(vec<T, N> a) {
  return detail::fold(
      [](auto x, auto y) __attribute__((always_inline)) { return x + y; }, a);
}
template <class T, int N>
HCV_INLINE T reduce_prod(vec<T, N> a) {
  return detail::fold(
      [](auto x, auto y) __attribute__((always_inline)) { return x * y; }, a);
}
/// Largest and smallest lane; NaN if any lane is.
template <class T, int N>
HCV_INLINE T reduce_max(vec<T, N> a) {
  return detail::fold(
      [](auto x, auto y) __attribute__((always_inline)) { return maximum(x, y); }, a);
}
template <class T, int N>
HCV_INLINE T reduce_min(vec<T, N> a) {
  return detail::fold(
      [](auto x, auto y) __attribute__((always_inline)) { return minimum(x, y); }, a);
}

/// Whether any, whether every lane of a mask is set.
template <class I, int N>
HCV_INLINE bool any(vec<I, N> m) {
  return detail::fold(
             [](auto x, auto y) __attribute__((always_inline)) { return x | y; }, m) != 0;
}
template <class I, int N>
HCV_INLINE bool all(vec<I, N> m) {
  return detail::fold(
             [](auto x, auto y) __attribute__((always_inline)) { return x & y; }, m) != 0;
}
HCV_INLINE bool any(bool m) { return m; }
HCV_INLINE bool all(bool m) { return m; }

}  // namespace hcv
