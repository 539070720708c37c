// The JSON library's class, compiled once for all.
#include "base/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
