// Machine instructions that plain vector code cannot name: wrappers over GCC's x86 builtins (no immintrin.h, whose
// parsing costs 0.2 s).
#pragma once

#include <stdint.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define HCV_AVX512 1
#define HCV_BYTES 64
#elif defined(__AVX2__) || defined(__AVX__)
#define HCV_BYTES 32
#else
#define HCV_BYTES 16
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HCV_X86_GCC 1
#endif

#define HCV_INLINE inline __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hcv {

/// Bytes of the widest register that the code is compiled for.
inline constexpr int kRegisterBytes = HCV_BYTES;

namespace native {

template <class T, int N>
struct reg_of {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
/// Bits 0 to n-1, for n clamped to [0, N].
template <int N>
HCV_INLINE uint64_t first_bits(int64_t n) {
  return n <= 0 ? 0 : n >= N ? ~uint64_t(0) >> (64 - N) : ~(~uint64_t(0) << n);
}
/// The compiler's own vector type of N elements.
template <class T, int N>
using reg = typename reg_of<T, N>::type;

// Callers ask by a requires-expression whether an instruction exists for their register; these keep the names declared.
struct none {};
void load_masked(none);
void store_masked(none);
template <int>
void round_reg(none);
void sqrt_reg(none);
void scale_reg(none);
void max_reg(none);
void min_reg(none);
void stream_reg(none);
void f16_to_f32_reg(none);
void f32_to_f16_reg(none);
void convert_reg(none);

#if defined(HCV_X86_GCC)

// Masked loads and stores by element width; the mask type grows with the lane count.
#if defined(HCV_AVX512)
#define HCV_MASKED(T, N, V, M, P, SUFFIX)                                                    \
  HCV_INLINE reg<T, N> load_masked(const T* p, uint64_t m, reg<T, N>*) {                     \
    return (reg<T, N>)__builtin_ia32_loaddqu##SUFFIX##_mask((const P*)p, reg<V, N>{}, (M)m); \
  }                                                                                          \
  HCV_INLINE void store_masked(T* p, uint64_t m, reg<T, N> v) {                              \
    __builtin_ia32_storedqu##SUFFIX##_mask((P*)p, (reg<V, N>)v, (M)m);                       \
  }
#define HCV_MASKED3(T, V, P, S, N, M0, M1, M2) \
  HCV_MASKED(T, N, V, M0, P, S##512)           \
  HCV_MASKED(T, N / 2, V, M1, P, S##256)       \
  HCV_MASKED(T, N / 4, V, M2, P, S##128)
HCV_MASKED3(float, int, int, si, 16, unsigned short, unsigned char, unsigned char)
HCV_MASKED3(int32_t, int, int, si, 16, unsigned short, unsigned char, unsigned char)
HCV_MASKED3(uint32_t, int, int, si, 16, unsigned short, unsigned char, unsigned char)
HCV_MASKED3(double, long long, long long, di, 8, unsigned char, unsigned char, unsigned char)
HCV_MASKED3(int64_t, long long, long long, di, 8, unsigned char, unsigned char, unsigned char)
HCV_MASKED3(uint64_t, long long, long long, di, 8, unsigned char, unsigned char, unsigned char)
HCV_MASKED3(int16_t, short, short, hi, 32, unsigned, unsigned short, unsigned char)
HCV_MASKED3(uint16_t, short, short, hi, 32, unsigned, unsigned short, unsigned char)
HCV_MASKED3(int8_t, char, char, qi, 64, unsigned long long, unsigned, unsigned short)
HCV_MASKED3(uint8_t, char, char, qi, 64, unsigned long long, unsigned, unsigned short)
#undef HCV_MASKED
#undef HCV_MASKED3
#endif

// Rounding: mode 0 to nearest even, 1 down, 2 up, 3 toward zero; 8 keeps the inexact flag quiet.
#define HCV_ROUND(T, N, EXPRESSION)             \
  template <int mode>                           \
  HCV_INLINE reg<T, N> round_reg(reg<T, N> v) { \
    return EXPRESSION;                          \
  }
#if defined(HCV_AVX512)
HCV_ROUND(float, 16, __builtin_ia32_rndscaleps_mask(v, mode | 8, v, (unsigned short)-1, 4))
HCV_ROUND(double, 8, __builtin_ia32_rndscalepd_mask(v, mode | 8, v, (unsigned char)-1, 4))
HCV_INLINE reg<float, 16> sqrt_reg(reg<float, 16> v) {
  return __builtin_ia32_sqrtps512_mask(v, v, (unsigned short)-1, 4);
}
HCV_INLINE reg<double, 8> sqrt_reg(reg<double, 8> v) {
  return __builtin_ia32_sqrtpd512_mask(v, v, (unsigned char)-1, 4);
}
/// v * 2^n, rounded once, for integral n of any size.
HCV_INLINE reg<float, 16> scale_reg(reg<float, 16> v, reg<float, 16> n) {
  return __builtin_ia32_scalefps512_mask(v, n, v, (unsigned short)-1, 4);
}
/// a where a > b, else b; so b where either is NaN. (The compiler makes a compare and a masked move of the select.)
HCV_INLINE reg<float, 16> max_reg(reg<float, 16> a, reg<float, 16> b) {
  return __builtin_ia32_maxps512_mask(a, b, a, (unsigned short)-1, 4);
}
HCV_INLINE reg<float, 16> min_reg(reg<float, 16> a, reg<float, 16> b) {
  return __builtin_ia32_minps512_mask(a, b, a, (unsigned short)-1, 4);
}
#endif
#if defined(__AVX__)
HCV_ROUND(float, 8, __builtin_ia32_roundps256(v, mode | 8))
HCV_ROUND(double, 4, __builtin_ia32_roundpd256(v, mode | 8))
HCV_INLINE reg<float, 8> sqrt_reg(reg<float, 8> v) { return __builtin_ia32_sqrtps256(v); }
HCV_INLINE reg<double, 4> sqrt_reg(reg<double, 4> v) { return __builtin_ia32_sqrtpd256(v); }
#endif
#if defined(__SSE4_1__)
HCV_ROUND(float, 4, __builtin_ia32_roundps(v, mode | 8))
HCV_ROUND(double, 2, __builtin_ia32_roundpd(v, mode | 8))
#endif
#undef HCV_ROUND
HCV_INLINE reg<float, 4> sqrt_reg(reg<float, 4> v) { return __builtin_ia32_sqrtps(v); }
HCV_INLINE reg<double, 2> sqrt_reg(reg<double, 2> v) { return __builtin_ia32_sqrtpd(v); }

// Stores past the caches; p must be aligned to the vector's size.
#if defined(HCV_AVX512)
HCV_INLINE void stream_reg(void* p, reg<float, 16> v) { __builtin_ia32_movntps512((float*)p, v); }
#endif
#if defined(__AVX__)
HCV_INLINE void stream_reg(void* p, reg<float, 8> v) { __builtin_ia32_movntps256((float*)p, v); }
#endif
HCV_INLINE void stream_reg(void* p, reg<float, 4> v) { __builtin_ia32_movntps((float*)p, v); }

#if defined(__F16C__)
HCV_INLINE reg<float, 8> f16_to_f32_reg(reg<short, 8> h) { return __builtin_ia32_vcvtph2ps256(h); }
HCV_INLINE reg<short, 8> f32_to_f16_reg(reg<float, 8> v) { return __builtin_ia32_vcvtps2ph256(v, 0); }
#endif
#if defined(HCV_AVX512)
HCV_INLINE reg<float, 16> f16_to_f32_reg(reg<short, 16> h) {
  return __builtin_ia32_vcvtph2ps512_mask(h, reg<float, 16>{}, (unsigned short)-1, 4);
}
HCV_INLINE reg<short, 16> f32_to_f16_reg(reg<float, 16> v) {
  return __builtin_ia32_vcvtps2ph512_mask(v, 0, reg<short, 16>{}, (unsigned short)-1);
}

// Conversions that the compiler would make of pieces; the second operand names the result's type only.
#define HCV_CONVERT(T, U, N, V, W, M, NAME)                                              \
  HCV_INLINE reg<U, N> convert_reg(reg<T, N> a, reg<U, N>*) {                            \
    return (reg<U, N>)__builtin_ia32_##NAME##512_mask((reg<V, N>)a, reg<W, N>{}, (M)-1); \
  }
HCV_CONVERT(uint16_t, uint32_t, 16, short, int, unsigned short, pmovzxwd)
HCV_CONVERT(uint16_t, int32_t, 16, short, int, unsigned short, pmovzxwd)
HCV_CONVERT(int16_t, int32_t, 16, short, int, unsigned short, pmovsxwd)
HCV_CONVERT(uint8_t, uint32_t, 16, char, int, unsigned short, pmovzxbd)
HCV_CONVERT(uint8_t, int32_t, 16, char, int, unsigned short, pmovzxbd)
HCV_CONVERT(int8_t, int32_t, 16, char, int, unsigned short, pmovsxbd)
HCV_CONVERT(int32_t, int64_t, 8, int, long long, unsigned char, pmovsxdq)
HCV_CONVERT(uint32_t, uint16_t, 16, int, short, unsigned short, pmovdw)
HCV_CONVERT(int32_t, int16_t, 16, int, short, unsigned short, pmovdw)
HCV_CONVERT(int32_t, double, 8, int, double, unsigned char, cvtdq2pd)
#undef HCV_CONVERT
HCV_INLINE reg<double, 8> convert_reg(reg<float, 8> a, reg<double, 8>*) {
  return __builtin_ia32_cvtps2pd512_mask(a, reg<double, 8>{}, (unsigned char)-1, 4);
}
#endif
#endif  // HCV_X86_GCC

}  // namespace native
}  // namespace hcv
