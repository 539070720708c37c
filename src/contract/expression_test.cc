// Expressions of task files: values, exactness and errors with their places.
#include "contract/expression.h"

#include <gtest/gtest.h>

namespace hc::contract {
namespace {

const Parameters kSizes{
    {"m", {true, 4096, 0, {}}}, {"n", {true, 2560, 0, {}}}, {"eps", {false, 0, 1e-5, {}}}, {"d", {true, 0, 0, "bf16"}}};

std::string value(std::string_view text) {
  const Evaluation e = evaluate(text, kSizes);
  return e.ok() ? e.value.text() : "error: " + e.error.message;
}

TEST(Expression, Values) {
  EXPECT_EQ(value("2 * 4 * m * n"), "83886080");
  EXPECT_EQ(value("2*m*n + 3"), "20971523");
  EXPECT_EQ(value("-m + 1"), "-4095");
  EXPECT_EQ(value("(m + n) * 2"), "13312");
  EXPECT_EQ(value("m / 2"), "2048");
  EXPECT_EQ(value("m / 3"), "1365.3333333333333");
  EXPECT_EQ(value("m // 3"), "1365");
  EXPECT_EQ(value("-7 // 2"), "-4") << "unary minus binds tighter than //, and // rounds down";
  EXPECT_EQ(value("-7 % 3"), "2");
  EXPECT_EQ(value("2 ** 3 ** 2"), "512") << "** groups to the right";
  EXPECT_EQ(value("-2 ** 2"), "-4");
  EXPECT_EQ(value("2 ** -1"), "0.5");
  EXPECT_EQ(value("min(m, n) + max(1, 2)"), "2562");
  EXPECT_EQ(value("ceil_div(n, 1000)"), "3");
  EXPECT_EQ(value("1e-5"), "1e-05");
  EXPECT_EQ(value("eps * 2"), "2e-05");
  EXPECT_EQ(value("9007199254740993 + 0"), "9007199254740993") << "integers stay exact above 2^53";
  EXPECT_EQ(value(" m\t"), "4096");
}

TEST(Expression, Errors) {
  EXPECT_EQ(value("m *"), "error: a number, a parameter or `(` was expected at the end of the expression");
  EXPECT_EQ(value("(m"), "error: this `(` is never closed");
  EXPECT_EQ(value("m n"), "error: an operator or the end of the expression was expected");
  EXPECT_EQ(value("k + 1"), "error: the variant has no parameter `k`");
  EXPECT_EQ(value("sqrt(m)"), "error: there is no function `sqrt`");
  EXPECT_EQ(value("m / 0"), "error: this divides by zero");
  EXPECT_EQ(value("m % (n - n)"), "error: this divides by zero");
  EXPECT_EQ(value("m ** 9"), "error: the value does not fit 64 bits");
  EXPECT_EQ(value("1e308 * 10"), "error: the value is not finite");
  EXPECT_EQ(value("m ? n"), "error: an operator or the end of the expression was expected");
  EXPECT_EQ(value("$"), "error: `$` cannot stand in an expression");
  EXPECT_EQ(value("min(m)"), "error: `min` takes two arguments");
  EXPECT_EQ(value(""), "error: a number, a parameter or `(` was expected at the end of the expression");
}

TEST(Expression, ErrorsPointAtTheirPlace) {
  const ExpressionError e = evaluate("2 * kk * m", kSizes).error;
  EXPECT_EQ(e.begin, 4u);
  EXPECT_EQ(e.end, 6u);
  EXPECT_EQ(e.fix, "its parameters are m, n, eps, d");
  const ExpressionError inside = expand("f32[{m},{kk}]", kSizes).error;
  EXPECT_EQ(inside.begin, 9u);
  EXPECT_EQ(inside.end, 11u);
}

TEST(Expression, Expansion) {
  EXPECT_EQ(expand("f32[{m},{n // 2}]", kSizes).text, "f32[4096,1280]");
  EXPECT_EQ(expand("{{{m}}}", kSizes).text, "{4096}");
  EXPECT_EQ(expand("{d}[{m}]", kSizes).text, "bf16[4096]");
  EXPECT_EQ(expand("{d * 2}", kSizes).error.message, "`d` is text and cannot stand in arithmetic");
  EXPECT_EQ(expand("plain", kSizes).text, "plain");
  EXPECT_EQ(expand("{m", kSizes).error.message, "this `{` is never closed");
  EXPECT_EQ(expand("m}", kSizes).error.message, "this `}` closes nothing");
}

}  // namespace
}  // namespace hc::contract
