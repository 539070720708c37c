// Simplification: what goes, what stays, and that every stored program is still legal afterwards.
#include "pass/simplify.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace hc::pass {
namespace {

ir::Program read(const std::string& name, const std::string& text) {
  auto program = ir::parse(std::make_shared<diag::Source>(name, text));
  EXPECT_TRUE(program) << diag::render(program.error());
  return std::move(program).value();
}

constexpr const char* kText = R"(program "small" index=i32
storage s0 "x" f32 8 param 0
storage s1 "out" f32 8 alloc
tensor t0 "x" s0 f32[8] strides[1] offset=0
tensor t1 "out" s1 f32[8] strides[1] offset=0
launch "small" {
  axis "once" grid 0..1 step 1
  body(%0: i64) {
    %1 = arange : i32[8]
    %2 = load t0[%1] : f32[8]
    %3 = load t0[%1] : f32[8]
    %4 = constant 0 : f32
    %5 = add %4, %2 : f32[8]
    %6 = mul %5, %3 : f32[8]
    %7 = mul %2, %2 : f32[8]
    %8 = sub %6, %7 : f32[8]
    store t1[%1], %8
    %9 = load t1[%1] : f32[8]
    store t1[%1], %8
    %10 = load t1[%1] : f32[8]
    %11 = add %9, %10 : f32[8]
    store t1[%1], %11
  }
}
return t1
)";

size_t count(const ir::Program& program, ir::OpKind kind) {
  size_t n = 0;
  for (const ir::Op& op : program.steps[0].launch.body.ops) n += op.kind == kind;
  return n;
}

TEST(Simplify, MergesEqualOperations) {
  const ir::Program program = simplify(read("small.ir", kText));
  EXPECT_TRUE(ir::verify(program));
  EXPECT_EQ(count(program, ir::OpKind::mul), 1u) << ir::print(program);
  EXPECT_EQ(count(program, ir::OpKind::add), 1u);
  // The two loads of x are one; those of what the launch writes may differ.
  EXPECT_EQ(count(program, ir::OpKind::load), 3u);
}

TEST(Simplify, IsIdempotentAndKeepsProgramsLegal) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HC_SOURCE_DIR) + "/test/programs")) {
    if (entry.path().extension() != ".ir") continue;
    const std::string path = entry.path().string();
    const ir::Program once = simplify(read(path, read_file(path).value_or("")));
    const Status status = ir::verify(once);
    EXPECT_TRUE(status) << path << diag::render(status.error());
    EXPECT_EQ(ir::print(simplify(once)), ir::print(once)) << path;
  }
}

}  // namespace
}  // namespace hc::pass
