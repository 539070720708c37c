// Typed reading of JSON documents with schema versions.
#include "ledger/json_reader.h"

#include <charconv>

namespace hc::ledger {
namespace {

/// Version number behind the slash of `name/N`, or -1; `name` gets the part before it.
int schema_version(std::string_view schema, std::string_view* name) {
  const size_t slash = schema.rfind('/');
  if (slash == std::string_view::npos) return -1;
  *name = schema.substr(0, slash);
  int version = -1;
  const std::string_view digits = schema.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  return error == std::errc() && end == digits.data() + digits.size() ? version : -1;
}

Diagnostic broken(std::string message) {
  return Diagnostic{.code = Code::evidence_broken, .message = std::move(message)};
}

}  // namespace

const Json* JsonReader::list(std::string_view key) const {
  const Json* v = find(key);
  if (!v) {
    fail(fmt::format("field `{}` is missing", where(key)));
    return nullptr;
  }
  if (!v->is_array()) {
    fail(fmt::format("field `{}` must be a list", where(key)));
    return nullptr;
  }
  return v;
}

Facts JsonReader::facts(std::string_view key) const {
  Facts out;
  const Json* v = find(key);
  if (!v) return out;
  if (!v->is_object()) fail(fmt::format("field `{}` must be an object", where(key)));
  for (const auto& item : v->items()) {
    out.emplace_back(item.key(), item.value().is_string() ? item.value().get<std::string>() : item.value().dump());
  }
  return out;
}

std::vector<std::string> JsonReader::texts(std::string_view key) const {
  std::vector<std::string> out;
  if (!has(key)) return out;
  const Json* v = list(key);
  if (!v) return out;
  for (const Json& element : *v) {
    if (!element.is_string()) fail(fmt::format("field `{}` must hold texts only", where(key)));
    out.push_back(element.is_string() ? element.get<std::string>() : "");
  }
  return out;
}

std::vector<double> JsonReader::numbers(std::string_view key) const {
  std::vector<double> out;
  const Json* v = list(key);
  if (!v) return out;
  out.reserve(v->size());
  for (const Json& element : *v) {
    if (!element.is_number()) fail(fmt::format("field `{}[{}]` is not a number", where(key), out.size()));
    out.push_back(element.is_number() ? element.get<double>() : 0);
  }
  return out;
}

std::vector<int64_t> JsonReader::integers(std::string_view key) const {
  std::vector<int64_t> out;
  const Json* v = list(key);
  if (!v) return out;
  out.reserve(v->size());
  for (const Json& element : *v) {
    if (!element.is_number_integer()) fail(fmt::format("field `{}[{}]` is not an integer", where(key), out.size()));
    out.push_back(element.is_number_integer() ? element.get<int64_t>() : 0);
  }
  return out;
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
  std::vector<JsonReader> out;
  const Json* v = list(key);
  if (!v) return out;
  out.reserve(v->size());
  for (const Json& element : *v) {
    out.emplace_back(element, fmt::format("{}[{}]", where(key), out.size()), failure_);
  }
  return out;
}

JsonReader JsonReader::object(std::string_view key) const {
  static const Json kEmpty = Json::object();
  const Json* v = find(key);
  if (!v) fail(fmt::format("field `{}` is missing", where(key)));
  return JsonReader(v ? *v : kEmpty, where(key), failure_);
}

Result<Json> parse_document(const std::string& text, const std::string& where, std::string_view schema) {
  std::optional<Json> json = parse_json(text);
  if (!json) return broken(fmt::format("{} is not JSON", where));
  if (!json->is_object()) return broken(fmt::format("{} does not hold a JSON object", where));
  const auto found = json->find("schema");
  if (found == json->end() || !found->is_string()) {
    return broken(fmt::format("{} has no `schema`; {} was expected", where, schema));
  }
  const std::string given = found->get<std::string>();
  if (given == schema) return std::move(*json);
  std::string_view name, wanted;
  const int version = schema_version(given, &name);
  const int known = schema_version(schema, &wanted);
  if (name == wanted && version > known) {
    return broken(
               fmt::format("{} has schema {}, newer than {}, the newest that this program reads", where, given, schema))
        .fix("use the version of hillclimb that wrote it, or a newer one");
  }
  return broken(fmt::format("{} has schema {}; {} was expected", where, given, schema));
}

Diagnostic bad_document(const std::string& where, const std::string& failure) {
  return broken(fmt::format("{}: {}", where, failure));
}

Json facts_json(const Facts& facts) {
  Json out = Json::object();
  for (const auto& [name, value] : facts) out[name] = value;
  return out;
}

Json embedded(const std::string& text) {
  std::optional<Json> json = parse_json(text);
  return json ? std::move(*json) : Json(text);
}

}  // namespace hc::ledger
