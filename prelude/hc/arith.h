// Whole-vector operations: bit casts, halves, conversion between element types, masks, selection.
#pragma once

#include "hc/vec.h"

namespace hcv {

/// The same bits as lanes of U, as wide as T.
template <class U, class T, int N>
HCV_INLINE vec<U, N> bit_cast(vec<T, N> a) {
  static_assert(sizeof(U) == sizeof(T));
  if constexpr (vec<T, N>::split)
    return vec<U, N>(bit_cast<U>(a.lo), bit_cast<U>(a.hi));
  else
    return vec<U, N>((native::reg<U, N>)a.v);
}
template <class U, class T>
HCV_INLINE U bit_cast(T a) {
  static_assert(sizeof(U) == sizeof(T));
  return __builtin_bit_cast(U, a);
}

template <class T, int N>
HCV_INLINE vec<T, N> splat(T x) {
  return vec<T, N>(x);
}

namespace detail {
template <class, int...>
struct index_list {};
#if defined(__clang__)
template <class T, T... i>
using as_list = index_list<int, i...>;
template <int N>
using indices = __make_integer_seq<as_list, int, N>;
#else
template <int N>
using indices = index_list<int, __integer_pack(N)...>;
#endif
template <class T, int N, int... i>
HCV_INLINE native::reg<T, N> count_up(index_list<int, i...>) {
  return native::reg<T, N>{T(i)...};
}
template <int first, class R, int... i>
HCV_INLINE auto pick(R a, R b, index_list<int, i...>) {
  return __builtin_shufflevector(a, b, (first + i)...);
}
}  // namespace detail

/// 0, 1, ... N-1, plus `first`.
template <class T, int N>
HCV_INLINE vec<T, N> iota(T first = 0) {
  if constexpr (vec<T, N>::split) {
    return vec<T, N>(iota<T, N / 2>(first), iota<T, N / 2>(T(first + N / 2)));
  } else {
    return vec<T, N>(detail::count_up<T, N>(detail::indices<N>())) + vec<T, N>(first);
  }
}

/// The first and the last N/2 lanes.
template <class T, int N>
HCV_INLINE vec<T, N / 2> lower(vec<T, N> a) {
  if constexpr (vec<T, N>::split) {
    return a.lo;
  } else {
    return vec<T, N / 2>((native::reg<T, N / 2>)detail::pick<0>(a.v, a.v, detail::indices<N / 2>()));
  }
}
template <class T, int N>
HCV_INLINE vec<T, N / 2> upper(vec<T, N> a) {
  if constexpr (vec<T, N>::split) {
    return a.hi;
  } else {
    return vec<T, N / 2>((native::reg<T, N / 2>)detail::pick<N / 2>(a.v, a.v, detail::indices<N / 2>()));
  }
}
/// Lanes of `lo`, then of `hi`.
template <class T, int N>
HCV_INLINE vec<T, 2 * N> join(vec<T, N> lo, vec<T, N> hi) {
  if constexpr (vec<T, 2 * N>::split) {
    return vec<T, 2 * N>(lo, hi);
  } else {
    return vec<T, 2 * N>((native::reg<T, 2 * N>)detail::pick<0>(lo.v, hi.v, detail::indices<2 * N>()));
  }
}

namespace detail {
/// Lane by lane: f on one lane of each operand.
template <class R, class F, class T, int N>
HCV_INLINE vec<R, N> each_lane(F f, vec<T, N> a) {
  T in[N];
  R out[N];
  __builtin_memcpy(in, &a, sizeof in);
  for (int i = 0; i < N; ++i) out[i] = f(in[i]);
  vec<R, N> r;
  __builtin_memcpy(&r, out, sizeof out);
  return r;
}
template <class R, class F, class T, int N>
HCV_INLINE vec<R, N> each_lane(F f, vec<T, N> a, vec<T, N> b) {
  T x[N], y[N];
  R out[N];
  __builtin_memcpy(x, &a, sizeof x);
  __builtin_memcpy(y, &b, sizeof y);
  for (int i = 0; i < N; ++i) out[i] = f(x[i], y[i]);
  vec<R, N> r;
  __builtin_memcpy(&r, out, sizeof out);
  return r;
}
/// A static_cast that wraps instead of overflowing: floating to narrow integers goes through a wide one.
template <class U, class T>
HCV_INLINE U convert_one(T x) {
  if constexpr (is_float<T> && !is_float<U> && sizeof(U) < 4)
    return U(int32_t(x));
  else
    return U(x);
}
}  // namespace detail

/// Lanes converted to U: floats round to nearest even, floats to integers truncate (unspecified out of range), integers
/// wrap.
template <class U, class T, int N>
HCV_INLINE vec<U, N> convert(vec<T, N> a) {
  if constexpr (__is_same(U, T)) {
    return a;
  } else if constexpr (vec<U, N>::split) {
    return vec<U, N>(convert<U>(lower(a)), convert<U>(upper(a)));
  } else if constexpr (vec<T, N>::split) {
    return join(convert<U>(a.lo), convert<U>(a.hi));
  } else if constexpr (is_float<T> != is_float<U> && (sizeof(U) < 4 || sizeof(T) < 4)) {
    return convert<U>(convert<int32_t>(a));  // the compiler has no such conversion and would go lane by lane
  } else if constexpr (requires { native::convert_reg(a.v, (native::reg<U, N>*)nullptr); }) {
    return vec<U, N>(native::convert_reg(a.v, (native::reg<U, N>*)nullptr));
  } else {
    return vec<U, N>(__builtin_convertvector(a.v, native::reg<U, N>));
  }
}
template <class U, class T>
HCV_INLINE U convert(T x) {
  return detail::convert_one<U>(x);
}

/// The mask for lanes of U from a mask of any width.
template <class U, class I, int N>
HCV_INLINE mask_of<U, N> mask_cast(vec<I, N> m) {
  return convert<int_of<U>>(m);
}
/// A bool tensor's bytes (0, 1) from a mask, and a mask from them.
template <class I, int N>
HCV_INLINE vec<uint8_t, N> to_bool(vec<I, N> m) {
  return convert<uint8_t>(m) & vec<uint8_t, N>(1);
}
HCV_INLINE uint8_t to_bool(bool m) { return m; }
template <class T, int N>
HCV_INLINE mask_of<T, N> from_bool(vec<uint8_t, N> b) {
  return mask_cast<T>(b != vec<uint8_t, N>(0));
}
template <class T>
HCV_INLINE bool from_bool(uint8_t b) {
  return b != 0;
}

/// a where the mask is set, else b.
template <class I, class T, int N>
HCV_INLINE vec<T, N> select(vec<I, N> m, vec<T, N> a, vec<T, N> b) {
  if constexpr (sizeof(I) != sizeof(T)) {
    return select(mask_cast<T>(m), a, b);
  } else if constexpr (vec<T, N>::split) {
    return vec<T, N>(select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi));
  } else {
    return vec<T, N>(m.v ? a.v : b.v);
  }
}
template <class T>
HCV_INLINE T select(bool m, T a, T b) {
  return m ? a : b;
}

namespace detail {
/// a where a > b (a < b), else b: the machine's maximum and minimum, b where either is NaN.
template <class T, int N>
HCV_INLINE vec<T, N> larger(vec<T, N> a, vec<T, N> b) {
  if constexpr (vec<T, N>::split)
    return vec<T, N>(larger(a.lo, b.lo), larger(a.hi, b.hi));
  else if constexpr (requires { native::max_reg(a.v, b.v); })
    return vec<T, N>(native::max_reg(a.v, b.v));
  else
    return select(a > b, a, b);
}
template <class T, int N>
HCV_INLINE vec<T, N> smaller(vec<T, N> a, vec<T, N> b) {
  if constexpr (vec<T, N>::split)
    return vec<T, N>(smaller(a.lo, b.lo), smaller(a.hi, b.hi));
  else if constexpr (requires { native::min_reg(a.v, b.v); })
    return vec<T, N>(native::min_reg(a.v, b.v));
  else
    return select(a < b, a, b);
}
}  // namespace detail

/// The mask of the lanes below n.
template <class T, int N>
HCV_INLINE mask_of<T, N> first_lanes(int64_t n) {
  return iota<int_of<T>, N>() < mask_of<T, N>(int_of<T>(n < N ? n : N));
}

/// a * b + c, in one rounding where the machine has it.
template <class T, int N>
HCV_INLINE vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) {
  return a * b + c;
}
HCV_INLINE float fma(float a, float b, float c) { return a * b + c; }
HCV_INLINE double fma(double a, double b, double c) { return a * b + c; }

}  // namespace hcv
