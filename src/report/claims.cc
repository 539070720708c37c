// Placeholders filled in, typed numbers refused.
#include "report/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/pages.h"

namespace hc::report {
namespace {

constexpr size_t kHashDigits = 7;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string row_field(const Row& row, const std::string& field) {
  if (field == "ratio") return ratio_text(row.verdict.ratio);
  if (field == "lcb") return ratio_text(row.verdict.lcb);
  if (field == "ucb") return ratio_text(row.verdict.ucb);
  if (field == "before_ratio") return ratio_text(row.before_ratio);
  if (field == "before") return speed_text(row.before) + " " + row.unit;
  if (field == "after") return speed_text(row.after) + " " + row.unit;
  if (field == "pairs") return std::to_string(row.valid_pairs);
  if (field == "best") return row.verdict.best_baseline;
  return "";
}

std::string goal_field(const Model& m, const std::string& field) {
  if (field == "geomean") return ratio_text(m.check.geomean.value);
  if (field == "lower") return ratio_text(m.check.geomean.lower);
  if (field == "variants") return std::to_string(m.rows.size());
  if (field != "passing") return "";
  return std::to_string(std::count_if(m.rows.begin(), m.rows.end(),
                                      [](const Row& r) { return r.verdict.verdict == ledger::Verdict::pass; }));
}

/// The text of a placeholder, empty when there is no such.
std::string value_of(const Model& m, const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return "";
  const std::string of = name.substr(0, dot), field = name.substr(dot + 1);
  if (of == "goal") return goal_field(m, field);
  for (const Row& row : m.rows) {
    if (row.name == of) return row_field(row, field);
  }
  return "";
}

/// One line of claims on its way through the reader.
class LineReader {
 public:
  LineReader(const Model& model, const std::string& line) : model_(model), line_(line) {}

  /// Empty, or what is wrong.
  std::string read() {
    while (at_ < line_.size() && fault_.empty()) {
      if (line_.compare(at_, 2, "{{") == 0) {
        placeholder();
      } else if (digit(line_[at_]) && !in_name()) {
        number();
      } else {
        if (line_[at_] == '`') code_ = !code_;
        out_ += line_[at_++];
      }
    }
    return fault_;
  }
  const std::string& text() const { return out_; }

 private:
  void placeholder() {
    const size_t end = line_.find("}}", at_);
    if (end == std::string::npos) {
      fault_ = "a placeholder has no end";
      return;
    }
    const std::string name = line_.substr(at_ + 2, end - at_ - 2), value = value_of(model_, name);
    if (value.empty()) {
      fault_ = fmt::format("there is no `{}`", name);
      return;
    }
    out_ += value;
    at_ = end + 2;
  }

  /// `sm1`, `bf16`, `v0_2`: digits of a name.
  bool in_name() const { return at_ > 0 && (letter(line_[at_ - 1]) || digit(line_[at_ - 1])); }

  /// A token that begins with a digit.
  void number() {
    size_t end = at_;
    while (end < line_.size() && (digit(line_[end]) || letter(line_[end]))) ++end;
    const std::string token = line_.substr(at_, end - at_);
    const bool mark = line_.find_first_not_of(" \t") == at_ && line_.compare(end, 2, ". ") == 0 &&
                      std::all_of(token.begin(), token.end(), digit);
    const size_t letters = static_cast<size_t>(std::count_if(token.begin(), token.end(), letter));
    const bool shape = letters > 0 && digit(token.back()) && token.size() > letters + 1;
    const bool hash = token.size() >= kHashDigits && letters > 0;
    if (!mark && !(code_ && (shape || hash))) {
      fault_ = fmt::format("the number `{}` is typed, and only placeholders may give numbers", token);
      return;
    }
    out_ += token;
    at_ = end;
  }

  const Model& model_;
  const std::string& line_;
  size_t at_ = 0;
  bool code_ = false;
  std::string out_, fault_;
};

}  // namespace

Result<std::string> fill_claims(const std::string& text, const std::string& path, const Model& model) {
  std::string out;
  size_t number = 0, begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    LineReader reader(model, line);
    const std::string fault = reader.read();
    if (!fault.empty()) {
      return Diagnostic{.code = Code::goal_error, .message = fmt::format("{}, line {}: {}", path, number, fault)}.fix(
          "`{{VARIANT.ratio}}`, .lcb, .ucb, .before, .after, .before_ratio, .pairs, .best; `{{goal.geomean}}`, .lower, "
          ".passing, .variants");
    }
    out += reader.text() + "\n";
  }
  return out;
}

}  // namespace hc::report
