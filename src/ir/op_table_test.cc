// Tests of the op table and of its page in docs/ir.md.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ir/tile_ir.h"

namespace hc::ir {
namespace {

TEST(OpTable, NamesReadBack) {
  for (int k = 0; k <= static_cast<int>(OpKind::yield); ++k) {
    const auto kind = static_cast<OpKind>(k);
    EXPECT_EQ(op_from_name(op_name(kind)), kind);
    EXPECT_FALSE(op_sentence(kind).empty());
    EXPECT_EQ(op_arity(kind) > 0, is_elementwise(kind)) << op_name(kind);
  }
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(reduce_from_name(reduce_name(static_cast<ReduceKind>(k))), static_cast<ReduceKind>(k));
  EXPECT_EQ(op_from_name("matmul"), std::nullopt);
  EXPECT_EQ(reduce_from_name("mean"), std::nullopt);
}

TEST(OpTable, RowsSayWhatTheyMean) {
  EXPECT_EQ(op_name(OpKind::where), "where");
  EXPECT_EQ(op_arity(OpKind::where), 3);
  EXPECT_EQ(op_rule(OpKind::where), TypeRule::select);
  EXPECT_EQ(op_rule(OpKind::lt), TypeRule::compare);
  EXPECT_FALSE(is_elementwise(OpKind::reduce));
}

TEST(OpTable, ReduceDtypes) {
  EXPECT_EQ(reduce_dtype(ReduceKind::sum, DType::u8), DType::i64);
  EXPECT_EQ(reduce_dtype(ReduceKind::prod, DType::boolean), DType::i64);
  EXPECT_EQ(reduce_dtype(ReduceKind::sum, DType::f16), DType::f16);
  EXPECT_EQ(reduce_dtype(ReduceKind::amax, DType::i8), DType::i8);
  EXPECT_EQ(reduce_dtype(ReduceKind::argmin, DType::f32), DType::i64);
  EXPECT_EQ(reduce_dtype(ReduceKind::any, DType::f32), DType::boolean);
}

TEST(OpTable, NumelOfScalarsIsOne) {
  EXPECT_EQ(Type{}.numel(), 1);
  EXPECT_EQ((Type{DType::f32, {{0, 4}, {kNone, 3}}}).numel(), 12);
  EXPECT_EQ(Tensor{}.numel(), 1);
}

TEST(OpTable, TheManualHoldsTheReference) {
  std::ifstream file(HC_SOURCE_DIR "/docs/ir.md");
  const std::string manual{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(manual.find(op_reference()), std::string::npos)
      << "docs/ir.md does not hold the table below; put it there\n"
      << op_reference();
}

}  // namespace
}  // namespace hc::ir
