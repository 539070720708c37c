// Softmax of rows on CuTe's tensors: rows held in registers as 16-byte vectors (VECTORS a thread, THREADS threads a
// row, ROWS rows a block), or read twice where a row does not fit.
#include "elements.cuh"

#include <cute/tensor.hpp>

using namespace cute;

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLow = -3.0e38f;  // below every logit, and still a number when subtracted from itself
constexpr int kWarps = THREADS / 32;

__device__ inline float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline Vector vector_of(const uint128_t& v) { return reinterpret_cast<const Vector&>(v); }

template <bool kMaximum>
__device__ inline float combine(float a, float b) {
  return kMaximum ? fmaxf(a, b) : a + b;
}

// Over the THREADS threads of a row; every one of them gets the result.
template <bool kMaximum>
__device__ inline float over_row(float v, float (*shared)[kWarps > 0 ? kWarps : 1], int row, int thread) {
  CUTE_UNROLL
  for (int step = (THREADS < 32 ? THREADS : 32) / 2; step > 0; step /= 2) {
    v = combine<kMaximum>(v, __shfl_xor_sync(0xffffffffu, v, step));
  }
  if constexpr (kWarps > 1) {
    __syncthreads();
    if (thread % 32 == 0) shared[row][thread / 32] = v;
    __syncthreads();
    v = shared[row][0];
    CUTE_UNROLL
    for (int w = 1; w < kWarps; ++w) v = combine<kMaximum>(v, shared[row][w]);
  }
  return v;
}

// x and out: [rows, columns], a row of `vectors` 16-byte vectors.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS)
    softmax_held(const uint128_t* px, uint128_t* pout, long long rows, long long vectors) {
  __shared__ float shared[ROWS][kWarps > 0 ? kWarps : 1];
  const auto layout = make_layout(make_shape(rows, vectors), make_stride(vectors, _1{}));
  const Tensor x = make_tensor(make_gmem_ptr(px), layout);
  const Tensor out = make_tensor(make_gmem_ptr(pout), layout);
  const Tensor where = make_identity_tensor(make_shape(rows, vectors));
  const auto tile = make_shape(Int<ROWS>{}, Int<THREADS * VECTORS>{});
  const auto threads = make_layout(make_shape(Int<ROWS>{}, Int<THREADS>{}), LayoutRight{});
  const auto at = make_coord(blockIdx.x, 0);
  const auto mine = [&](const auto& tensor) {
    return local_partition(local_tile(tensor, tile, at), threads, threadIdx.x);  // (1, VECTORS)
  };
  const Tensor from = mine(x);
  Tensor to = mine(out);
  const Tensor place = mine(where);
  const auto inside = [&](int i) { return get<0>(place(i)) < rows && get<1>(place(i)) < vectors; };
  Tensor held = make_fragment_like<uint128_t>(from);
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) {
    if (inside(i)) held(i) = __builtin_bit_cast(uint128_t, __ldcs(reinterpret_cast<const uint4*>(&from(i))));
  }
  const int row = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  float highest = kLow;
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) {
    if (!inside(i)) continue;
    float value[PER_VECTOR];
    unpack(vector_of(held(i)), value);
    CUTE_UNROLL
    for (int j = 0; j < PER_VECTOR; ++j) highest = fmaxf(highest, value[j]);
  }
  const float base = over_row<true>(highest, shared, row, thread) * kLog2E;
  float total = 0;
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) {
    if (!inside(i)) continue;
    float value[PER_VECTOR];
    unpack(vector_of(held(i)), value);
    CUTE_UNROLL
    for (int j = 0; j < PER_VECTOR; ++j) total += power(fmaf(value[j], kLog2E, -base));
  }
  const float scale = 1.0f / over_row<false>(total, shared, row, thread);
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) {
    if (!inside(i)) continue;
    float value[PER_VECTOR];
    unpack(vector_of(held(i)), value);
    CUTE_UNROLL
    for (int j = 0; j < PER_VECTOR; ++j) value[j] = power(fmaf(value[j], kLog2E, -base)) * scale;
    const Vector packed = pack(value);
    __stcs(reinterpret_cast<uint4*>(&to(i)), reinterpret_cast<const uint4&>(packed));
  }
}

// One block of THREADS threads a row (ROWS is 1): maximum and sum in one pass, the output in a second from L2.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS)
    softmax_twice(const uint128_t* px, uint128_t* pout, long long rows, long long vectors) {
  __shared__ float shared[ROWS][kWarps > 0 ? kWarps : 1];
  const auto layout = make_layout(make_shape(rows, vectors), make_stride(vectors, _1{}));
  const Tensor x = make_tensor(make_gmem_ptr(px), layout)(blockIdx.x, _);
  Tensor out = make_tensor(make_gmem_ptr(pout), layout)(blockIdx.x, _);
  float highest = kLow, total = 0;
#pragma unroll 4
  for (long long i = threadIdx.x; i < vectors; i += THREADS) {
    float value[PER_VECTOR];
    unpack(vector_of(x(i)), value);
    float top = value[0];
    CUTE_UNROLL
    for (int j = 1; j < PER_VECTOR; ++j) top = fmaxf(top, value[j]);
    const float next = fmaxf(highest, top);
    total *= power((highest - next) * kLog2E);
    CUTE_UNROLL
    for (int j = 0; j < PER_VECTOR; ++j) total += power((value[j] - next) * kLog2E);
    highest = next;
  }
  const float most = over_row<true>(highest, shared, 0, threadIdx.x);
  const float scale = 1.0f / over_row<false>(total * power((highest - most) * kLog2E), shared, 0, threadIdx.x);
#pragma unroll 4
  for (long long i = threadIdx.x; i < vectors; i += THREADS) {
    float value[PER_VECTOR];
    unpack(vector_of(x(i)), value);
    CUTE_UNROLL
    for (int j = 0; j < PER_VECTOR; ++j) value[j] = power((value[j] - most) * kLog2E) * scale;
    const Vector packed = pack(value);
    __stcs(reinterpret_cast<uint4*>(&out(i)), reinterpret_cast<const uint4&>(packed));
  }
}
