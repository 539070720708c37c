// Sixteen bytes as floats: ELEMENT is 0 for f32, 1 for f16, 2 for bf16. Needs no header.
#pragma once

#if ELEMENT == 0
#define PER_VECTOR 4
#else
#define PER_VECTOR 8
#endif

struct alignas(16) Vector {
  unsigned word[4];
};

__device__ inline float low_of(unsigned word) {
#if ELEMENT == 1
  float out;
  asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.f32.f16 %0, lo; }" : "=f"(out) : "r"(word));
  return out;
#else
  return __uint_as_float(word << 16);
#endif
}

__device__ inline float high_of(unsigned word) {
#if ELEMENT == 1
  float out;
  asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.f32.f16 %0, hi; }" : "=f"(out) : "r"(word));
  return out;
#else
  return __uint_as_float(word & 0xffff0000u);
#endif
}

__device__ inline unsigned pair_of(float low, float high) {
  unsigned out;
#if ELEMENT == 1
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
#else
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
#endif
  return out;
}

__device__ inline void unpack(const Vector& v, float* out) {
#if ELEMENT == 0
  for (int i = 0; i < 4; ++i) out[i] = __uint_as_float(v.word[i]);
#else
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = low_of(v.word[i]);
    out[2 * i + 1] = high_of(v.word[i]);
  }
#endif
}

__device__ inline Vector pack(const float* in) {
  Vector v;
#if ELEMENT == 0
  for (int i = 0; i < 4; ++i) v.word[i] = __float_as_uint(in[i]);
#else
  for (int i = 0; i < 4; ++i) v.word[i] = pair_of(in[2 * i], in[2 * i + 1]);
#endif
  return v;
}

// One element from and to memory, for tails. Storage is 4 or 2 bytes.
#if ELEMENT == 0
typedef float Stored;
__device__ inline float load_one(const Stored* p) { return *p; }
__device__ inline void store_one(Stored* p, float v) { *p = v; }
#else
typedef unsigned short Stored;
__device__ inline float load_one(const Stored* p) { return low_of(*p); }
__device__ inline void store_one(Stored* p, float v) { *p = static_cast<Stored>(pair_of(v, 0.0f)); }
#endif
