// The JSON library's class, compiled once for all.
#include "base/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace hc {

/// Here alone, as each caller of the parser would compile a parser of its own.
std::optional<Json> parse_json(std::string_view text) {
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

}  // namespace hc
