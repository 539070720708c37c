// The vector type of generated CPU code: N lanes of T, arithmetic, compares, masks, selection and conversion.
//
// vec<T, N> holds one register of the compiler's vector type, or two halves when N lanes do not fit one. Integers wrap.
// A compare gives a mask: a vec of signed integers as wide as T, each lane 0 or -1; masks combine by & | ^ ~, and
// select() takes a mask of any width. Scalars are "vectors of one lane": every function has a scalar overload, whose
// masks are bool. Floating results do not depend on N or on being scalar.
#pragma once

#include "hc/x86.h"

namespace hcv {

template <class T>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<double> = true;
template <class T>
inline constexpr bool is_signed_int = !is_float<T> && T(-1) < T(0);

template <int bytes>
struct ints;
template <>
struct ints<1> {
  using s = int8_t;
  using u = uint8_t;
};
template <>
struct ints<2> {
  using s = int16_t;
  using u = uint16_t;
};
template <>
struct ints<4> {
  using s = int32_t;
  using u = uint32_t;
};
template <>
struct ints<8> {
  using s = int64_t;
  using u = uint64_t;
};
/// The signed and the unsigned integer as wide as T.
template <class T>
using int_of = typename ints<sizeof(T)>::s;
template <class T>
using uint_of = typename ints<sizeof(T)>::u;
/// The type in which integer arithmetic wraps; floating types stand for themselves.
template <class T, bool = is_float<T>>
struct wrap {
  using type = uint_of<T>;
};
template <class T>
struct wrap<T, true> {
  using type = T;
};

template <class T, int N>
struct vec;
template <class T, int N, bool split>
struct lanes {
  native::reg<T, N> v;
};
template <class T, int N>
struct lanes<T, N, true> {
  vec<T, N / 2> lo, hi;
};

template <class T, int N>
struct vec : lanes<T, N, (sizeof(T) * N > HCV_BYTES)> {
  static_assert(N >= 2 && (N & (N - 1)) == 0, "lanes are a power of two, at least 2");
  static constexpr bool split = sizeof(T) * N > HCV_BYTES;
  using element = T;
  using mask = vec<int_of<T>, N>;
  using wrapping = native::reg<typename wrap<T>::type, N>;

  vec() = default;
  /// Every lane is x.
  HCV_INLINE vec(T x) {
    if constexpr (split)
      this->lo = x, this->hi = x;
    else
      this->v = x - native::reg<T, N>{};
  }
  HCV_INLINE explicit vec(native::reg<T, N> r) requires(!split) { this->v = r; }
  HCV_INLINE vec(vec<T, N / 2> first, vec<T, N / 2> last) requires(split) {
    this->lo = first;
    this->hi = last;
  }

  HCV_INLINE T operator[](int i) const {
    if constexpr (split)
      return i < N / 2 ? this->lo[i] : this->hi[i - N / 2];
    else
      return this->v[i];
  }
  HCV_INLINE void set(int i, T x) {
    if constexpr (split) {
      if (i < N / 2)
        this->lo.set(i, x);
      else
        this->hi.set(i - N / 2, x);
    } else {
      this->v[i] = x;
    }
  }

#define HCV_BINARY(op, TYPE)                                   \
  friend HCV_INLINE vec operator op(vec a, vec b) {            \
    if constexpr (split)                                       \
      return vec(a.lo op b.lo, a.hi op b.hi);                  \
    else                                                       \
      return vec((native::reg<T, N>)((TYPE)a.v op(TYPE) b.v)); \
  }                                                            \
  friend HCV_INLINE vec& operator op##=(vec& a, vec b) { return a = a op b; }
  HCV_BINARY(+, wrapping)
  HCV_BINARY(-, wrapping)
  HCV_BINARY(*, wrapping)
  HCV_BINARY(&, wrapping)
  HCV_BINARY(|, wrapping)
  HCV_BINARY(^, wrapping)
#undef HCV_BINARY
  /// Floating division; integers have floor_divide and trunc_divide.
  friend HCV_INLINE vec operator/(vec a, vec b) {
    static_assert(is_float<T>, "integers are divided by floor_divide or trunc_divide");
    if constexpr (split)
      return vec(a.lo / b.lo, a.hi / b.hi);
    else
      return vec(a.v / b.v);
  }
  friend HCV_INLINE vec& operator/=(vec& a, vec b) { return a = a / b; }
  friend HCV_INLINE vec operator-(vec a) {
    if constexpr (split)
      return vec(-a.lo, -a.hi);
    else
      return vec((native::reg<T, N>)(-(wrapping)a.v));
  }
  friend HCV_INLINE vec operator~(vec a) {
    if constexpr (split)
      return vec(~a.lo, ~a.hi);
    else
      return vec(~a.v);
  }
  /// Shifts by a count in [0, bits); right shifts of signed lanes fill with the sign.
  friend HCV_INLINE vec operator<<(vec a, int count) {
    if constexpr (split)
      return vec(a.lo << count, a.hi << count);
    else
      return vec((native::reg<T, N>)((wrapping)a.v << count));
  }
  friend HCV_INLINE vec operator>>(vec a, int count) {
    if constexpr (split)
      return vec(a.lo >> count, a.hi >> count);
    else
      return vec(a.v >> count);
  }
#define HCV_COMPARE(op)                                     \
  friend HCV_INLINE mask operator op(vec a, vec b) {        \
    if constexpr (split)                                    \
      return mask(a.lo op b.lo, a.hi op b.hi);              \
    else                                                    \
      return mask((native::reg<int_of<T>, N>)(a.v op b.v)); \
  }
  HCV_COMPARE(==)
  HCV_COMPARE(!=)
  HCV_COMPARE(<)
  HCV_COMPARE(<=)
  HCV_COMPARE(>)
  HCV_COMPARE(>=)
#undef HCV_COMPARE
};

/// The mask type of T and N lanes.
template <class T, int N>
using mask_of = vec<int_of<T>, N>;

}  // namespace hcv
