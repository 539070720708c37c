// The JSON library under one short name, and parsing without exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace hc {

/// Keys keep the order in which they were written, so that files are canonical text.
using Json = nlohmann::ordered_json;

/// Nothing when the text is not JSON.
inline std::optional<Json> parse_json(std::string_view text) {
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

}  // namespace hc

/// Compiled once, in json.cc.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
