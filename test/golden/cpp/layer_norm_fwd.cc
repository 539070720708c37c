// layer_norm_fwd for a machine with 64-byte vectors: generated.
#include "hc/vector.h"

namespace {

using boolx16 = hcv::vec<int32_t, 16>;
using f32x16 = hcv::vec<float, 16>;
using i64x16 = hcv::vec<int64_t, 16>;

static void launch_0(void* const* storages, [[maybe_unused]] int64_t tile) {
  const float* const __restrict s0 = static_cast<const float*>(storages[0]);  // x
  const float* const __restrict s1 = static_cast<const float*>(storages[1]);  // weight
  const float* const __restrict s2 = static_cast<const float*>(storages[2]);  // bias
  float* const __restrict s3 = static_cast<float*>(storages[3]);  // out
  float* const __restrict s4 = static_cast<float*>(storages[4]);  // mean
  float* const __restrict s5 = static_cast<float*>(storages[5]);  // rstd
  const int64_t r0 = (tile) * 8;
  const int64_t r1 = (-r0 + 13);
  const int64_t r2 = INT64_C(8);
  const int64_t r3 = hcv::minimum(r1, r2);
  for (int64_t r4 = 0; r4 < r3; ++r4) {
    f32x16 r5_0 = f32x16(0.0f);
    {
      int64_t r6 = 0;
      for (; r6 + 16 <= 29; r6 += 16) {
        const f32x16 r7_0 = hcv::load<16>(s0 + r4 * 29 + r6 + r0 * 29);
        r5_0 = (r5_0 + r7_0);
      }
      if (r6 < 29) {
        [[maybe_unused]] const int64_t n6 = 29 - r6;
        const f32x16 r7_0 = hcv::load_n<16>(s0 + r4 * 29 + r6 + r0 * 29, n6);
        r5_0 = (r5_0 + hcv::select(hcv::first_lanes<boolx16::element, 16>(n6), r7_0, f32x16(0.0f)));
      }
    }
    const float r8 = hcv::reduce_sum(r5_0);
    const float r9 = 29.0f;
    const float r10 = (r8 / r9);
    *(s4 + r4 + r0) = r10;
    f32x16 r11_0 = f32x16(0.0f);
    {
      int64_t r12 = 0;
      for (; r12 + 16 <= 29; r12 += 16) {
        const f32x16 r13_0 = hcv::load<16>(s0 + r4 * 29 + r12 + r0 * 29);
        const f32x16 r14_0 = (r13_0 - f32x16(r10));
        const f32x16 r15_0 = (r14_0 * r14_0);
        r11_0 = (r11_0 + r15_0);
      }
      if (r12 < 29) {
        [[maybe_unused]] const int64_t n12 = 29 - r12;
        const f32x16 r13_0 = hcv::load_n<16>(s0 + r4 * 29 + r12 + r0 * 29, n12);
        const f32x16 r14_0 = (r13_0 - f32x16(r10));
        const f32x16 r15_0 = (r14_0 * r14_0);
        r11_0 = (r11_0 + hcv::select(hcv::first_lanes<boolx16::element, 16>(n12), r15_0, f32x16(0.0f)));
      }
    }
    const float r16 = hcv::reduce_sum(r11_0);
    const float r17 = (r16 / r9);
    const float r18 = 1e-05f;
    const float r19 = (r17 + r18);
    const float r20 = hcv::rsqrt(r19);
    *(s5 + r4 + r0) = r20;
    {
      int64_t r21 = 0;
      for (; r21 + 16 <= 29; r21 += 16) {
        const f32x16 r22_0 = hcv::load<16>(s0 + r4 * 29 + r21 + r0 * 29);
        const f32x16 r23_0 = (r22_0 - f32x16(r10));
        const f32x16 r24_0 = (r23_0 * f32x16(r20));
        const f32x16 r25_0 = hcv::load<16>(s1 + r21);
        const f32x16 r26_0 = (r24_0 * r25_0);
        const f32x16 r27_0 = hcv::load<16>(s2 + r21);
        const f32x16 r28_0 = (r26_0 + r27_0);
        hcv::store(s3 + r4 * 29 + r21 + r0 * 29, r28_0);
      }
      if (r21 < 29) {
        [[maybe_unused]] const int64_t n21 = 29 - r21;
        const f32x16 r22_0 = hcv::load_n<16>(s0 + r4 * 29 + r21 + r0 * 29, n21);
        const f32x16 r23_0 = (r22_0 - f32x16(r10));
        const f32x16 r24_0 = (r23_0 * f32x16(r20));
        const f32x16 r25_0 = hcv::load_n<16>(s1 + r21, n21);
        const f32x16 r26_0 = (r24_0 * r25_0);
        const f32x16 r27_0 = hcv::load_n<16>(s2 + r21, n21);
        const f32x16 r28_0 = (r26_0 + r27_0);
        hcv::store_n(s3 + r4 * 29 + r21 + r0 * 29, r28_0, n21);
      }
    }
  }
}

}  // namespace

extern "C" void hc_call(void* const* storages) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static) nowait
    for (int64_t tile = 0; tile < 2; ++tile) launch_0(storages, tile);
  }
}
