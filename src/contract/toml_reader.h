// Typed reading of TOML tables with the line and caret of whatever is wrong.
#pragma once

// the library is used as headers only and without exceptions, so that the program needs no shared object for it
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diag.h"

namespace hc::contract {

/// Reads one file; the first error is kept and everything after it yields defaults.
class TomlReader {
 public:
  TomlReader(std::string path, std::string text);
  /// Parses; false (and error()) when the file is not TOML.
  bool parse();
  const toml::table& root() const { return root_; }
  bool failed() const { return error_.has_value(); }
  const Diagnostic& error() const { return *error_; }

  Span span(const toml::node& node) const;
  /// The value of a key of the root, or the beginning of the file.
  Span head(std::string_view key) const;
  Span span(const toml::key& key) const;
  /// The part [begin, end) of a one-line string value.
  Span inside(const toml::node& node, size_t begin, size_t end) const;
  void fail(Span where, std::string message, std::string fix = "");

  /// Every key of `table` must be among `known`; the nearest known one is offered.
  void only(const toml::table& table, const std::vector<std::string_view>& known, std::string_view what);
  /// A required key's node, or nullptr after an error at the table.
  const toml::node* need(const toml::table& table, std::string_view key, std::string_view what);
  std::string text(const toml::table& table, std::string_view key, std::string otherwise = "");
  double number(const toml::table& table, std::string_view key, double otherwise, double low, double high);
  int64_t integer(const toml::table& table, std::string_view key, int64_t otherwise, int64_t low, int64_t high);
  std::vector<std::string> texts(const toml::table& table, std::string_view key);
  /// A sub-table, or nullptr when it is absent (or an error was noted).
  const toml::table* table(const toml::table& parent, std::string_view key);
  /// The tables of an array of tables `[[key]]`.
  std::vector<const toml::table*> tables(const toml::table& parent, std::string_view key);
  /// Keys in the order of the file.
  std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table) const;

 private:
  Span region(const toml::source_region& region) const;
  uint32_t offset(const toml::source_position& position) const;
  diag::SourcePtr source_;
  std::vector<uint32_t> line_starts_;
  toml::table root_;
  std::optional<Diagnostic> error_;
};

/// The entry of `known` that a mistyped `word` most likely means, or empty.
std::string nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace hc::contract
