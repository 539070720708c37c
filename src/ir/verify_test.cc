// Tests of the verifier: for each rule a program that breaks it alone, and the message.
#include <gtest/gtest.h>

#include <memory>

#include "ir/sample_programs.h"

namespace hc::ir {
namespace {

/// An edit of the structured sample and what the verifier then says.
struct Breach {
  std::string_view from;
  std::string_view to;
  std::string_view message;
};

std::string edited(const Breach& breach) {
  std::string text = structured_text();
  const size_t at = text.find(breach.from);
  EXPECT_NE(at, std::string::npos) << breach.from;
  if (at != std::string::npos) text.replace(at, breach.from.size(), breach.to);
  return text;
}

void expect_breaches(const std::vector<Breach>& breaches) {
  for (const Breach& breach : breaches) {
    const Status status = verify(parsed(edited(breach)));
    ASSERT_FALSE(status.ok()) << breach.to << " is accepted; expected: " << breach.message;
    EXPECT_EQ(status.error().code, Code::ir_invalid);
    EXPECT_EQ(status.error().message, breach.message);
  }
}

TEST(Verify, Tables) {
  expect_breaches({
      {"index=i32", "index=i16", "the index dtype is i16, not i32 or i64"},
      {"size=4 min=1", "size=0 min=0", "block b0 \"m\": size 0 is below 1"},
      {"size=4 min", "size=6 min", "block b0 \"m\": size 6 is no power of two"},
      {"size=4 min=1", "size=4 min=8", "block b0 \"m\": size 4 is not between min 8 and max 16"},
      {"size=8 min=1 max=64", "size=8 min=1 max=4", "block b1 \"n\": size 8 is not between min 1 and max 4"},
      {"f32 200 param 0", "f32 -1 param 0", "storage s0 \"x\": -1 elements are below 0"},
      {"param 0", "param -1", "storage s0 \"x\": a parameter needs its position"},
      {"\"x\" s0", "\"x\" s9", "tensor t0 \"x\": there is no storage s9"},
      {"s0 f32[10", "s0 f16[10", "tensor t0 \"x\": dtype f16 differs from f32 of its storage s0"},
      {"strides[20, 1]", "strides[20]", "tensor t0 \"x\": 2 sizes but 1 strides"},
      {"[20, 1] offset=0", "[20, 1] offset=-1", "tensor t0 \"x\": offset -1 is below 0"},
      {"f32[10, 20]", "f32[-10, 20]", "tensor t0 \"x\": size -10 is below 0"},
      {"strides[20, 1]", "strides[-20, 1]", "tensor t0 \"x\": stride -20 is below 0"},
      {"offset=181", "offset=182", "tensor t3 \"y\": the view reaches past the 200 elements of storage s3"},
      {"f32[2, 10]", "f32[9223372036854775807, 9223372036854775807]",
       "tensor t3 \"y\": the view reaches past the 200 elements of storage s3"},
      {"mutated s3", "mutated s3, s8", "mutated: there is no storage s8"},
      {"mutated s3", "mutated s3, s1", "mutated: storage s1 is no parameter"},
      {"mutated s3\n", "", "launch \"all\" writes tensor t4, but its parameter s3 is not among the mutated ones"},
      {"fill t1 -inf", "fill t0 0", "fill writes tensor t0, but its parameter s0 is not among the mutated ones"},
      {"return t1", "return t5", "return: there is no tensor t5"},
  });
  Program p = parsed(structured_text());
  p.storages[1].param_index = 3;
  EXPECT_EQ(verdict(p), "storage s1 \"out\": an allocation has no position");
  p = parsed(structured_text());
  p.steps[0].fill_tensor = -1;
  EXPECT_EQ(verdict(p), "fill: there is no tensor t-1");
}

TEST(Verify, EmptyViewsReachNothing) {
  EXPECT_EQ(
      verdict(parsed(edited({"f32[2, 10] strides[0, 2] offset=181", "f32[0, 999] strides[0, 2] offset=500", ""}))), "");
}

TEST(Verify, Axes) {
  expect_breaches({
      {", %1: i64)", ")", "launch \"all\": 2 axes but 1 arguments of the body"},
      {"step 4", "step 0", "launch \"all\": axis \"m\": step 0 is below 1"},
      {"step 4", "step 2", "launch \"all\": axis \"m\": step 2 is not the size 4 of block b0"},
      {"axis \"m\" b0", "axis \"m\" b6", "launch \"all\": axis \"m\": there is no block b6"},
      {"axis \"g\" grid 0..3 step 1", "axis \"g\" b0 0..3 step 4",
       "launch \"all\": axis \"g\": two axes have block b0"},
      {"%1: i64)", "%1: i32)", "launch \"all\": axis \"g\": its argument %1 is i32, not i64"},
      {"%1: i64)", "%0: i64)", "launch \"all\": axis \"g\": %0 \"m.begin\" is defined a second time"},
  });
}

TEST(Verify, Scopes) {
  expect_breaches({
      {"copy %6", "copy %77", "`copy` %7: there is no value %77"},
      {"copy %6", "copy %8", "`copy` %7: operand %8 \"row\" is used where it is not defined"},
      {"= split %17", "= split %8",
       "`split` %18, %19 \"odd\": operand %8 \"row\" is f32[b0], whose last dimension is not of size 2"},
      {"yield %7\n", "yield %15\n", "`yield`: operand %15 is used where it is not defined"},
      {"%5 = constant 0", "%4 = constant 0", "`constant`: %4 is defined a second time"},
      {"store t1[%2, %5]", "yield\n store t1[%2, %5]", "`yield`: the body of a launch yields nothing"},
      {"yield %8\n", "yield %8\n yield %8\n", "`yield`: stands before the end of its region"},
  });
  Program p = softmax_program();
  p.steps[0].launch.values[1].type.dims[0].size = 8;
  EXPECT_EQ(verdict(p), "`tile_index`: %1 has 8 lanes of block b0, which has 4");
  p = softmax_program();
  p.steps[0].launch.body.ops[0].results[0] = 50;
  EXPECT_EQ(verdict(p), "`tile_index` %50: there is no value %50");
}

TEST(Verify, DimensionsOfResults) {
  expect_breaches({
      {"arange : i32[6]", "arange : i32[-6]", "`arange`: %16 has a dimension of size -6"},
  });
  Program p = parsed("program \"p\" index=i32\nlaunch \"p\" { body() { %0 = arange : i32[4] } } return");
  p.steps[0].launch.values[0].type.dims[0] = {2, 4};
  EXPECT_EQ(verdict(p), "`arange`: %0 has a dimension of block b2, which is not there");
}

TEST(Verify, Counts) {
  expect_breaches({
      {"%7 = copy %6", "%7 = copy %6, %6", "`copy` %7: 2 operands found, 1 needed"},
      {"%7 = copy %6 : f32[b0]", "%7, %60 = copy %6 : f32[b0], f32[b0]", "`copy` %7, %60: 2 results found, 1 needed"},
      {"split %17 : i32[3], i32[3]", "split %17, %17 : i32[3], i32[3]",
       "`split` %18, %19 \"odd\": 2 operands found, 1 needed"},
      {"load t2[%2]", "load t2[%2, %2]", "`load` %3: 2 operands found, 1 needed"},
      {"load t2[%2]", "load t2[]", "`load` %3: 0 operands found, 1 needed"},
      {"load t2[%2]", "load t9[%2]", "`load` %3: there is no tensor t9"},
      {"store t1[%2, %5], %24", "store t1[%2], %24", "`store`: 2 operands found, 3 needed"},
      {"store t1[%2, %5], %24", "%99 = store t1[%2, %5], %24 : f32", "`store` %99: 1 results found, 0 needed"},
      {"b1 %5, %4 carry(%7)", "b1 %5, %4", "`for_tile` %8 \"row\": 2 operands found, 3 needed"},
      {"if_else %23 : f32[b0]", "if_else %23, %23 : f32[b0]", "`if_else` %24: 2 operands found, 1 needed"},
  });
  Program p = softmax_program();
  p.steps[0].launch.body.ops[5].regions.resize(1);
  EXPECT_EQ(verdict(p), "`exp` %6: 1 regions found, 0 needed");
}

TEST(Verify, Maps) {
  expect_breaches({
      {"lt %3@0, %11@1", "lt %3@0, %11", "`lt` %12: operand %11 is i32[b1], but its map is for 2 dimensions"},
      {"load t2[%2]", "load t2[%2@[0, 1]]", "`load` %3: operand %2 is i32[b0], but its map is for 2 dimensions"},
      {"load t2[%2]", "load t2[%2@1]", "`load` %3: operand %2 is i32[b0], but its map leads to dimension 1 of 1"},
      {"load t2[%2]", "load t2[%2@-1]", "`load` %3: operand %2 is i32[b0], but its map leads to dimension -1 of 1"},
      {"t0[%2@0, %11@1]", "t0[%2@1, %11@1]",
       "`load` %13 \"values\": operand %2 is i32[b0], whose dimension 0 does not fit dimension 1 of i32[b0, b1]"},
      {"mask %12 :", "mask %12@[0, 0] :",
       "`load` %13 \"values\": operand %12 is bool[b0, b1], but its map leads to dimension 0 twice"},
      {"reduce sum %13", "reduce sum %13@[1, 0]", "`reduce` %14: operand %13 \"values\" has a map"},
      {"%24\n", "%24@0\n", "`store`: the value %24 has a map"},
      {"carry(%7)", "carry(%7@0)", "`for_tile` %8 \"row\": operand %7 has a map"},
      {"yield %8\n", "yield %8@0\n", "`yield`: operand %8 \"row\" has a map"},
  });
}

/// Text of a launch with `body` under one tile axis of 4 lanes.
std::string with_body(const std::string& body) {
  return "program \"p\" index=i32\nblock b0 \"m\" size=4 min=1 max=16\nstorage s0 \"x\" f32 16 alloc\n"
         "tensor t0 \"x\" s0 f32[16] strides[1] offset=0\nlaunch \"p\" {\n axis \"m\" b0 0..16 step 4\n"
         " body(%0: i64) {\n %1 = constant 1.5 : f32\n %2 = constant 1 : i32\n %3 = constant 1 : bool\n"
         " %4 = arange : i32[1]\n %5 = arange : i32[3]\n %6 = constant 1 : f16\n " +
         body + "\n }\n}\nreturn\n";
}

TEST(Verify, ConstantOneStretchesAndNothingElse) {
  EXPECT_EQ(verdict(parsed(with_body("%7 = add %4, %5 : i32[3]"))), "");
  EXPECT_EQ(verdict(parsed(with_body("%7 = add %4@1, %5@0 : i32[3, 7]"))), "");
  EXPECT_EQ(verdict(parsed(with_body("%7 = add %5, %5 : i32[b0]"))),
            "`add` %7: operand %5 is i32[3], whose dimension 0 does not fit dimension 0 of i32[b0]");
  EXPECT_EQ(verdict(parsed(with_body("%7 = copy %5 : i32[4]"))),
            "`copy` %7: operand %5 is i32[3], whose dimension 0 does not fit dimension 0 of i32[4]");
}

TEST(Verify, BlocksOfOneSizeAreNotTheConstant) {
  EXPECT_EQ(verdict(parsed(with_body("%7 = tile_index %0 b0 : i32[b0]\n %8 = copy %7 : i32[4]"))),
            "`copy` %8: operand %7 is i32[b0], whose dimension 0 does not fit dimension 0 of i32[4]");
}

struct BodyCase {
  std::string_view body;
  std::string_view message;  ///< empty: valid
};

void expect_bodies(const std::vector<BodyCase>& cases) {
  for (const BodyCase& c : cases) EXPECT_EQ(verdict(parsed(with_body(std::string(c.body)))), c.message) << c.body;
}

TEST(Verify, TypeRules) {
  expect_bodies({
      {"%7 = add %1, %2 : f32", "`add` %7: operand %2 is i32, but the one before has dtype f32"},
      {"%7 = add %1, %1 : f16", "`add` %7: the result's dtype is f16, not f32"},
      {"%7 = bitwise_and %1, %1 : f32", "`bitwise_and` %7: operand %1 is f32, not integer or bool"},
      {"%7 = bitwise_and %3, %3 : bool", ""},
      {"%7 = exp %2 : i32", "`exp` %7: operand %2 is i32, not floating"},
      {"%7 = div %2, %2 : i32", "`div` %7: operand %2 is i32, not floating"},
      {"%7 = lt %1, %6 : bool", "`lt` %7: operand %6 is f16, but the one before has dtype f32"},
      {"%7 = lt %1, %1 : f32", "`lt` %7: the result's dtype is f32, not bool"},
      {"%7 = isnan %1 : f32", "`isnan` %7: the result's dtype is f32, not bool"},
      {"%7 = where %1, %1, %1 : f32", "`where` %7: operand %1 is f32, not bool"},
      {"%7 = where %3, %1, %2 : f32", "`where` %7: operand %2 is i32, but the one before has dtype f32"},
      {"%7 = where %3, %1, %1 : i32", "`where` %7: the result's dtype is i32, not f32"},
      {"%7 = cast %1 : u8", ""},
      {"%7 = promote %2 : f16", ""},
      {"%7 = promote %1 : f16", ""},
      {"%7 = promote %1 : i32", "`promote` %7: f32 does not promote to i32"},
      {"%7 = promote %2 : i8", "`promote` %7: i32 does not promote to i8"},
      {"%7 = rand %2, %1 : f32", "`rand` %7: operand %1 is f32, not an integer"},
      {"%7 = rand %2, %2 : f64", "`rand` %7: the result's dtype is f64, not f32"},
  });
}

TEST(Verify, ConstantsFitTheirDtype) {
  expect_bodies({
      {"%7 = constant 255 : u8", ""},
      {"%7 = constant -1 : u8", "`constant` %7: -1 does not fit u8"},
      {"%7 = constant -128 : i8", ""},
      {"%7 = constant 128 : i8", "`constant` %7: 128 does not fit i8"},
      {"%7 = constant 2 : bool", "`constant` %7: 2 does not fit bool"},
      {"%7 = constant 2147483648 : i32", "`constant` %7: 2147483648 does not fit i32"},
      {"%7 = constant -9223372036854775808 : i64", ""},
      {"%7 = constant 1 : f32[4]", "`constant` %7: the result is f32[4], not a scalar"},
  });
}

TEST(Verify, Indices) {
  expect_bodies({
      {"%7 = arange : f32[4]", "`arange` %7: the result is f32[4], not integers of one dimension"},
      {"%7 = arange : i32", "`arange` %7: the result is i32, not integers of one dimension"},
      {"%7 = arange : i64[b0]", ""},
      {"%7 = tile_index %0 b1 : i32[b0]", "`tile_index` %7: no tile of block b1 is active"},
      {"%7 = tile_index %2 b0 : i32[b0]", "`tile_index` %7: operand %2 is not the begin %0 of the tile of block b0"},
      {"%7 = tile_index %0 b0 : i64[b0]", "`tile_index` %7: the result is i64[b0], not i32[b0]"},
      {"%7 = load t0[%1] : f32", "`load` %7: index operand %1 is f32, not integer"},
      {"%7 = load t0[%3] : f32", "`load` %7: index operand %3 is bool, not integer"},
      {"%7 = load t0[%2] mask %2 : f32", "`load` %7: mask operand %2 is i32, not bool"},
      {"%7 = load t0[%2] : f16", "`load` %7: the result's dtype is f16, not f32"},
      {"%7 = load t0[%2] : f32[5]", ""},
      {"store t0[%2], %6", ""},
      {"store t0[%1], %1", "`store`: index operand %1 is f32, not integer"},
      {"store t0[%5], %1", "`store`: operand %5 is i32[3], but its map is for 0 dimensions"},
      {"store t0[%2], %1 mask %2", "`store`: mask operand %2 is i32, not bool"},
  });
}

TEST(Verify, Shapes) {
  expect_bodies({
      {"%7 = reduce sum %5 axis=1 : i64", "`reduce` %7: axis 1 is not in operand %5 is i32[3]"},
      {"%7 = reduce sum %5 axis=0 : i32", "`reduce` %7: result %7 is i32, not i64"},
      {"%7 = reduce argmax %5 axis=0 : i64", ""},
      {"%7 = reduce any %5 axis=0 : bool", ""},
      {"%7 = reduce amin %5 axis=0 : i32[1]", "`reduce` %7: result %7 is i32[1], not i32"},
      {"%7 = permute %5 [0, 1] : i32[3]",
       "`permute` %7: [0, 1] is no permutation of the dimensions, operand %5 is i32[3]"},
      {"%7 = permute %5 [1] : i32[3]", "`permute` %7: [1] is no permutation of the dimensions, operand %5 is i32[3]"},
      {"%7 = permute %5 [0] : i64[3]", "`permute` %7: result %7 is i64[3], not i32[3]"},
      {"%7 = reshape %5 : i32[1, 3]", ""},
      {"%7 = reshape %5 : f32[3]", "`reshape` %7: the result's dtype is f32, not i32"},
      {"%7 = reshape %5 : i32[2]", "`reshape` %7: operand %5 is i32[3], which has not as many elements as i32[2]"},
      {"%7, %8 = split %5 : i32, i32", "`split` %7, %8: operand %5 is i32[3], whose last dimension is not of size 2"},
      {"%9 = arange : i32[2]\n %7, %8 = split %9 : i32, i64", "`split` %7, %8: result %8 is i64, not i32"},
      {"%7 = join %4, %5 : i32[3, 2]", "`join` %7: operand %5 is i32[3], but the other one is i32[1]"},
      {"%7 = join %5, %5 : i32[2, 3]", "`join` %7: result %7 is i32[2, 3], not i32[3, 2]"},
  });
}

TEST(Verify, Loops) {
  expect_breaches({
      {"for_tile b1", "for_tile b9", "`for_tile` %8 \"row\": there is no block b9"},
      {"for_tile b1", "for_tile b0", "`for_tile` %8 \"row\": a tile of block b0 is already active here"},
      {"b1 %5, %4", "b1 %5, %3", "`for_tile` %8 \"row\": bound %3 is i32[b0], not an integer scalar"},
      {"%4, %1 (", "%4, %6 (", "`for_grid`: bound %6 is f32, not an integer scalar"},
      {", %10: f32[b0])", ")", "`for_tile` %8 \"row\": the region has 1 arguments, 2 needed"},
      {"%9 \"n.begin\": i64", "%9 \"n.begin\": i32", "`for_tile` %8 \"row\": argument %9 \"n.begin\" is i32, not i64"},
      {"%10: f32[b0]", "%10: f16[b0]", "`for_tile` %8 \"row\": carried %7 is f32[b0], but %10 is f16[b0]"},
      {"carry(%7) : f32[b0]", "carry(%7) : f32[b1]",
       "`for_tile` %8 \"row\": carried %7 is f32[b0], but %8 \"row\" is f32[b1]"},
      {"yield %15\n", "\n", "`for_tile` %8 \"row\": a region does not end with `yield`"},
      {"yield %15\n", "yield\n", "`for_tile` %8 \"row\": a region yields 0 values, 1 needed"},
      {"yield %15\n", "yield %13\n",
       "`for_tile` %8 \"row\": yielded %13 \"values\" is f32[b0, b1], but result %8 \"row\" is f32[b0]"},
  });
}

TEST(Verify, Branches) {
  expect_breaches({
      {"if_else %23 :", "if_else %5 :", "`if_else` %24: condition %5 is i64, not a scalar bool"},
      {"yield %7\n", "yield\n", "`if_else` %24: a region yields 0 values, 1 needed"},
      {"yield %7\n", "yield %5\n", "`if_else` %24: yielded %5 is i64, but result %24 is f32[b0]"},
  });
  Program p = parsed(structured_text());
  for (Op& op : p.steps[1].launch.body.ops) {
    if (op.kind == OpKind::if_else) op.regions[0].args.push_back(0);
  }
  EXPECT_EQ(verdict(p), "`if_else` %24: a branch has arguments");
}

TEST(Verify, SameBlockOneAfterTheOther) {
  const std::string loop =
      " = constant 0 : i64\n for_tile b1 %7, %7 (%8: i64) {\n yield\n }\n for_tile b1 %7, %7 (%9: i64) {\n yield\n }";
  std::string text = with_body("%7" + loop);
  text.insert(text.find("storage"), "block b1 \"n\" size=8 min=1 max=16\n");
  EXPECT_EQ(verdict(parsed(text)), "");
}

TEST(Verify, PointsAtTheText) {
  const Status status = verify(parsed(with_body("%7 = exp %2 : i32")));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(diag::render(status.error()),
            "test.ir:14:2: error[3004 IrInvalid]: `exp` %7: operand %2 is i32, not floating\n"
            " 14 |  %7 = exp %2 : i32\n"
            "    |  ^~~~~~~~~~~~~~~~~\n");
}

}  // namespace
}  // namespace hc::ir
