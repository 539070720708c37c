// The command table in the order of commands.def, and reading of parsed values.
#include <fmt/format.h>

#include <charconv>

#include "cli/command.h"

namespace hc::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
#define HC_COMMAND(name, ...) name##_command(),
#include "cli/commands.def"
#undef HC_COMMAND
  };
  return kCommands;
}

std::string Parsed::get(const std::string& name, const std::string& fallback) const {
  const auto it = values_.find(name);
  return it == values_.end() || it->second.empty() ? fallback : it->second.back();
}

std::vector<std::string> Parsed::all(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::vector<std::string>{} : it->second;
}

Result<int64_t> Parsed::whole(const std::string& name, int64_t fallback, int64_t min) const {
  if (!has(name)) return fallback;
  const std::string text = get(name);
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < min) {
    return Diagnostic{Code::usage,
                      fmt::format("{} is `{}`, and a whole number of at least {} is needed", name, text, min)};
  }
  return value;
}

}  // namespace hc::cli
