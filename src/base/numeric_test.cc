// Casts bit for bit against PyTorch's answers.
#include "base/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/files.h"
#include "base/json.h"

namespace hc {
namespace {

Json load_vectors(const std::string& name) {
  const auto text = read_file(std::string(HC_SOURCE_DIR) + "/test/vectors/" + name);
  EXPECT_TRUE(text.has_value());
  return parse_json(text.value_or("null")).value_or(Json());
}

uint64_t bits_of(const Json& hex) { return std::strtoull(hex.get<std::string>().c_str(), nullptr, 16); }

/// The torch cast from one stored element to another: by integer where both ends are integers or bool, else by double.
uint64_t cast_bits(uint64_t in, DType from, DType to) {
  uint64_t out = 0;
  if (is_floating(from)) {
    store_double(&out, to, 0, load_double(&in, from, 0));
  } else {
    store_int(&out, to, 0, load_int(&in, from, 0));
  }
  return out;
}

bool in_range(double value, DType to) {
  if (!is_integer(to)) return true;
  const double limit = std::ldexp(1.0, dtype_significand_bits(to));
  const double low = dtype_kind(to) == DTypeKind::unsigned_int ? 0 : -limit;
  return std::trunc(value) >= low && std::trunc(value) < limit;
}

TEST(Numeric, CastsAreTorchs) {
  const Json vectors = load_vectors("casts.json");
  int checked = 0;
  for (const auto& [name, pair] : vectors["casts"].items()) {
    if (!pair.is_array()) continue;
    const size_t space = name.find(' ');
    const size_t arrow = name.find("->");
    const DType from = *dtype_from_name(name.substr(space + 1, arrow - space - 1));
    const DType to = *dtype_from_name(name.substr(arrow + 2));
    for (size_t i = 0; i < pair[0].size(); ++i) {
      const uint64_t in = bits_of(pair[0][i]);
      const uint64_t want = bits_of(pair[1][i]);
      // Out of range from float to integer is undefined, and the two devices of the vectors differ there.
      if (is_floating(from) && !in_range(load_double(&in, from, 0), to)) continue;
      const uint64_t got = cast_bits(in, from, to);
      ++checked;
      if (is_floating(to) && std::isnan(load_double(&want, to, 0))) {
        EXPECT_TRUE(std::isnan(load_double(&got, to, 0))) << name << " " << pair[0][i];
      } else {
        EXPECT_EQ(got, want) << name << " " << pair[0][i];
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST(Numeric, EverySixteenBitPatternSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (const float f = f16_to_f32(half); !std::isnan(f)) {
      EXPECT_EQ(f64_to_f16(f), half);
    }
    if (const float f = bf16_to_f32(half); !std::isnan(f)) {
      EXPECT_EQ(f64_to_bf16(f), half);
      EXPECT_EQ(f32_to_bf16(f), half);
    }
  }
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    if (const float f = f8e4m3_to_f32(byte); !std::isnan(f)) {
      EXPECT_EQ(f64_to_f8e4m3(f), byte);
    }
    if (const float f = f8e5m2_to_f32(byte); !std::isnan(f)) {
      EXPECT_EQ(f64_to_f8e5m2(f), byte);
    }
  }
}

TEST(Numeric, TiesGoToEvenAndRoundingHappensOnce) {
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x3p-8), 1 + 0x2p-7);
  // By way of f32 this would fall on the tie and go down to 1.
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::f16, 65519.99), 65504.0);
  EXPECT_TRUE(std::isinf(round_to(DType::f16, 65520)));
  EXPECT_EQ(round_to(DType::f16, 0x1p-25), 0.0);
  EXPECT_EQ(round_to(DType::f16, 0x1.001p-25), 0x1p-24);
  EXPECT_TRUE(std::isnan(round_to(DType::f8e4m3, 465)));
}

}  // namespace
}  // namespace hc
