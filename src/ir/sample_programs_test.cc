// Builds the programs of sample_programs.h and checks that they are valid.
#include "ir/sample_programs.h"

#include <gtest/gtest.h>

#include <memory>

#include "ir/builder.h"

namespace hc::ir {
namespace {

/// Operand dtypes and result dtype that fit an elementwise op.
struct Signature {
  std::vector<DType> operands;
  DType result;
};

Signature signature(OpKind kind) {
  const auto count = static_cast<size_t>(op_arity(kind));
  if (kind == OpKind::rand) return {{DType::i64, DType::i64}, DType::f32};
  if (kind == OpKind::promote) return {{DType::f16}, DType::f32};
  if (kind == OpKind::cast) return {{DType::f32}, DType::i8};
  switch (op_rule(kind)) {
    case TypeRule::integral:
      return {std::vector(count, DType::i32), DType::i32};
    case TypeRule::compare:
      return {std::vector(count, DType::bf16), DType::boolean};
    case TypeRule::logical:
      return {std::vector(count, DType::f32), DType::boolean};
    case TypeRule::select:
      return {{DType::boolean, DType::f64, DType::f64}, DType::f64};
    default:
      return {std::vector(count, DType::f32), DType::f32};
  }
}

}  // namespace

Program softmax_program() {
  Program p;
  p.name = "softmax";
  p.blocks.push_back({"tile_n", 4, 1, 64, 64, false});
  p.storages.push_back({"x", DType::f32, 64 * 128, StorageRole::param, 0});
  p.storages.push_back({"out", DType::f32, 64 * 128, StorageRole::alloc, -1});
  p.tensors.push_back({"x", 0, DType::f32, {64, 128}, {128, 1}, 0});
  p.tensors.push_back({"out", 1, DType::f32, {64, 128}, {128, 1}, 0});
  Step step;
  Launch& launch = step.launch;
  launch.name = "softmax";
  launch.axes.push_back({"tile_n", 0, 0, 64, 4});
  Builder b(launch);
  const Dim rows{0, 4};
  const Dim columns{kNone, 128};
  const Type tile{DType::f32, {rows, columns}};
  const ValueId begin = b.add_value({DType::i64, {}}, "tile_n.begin");
  launch.body.args = {begin};
  const ValueId i = b.tile_index(begin, DType::i32, 0, 4);
  const ValueId j = b.arange(DType::i32, columns);
  const ValueId values = b.load(0, {{i, {0}}, {j, {1}}}, tile);
  launch.values[static_cast<size_t>(values)].name = "values";
  const ValueId amax = b.reduce(ReduceKind::amax, values, 1);
  const ValueId shifted = b.elementwise(OpKind::sub, {{values, {}}, {amax, {0}}}, tile);
  const ValueId exps = b.elementwise(OpKind::exp, std::vector<ValueId>{shifted});
  const ValueId sum = b.reduce(ReduceKind::sum, exps, 1);
  const ValueId result = b.elementwise(OpKind::div, {{exps, {}}, {sum, {0}}}, tile);
  b.store(1, result, {{i, {0}}, {j, {1}}});
  p.steps.push_back(std::move(step));
  p.returned.push_back({Returned::Kind::tensor, 1, 0});
  return p;
}

const std::string& structured_text() {
  static const std::string text = R"(program "all" index=i32
block b0 "m" size=4 min=1 max=16 extent=10
block b1 "n" size=8 min=1 max=64
block b2 "k" size=3 min=1 max=1 fixed
tunable "unroll" = "2" of ["1", "2"]
storage s0 "x" f32 200 param 0
storage s1 "out" f32 200 alloc
storage s2 "labels" i32 10 param 1
storage s3 "y" f32 200 param 2
tensor t0 "x" s0 f32[10, 20] strides[20, 1] offset=0
tensor t1 "out" s1 f32[10, 20] strides[20, 1] offset=0
tensor t2 "labels" s2 i32[10] strides[1] offset=0
tensor t3 "y" s3 f32[2, 10] strides[0, 2] offset=181
tensor t4 "one" s3 f32[] strides[] offset=0
mutated s3
fill t1 -inf
launch "all" {
  axis "m" b0 0..10 step 4
  axis "g" grid 0..3 step 1
  body(%0 "m.begin": i64, %1: i64) {
    %2 = tile_index %0 b0 : i32[b0]
    %3 = load t2[%2] : i32[b0]
    %4 = constant 20 : i64
    %5 = constant 0 : i64
    %6 = constant 0.5 : f32
    %7 = copy %6 : f32[b0]
    %8 "row" = for_tile b1 %5, %4 carry(%7) : f32[b0] (%9 "n.begin": i64, %10: f32[b0]) {
      %11 = tile_index %9 b1 : i32[b1]
      %12 = lt %3@0, %11@1 : bool[b0, b1]
      %13 "values" = load t0[%2@0, %11@1] mask %12 : f32[b0, b1]
      %14 = reduce sum %13 axis=1 : f32[b0]
      %15 = add %10, %14 : f32[b0]
      store t1[%2@0, %11@1], %13 mask %12
      yield %15
    }
    %16 = arange : i32[6]
    %17 = reshape %16 : i32[3, 2]
    %18, %19 "odd" = split %17 : i32[3], i32[3]
    %20 = join %18, %19 : i32[3, 2]
    %21 = permute %20 [1, 0] : i32[2, 3]
    %22 = reduce argmax %21 axis=0 : i64[3]
    %23 = constant 1 : bool
    %24 = if_else %23 : f32[b0] {
      yield %8
    } else {
      yield %7
    }
    if_else %23 {
      %25 = load t4[] : f32
      store t4[], %25
      yield
    } else {
      yield
    }
    for_grid %5, %4, %1 (%26: i64) {
      yield
    }
    store t1[%2, %5], %24
  }
}
return t1, none, 0.1, nan
)";
  return text;
}

Program elementwise_program() {
  Program p;
  p.name = "elementwise";
  p.blocks.push_back({"m", 4, 1, 16, -1, false});
  Step step;
  step.launch.name = "elementwise";
  Builder b(step.launch);
  for (int k = 0; is_elementwise(static_cast<OpKind>(k)); ++k) {
    const auto kind = static_cast<OpKind>(k);
    const Signature types = signature(kind);
    std::vector<Operand> operands;
    for (DType dtype : types.operands) {
      const bool scalar = operands.size() == 1;
      const ValueId one = is_floating(dtype) ? b.constant_float(dtype, 1.5) : b.constant_int(dtype, 1);
      if (scalar) {
        operands.push_back({one, {}});
      } else {
        operands.push_back({b.elementwise(OpKind::copy, {{one, {}}}, {dtype, {{0, 4}}}), {1}});
      }
    }
    b.elementwise(kind, operands, {types.result, {{kNone, 3}, {0, 4}}});
  }
  p.steps.push_back(std::move(step));
  return p;
}

Program parsed(const std::string& text) {
  Result<Program> program = parse(std::make_shared<diag::Source>("test.ir", text));
  EXPECT_TRUE(program.ok()) << diag::render(program.error()) << text;
  return program.ok() ? std::move(program).value() : Program{};
}

std::string verdict(const Program& program) {
  const Status status = verify(program);
  return status.ok() ? "" : status.error().message;
}

TEST(SamplePrograms, AreValid) {
  EXPECT_EQ(verdict(softmax_program()), "");
  EXPECT_EQ(verdict(elementwise_program()), "");
  EXPECT_EQ(verdict(parsed(structured_text())), "");
}

TEST(Builder, InfersTypesOfSameShapeOps) {
  Launch launch;
  Builder b(launch);
  const ValueId scalar = b.constant_float(DType::f32, 2);
  const ValueId wide = b.elementwise(OpKind::copy, {{scalar, {}}}, {DType::f32, {{kNone, 3}, {kNone, 1}}});
  const ValueId tall = b.elementwise(OpKind::copy, {{scalar, {}}}, {DType::f32, {{kNone, 1}, {kNone, 5}}});
  EXPECT_EQ(to_text(b.type(b.elementwise(OpKind::add, std::vector{wide, scalar}))), "f32[3, 1]");
  EXPECT_EQ(to_text(b.type(b.elementwise(OpKind::mul, std::vector{wide, tall}))), "f32[3, 5]");
  const ValueId less = b.elementwise(OpKind::lt, std::vector{scalar, wide});
  EXPECT_EQ(to_text(b.type(less)), "bool[3, 1]");
  EXPECT_EQ(to_text(b.type(b.elementwise(OpKind::where, std::vector{less, wide, scalar}))), "f32[3, 1]");
  EXPECT_EQ(to_text(b.type(b.reduce(ReduceKind::sum, less, 0))), "i64[1]");
}

TEST(Builder, AppendsToTheInnermostOpenRegion) {
  Launch launch;
  Builder b(launch);
  Op branch;
  branch.kind = OpKind::if_else;
  branch.operands = use({b.constant_int(DType::boolean, 1)});
  branch.regions.resize(2);
  for (Region& region : branch.regions) {
    b.open(region);
    b.yield({});
    b.close();
  }
  b.append(std::move(branch), {});
  ASSERT_EQ(launch.body.ops.size(), 2u);
  EXPECT_EQ(launch.body.ops[1].regions[1].ops.at(0).kind, OpKind::yield);
}

}  // namespace hc::ir
