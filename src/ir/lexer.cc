// Reads tokens of tile IR's text.
#include "ir/lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace hc::ir {
namespace {

constexpr size_t kSpareValues = 100000;  ///< values that passes removed keep their numbers

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Reads all of `text` as a number; nothing where it is malformed or too large.
template <typename T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Lexer::Lexer(diag::SourcePtr source) : source_(std::move(source)) { advance(); }

char Lexer::look(size_t ahead) const {
  const std::string& text = source_->text();
  return position_ + ahead < text.size() ? text[position_ + ahead] : '\0';
}

void Lexer::skip_blanks() {
  const std::string& text = source_->text();
  while (position_ < text.size()) {
    const char c = text[position_];
    if (c == '#') {
      while (position_ < text.size() && text[position_] != '\n') ++position_;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  last_end_ = token_.end;
  if (failed()) return;
  skip_blanks();
  token_ = {TokenKind::end, "", position_, position_};
  if (position_ >= source_->text().size()) return;
  const char c = look();
  if (is_letter(c) || (c == '-' && is_letter(look(1)))) {
    token_.kind = TokenKind::word;
    do {
      ++position_;
    } while (is_letter(look()) || is_digit(look()));
  } else if (is_digit(c) || (c == '-' && is_digit(look(1)))) {
    read_number();
  } else if (c == '%' && is_digit(look(1))) {
    token_.kind = TokenKind::value;
    ++token_.begin;
    do {
      ++position_;
    } while (is_digit(look()));
  } else if (c == '"') {
    return read_string();
  } else {
    token_.kind = TokenKind::punctuation;
    position_ += c == '.' && look(1) == '.' ? 2 : 1;
  }
  token_.end = position_;
  token_.text = source_->text().substr(token_.begin, token_.end - token_.begin);
  if (token_.kind == TokenKind::value) --token_.begin;
}

void Lexer::read_number() {
  token_.kind = TokenKind::number;
  do {
    ++position_;
  } while (is_digit(look()));
  // "0..8" is a range: a point belongs to the number only when a digit follows.
  if (look() == '.' && is_digit(look(1))) {
    do {
      ++position_;
    } while (is_digit(look()));
  }
  if (look() == 'e' && (is_digit(look(1)) || ((look(1) == '-' || look(1) == '+') && is_digit(look(2))))) {
    position_ += 2;
    while (is_digit(look())) ++position_;
  }
}

void Lexer::read_string() {
  token_.kind = TokenKind::string;
  ++position_;
  while (look() != '"') {
    token_.end = position_ + 1;
    if (position_ >= source_->text().size() || look() == '\n')
      return fail(token_, "a string without its closing quote");
    if (look() != '\\') {
      token_.text += look();
      ++position_;
      continue;
    }
    if (look(1) == '"' || look(1) == '\\') {
      token_.text += look(1);
      position_ += 2;
    } else if (look(1) == 'x' && hex_digit(look(2)) >= 0 && hex_digit(look(3)) >= 0) {
      token_.text += static_cast<char>(hex_digit(look(2)) * 16 + hex_digit(look(3)));
      position_ += 4;
    } else {
      return fail(token_, "an unknown escape in a string; \\\", \\\\ and \\xNN are known");
    }
  }
  ++position_;
  token_.end = position_;
}

Token Lexer::take() {
  Token taken = token_;
  advance();
  return taken;
}

bool Lexer::at(std::string_view text) const {
  return (token_.kind == TokenKind::word || token_.kind == TokenKind::punctuation) && token_.text == text;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view text) {
  if (!accept(text)) fail_expected(fmt::format("`{}`", text));
}

std::string Lexer::string() {
  if (token_.kind == TokenKind::string) return take().text;
  fail_expected("a string in double quotes");
  return "";
}

std::string Lexer::word(std::string_view what) {
  if (token_.kind == TokenKind::word) return take().text;
  fail_expected(what);
  return "";
}

int64_t Lexer::integer() {
  if (token_.kind == TokenKind::number) {
    if (const auto value = number_from<int64_t>(token_.text)) {
      advance();
      return *value;
    }
  }
  fail_expected("a whole number in 64 bits");
  return 0;
}

double Lexer::floating() {
  const bool special = at("inf") || at("-inf") || at("nan");
  if (special || token_.kind == TokenKind::number) {
    if (const auto value = number_from<double>(token_.text)) {
      advance();
      return *value;
    }
  }
  fail_expected("a number, inf, -inf or nan");
  return 0;
}

int32_t Lexer::id(char prefix, std::string_view what) {
  if (token_.kind == TokenKind::word && token_.text.size() > 1 && token_.text[0] == prefix) {
    if (const auto value = number_from<int32_t>(std::string_view(token_.text).substr(1))) {
      advance();
      return *value;
    }
  }
  fail_expected(what);
  return -1;
}

int32_t Lexer::value_id() {
  if (token_.kind == TokenKind::value) {
    // A file is not made to reserve memory for more values than it could name.
    const auto value = number_from<int32_t>(token_.text);
    if (value && static_cast<size_t>(*value) <= source_->text().size() + kSpareValues) {
      advance();
      return *value;
    }
    fail(token_, fmt::format("value %{} has too large a number", token_.text));
    return -1;
  }
  fail_expected("a value such as %0");
  return -1;
}

void Lexer::fail_expected(std::string_view what) {
  const Token where = token_;
  if (where.kind == TokenKind::end) return fail(where, fmt::format("expected {}, found the end of the text", what));
  const std::string_view found = std::string_view(source_->text()).substr(where.begin, where.end - where.begin);
  fail(where, fmt::format("expected {}, found `{}`", what, found));
}

void Lexer::fail(const Token& where, std::string message) {
  if (!failed()) {
    error_ = Diagnostic{Code::ir_syntax, std::move(message)}.at({source_, where.begin, where.end});
  }
  token_ = {TokenKind::end, "", where.end, where.end};
}

}  // namespace hc::ir
