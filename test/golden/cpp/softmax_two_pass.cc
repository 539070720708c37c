// softmax_two_pass for a machine with 64-byte vectors: generated.
#include "hc/vector.h"

namespace {

using boolx16 = hcv::vec<int32_t, 16>;
using f32x16 = hcv::vec<float, 16>;
using i64x16 = hcv::vec<int64_t, 16>;

static void launch_0(void* const* storages, [[maybe_unused]] int64_t tile) {
  const float* const __restrict s0 = static_cast<const float*>(storages[0]);  // x
  float* const __restrict s1 = static_cast<float*>(storages[1]);  // out
  const int64_t r0 = (tile) * 4;
  const int64_t r1 = (-r0 + 11);
  const int64_t r2 = INT64_C(4);
  const int64_t r3 = hcv::minimum(r1, r2);
  for (int64_t r4 = 0; r4 < r3; ++r4) {
    const float r5 = 0.0f;
    float r6 = r5;
    const float r7 = -__builtin_inff();
    float r8 = r7;
    for (int64_t r9 = 0; r9 < 37; r9 += 16) {
      const int64_t r10 = (-r9 + 37);
      const int64_t r11 = INT64_C(16);
      const int64_t r12 = hcv::minimum(r10, r11);
      const float r13 = r6;
      const float r14 = r8;
      f32x16 r15_0 = f32x16(-__builtin_inff());
      {
        int64_t r16 = 0;
        for (; r16 + 16 <= r12; r16 += 16) {
          const f32x16 r17_0 = hcv::load<16>(s0 + r4 * 37 + r16 + r0 * 37 + r9);
          r15_0 = hcv::maximum(r15_0, r17_0);
        }
        if (r16 < r12) {
          [[maybe_unused]] const int64_t n16 = r12 - r16;
          const f32x16 r17_0 = hcv::load_n<16>(s0 + r4 * 37 + r16 + r0 * 37 + r9, n16);
          r15_0 = hcv::maximum(r15_0, hcv::select(hcv::first_lanes<boolx16::element, 16>(n16), r17_0, f32x16(-__builtin_inff())));
        }
      }
      const float r18 = hcv::reduce_max(r15_0);
      const float r19 = hcv::maximum(r14, r18);
      const float r20 = (r14 - r19);
      const float r21 = hcv::exp(r20);
      const float r22 = (r13 * r21);
      r8 = r19;
      f32x16 r23_0 = f32x16(0.0f);
      {
        int64_t r24 = 0;
        for (; r24 + 16 <= r12; r24 += 16) {
          const f32x16 r25_0 = hcv::load<16>(s0 + r4 * 37 + r24 + r0 * 37 + r9);
          const f32x16 r26_0 = (r25_0 - f32x16(r19));
          const f32x16 r27_0 = hcv::exp(r26_0);
          r23_0 = (r23_0 + r27_0);
        }
        if (r24 < r12) {
          [[maybe_unused]] const int64_t n24 = r12 - r24;
          const f32x16 r25_0 = hcv::load_n<16>(s0 + r4 * 37 + r24 + r0 * 37 + r9, n24);
          const f32x16 r26_0 = (r25_0 - f32x16(r19));
          const f32x16 r27_0 = hcv::exp(r26_0);
          r23_0 = (r23_0 + hcv::select(hcv::first_lanes<boolx16::element, 16>(n24), r27_0, f32x16(0.0f)));
        }
      }
      const float r28 = hcv::reduce_sum(r23_0);
      const float r29 = (r22 + r28);
      r6 = r29;
    }
    for (int64_t r30 = 0; r30 < 37; r30 += 16) {
      const int64_t r31 = (-r30 + 37);
      const int64_t r32 = INT64_C(16);
      const int64_t r33 = hcv::minimum(r31, r32);
      {
        int64_t r34 = 0;
        for (; r34 + 16 <= r33; r34 += 16) {
          const f32x16 r35_0 = hcv::load<16>(s0 + r4 * 37 + r34 + r0 * 37 + r30);
          const f32x16 r36_0 = (r35_0 - f32x16(r8));
          const f32x16 r37_0 = hcv::exp(r36_0);
          const f32x16 r38_0 = (r37_0 / f32x16(r6));
          hcv::store(s1 + r4 * 37 + r34 + r0 * 37 + r30, r38_0);
        }
        if (r34 < r33) {
          [[maybe_unused]] const int64_t n34 = r33 - r34;
          const f32x16 r35_0 = hcv::load_n<16>(s0 + r4 * 37 + r34 + r0 * 37 + r30, n34);
          const f32x16 r36_0 = (r35_0 - f32x16(r8));
          const f32x16 r37_0 = hcv::exp(r36_0);
          const f32x16 r38_0 = (r37_0 / f32x16(r6));
          hcv::store_n(s1 + r4 * 37 + r34 + r0 * 37 + r30, r38_0, n34);
        }
      }
    }
  }
}

}  // namespace

extern "C" void hc_call(void* const* storages) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static) nowait
    for (int64_t tile = 0; tile < 3; ++tile) launch_0(storages, tile);
  }
}
