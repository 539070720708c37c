// Diagnostics: code, place, what was found, what was needed, a fix; and Result, which carries a value or one of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diag/source.h"

namespace hc::diag {

enum class Code : int {
#define HC_CODE(name, number, slug, sentence) name = number,
#include "diag/codes.def"
#undef HC_CODE
};

std::string_view code_slug(Code code);
std::string_view code_sentence(Code code);

/// Exit status of a command that ends with this diagnostic: 64 usage, 65 wrong input, 69 something is missing, 70 our
/// fault.
int exit_status(Code code);

struct Note {
  Span span;
  std::string message;
};

/// One report to the user: lower case, one sentence, no full stop; `help` is the fix where one is known.
struct Diagnostic {
  Code code = Code::internal;
  std::string message;
  Span span{};
  std::vector<Note> notes{};
  std::string help{};

  Diagnostic&& at(Span where) && {
    span = std::move(where);
    return std::move(*this);
  }
  Diagnostic&& note(std::string text, Span where = {}) && {
    notes.push_back({std::move(where), std::move(text)});
    return std::move(*this);
  }
  Diagnostic&& fix(std::string text) && {
    help = std::move(text);
    return std::move(*this);
  }
};

/// The printed form, with source line and caret where a place is known:
///   kernels/k.py:6:33: error[2015 ShapeMismatch]: ...
///    6 |   acc = x[tile_m, :]
///      |         ^~~~~~~~~~~~
///   help: ...
std::string render(const Diagnostic& diagnostic);

/// A value or a diagnostic.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const Diagnostic& error() const& { return std::get<1>(state_); }
  Diagnostic&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Diagnostic> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status success() { return Status(Unit{}); }

/// Ends the program with a message, the place and a request to report it: our own fault.
[[noreturn]] void bug(std::string_view message, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace hc::diag

namespace hc {
using diag::Code;
using diag::Diagnostic;
using diag::Result;
using diag::Span;
using diag::Status;
using diag::success;
}  // namespace hc

/// Yields the value of a Result or returns its error from the enclosing function; may be nested.
#define HC_TRY_AS(name, expression)                 \
  ({                                                \
    auto name = (expression);                       \
    if (!name.ok()) return std::move(name).error(); \
    std::move(name).value();                        \
  })
#define HC_CONCAT_(a, b) a##b
#define HC_CONCAT(a, b) HC_CONCAT_(a, b)
#define HC_TRY(expression) HC_TRY_AS(HC_CONCAT(hc_result_, __COUNTER__), expression)

#define HC_CHECK(condition, message)            \
  do {                                          \
    if (!(condition)) ::hc::diag::bug(message); \
  } while (0)
