// The JSON library under one short name, and parsing without exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace hc {

/// Keys keep the order in which they were written, so that files are canonical text.
using Json = nlohmann::ordered_json;

/// Nothing when the text is not JSON.
std::optional<Json> parse_json(std::string_view text);

}  // namespace hc

/// Compiled once, in json.cc.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
