// Random numbers by counter: Philox 4x32-10 (Salmon et al., SC 2011), one uniform float per 64-bit offset.
#pragma once

#include "hc/arith.h"

namespace hcv {
namespace detail {

/// Word 0 after ten rounds, in the low halves of 64-bit lanes; W is uint64_t or a vector of it.
template <class W>
HCV_INLINE W philox_word(uint64_t seed, W offset) {
  const W low(uint64_t(0xffffffff));
  W c0 = offset & low, c1 = offset >> 32, c2(uint64_t(0)), c3(uint64_t(0));
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const W p0 = c0 * W(uint64_t(0xD2511F53)), p1 = c2 * W(uint64_t(0xCD9E8D57));
    c0 = (p1 >> 32) ^ c1 ^ W(uint64_t(k0));
    c2 = (p0 >> 32) ^ c3 ^ W(uint64_t(k1));
    c1 = p1 & low;
    c3 = p0 & low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0;
}
inline constexpr float kUniformScale = 4.6566127342e-10f;

/// x as it is, but no longer seen to be a product: the compiler must round it and not fuse it into a sum.
template <class T>
HCV_INLINE T rounded(T x) {
#if defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}
template <int N>
HCV_INLINE vec<float, N> rounded(vec<float, N> x) {
  if constexpr (vec<float, N>::split)
    return vec<float, N>(rounded(x.lo), rounded(x.hi));
  else
    return vec<float, N>(rounded(x.v));
}

}  // namespace detail

/// Uniform in [0, 1): word 0 for key `seed` and counter `offset`, as int32 with negatives complemented, scaled.
HCV_INLINE float rand_f32(uint64_t seed, int64_t offset) {
  const int32_t word = int32_t(uint32_t(detail::philox_word(seed, uint64_t(offset))));
  return detail::rounded(float(word < 0 ? ~word : word) * detail::kUniformScale);
}
template <int N>
HCV_INLINE vec<float, N> rand_f32(uint64_t seed, vec<int64_t, N> offset) {
  using I = vec<int32_t, N>;
  const I word = convert<int32_t>(detail::philox_word(seed, bit_cast<uint64_t>(offset)));
  return detail::rounded(convert<float>(word ^ (word >> 31)) * vec<float, N>(detail::kUniformScale));
}

}  // namespace hcv
