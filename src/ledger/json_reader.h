// Reads typed fields of a JSON object; the first missing or ill-typed one becomes the error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ledger/records.h"

namespace hc::ledger {

/// Fields of one object. `failure` is shared by all readers of a document and keeps the first sentence.
class JsonReader {
 public:
  JsonReader(const Json& value, std::string path, std::string* failure)
      : value_(value), path_(std::move(path)), failure_(failure) {
    if (!value.is_object()) fail(path_.empty() ? "the document is not an object" : path_ + " is not an object");
  }

  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::string text(std::string_view key) const { return typed<std::string>(key, &Json::is_string, "text", true); }
  std::string text_or(std::string_view key, std::string otherwise) const {
    return has(key) ? text(key) : std::move(otherwise);
  }
  double number(std::string_view key) const { return typed<double>(key, &Json::is_number, "a number", true); }
  double number_or(std::string_view key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  int64_t integer(std::string_view key) const {
    return typed<int64_t>(key, &Json::is_number_integer, "an integer", true);
  }
  int64_t integer_or(std::string_view key, int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }
  bool boolean(std::string_view key) const { return typed<bool>(key, &Json::is_boolean, "true or false", true); }
  bool boolean_or(std::string_view key, bool otherwise) const { return has(key) ? boolean(key) : otherwise; }
  Facts facts(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  /// JSON text of any value, `{}` when it is absent.
  std::string json(std::string_view key) const {
    const Json* v = find(key);
    return v ? v->dump() : "{}";
  }
  /// A reader per element of a list of objects.
  std::vector<JsonReader> objects(std::string_view key) const;
  JsonReader object(std::string_view key) const;
  void fail(std::string sentence) const {
    if (failure_->empty()) *failure_ = std::move(sentence);
  }
  std::string where(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

 private:
  const Json* find(std::string_view key) const {
    if (!value_.is_object()) return nullptr;
    const auto it = value_.find(std::string(key));
    return it == value_.end() ? nullptr : &*it;
  }
  const Json* list(std::string_view key) const;
  template <typename T>
  T typed(std::string_view key, bool (Json::*is)() const noexcept, std::string_view what, bool required) const {
    const Json* v = find(key);
    if (!v) {
      if (required) fail(fmt::format("field `{}` is missing", where(key)));
      return T{};
    }
    if (!(v->*is)()) {
      fail(fmt::format("field `{}` is {} and must be {}", where(key), v->dump().substr(0, 60), what));
      return T{};
    }
    return v->get<T>();
  }

  const Json& value_;
  std::string path_;
  std::string* failure_;
};

/// Parses `text`, demands `schema` (a newer version is refused by name) and hands the document on.
Result<Json> parse_document(const std::string& text, const std::string& where, std::string_view schema);
/// The sentence of a document whose field is wrong.
Diagnostic bad_document(const std::string& where, const std::string& failure);
Json facts_json(const Facts& facts);
/// The value of JSON text, or the text itself when it is none.
Json embedded(const std::string& text);

}  // namespace hc::ledger
