// Arithmetic expressions of a task file: integers and reals, parameters, + - * / // % **, parentheses, min, max,
// ceil_div.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diag.h"

namespace hc::contract {

/// A number that stays an exact integer as long as it can.
struct Number {
  bool is_integer = true;
  int64_t integer = 0;
  double real = 0;
  std::string word{};  ///< a text parameter, such as a dtype: it can be expanded but not calculated with
  double as_double() const { return is_integer ? static_cast<double>(integer) : real; }
  /// Integers as digits, reals as the shortest text that reads back the same.
  std::string text() const;
};

using Parameters = std::vector<std::pair<std::string, Number>>;

/// Why an expression has no value, and the byte range inside its text.
struct ExpressionError {
  std::string message;
  std::string fix;
  size_t begin = 0, end = 0;
};

/// Either a value (error.message empty) or an error.
struct Evaluation {
  Number value;
  ExpressionError error;
  bool ok() const { return error.message.empty(); }
};

Evaluation evaluate(std::string_view text, const Parameters& parameters);
/// Replaces every `{expression}` of `text` by its value; `{{` and `}}` are braces.
struct Expansion {
  std::string text;
  ExpressionError error;
  bool ok() const { return error.message.empty(); }
};
Expansion expand(std::string_view text, const Parameters& parameters);

}  // namespace hc::contract
