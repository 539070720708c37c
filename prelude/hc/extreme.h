// argmax and argmin: the largest (or smallest) value so far in each lane with its position; NaN counts as the extreme.
#pragma once

#include "hc/basic.h"
#include "hc/memory.h"

namespace hcv {
namespace detail {

/// Whether a takes the place of b, which came before.
template <bool largest, class T>
HCV_INLINE bool beats(T a, T b) {
  if (a != a) return b == b;
  return largest ? a > b : a < b;
}
template <bool largest, class T, int N>
HCV_INLINE mask_of<T, N> beats(vec<T, N> a, vec<T, N> b) {
  const mask_of<T, N> more = largest ? a > b : a < b;
  if constexpr (is_float<T>)
    return more | (isnan(a) & ~isnan(b));
  else
    return more;
}

}  // namespace detail

/// Takes x at position `where` into (best, at) in the lanes of m.
template <bool largest, class T, class M, int N>
HCV_INLINE void take_extreme(vec<T, N>& best, vec<int64_t, N>& at, vec<T, N> x, vec<int64_t, N> where, vec<M, N> m) {
  const mask_of<T, N> take = detail::beats<largest>(x, best) & mask_cast<T>(m);
  best = select(take, x, best);
  at = select(take, where, at);
}
template <bool largest, class T>
HCV_INLINE void take_extreme(T& best, int64_t& at, T x, int64_t where, bool m) {
  if (!m || !detail::beats<largest>(x, best)) return;
  best = x;
  at = where;
}

/// Merges lanes or copies whose order is not that of their positions: among equals the lowest position wins.
template <bool largest, class T>
HCV_INLINE void merge_extreme(T& best, int64_t& at, T x, int64_t where) {
  const bool equal = x == best || (x != x && best != best);
  if (equal ? where >= at : !detail::beats<largest>(x, best)) return;
  best = x;
  at = where;
}
template <bool largest, class T, int N>
HCV_INLINE void merge_extreme(T& best, int64_t& at, vec<T, N> x, vec<int64_t, N> where) {
  for (int i = 0; i < N; ++i) merge_extreme<largest>(best, at, x[i], where[i]);
}

}  // namespace hcv
