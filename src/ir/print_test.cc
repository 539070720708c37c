// Tests of the printer: a golden text and the edges of names and numbers.
#include <gtest/gtest.h>

#include <limits>

#include "ir/builder.h"
#include "ir/sample_programs.h"

namespace hc::ir {
namespace {

TEST(Print, SoftmaxIsTheGoldenText) {
  EXPECT_EQ(print(softmax_program()), R"(program "softmax" index=i32
block b0 "tile_n" size=4 min=1 max=64 extent=64
storage s0 "x" f32 8192 param 0
storage s1 "out" f32 8192 alloc
tensor t0 "x" s0 f32[64, 128] strides[128, 1] offset=0
tensor t1 "out" s1 f32[64, 128] strides[128, 1] offset=0
launch "softmax" {
  axis "tile_n" b0 0..64 step 4
  body(%0 "tile_n.begin": i64) {
    %1 = tile_index %0 b0 : i32[b0]
    %2 = arange : i32[128]
    %3 "values" = load t0[%1@0, %2@1] : f32[b0, 128]
    %4 = reduce amax %3 axis=1 : f32[b0]
    %5 = sub %3, %4@0 : f32[b0, 128]
    %6 = exp %5 : f32[b0, 128]
    %7 = reduce sum %6 axis=1 : f32[b0]
    %8 = div %6, %7@0 : f32[b0, 128]
    store t1[%1@0, %2@1], %8
  }
}
return t1
)");
}

TEST(Print, EscapesNames) {
  Program p;
  p.name = "a\"b\\c\nd\x7f\xc3\xa9";
  EXPECT_EQ(print(p), "program \"a\\\"b\\\\c\\x0ad\\x7f\xc3\xa9\" index=i32\nreturn\n");
}

TEST(Print, FloatsAreShortAndExact) {
  Program p;
  const double numbers[] = {0.1, -0.0, 1e300, 5e-324, 1.0 / 3, std::numeric_limits<double>::infinity(), -1e22};
  for (double number : numbers) p.returned.push_back({Returned::Kind::number, kNone, number});
  EXPECT_EQ(print(p), "program \"\" index=i32\nreturn 0.1, -0, 1e+300, 5e-324, 0.3333333333333333, inf, -1e+22\n");
}

TEST(Print, AnIdentityMapIsLeftOut) {
  Program p = softmax_program();
  const std::string before = print(p);
  p.steps[0].launch.body.ops[5].operands[0].map = {0, 1};  // exp
  EXPECT_EQ(print(p), before);
  p.steps[0].launch.body.ops[5].operands[0].map = {1, 0};
  EXPECT_NE(print(p).find("exp %5@[1, 0] :"), std::string::npos);
}

TEST(Print, SurvivesIdsOutOfRange) {
  Program p = softmax_program();
  for (Op& op : p.steps[0].launch.body.ops) {
    for (ValueId& v : op.results) v = 99;
    for (Operand& operand : op.operands) operand.value = -7;
  }
  EXPECT_NE(print(p).find("%99 = exp %-7 : ?"), std::string::npos);
}

}  // namespace
}  // namespace hc::ir
