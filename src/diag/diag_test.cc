// Rendering of diagnostics: place, caret, notes, fixes and exit statuses.
#include "diag/diag.h"

#include <gtest/gtest.h>

#include <set>

namespace hc::diag {
namespace {

SourcePtr source() { return std::make_shared<Source>("k.py", "def f(x):\n    return x + yy\n"); }

Result<int> half(int value) {
  if (value % 2) return Diagnostic{Code::type_error, "an odd number cannot be halved"};
  return value / 2;
}

Result<int> quarter(int value) { return HC_TRY(half(HC_TRY(half(value)))); }

TEST(Diag, shows_the_line_and_a_caret_under_the_span) {
  const auto text = source();
  const auto at = static_cast<uint32_t>(text->text().find("yy"));
  const Diagnostic d =
      Diagnostic{Code::undefined_variable, "`yy` is not defined"}.at({text, at, at + 2}).fix("assign it");
  EXPECT_EQ(render(d),
            "k.py:2:16: error[2005 UndefinedVariable]: `yy` is not defined\n"
            " 2 |     return x + yy\n"
            "   |                ^~\n"
            "help: assign it\n");
}

TEST(Diag, a_span_over_several_lines_is_cut_at_the_first) {
  const auto text = source();
  const Diagnostic d = Diagnostic{Code::statement_not_supported, "m"}.at({text, 0, 20});
  EXPECT_NE(render(d).find("^~~~~~~~~\n"), std::string::npos);
}

TEST(Diag, an_empty_source_and_the_end_of_the_file_have_a_place) {
  const auto empty = std::make_shared<Source>("e.py", "");
  EXPECT_EQ(render(Diagnostic{Code::syntax_error, "m"}.at({empty, 0, 0})).substr(0, 9), "e.py:1:1:");
  const auto text = source();
  const auto end = static_cast<uint32_t>(text->text().size());
  EXPECT_EQ(render(Diagnostic{Code::syntax_error, "m"}.at({text, end, end})).substr(0, 9), "k.py:3:1:");
}

TEST(Diag, tabs_keep_the_caret_in_line) {
  const auto text = std::make_shared<Source>("t.py", "\tx\n");
  EXPECT_NE(render(Diagnostic{Code::syntax_error, "m"}.at({text, 1, 2})).find("| \t^"), std::string::npos);
}

TEST(Diag, notes_follow_with_their_own_place) {
  const auto text = source();
  const Diagnostic d = Diagnostic{Code::shape_mismatch, "m"}.at({text, 4, 5}).note("defined here", {text, 6, 7});
  EXPECT_NE(render(d).find("k.py:1:7: note: defined here\n"), std::string::npos);
}

TEST(Result, try_passes_the_first_error_on) {
  EXPECT_EQ(quarter(8).value(), 2);
  ASSERT_FALSE(quarter(6).ok());
  EXPECT_EQ(quarter(6).error().code, Code::type_error);
}

TEST(Codes, numbers_and_slugs_are_unique_and_exit_statuses_follow_the_bands) {
  std::set<int> numbers;
  std::set<std::string_view> slugs;
#define HC_CODE(name, number, slug, sentence)          \
  EXPECT_TRUE(numbers.insert(number).second) << #name; \
  EXPECT_TRUE(slugs.insert(slug).second) << slug;
#include "diag/codes.def"
#undef HC_CODE
  EXPECT_EQ(exit_status(Code::usage), 64);
  EXPECT_EQ(exit_status(Code::shape_mismatch), 65);
  EXPECT_EQ(exit_status(Code::not_available), 69);
  EXPECT_EQ(exit_status(Code::internal), 70);
}

}  // namespace
}  // namespace hc::diag
