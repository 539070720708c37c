// Rendering of diagnostics with the source line and a caret.
#include "diag/diag.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace hc::diag {
namespace {

struct Row {
  Code code;
  std::string_view slug;
  std::string_view sentence;
};

constexpr Row kRows[] = {
#define HC_CODE(name, number, slug, sentence) {Code::name, slug, sentence},
#include "diag/codes.def"
#undef HC_CODE
};

const Row& row(Code code) {
  for (const Row& r : kRows) {
    if (r.code == code) return r;
  }
  bug("a diagnostic without a row in codes.def");
}

std::string place(const Span& span) {
  return fmt::format("{}:{}:{}", span.source->path(), span.source->line_of(span.begin),
                     span.source->column_of(span.begin));
}

/// The source line and under it a caret with a tilde for each further character.
std::string excerpt(const Span& span) {
  const int line = span.source->line_of(span.begin);
  const std::string_view text = span.source->line_text(line);
  const size_t column = static_cast<size_t>(span.source->column_of(span.begin)) - 1;
  const size_t room = text.size() > column ? text.size() - column : 1;
  const size_t length =
      std::clamp<size_t>(span.end > span.begin ? span.end - span.begin : 1, 1, std::max<size_t>(room, 1));
  std::string pad;
  for (size_t i = 0; i < column && i < text.size(); ++i) pad += text[i] == '\t' ? '\t' : ' ';
  const std::string number = std::to_string(line);
  return fmt::format(" {} | {}\n {} | {}^{}\n", number, text, std::string(number.size(), ' '), pad,
                     std::string(length - 1, '~'));
}

}  // namespace

std::string_view code_slug(Code code) { return row(code).slug; }
std::string_view code_sentence(Code code) { return row(code).sentence; }

int exit_status(Code code) {
  const int number = static_cast<int>(code);
  if (code == Code::usage) return 64;
  if (code == Code::not_available || code == Code::worker_failed) return 69;
  if (number >= 9000 || code == Code::compile_failed) return 70;
  return 65;
}

std::string render(const Diagnostic& d) {
  const std::string head = fmt::format("error[{} {}]: {}\n", static_cast<int>(d.code), code_slug(d.code), d.message);
  std::string out = d.span ? place(d.span) + ": " + head + excerpt(d.span) : head;
  for (const Note& note : d.notes) {
    out += note.span ? fmt::format("{}: note: {}\n{}", place(note.span), note.message, excerpt(note.span))
                     : fmt::format("note: {}\n", note.message);
  }
  if (!d.help.empty()) out += fmt::format("help: {}\n", d.help);
  return out;
}

void bug(std::string_view message, const char* file, int line) {
  std::fprintf(
      stderr,
      "internal error: %.*s (%s:%d)\nthis is a fault of hillclimb; please report it with the command that led here\n",
      static_cast<int>(message.size()), message.data(), file, line);
  std::abort();
}

}  // namespace hc::diag
