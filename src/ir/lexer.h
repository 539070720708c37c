// Tokens of tile IR's text, and the cursor on which its parser is built.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diag/diag.h"

namespace hc::ir {

enum class TokenKind : uint8_t { word, number, value, string, punctuation, end };

/// A token: `text` as written, without the quotes and escapes of a string and the sign of a value.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// One token of look-ahead over a source. After the first error only `end` tokens follow, so that parsers need not stop
/// at each step: they look at error() when they are through.
class Lexer {
 public:
  explicit Lexer(diag::SourcePtr source);

  const Token& peek() const { return token_; }
  /// The current token; the next one becomes current.
  Token take();
  /// Whether the current token is this word or punctuation.
  bool at(std::string_view text) const;
  /// Takes the current token if it is this word or punctuation.
  bool accept(std::string_view text);
  /// Takes this word or punctuation, or fails.
  void expect(std::string_view text);
  /// Text of a string token, or fails.
  std::string string();
  /// Text of a word token, or fails; `what` names what is needed.
  std::string word(std::string_view what);
  /// A whole number in 64 bits, or fails.
  int64_t integer();
  /// A floating number, inf, -inf or nan, or fails.
  double floating();
  /// The number behind a one-letter prefix (`t3`), or fails; `what` names what is needed.
  int32_t id(char prefix, std::string_view what);
  /// The number of a value (`%3`), or fails.
  int32_t value_id();

  /// Ends the input with an error at the current token: "expected WHAT, found TOKEN".
  void fail_expected(std::string_view what);
  /// Ends the input with an error at a token.
  void fail(const Token& where, std::string message);
  bool failed() const { return error_.has_value(); }
  const Diagnostic& error() const { return *error_; }
  /// Span from a byte offset to the end of the last token taken.
  Span span_from(uint32_t begin) const { return {source_, begin, last_end_}; }

 private:
  void advance();
  void skip_blanks();
  void read_string();
  void read_number();
  char look(size_t ahead = 0) const;

  diag::SourcePtr source_;
  uint32_t position_ = 0;
  uint32_t last_end_ = 0;
  Token token_;
  std::optional<Diagnostic> error_;
};

}  // namespace hc::ir
