// Reads typed fields from a JSON object and remembers the first that is missing or of another kind.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "diag/diag.h"

namespace hc::bench {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

class JsonReader {
 public:
  explicit JsonReader(const Json& json) : json_(json) {
    if (!json.is_object()) fail("a JSON object is needed");
  }

  template <typename T>
  void required(const char* name, T* into) {
    if (json_.is_object() && !json_.contains(name)) fail(std::string("`") + name + "` is missing");
    optional(name, into);
  }

  template <typename T>
  void optional(const char* name, T* into) {
    if (!json_.is_object() || !json_.contains(name)) return;
    const Json& value = json_[name];
    if (is_a<T>(value))
      *into = value.get<T>();
    else
      fail(std::string("`") + name + "` is " + shown(value) + ", which is of the wrong kind");
  }

  /// Visits the objects of an array; absent means empty.
  template <typename F>
  void each(const char* name, F visit) {
    if (!json_.is_object() || !json_.contains(name)) return;
    if (!json_[name].is_array()) fail(std::string("`") + name + "` is not an array");
    for (const Json& item : json_[name]) {
      JsonReader reader(item);
      if (reader.error_.empty()) visit(reader);
      if (!reader.error_.empty()) fail(std::string("in `") + name + "`: " + reader.error_);
    }
  }

  /// Visits an object; absent or null is none, and false.
  template <typename F>
  bool object(const char* name, F visit) {
    if (!json_.is_object() || !json_.contains(name) || json_[name].is_null()) return false;
    JsonReader reader(json_[name]);
    if (reader.error_.empty()) visit(reader);
    if (!reader.error_.empty()) fail(std::string("in `") + name + "`: " + reader.error_);
    return true;
  }

  /// Any value as JSON text; absent or null is empty.
  std::string text_of(const char* name) const {
    if (!json_.is_object() || !json_.contains(name) || json_[name].is_null()) return "";
    return json_[name].dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  template <typename T>
  Result<T> finish(T value) {
    if (error_.empty()) return value;
    return Diagnostic{.code = Code::worker_failed, .message = error_};
  }

 private:
  template <typename T>
  static bool is_a(const Json& value) {
    if constexpr (std::is_same_v<T, bool>)
      return value.is_boolean();
    else if constexpr (std::is_floating_point_v<T>)
      return value.is_number();
    else if constexpr (std::is_unsigned_v<T>)
      return value.is_number_unsigned();
    else if constexpr (std::is_integral_v<T>)
      return value.is_number_integer();
    else if constexpr (IsVector<T>::value)
      return all_are<typename T::value_type>(value);
    else
      return value.is_string();
  }

  template <typename T>
  static bool all_are(const Json& value) {
    if (!value.is_array()) return false;
    for (const Json& item : value) {
      if (!is_a<T>(item)) return false;
    }
    return true;
  }

  static std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 60) + "..." : text;
  }

  const Json& json_;
  std::string error_;
};

}  // namespace hc::bench
