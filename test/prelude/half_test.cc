// Narrow floats: every bit pattern widened, and f32 around every pattern narrowed, against base/numeric.h.
#include "base/numeric.h"

#include <gtest/gtest.h>

#include "hc/vector.h"
#include "ulp.h"

namespace {

template <class Bits, class Wide, class Vector, class Reference>
void check_widening(int patterns, Wide wide, Vector vector, Reference reference) {
  for (int first = 0; first < patterns; first += 16) {
    Bits in[16];
    for (int k = 0; k < 16; ++k) in[k] = Bits(first + k);
    float out[16];
    hcv::store(out, vector(in));
    for (int k = 0; k < 16; ++k) {
      const float want = reference(in[k]);
      if (want != want) {
        ASSERT_TRUE(out[k] != out[k]) << first + k;
        ASSERT_TRUE(wide(in[k]) != wide(in[k])) << first + k;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(out[k]), std::bit_cast<uint32_t>(want)) << first + k;
        ASSERT_EQ(std::bit_cast<uint32_t>(wide(in[k])), std::bit_cast<uint32_t>(want)) << first + k;
      }
    }
  }
}

/// f32 values at and half way between all patterns, one ulp to either side, and random bits.
template <class Bits, class Narrow, class Vector, class Reference, class Widen>
void check_narrowing(int patterns, Narrow narrow, Vector vector, Reference reference, Widen widen) {
  std::vector<float> xs = hc_test::points<float>(hc_test::kSeed, -1000, 1000, 50000);
  for (int p = 0; p < patterns; ++p) {
    const float a = widen(Bits(p)), b = widen(Bits(p + 1));
    for (float x : {a, (a + b) / 2}) {
      xs.push_back(x);
      xs.push_back(std::nextafter(x, 1e38f));
      xs.push_back(std::nextafter(x, -1e38f));
    }
  }
  while (xs.size() % 16) xs.push_back(0);
  for (size_t i = 0; i < xs.size(); i += 16) {
    Bits out[16];
    vector(out, hcv::load<16>(&xs[i]));
    for (int k = 0; k < 16; ++k) {
      const float x = xs[i + k];
      if (x != x) {
        ASSERT_TRUE(widen(out[k]) != widen(out[k])) << std::hex << std::bit_cast<uint32_t>(x);
        ASSERT_TRUE(widen(narrow(x)) != widen(narrow(x)));
      } else {
        ASSERT_EQ(int(out[k]), int(reference(x))) << x;
        ASSERT_EQ(int(narrow(x)), int(reference(x))) << x;
      }
    }
  }
}

#define HC_NARROW_TEST(Name, name, BITS, patterns)                                                                     \
  TEST(VectorHalf, Name) {                                                                                             \
    const auto widen = [](BITS b) { return hc::name##_to_f32(b); };                                                    \
    check_widening<BITS>(                                                                                              \
        patterns, [](BITS b) { return hcv::name##_to_f32(b); }, [](const BITS* p) { return hcv::load_##name<16>(p); }, \
        widen);                                                                                                        \
    check_narrowing<BITS>(                                                                                             \
        patterns, [](float x) { return hcv::f32_to_##name(x); },                                                       \
        [](BITS* p, hcv::vec<float, 16> v) { hcv::store_##name(p, v); }, [](float x) { return hc::f64_to_##name(x); }, \
        widen);                                                                                                        \
  }
HC_NARROW_TEST(Bf16, bf16, uint16_t, 65536)
HC_NARROW_TEST(F16, f16, uint16_t, 65536)
HC_NARROW_TEST(F8e4m3, f8e4m3, uint8_t, 256)
HC_NARROW_TEST(F8e5m2, f8e5m2, uint8_t, 256)

/// The integer path that machines without the instruction take is tried on every machine.
TEST(VectorHalf, F16WithoutInstructions) {
  check_widening<uint16_t>(
      65536, [](uint16_t b) { return hcv::detail::f16_widen(hcv::splat<uint16_t, 8>(b))[0]; },
      [](const uint16_t* p) { return hcv::detail::f16_widen(hcv::load<16>(p)); },
      [](uint16_t b) { return hc::f16_to_f32(b); });
  check_narrowing<uint16_t>(
      65536, [](float x) { return hcv::detail::f16_narrow(hcv::splat<float, 4>(x))[0]; },
      [](uint16_t* p, hcv::vec<float, 16> v) { hcv::store(p, hcv::detail::f16_narrow(v)); },
      [](float x) { return hc::f64_to_f16(x); }, [](uint16_t b) { return hc::f16_to_f32(b); });
}

TEST(VectorHalf, TailsTouchNothingBeyond) {
  uint16_t in[16], out[16];
  for (int n = 0; n <= 16; ++n) {
    for (int k = 0; k < 16; ++k) in[k] = uint16_t(0x3f80 + k), out[k] = 0x1234;
    const auto v = hcv::load_bf16_n<16>(in, n);
    for (int k = 0; k < 16; ++k) EXPECT_EQ(v[k], k < n ? hc::bf16_to_f32(in[k]) : 0.0f);
    hcv::store_bf16_n(out, v, n);
    for (int k = 0; k < 16; ++k) EXPECT_EQ(out[k], k < n ? in[k] : 0x1234);
  }
}

}  // namespace
