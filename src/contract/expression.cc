// Recursive-descent evaluation of task expressions; integers are exact and overflow is an error.
#include "contract/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hc::contract {
namespace {

/// State of one evaluation; the first error wins and ends it.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Parameters& parameters) : text_(text), parameters_(parameters) {}

  Evaluation run() {
    Evaluation out;
    const Number value = sum();
    skip_spaces();
    if (error_.message.empty() && at_ < text_.size()) {
      fail(at_, text_.size(), "an operator or the end of the expression was expected");
    }
    out.value = value;
    out.error = error_;
    return out;
  }

 private:
  bool failed() const { return !error_.message.empty(); }

  void fail(size_t begin, size_t end, std::string message, std::string fix = "") {
    if (!failed()) error_ = {std::move(message), std::move(fix), begin, end};
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  static Number integer(int64_t value) { return {true, value, 0, {}}; }
  static Number real(double value) { return {false, 0, value, {}}; }

  Number sum() {
    const size_t begin = at_;
    Number left = product();
    while (!failed()) {
      if (take("+")) {
        left = combine('+', left, product(), begin);
      } else if (take("-")) {
        left = combine('-', left, product(), begin);
      } else {
        break;
      }
    }
    return left;
  }

  Number product() {
    const size_t begin = at_;
    Number left = unary();
    while (!failed()) {
      skip_spaces();
      if (text_.substr(at_, 2) == "**") break;
      if (take("//")) {
        left = combine('f', left, unary(), begin);
      } else if (take("/")) {
        left = combine('/', left, unary(), begin);
      } else if (take("%")) {
        left = combine('%', left, unary(), begin);
      } else if (take("*")) {
        left = combine('*', left, unary(), begin);
      } else {
        break;
      }
    }
    return left;
  }

  Number unary() {
    const size_t begin = at_;
    if (take("-")) return combine('-', integer(0), unary(), begin);
    if (take("+")) return unary();
    return power();
  }

  Number power() {
    const size_t begin = at_;
    const Number base = atom();
    if (failed() || !take("**")) return base;
    return combine('p', base, unary(), begin);
  }

  Number atom() {
    skip_spaces();
    const size_t begin = at_;
    if (at_ >= text_.size()) {
      fail(begin, begin + 1, "a number, a parameter or `(` was expected at the end of the expression");
      return {};
    }
    if (take("(")) {
      const Number inner = sum();
      if (!failed() && !take(")")) fail(begin, begin + 1, "this `(` is never closed");
      return inner;
    }
    const char c = text_[at_];
    if ((c >= '0' && c <= '9') || c == '.') return literal();
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return name();
    fail(begin, begin + 1, fmt::format("`{}` cannot stand in an expression", c));
    return {};
  }

  Number literal() {
    const size_t begin = at_;
    int64_t whole = 0;
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, whole);
    const bool plain = error == std::errc() && (end == last || (*end != '.' && *end != 'e' && *end != 'E'));
    if (plain) {
      at_ += static_cast<size_t>(end - first);
      return integer(whole);
    }
    double value = 0;
    const auto [real_end, real_error] = std::from_chars(first, last, value);
    if (real_error != std::errc()) {
      fail(begin, begin + 1, "this number cannot be read");
      return {};
    }
    at_ += static_cast<size_t>(real_end - first);
    return real(value);
  }

  Number name() {
    const size_t begin = at_;
    const auto inside = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (at_ < text_.size() && inside(text_[at_])) ++at_;
    const size_t end = at_;
    const std::string word(text_.substr(begin, end - begin));
    if (take("(")) return call(word, begin);
    for (const auto& [parameter, value] : parameters_) {
      if (parameter != word) continue;
      if (!value.word.empty()) fail(begin, end, fmt::format("`{}` is text and cannot stand in arithmetic", word));
      return value;
    }
    std::string known;
    for (const auto& [parameter, value] : parameters_) known += (known.empty() ? "" : ", ") + parameter;
    fail(begin, end, fmt::format("the variant has no parameter `{}`", word),
         known.empty() ? "give the variant its parameters, such as m = 4096"
                       : fmt::format("its parameters are {}", known));
    return {};
  }

  Number call(const std::string& function, size_t begin) {
    if (function != "min" && function != "max" && function != "ceil_div") {
      fail(begin, begin + function.size(), fmt::format("there is no function `{}`", function),
           "min, max and ceil_div are there");
      return {};
    }
    const Number a = sum();
    if (!failed() && !take(",")) fail(at_, at_ + 1, fmt::format("`{}` takes two arguments", function));
    const Number b = failed() ? Number{} : sum();
    if (!failed() && !take(")")) fail(at_, at_ + 1, fmt::format("the `(` of `{}` is never closed", function));
    if (failed()) return {};
    if (function == "min") return a.as_double() <= b.as_double() ? a : b;
    if (function == "max") return a.as_double() >= b.as_double() ? a : b;
    return combine('c', a, b, begin);
  }

  Number combine(char op, const Number& a, const Number& b, size_t begin) {
    if (failed()) return {};
    const bool divides = op == '/' || op == 'f' || op == '%' || op == 'c';
    if (divides && b.as_double() == 0) {
      fail(begin, at_, "this divides by zero");
      return {};
    }
    const Number out = a.is_integer && b.is_integer ? whole(op, a.integer, b.integer, begin)
                                                    : fraction(op, a.as_double(), b.as_double());
    if (!failed() && !out.is_integer && !std::isfinite(out.real)) fail(begin, at_, "the value is not finite");
    return out;
  }

  Number whole(char op, int64_t a, int64_t b, size_t begin) {
    int64_t out = 0;
    bool overflow = false;
    switch (op) {
      case '+':
        overflow = __builtin_add_overflow(a, b, &out);
        break;
      case '-':
        overflow = __builtin_sub_overflow(a, b, &out);
        break;
      case '*':
        overflow = __builtin_mul_overflow(a, b, &out);
        break;
      case '/':
        return a % b == 0 ? integer(a / b) : real(static_cast<double>(a) / static_cast<double>(b));
      case 'f':
        out = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
      case '%':
        out = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
        break;
      case 'c':
        out = a / b + (a % b != 0 && (a < 0) == (b < 0));
        break;
      default:
        if (b < 0) return real(std::pow(static_cast<double>(a), static_cast<double>(b)));
        out = 1;
        for (int64_t i = 0; i < b && !overflow; ++i) {
          overflow = __builtin_mul_overflow(out, a, &out);
          if (a == 0 || a == 1) break;
        }
    }
    if (overflow) fail(begin, at_, "the value does not fit 64 bits");
    return integer(out);
  }

  static Number fraction(char op, double a, double b) {
    switch (op) {
      case '+':
        return real(a + b);
      case '-':
        return real(a - b);
      case '*':
        return real(a * b);
      case '/':
        return real(a / b);
      case 'f':
        return real(std::floor(a / b));
      case '%':
        return real(a - b * std::floor(a / b));
      case 'c':
        return real(std::ceil(a / b));
      default:
        return real(std::pow(a, b));
    }
  }

  std::string_view text_;
  const Parameters& parameters_;
  size_t at_ = 0;
  ExpressionError error_;
};

}  // namespace

std::string Number::text() const {
  return !word.empty() ? word : is_integer ? std::to_string(integer) : fmt::format("{}", real);
}

Evaluation evaluate(std::string_view text, const Parameters& parameters) { return Evaluator(text, parameters).run(); }

Expansion expand(std::string_view text, const Parameters& parameters) {
  Expansion out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out.text += c;
      ++i;
      continue;
    }
    if (c == '}') {
      out.error = {"this `}` closes nothing", "write `}}` for a brace", i, i + 1};
      return out;
    }
    if (c != '{') {
      out.text += c;
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == std::string_view::npos) {
      out.error = {"this `{` is never closed", "write `{{` for a brace", i, i + 1};
      return out;
    }
    const std::string_view inner = text.substr(i + 1, end - i - 1);
    const auto named =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == inner; });
    if (named != parameters.end()) {
      out.text += named->second.text();
      i = end;
      continue;
    }
    const Evaluation value = evaluate(inner, parameters);
    if (!value.ok()) {
      out.error = value.error;
      out.error.begin += i + 1;
      out.error.end += i + 1;
      return out;
    }
    out.text += value.value.text();
    i = end;
  }
  return out;
}

}  // namespace hc::contract
