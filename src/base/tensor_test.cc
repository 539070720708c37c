// Tensor text, the generator's exact values and moments, poison, and .npy files.
#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/files.h"
#include "base/numeric.h"
#include "base/philox.h"

namespace hc {
namespace {

TensorSpec spec_of(std::string_view text) {
  std::string why;
  const auto spec = tensor_spec_from_text(text, &why);
  EXPECT_TRUE(spec.has_value()) << text << ": " << why;
  return spec.value_or(TensorSpec());
}

uint32_t word_of(int64_t element, uint64_t seed, uint32_t stream) {
  const auto counter = static_cast<uint64_t>(element / 4);
  const auto words = philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), stream, 0},
                                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return words[static_cast<size_t>(element % 4)];
}

TEST(TensorSpec, TextReadsBack) {
  for (const char* text :
       {"f32[]", "bf16[4096,2560]", "i64[4096]=range(0,32000)", "f32[8,8]@(1,8)=uniform(-1,1)", "f32[4]=const(0.5)",
        "bool[3]", "f16[2,3]=softmax_like", "f64[7]=range(-3,9)", "i8[0,5]", "f32[4,1]@(0,0)"}) {
    EXPECT_EQ(to_text(spec_of(text)), text);
  }
  EXPECT_EQ(to_text(spec_of("f32[4, 8]@(8, 1) = normal")), "f32[4,8]");
  EXPECT_EQ(spec_of("i32[5]").distribution, (Distribution{Distribution::Kind::range, 0, 100}));
  EXPECT_EQ(spec_of("f32[8,8]@(1,16)").span(), 7 + 7 * 16 + 1);
  EXPECT_EQ(spec_of("f32[0,8]").span(), 0);
}

TEST(TensorSpec, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"f32", "a tensor is written dtype[sizes], such as f32[8,16]"},
      {"f31[4]", "'f31' is not a dtype; write one such as f32, bf16, i64 or bool"},
      {"f32[4,x]", "expected a size as an integer before 'x]'"},
      {"f32[4 5]", "expected ',' or ']' before '5]'"},
      {"f32[-4]", "a size is negative: -4"},
      {"f32[4]@(1,2)", "2 strides are given for 1 sizes"},
      {"f32[4]@(-1)", "a stride is negative: -1"},
      {"f32[4]=gauss",
       "'gauss' is not a distribution; there are normal, uniform(a,b), range(a,b), const(v), softmax_like"},
      {"f32[4]=uniform(1)", "uniform is written uniform(low,high)"},
      {"f32[4]=uniform(2,1)", "uniform(low,high) needs low <= high"},
      {"i64[4]=range(0,0.5)", "range(low,high) needs integers with low < high and at most 2^32 values"},
      {"i64[4]=normal", "'normal' needs a floating dtype; i64 takes range(a,b) or const(v)"},
      {"f32[4]x", "'x' is left over after the tensor"},
  };
  for (const auto& [text, want] : cases) {
    std::string why;
    EXPECT_FALSE(tensor_spec_from_text(text, &why).has_value()) << text;
    EXPECT_EQ(why, want) << text;
  }
}

TEST(TensorBuffer, NormalIsTheStatedFormulaAndHasItsMoments) {
  TensorBuffer buffer(spec_of("f32[3000001]"));
  buffer.fill_random(0x123456789abcdef0, 7);
  const auto* x = static_cast<const float*>(buffer.data());
  double sum = 0, squares = 0, fourth = 0;
  const int64_t n = buffer.spec().numel();
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i];
    squares += double(x[i]) * x[i];
    fourth += std::pow(double(x[i]), 4);
    if (i % 4999 != 0 && i + 1 != n) continue;
    const uint32_t w = word_of(i, 0x123456789abcdef0, 7);
    const int32_t bytes = int32_t((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24));
    const int32_t t = bytes * 16384 + int32_t(w * 0x9E3779B9u >> 18) - 8364032;
    EXPECT_EQ(x[i], float(t) * 0x1.bb6854p-22f);
  }
  EXPECT_NEAR(sum / double(n), 0, 0.003);
  EXPECT_NEAR(squares / double(n), 1, 0.003);
  EXPECT_NEAR(fourth / double(n), 2.7, 0.02);  // a sum of four uniforms; a true normal has 3
}

TEST(TensorBuffer, NarrowTypesRoundTheSameDraw) {
  TensorBuffer wide(spec_of("f32[1001]"));
  wide.fill_random(5, 1);
  for (const char* name : {"bf16[1001]", "f16[1001]", "f64[1001]", "f8e4m3[1001]"}) {
    TensorBuffer narrow(spec_of(name));
    narrow.fill_random(5, 1);
    for (int64_t i = 0; i < 1001; ++i) {
      const double x = static_cast<const float*>(wide.data())[i];
      EXPECT_EQ(load_double(narrow.data(), narrow.spec().dtype, i), round_to(narrow.spec().dtype, x))
          << name << " " << i;
    }
  }
}

TEST(TensorBuffer, OtherDistributions) {
  TensorBuffer uniform(spec_of("f32[4097]=uniform(-0.3,0.7)"));
  uniform.fill_random(9, 0);
  const double low = -0.3f, width = 0.7f - -0.3f;
  for (int64_t i = 0; i < 4097; i += 31) {
    const double want = low + width * (double(word_of(i, 9, 0) >> 8) * 0x1p-24);
    EXPECT_EQ(static_cast<const float*>(uniform.data())[i], float(want));
  }
  TensorBuffer range(spec_of("i64[5000]=range(-3,9)"));
  range.fill_random(9, 0);
  int seen = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    const int64_t v = static_cast<const int64_t*>(range.data())[i];
    ASSERT_TRUE(v >= -3 && v < 9);
    EXPECT_EQ(v, -3 + int64_t(uint64_t{word_of(i, 9, 0)} * 12 >> 32));
    seen |= 1 << (v + 3);
  }
  EXPECT_EQ(seen, 0xfff);
  TensorBuffer rows(spec_of("f32[64,1000]=softmax_like"));
  rows.fill_random(9, 0);
  for (int64_t r = 0; r < 64; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < 1000; ++c) {
      const float v = static_cast<const float*>(rows.data())[r * 1000 + c];
      EXPECT_GT(v, 0);
      sum += v;
    }
    EXPECT_NEAR(sum, 1, 0.2);
  }
  TensorBuffer constant(spec_of("f16[9]=const(0.5)"));
  constant.fill_random(9, 0);
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(load_double(constant.data(), DType::f16, i), 0.5);
}

TEST(TensorBuffer, DrawsDoNotDependOnThreadsSizeOrStream) {
  TensorBuffer large(spec_of("f32[5000003]")), small(spec_of("f32[1000]")), other(spec_of("f32[1000]"));
  large.fill_random(1, 2);
  small.fill_random(1, 2);
  other.fill_random(1, 3);
  EXPECT_EQ(std::memcmp(large.data(), small.data(), 4000), 0);
  EXPECT_NE(std::memcmp(other.data(), small.data(), 4000), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % (2 << 20), 0u);
}

TEST(TensorBuffer, PoisonIsNaNOrLowest) {
  TensorBuffer f(spec_of("bf16[5]")), i(spec_of("i32[5]")), b(spec_of("bool[5]"));
  for (TensorBuffer* t : {&f, &i, &b}) t->poison();
  EXPECT_TRUE(std::isnan(load_double(f.data(), DType::bf16, 4)));
  EXPECT_EQ(load_int(i.data(), DType::i32, 4), INT32_MIN);
  EXPECT_EQ(static_cast<const uint8_t*>(b.data())[4], 0xff);
}

TEST(Npy, EveryTypeReadsBack) {
  const std::string folder = make_temp_folder("npy");
  for (int k = 0; k < kDTypeCount; ++k) {
    TensorSpec spec = spec_of(std::string(dtype_name(static_cast<DType>(k))) + "[3,5]=range(0,2)");
    TensorBuffer out(spec);
    out.fill_random(3, 0);
    const std::string path = join_path(folder, std::string(dtype_name(spec.dtype)) + ".npy");
    ASSERT_EQ(save_npy(path, out), "");
    EXPECT_EQ(file_exists(path + ".dtype"),
              spec.dtype == DType::bf16 || dtype_bytes(spec.dtype) * is_floating(spec.dtype) == 1);
    TensorBuffer in;
    ASSERT_EQ(load_npy(path, &in), "");
    EXPECT_EQ(in.spec().dtype, spec.dtype);
    EXPECT_EQ(in.spec().shape, spec.shape);
    EXPECT_EQ(std::memcmp(in.data(), out.data(), static_cast<size_t>(out.bytes())), 0);
  }
}

TEST(Npy, StridedTensorsAreSavedInRowMajorOrder) {
  const std::string path = join_path(make_temp_folder("npy"), "t.npy");
  TensorBuffer out(spec_of("f32[2,3]@(1,2)"));
  for (int i = 0; i < 6; ++i) static_cast<float*>(out.data())[i] = float(i);
  ASSERT_EQ(save_npy(path, out), "");
  TensorBuffer in;
  ASSERT_EQ(load_npy(path, &in), "");
  const float want[] = {0, 2, 4, 1, 3, 5};
  EXPECT_EQ(std::memcmp(in.data(), want, sizeof(want)), 0);
  const std::string text = *read_file(path);
  EXPECT_EQ((text.find('\n') + 1) % 64, 0u);
  ASSERT_EQ(write_file_atomic(path, text.substr(0, text.size() - 1)), "");
  EXPECT_NE(load_npy(path, &in), "");
}

}  // namespace
}  // namespace hc
