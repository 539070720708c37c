// Copy and add of arrays in 16-byte vectors. UNROLL vectors a thread, THREADS threads a block; the last block's
// last thread group does the elements that fill no vector.
#include "elements.cuh"

__device__ inline Vector load_once(const Vector* p) {
  Vector v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "l"(p));
  return v;
}

__device__ inline void store_once(Vector* p, const Vector& v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
               : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) copy(const Vector* x, Vector* out, long long elements) {
  const long long vectors = elements / PER_VECTOR;
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS * UNROLL) + threadIdx.x;
  Vector held[UNROLL];
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) {
    if (first + i * THREADS < vectors) held[i] = load_once(x + first + i * THREADS);
  }
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) {
    if (first + i * THREADS < vectors) store_once(out + first + i * THREADS, held[i]);
  }
  const long long tail = vectors * PER_VECTOR + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && tail < elements) {
    reinterpret_cast<Stored*>(out)[tail] = reinterpret_cast<const Stored*>(x)[tail];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    add(const Vector* x, const Vector* y, Vector* out, long long elements) {
  const long long vectors = elements / PER_VECTOR;
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS * UNROLL) + threadIdx.x;
  Vector left[UNROLL], right[UNROLL];
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) {
    if (first + i * THREADS >= vectors) continue;
    left[i] = load_once(x + first + i * THREADS);
    right[i] = load_once(y + first + i * THREADS);
  }
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) {
    if (first + i * THREADS >= vectors) continue;
    float a[PER_VECTOR], b[PER_VECTOR];
    unpack(left[i], a);
    unpack(right[i], b);
#pragma unroll
    for (int j = 0; j < PER_VECTOR; ++j) a[j] += b[j];
    store_once(out + first + i * THREADS, pack(a));
  }
  const long long tail = vectors * PER_VECTOR + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && tail < elements) {
    const float sum = load_one(reinterpret_cast<const Stored*>(x) + tail) +
                      load_one(reinterpret_cast<const Stored*>(y) + tail);
    store_one(reinterpret_cast<Stored*>(out) + tail, sum);
  }
}
