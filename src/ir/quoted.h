// Names and numbers as both levels of IR print them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "ir/tile_ir.h"

namespace hc::ir {

/// As the lexer reads it back.
inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// The shortest decimal that reads back to the same double; every NaN is "nan".
inline std::string float_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

/// A number of the dtype as it stands in the text.
inline std::string literal_text(DType dtype, const Literal& literal) {
  return is_floating(dtype) ? float_text(literal.f) : std::to_string(literal.i);
}

}  // namespace hc::ir
