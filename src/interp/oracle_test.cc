// Whole programs against formulas written here: rows, masks, partial tiles, loops, branches, gathers, several steps.
#include "interp/oracle.h"

#include <fmt/format.h>

#include <cmath>

#include "interp/testing.h"

namespace hc::interp {
namespace {

/// softmax over the last dimension of an m x n tensor, b rows to a tile.
std::string softmax_text(int64_t m, int64_t n, int64_t b, std::string_view dtype = "f32") {
  return fmt::format(R"(program "softmax" index=i32
block b0 "tile_m" size={2} min=1 max=64 extent={0}
storage s0 "x" {3} {4} param 0
storage s1 "out" {3} {4} alloc
tensor t0 "x" s0 {3}[{0}, {1}] strides[{1}, 1] offset=0
tensor t1 "out" s1 {3}[{0}, {1}] strides[{1}, 1] offset=0
launch "k" {{
  axis "tile_m" b0 0..{0} step {2}
  body(%0: i64) {{
    %1 = tile_index %0 b0 : i32[b0]
    %2 = arange : i32[{1}]
    %3 = load t0[%1@0, %2@1] : {3}[b0, {1}]
    %4 = reduce amax %3 axis=1 : {3}[b0]
    %5 = sub %3, %4@0 : {3}[b0, {1}]
    %6 = exp %5 : {3}[b0, {1}]
    %7 = reduce sum %6 axis=1 : {3}[b0]
    %8 = div %6, %7@0 : {3}[b0, {1}]
    store t1[%1@0, %2@1], %8
  }}
}}
return t1
)",
                     m, n, b, dtype, m * n);
}

double softmax_at(Fixture& f, int64_t n, int64_t row, int64_t column) {
  double top = -INFINITY, sum = 0;
  for (int64_t c = 0; c < n; ++c) top = std::max(top, f.at(0, row * n + c));
  for (int64_t c = 0; c < n; ++c) sum += std::exp(f.at(0, row * n + c) - top);
  return std::exp(f.at(0, row * n + column) - top) / sum;
}

TEST(Oracle, Softmax) {
  for (const auto& [m, n, b] : {std::tuple{1, 1, 1}, {5, 7, 2}, {3, 64, 4}, {7, 131, 4}, {16, 16, 8}}) {
    Fixture f(softmax_text(m, n, b));
    const auto got = f.elements(1);
    for (int64_t i = 0; i < m * n; ++i) {
      expect_close(got[static_cast<size_t>(i)], softmax_at(f, n, i / n, i % n), 1e-4,
                   fmt::format("{}x{}/{} at {}", m, n, b, i));
    }
  }
}

TEST(Oracle, SoftmaxOfHalvesHasABoundOfAFewUlps) {
  Fixture f(softmax_text(4, 33, 2, "bf16"));
  const auto got = f.elements(1);
  for (int64_t i = 0; i < 4 * 33; ++i) {
    const double want = softmax_at(f, 33, i / 33, i % 33);
    const Element& e = got[static_cast<size_t>(i)];
    EXPECT_LE(std::fabs(e.value - want), std::ldexp(want, -8));
    EXPECT_EQ(e.value, round_to(DType::bf16, want)) << i;
    EXPECT_GT(e.bound, 0);
    EXPECT_LE(e.bound, 0.2 * want);
  }
}

TEST(Oracle, AskingForOneElementCostsOneRow) {
  const int64_t n = 1024;
  Fixture f(softmax_text(4096, n, 64));
  Oracle oracle(f.program(), f.params());
  const int64_t number = 4000 * n + 77;
  const auto got = oracle.elements(1, std::span(&number, 1));
  ASSERT_TRUE(got.ok());
  expect_close(got.value()[0], softmax_at(f, n, 4000, 77), 1e-3, "one element");
  EXPECT_LT(oracle.work(), 20 * n);
}

/// Rows of x summed through an accumulator of one tile of columns, in tiles that need not divide the row.
std::string row_sum_text(int64_t m, int64_t n, int64_t bm, int64_t bn) {
  return fmt::format(R"(program "sum" index=i32
block b0 "tile_m" size={2} min=1 max=64
block b1 "tile_n" size={3} min=1 max=64
storage s0 "x" f32 {4} param 0
storage s1 "out" f32 {0} alloc
tensor t0 "x" s0 f32[{0}, {1}] strides[{1}, 1] offset=0
tensor t1 "out" s1 f32[{0}] strides[1] offset=0
launch "k" {{
  axis "tile_m" b0 0..{0} step {2}
  body(%0: i64) {{
    %1 = tile_index %0 b0 : i32[b0]
    %2 = constant 0 : f32
    %3 = copy %2 : f32[b0, b1]
    %4 = constant 0 : i64
    %5 = constant {1} : i64
    %6 = for_tile b1 %4, %5 carry(%3) : f32[b0, b1] (%7: i64, %8: f32[b0, b1]) {{
      %9 = tile_index %7 b1 : i32[b1]
      %10 = load t0[%1@0, %9@1] : f32[b0, b1]
      %11 = add %8, %10 : f32[b0, b1]
      yield %11
    }}
    %12 = reduce sum %6 axis=1 : f32[b0]
    store t1[%1], %12
  }}
}}
return t1
)",
                     m, n, bm, bn, m * n);
}

TEST(Oracle, AccumulatorsOfPartialTilesSumEveryElementOnce) {
  for (const auto& [m, n, bm, bn] : {std::tuple{1, 1, 1, 1}, {3, 17, 2, 8}, {5, 8, 4, 16}, {9, 61, 4, 16}}) {
    Fixture f(row_sum_text(m, n, bm, bn));
    const auto got = f.elements(1);
    for (int64_t r = 0; r < m; ++r) {
      double want = 0, sizes = 0;
      for (int64_t c = 0; c < n; ++c) {
        want += f.at(0, r * n + c);
        sizes += std::fabs(f.at(0, r * n + c));
      }
      const Element& e = got[static_cast<size_t>(r)];
      EXPECT_NEAR(e.value, want, 1e-6 * sizes);
      EXPECT_LE(e.bound, static_cast<double>(n) * 0x1p-23 * sizes);
    }
  }
}

TEST(Oracle, ReductionsSkipLanesOutsideTheTile) {
  // exp of the zeros that a load gives outside the tile is 1; only the reduction's mask keeps it from the sum.
  const char* text = R"(program "p" index=i32
block b0 "t" size=8 min=1 max=8
storage s0 "x" f32 5 param 0
storage s1 "out" f32 3 alloc
tensor t0 "x" s0 f32[5] strides[1] offset=0
tensor t1 "out" s1 f32[3] strides[1] offset=0
launch "k" {
  axis "g" grid 0..1 step 1
  body(%0: i64) {
    %1 = constant 0 : i64
    %2 = constant 5 : i64
    %3 = constant 0 : f32
    %4, %5, %6 = for_tile b0 %1, %2 carry(%3, %3, %3) : f32, f32, f32 (%7: i64, %8: f32, %9: f32, %10: f32) {
      %11 = tile_index %7 b0 : i32[b0]
      %12 = load t0[%11] : f32[b0]
      %13 = exp %12 : f32[b0]
      %14 = reduce sum %13 axis=0 : f32
      %15 = reduce prod %12 axis=0 : f32
      %16 = neg %13 : f32[b0]
      %17 = reduce amax %16 axis=0 : f32
      yield %14, %15, %17
    }
    %18 = constant 0 : i64
    %19 = constant 1 : i64
    %20 = constant 2 : i64
    store t1[%18], %4
    store t1[%19], %5
    store t1[%20], %6
  }
}
return t1
)";
  Fixture f(text);
  double sum = 0, product = 1, least = INFINITY;
  for (int i = 0; i < 5; ++i) {
    sum += std::exp(f.at(0, i));
    product *= f.at(0, i);
    least = std::min(least, std::exp(f.at(0, i)));
  }
  const auto got = f.elements(1);
  expect_close(got[0], sum, 1e-5, "sum");
  expect_close(got[1], product, 1e-5, "prod");
  expect_close(got[2], -least, 1e-5, "amax");
}

TEST(Oracle, DeviceAllocationsOfABlockHaveAllTheirLanesWithoutATile) {
  // ones([block]) summed where no tile of the block is active counts every lane: mean over a tile divides by the block
  // size.
  const char* text = R"(program "p" index=i32
block b0 "t" size=8 min=1 max=8
storage s1 "out" f32 1 alloc
tensor t1 "out" s0 f32[1] strides[1] offset=0
launch "k" {
  axis "g" grid 0..1 step 1
  body(%0: i64) {
    %1 = constant 1 : f32
    %2 = copy %1 : f32[b0]
    %3 = reduce sum %2 axis=0 : f32
    store t0[%0], %3
  }
}
return t0
)";
  std::string fixed = text;
  fixed.replace(fixed.find("s1 \"out\" f32 1"), 2, "s0");
  fixed.replace(fixed.find("tensor t1"), 9, "tensor t0");
  Fixture f(fixed);
  EXPECT_EQ(f.elements(0)[0].value, 8);
}

/// Two steps: partial column sums per block of rows (the block's number picks the row), then their sum.
std::string two_step_text(int64_t m, int64_t n, int64_t bm, int64_t bn) {
  const int64_t parts = (m + bm - 1) / bm;
  return fmt::format(R"(program "colsum" index=i32
block b0 "tile_m" size={2} min=1 max=64
block b1 "tile_n" size={3} min=1 max=64
storage s0 "x" f32 {4} param 0
storage s1 "partial" f32 {6} alloc
storage s2 "out" f32 {1} alloc
tensor t0 "x" s0 f32[{0}, {1}] strides[{1}, 1] offset=0
tensor t1 "partial" s1 f32[{5}, {1}] strides[{1}, 1] offset=0
tensor t2 "out" s2 f32[{1}] strides[1] offset=0
launch "first" {{
  axis "tile_m" b0 0..{0} step {2}
  body(%0: i64) {{
    %1 = tile_index %0 b0 : i32[b0]
    %2 = arange : i32[{1}]
    %3 = load t0[%1@0, %2@1] : f32[b0, {1}]
    %4 = reduce sum %3 axis=0 : f32[{1}]
    %5 = constant {2} : i64
    %6 = floor_divide %0, %5 : i64
    store t1[%6, %2], %4
  }}
}}
launch "second" {{
  axis "tile_n" b1 0..{1} step {3}
  body(%0: i64) {{
    %1 = tile_index %0 b1 : i32[b1]
    %2 = arange : i32[{5}]
    %3 = load t1[%2@0, %1@1] : f32[{5}, b1]
    %4 = reduce sum %3 axis=0 : f32[b1]
    store t2[%1], %4
  }}
}}
return t2
)",
                     m, n, bm, bn, m * n, parts, parts * n);
}

TEST(Oracle, LaterStepsReadWhatEarlierOnesWrote) {
  const int64_t m = 37, n = 21;
  Fixture f(two_step_text(m, n, 8, 4));
  const auto got = f.elements(2);
  for (int64_t c = 0; c < n; ++c) {
    double want = 0, sizes = 0;
    for (int64_t r = 0; r < m; ++r) {
      want += f.at(0, r * n + c);
      sizes += std::fabs(f.at(0, r * n + c));
    }
    EXPECT_NEAR(got[static_cast<size_t>(c)].value, want, 1e-6 * sizes);
    EXPECT_LE(got[static_cast<size_t>(c)].bound, 40 * 0x1p-24 * sizes);
  }
}

TEST(Oracle, ColumnsOfATwoStepProgramCostOnlyTheirColumns) {
  const int64_t m = 1024, n = 2048;
  Fixture f(two_step_text(m, n, 64, 32));
  Oracle oracle(f.program(), f.params());
  const int64_t columns[] = {0, 1, 2047};
  ASSERT_TRUE(oracle.elements(2, columns).ok());
  EXPECT_LT(oracle.work(), 20 * m);
}

TEST(Oracle, InPlaceTilesReadTheOldAndThenTheirOwnBytes) {
  const char* text = R"(program "p" index=i32
block b0 "t" size=4 min=1 max=8
storage s0 "x" f32 10 param 0
tensor t0 "x" s0 f32[10] strides[1] offset=0
mutated s0
launch "k" {
  axis "t" b0 0..10 step 4
  body(%0: i64) {
    %1 = tile_index %0 b0 : i32[b0]
    %2 = load t0[%1] : f32[b0]
    %3 = constant 2 : f32
    %4 = mul %2, %3 : f32[b0]
    store t0[%1], %4
    %5 = load t0[%1] : f32[b0]
    %6 = constant 1 : f32
    %7 = add %5, %6 : f32[b0]
    store t0[%1], %7
  }
}
return
)";
  Fixture f(text);
  const auto got = f.elements(0);
  for (int64_t i = 0; i < 10; ++i)
    expect_close(got[static_cast<size_t>(i)], 2 * f.at(0, i) + 1, 1e-6, fmt::format("{}", i));
}

TEST(Oracle, GatherMaskAndFill) {
  const char* text = R"(program "p" index=i32
block b0 "t" size=4 min=1 max=8
storage s0 "x" f32 12 param 0
storage s1 "pick" i64 5 param 1
storage s2 "out" f32 8 alloc
tensor t0 "x" s0 f32[4, 3] strides[3, 1] offset=0
tensor t1 "pick" s1 i64[5] strides[1] offset=0
tensor t2 "out" s2 f32[8] strides[1] offset=0
fill t2 7
launch "k" {
  axis "t" b0 0..5 step 4
  body(%0: i64) {
    %1 = tile_index %0 b0 : i32[b0]
    %2 = load t1[%1] : i64[b0]
    %3 = constant 2 : i64
    %4 = load t0[%2, %3] : f32[b0]
    %5 = constant 3 : i32
    %6 = lt %1, %5 : bool[b0]
    store t2[%1], %4 mask %6
  }
}
return t2
)";
  std::string other = text;
  Fixture f(other);
  for (int i = 0; i < 5; ++i) store_int(f.buffer(1).data(), DType::i64, i, (3 * i) % 4);
  const auto got = f.elements(2);
  for (int64_t i = 0; i < 8; ++i) {
    const double want = i < 3 ? f.at(0, (3 * i) % 4 * 3 + 2) : 7;
    EXPECT_EQ(got[static_cast<size_t>(i)].value, want) << i;
    EXPECT_EQ(got[static_cast<size_t>(i)].bound, 0);
    EXPECT_TRUE(got[static_cast<size_t>(i)].written);
  }
}

TEST(Oracle, BranchesAndGridLoops) {
  const char* text = R"(program "p" index=i64
storage s0 "out" i64 6 alloc
tensor t0 "out" s0 i64[6] strides[1] offset=0
launch "k" {
  axis "g" grid 0..6 step 1
  body(%0: i64) {
    %1 = constant 0 : i64
    %2 = constant 2 : i64
    %3 = for_grid %1, %0, %2 carry(%1) : i64 (%4: i64, %5: i64) {
      %6 = add %5, %4 : i64
      yield %6
    }
    %7 = constant 3 : i64
    %8 = lt %0, %7 : bool
    %9 = if_else %8 : i64 {
      yield %3
    } else {
      %10 = neg %3 : i64
      yield %10
    }
    store t0[%0], %9
  }
}
return t0
)";
  Fixture f(text);
  const auto got = f.elements(0);
  const int64_t want[] = {0, 0, 0, -2, -2, -6};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(got[i].exact, want[i]) << i;
}

TEST(Oracle, OutOfBoundsIsAnErrorAtTheOp) {
  const char* text = R"(program "p" index=i32
block b0 "t" size=8 min=1 max=8
storage s0 "x" f32 13 param 0
storage s1 "out" f32 16 alloc
tensor t0 "x" s0 f32[13] strides[1] offset=0
tensor t1 "out" s1 f32[16] strides[1] offset=0
launch "k" {
  axis "t" b0 0..16 step 8
  body(%0: i64) {
    %1 = tile_index %0 b0 : i32[b0]
    %2 = load t0[%1] : f32[b0]
    store t1[%1], %2
  }
}
return t1
)";
  Fixture f(text);
  const auto got = f.try_elements(1);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Code::out_of_bounds);
  EXPECT_EQ(got.error().message, "index 13 of dimension 0 is outside of `x`, which has size 13 there");
  EXPECT_TRUE(static_cast<bool>(got.error().span));
}

TEST(Oracle, UnwrittenElementsSaySo) {
  Fixture f(softmax_text(2, 3, 2));
  f.program().steps.clear();
  for (const Element& e : f.elements(1)) EXPECT_FALSE(e.written);
  const auto x = f.elements(0);
  EXPECT_FALSE(x[0].written);
  EXPECT_EQ(x[0].value, f.at(0, 0));
}

TEST(Check, AcceptsTheIdealAndRejectsSmallLies) {
  const int64_t m = 33, n = 200;
  Fixture f(softmax_text(m, n, 4));
  const auto right = f.ideal_run();
  const CheckOptions options{4096, 3, 0};
  const auto verdict = [&](const std::vector<TensorBuffer>& run) {
    auto outcome = check(f.program(), f.params(), pointers(run), options);
    EXPECT_TRUE(outcome.ok());
    return outcome.value();
  };
  EXPECT_EQ(verdict(right).wrong, 0);
  EXPECT_GE(verdict(right).checked, 4000);
  const auto spoil = [&](auto change) {
    auto run = f.ideal_run();
    change(static_cast<float*>(run[1].data()));
    return verdict(run).wrong;
  };
  EXPECT_GT(spoil([&](float* y) {
              for (int64_t i = 0; i < m * n; ++i) y[i] *= 1.001f;
            }),
            3900);
  EXPECT_GT(spoil([&](float* y) {
              for (int64_t r = 0; r < m; ++r) std::swap(y[r * n], y[r * n + n - 1]);
            }),
            60);
  EXPECT_EQ(spoil([&](float* y) { y[m * n - 1] = NAN; }), 1);
  EXPECT_EQ(spoil([&](float* y) { y[0] = 0; }), 1);
}

TEST(Check, LooksAtMutatedParameters) {
  Fixture f(softmax_text(4, 8, 2));
  ir::Program& p = f.program();
  p.storages[1].role = ir::StorageRole::param;
  p.storages[1].param_index = 1;
  p.mutated = {1};
  p.returned.clear();
  const auto run = f.ideal_run();
  auto outcome = check(p, f.params(), pointers(run), {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().checked, 32);
  EXPECT_EQ(outcome.value().wrong, 0);
}

}  // namespace
}  // namespace hc::interp
