// Kernel IR: the text form reads back to the same text, and the verifier names the rule that a program breaks.
#include "ir/kernel_ir.h"

#include <gtest/gtest.h>

namespace hc::ir {
namespace {

constexpr const char* kText = R"(kernel "rows" threads=2 schedule=dynamic chunk=4
storage s0 "x" bf16 4096 param 0
storage s1 "out" f32 64 alloc
storage s2 "at" i64 64 param 1
fill s1[0..64] nan
launch "rows" {
  local l0 "v3" f32 128
  loop grid %0 = 0 to 64 step 8 {
    %1: i64 = index %0 * -1 + 64
    %2: i64 = constant 8
    %3: i64 = minimum %1, %2
    fill l0[0], -inf
    loop serial %4 = 0 to %3 * 1 {
      %5: f32[16] = accumulator sum 0 copies 4
      loop vector %6 = 0 to 64 valid %3 * 1 step 16 unroll 4 {
        prefetch s0[%4 * 64 + %6 * 1 + 64] stride 1 level 2 part 1 of 2
        %7: bf16[16] = load s0[%4 * 64 + %6 * 1 + %0 * 64] stride 1
        %8: f32[16] = promote %7
        %9: i64[16] = lanes %6 * 1 stride 1
        %10: bool[16] = lt %9, %3
        %11: f32[16] = load l0[0] stride 1 gather %9 mask %10
        %12: f32[16] = add %8, %11
        accumulate %5, %12 mask %10 at 0 stride 0
        store l0[%6 * 1] stride 1, %12 exact
      }
      %13: f32 = collapse %5
      %14: f32 = var %13
      %15: f32 = constant 0.5
      %16: bool = gt %13, %15
      branch %16 {
        set %14, %15
      } else {
        set %14, %13
      }
      store s1[%0 * 1 + %4 * 1], %14 streaming
    }
  }
}
)";

Result<KernelProgram> read(const std::string& text) {
  return parse_kernel(std::make_shared<diag::Source>("kernel.txt", text));
}

std::string problem(const std::string& text) {
  const Result<KernelProgram> program = read(text);
  if (!program) return program.error().message;
  const Status status = verify(program.value());
  return status ? "" : status.error().message;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(KernelIr, TextReadsBack) {
  const Result<KernelProgram> program = read(kText);
  ASSERT_TRUE(program) << diag::render(program.error());
  EXPECT_EQ(print(program.value()), kText);
  EXPECT_EQ(problem(kText), "");
  const Result<KernelProgram> again = read(print(program.value()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again.value().steps[1].launch.body, program.value().steps[1].launch.body);
}

TEST(KernelIr, VerifierNamesTheRule) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(problem(with(kText, "collapse %5", "collapse %8")), "%8 is used where it is not defined");
  has(problem(with(kText, "%15: f32 =", "%13: f32 =")), "defined a second time");
  has(problem(with(kText, "f32[16] = promote", "f32[8] = promote")), "has 8 lanes, but the loop takes 16");
  has(problem(with(kText, "add %8, %11", "add %8, %9")), "dtypes differ");
  has(problem(with(kText, "gather %9", "gather %8")), "is not i64");
  has(problem(with(kText, "store s1[", "store s7[")), "there is no memory 7");
  has(problem(with(kText, "loop serial %4", "loop grid %4")), "grid loop stands inside");
  has(problem(with(kText, "loop serial %4 = 0 to %3 * 1", "loop serial %4 = 0 to %15 * 1")), "not defined");
  has(problem(with(kText, "mask %10 at", "mask %12 at")), "mask is no bool");
}

TEST(KernelIr, ParserPointsAtTheWord) {
  const Result<KernelProgram> program = read(with(kText, "promote %7", "promoted %7"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::ir_syntax);
  EXPECT_NE(program.error().message.find("`promoted` is no operation"), std::string::npos);
  EXPECT_TRUE(program.error().span);
}

}  // namespace
}  // namespace hc::ir
