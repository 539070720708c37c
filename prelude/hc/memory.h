// Loads and stores of vectors: whole, of the first n lanes, past the caches, gathered and scattered.
#pragma once

#include "hc/arith.h"

namespace hcv {

/// N lanes from p, which needs T's alignment only.
template <int N, class T>
HCV_INLINE vec<T, N> load(const T* p) {
  vec<T, N> r;
  if constexpr (vec<T, N>::split) {
    r.lo = load<N / 2>(p);
    r.hi = load<N / 2>(p + N / 2);
  } else {
    __builtin_memcpy(&r.v, p, sizeof r.v);
  }
  return r;
}

/// The first n lanes from p, zeros beyond; memory beyond is not touched. n may be below 0 or above N.
template <int N, class T>
HCV_INLINE vec<T, N> load_n(const T* p, int64_t n) {
  if constexpr (vec<T, N>::split) {
    return vec<T, N>(load_n<N / 2>(p, n), load_n<N / 2>(p + N / 2, n - N / 2));
  } else if constexpr (requires { native::load_masked(p, 0, (native::reg<T, N>*)nullptr); }) {
    return vec<T, N>(native::load_masked(p, native::first_bits<N>(n), (native::reg<T, N>*)nullptr));
  } else {
    T lane[N] = {};
    for (int i = 0; i < N; ++i) lane[i] = i < n ? p[i] : T(0);
    return load<N>(lane);
  }
}

template <class T, int N>
HCV_INLINE void store(T* p, vec<T, N> a) {
  if constexpr (vec<T, N>::split) {
    store(p, a.lo);
    store(p + N / 2, a.hi);
  } else {
    __builtin_memcpy(p, &a.v, sizeof a.v);
  }
}

/// Stores the first n lanes; memory beyond is not touched. n may be below 0 or above N.
template <class T, int N>
HCV_INLINE void store_n(T* p, vec<T, N> a, int64_t n) {
  if constexpr (vec<T, N>::split) {
    store_n(p, a.lo, n);
    store_n(p + N / 2, a.hi, n - N / 2);
  } else if constexpr (requires { native::store_masked(p, 0, a.v); }) {
    native::store_masked(p, native::first_bits<N>(n), a.v);
  } else {
    T lane[N];
    store(lane, a);
    for (int i = 0; i < N; ++i)
      if (i < n) p[i] = lane[i];
  }
}

/// Stores past the caches; p must be aligned to min(sizeof(vec), register bytes). Call stream_fence() before others
/// read.
template <class T, int N>
HCV_INLINE void stream(T* p, vec<T, N> a) {
  if constexpr (vec<T, N>::split) {
    stream(p, a.lo);
    stream(p + N / 2, a.hi);
  } else {
#if defined(HCV_X86_GCC)
    if constexpr (sizeof(a.v) >= 16)
      native::stream_reg(p, (native::reg<float, sizeof(a.v) / 4>)a.v);
    else
      store(p, a);
#elif defined(__clang__)
    __builtin_nontemporal_store(a.v, (native::reg<T, N>*)p);
#else
    store(p, a);
#endif
  }
}
/// Makes this thread's streamed stores visible before its later stores.
HCV_INLINE void stream_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}
/// Whether p may be given to stream() for vectors of `bytes` bytes.
HCV_INLINE bool is_aligned(const void* p, int bytes) {
  return ((uintptr_t)p & (uintptr_t)((bytes < HCV_BYTES ? bytes : HCV_BYTES) - 1)) == 0;
}

/// Elements from p up to the next address that is_aligned() accepts.
template <class T>
HCV_INLINE int64_t lanes_to_alignment(const T* p, int bytes) {
  const int unit = bytes < HCV_BYTES ? bytes : HCV_BYTES;
  return int64_t((-(uintptr_t)p & (uintptr_t)(unit - 1)) / sizeof(T));
}

/// base[index[i]] in each lane.
template <class T, class I, int N>
HCV_INLINE vec<T, N> gather(const T* base, vec<I, N> index) {
  I at[N];
  T out[N];
  store(at, index);
  for (int i = 0; i < N; ++i) out[i] = base[at[i]];
  return load<N>(out);
}
/// base[index[i]] where the mask is set, else 0; other lanes touch no memory.
template <class T, class I, class M, int N>
HCV_INLINE vec<T, N> gather(const T* base, vec<I, N> index, vec<M, N> m) {
  I at[N];
  M on[N];
  T out[N];
  store(at, index);
  store(on, m);
  for (int i = 0; i < N; ++i) out[i] = on[i] ? base[at[i]] : T(0);
  return load<N>(out);
}
/// base[index[i]] = a[i] in lane order, where the mask is set.
template <class T, class I, class M, int N>
HCV_INLINE void scatter(T* base, vec<I, N> index, vec<T, N> a, vec<M, N> m) {
  I at[N];
  M on[N];
  T in[N];
  store(at, index);
  store(on, m);
  store(in, a);
  for (int i = 0; i < N; ++i)
    if (on[i]) base[at[i]] = in[i];
}
/// Lanes from p where the mask is set, else 0; other lanes touch no memory. And the store of such lanes.
template <int N, class T, class M>
HCV_INLINE vec<T, N> load_where(const T* p, vec<M, N> m) {
  return gather(p, iota<int32_t, N>(), m);
}
template <class T, class M, int N>
HCV_INLINE void store_where(T* p, vec<T, N> a, vec<M, N> m) {
  scatter(p, iota<int32_t, N>(), a, m);
}

}  // namespace hcv
