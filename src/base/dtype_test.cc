// Promotion of every pair of types and strengths against PyTorch's answers.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"

namespace hc {
namespace {

const Json& promotion() {
  static const Json vectors =
      parse_json(read_file(std::string(HC_SOURCE_DIR) + "/test/vectors/promotion.json").value_or("null"))
          .value_or(Json());
  return vectors;
}

std::pair<std::string, std::string> split(const std::string& pair) {
  const size_t comma = pair.find(',');
  return {pair.substr(0, comma), pair.substr(comma + 1)};
}

DType python_number(const std::string& kind) {
  if (kind == "bool") return DType::boolean;
  return kind == "int" ? DType::i64 : DType::f32;
}

TEST(Dtype, TextFormsReadBack) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(type)), type);
    EXPECT_EQ(dtype_from_torch_name(dtype_torch_name(type)), type);
  }
  EXPECT_EQ(dtype_from_name("boolean"), std::nullopt);
  EXPECT_EQ(dtype_from_torch_name("half"), DType::f16);
}

TEST(Dtype, TwoTensorsPromoteAsInTorch) {
  // where() never refuses a pair, so it is the purest picture of promote_types.
  ASSERT_EQ(promotion()["where"].size(), 100u);
  for (const auto& [pair, want] : promotion()["where"].items()) {
    const auto [a, b] = split(pair);
    const auto got = promote_types(*dtype_from_name(a), *dtype_from_name(b));
    ASSERT_TRUE(got.has_value()) << pair;
    EXPECT_EQ(dtype_name(*got), want.get<std::string>()) << pair;
  }
  for (const char* name : {"add", "sub", "mul", "maximum", "minimum", "remainder", "fmod"}) {
    for (const auto& [pair, want] : promotion()["binary"][name].items()) {
      const auto [a, b] = split(pair);
      if (want == "error") continue;  // torch refuses arithmetic on two bools; promotion itself has an answer
      EXPECT_EQ(dtype_name(*promote_types(*dtype_from_name(a), *dtype_from_name(b))), want.get<std::string>())
          << name << " " << pair;
    }
  }
}

TEST(Dtype, PythonNumbersAreWeak) {
  for (const char* op : {"+", "-", "*"}) {
    for (const auto& [pair, want] : promotion()["operator_scalar"][op].items()) {
      if (want == "error") continue;
      const auto [a, s] = split(pair);
      const auto got = result_type(*dtype_from_name(a), Strength::tensor, python_number(s), Strength::python_number);
      EXPECT_EQ(dtype_name(*got), want.get<std::string>()) << op << " " << pair;
    }
    for (const auto& [pair, want] : promotion()["scalar_operator"][op].items()) {
      if (want == "error") continue;
      const auto [s, a] = split(pair);
      const auto got = result_type(python_number(s), Strength::python_number, *dtype_from_name(a), Strength::tensor);
      EXPECT_EQ(dtype_name(*got), want.get<std::string>()) << op << " " << pair;
    }
  }
}

TEST(Dtype, ZeroDimTensorsAreWeakWithinACategory) {
  int checked = 0;
  for (const char* op : {"+", "-", "*"}) {
    for (const auto& [pair, want] : promotion()["tensor0d"][op].items()) {
      if (want == "error") continue;
      const auto [a, b] = split(pair);
      const auto got =
          result_type(*dtype_from_name(a), Strength::tensor, *dtype_from_name(b.substr(3)), Strength::zero_dim);
      EXPECT_EQ(dtype_name(*got), want.get<std::string>()) << op << " " << pair;
      ++checked;
    }
  }
  EXPECT_GT(checked, 250);
}

TEST(Dtype, Float8MixesWithNothingButItself) {
  EXPECT_EQ(promote_types(DType::f8e4m3, DType::f8e4m3), DType::f8e4m3);
  EXPECT_EQ(promote_types(DType::f8e4m3, DType::f8e5m2), std::nullopt);
  EXPECT_EQ(promote_types(DType::f8e4m3, DType::f32), std::nullopt);
}

}  // namespace
}  // namespace hc
