// The knob table, config text and space checks.
#include "knob/knob.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hc::knob {

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
#define HC_KNOB(name, site, values, default_value, sentence) {#name, SiteKind::site, values, default_value, sentence},
#include "knob/knobs.def"
#undef HC_KNOB
  };
  return kRows;
}

const Row* find_row(std::string_view name) {
  for (const Row& row : rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string key(std::string_view name, std::string_view site) {
  return site.empty() ? std::string(name) : fmt::format("{}[{}]", name, site);
}

std::string Config::get(std::string_view k, std::string_view fallback) const {
  const auto it = values_.find(std::string(k));
  return it == values_.end() ? std::string(fallback) : it->second;
}

int64_t Config::get_int(std::string_view k, int64_t fallback) const {
  const auto it = values_.find(std::string(k));
  if (it == values_.end()) return fallback;
  int64_t value = fallback;
  std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  return value;
}

std::string to_text(const Config& config) {
  std::string out;
  for (const auto& [k, v] : config.values()) out += fmt::format("{}{}={}", out.empty() ? "" : " ", k, v);
  return out;
}

Result<Config> config_from_text(std::string_view text) {
  Config config;
  size_t at = 0;
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    size_t stop = at;
    while (stop < text.size() && !is_space(text[stop])) ++stop;
    const std::string_view word = text.substr(at, stop - at);
    at = stop;
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Diagnostic{Code::invalid_config, fmt::format("`{}` is not knob=value", word)};
    }
    const std::string_view name = word.substr(0, std::min(word.find('['), equals));
    if (!find_row(name)) {
      std::string known;
      for (const Row& row : rows()) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
      return Diagnostic{Code::invalid_config, fmt::format("there is no knob `{}`", name)}.fix("the knobs are " + known);
    }
    config.set(std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
  }
  return config;
}

const Choice* Space::find(std::string_view k) const {
  for (const Choice& choice : choices) {
    if (choice.key == k) return &choice;
  }
  return nullptr;
}

Config Space::defaults() const {
  Config config;
  for (const Choice& choice : choices) config.set(choice.key, choice.default_value);
  return config;
}

Status Space::check(const Config& config) const {
  for (const auto& [k, v] : config.values()) {
    const Choice* choice = find(k);
    if (!choice) {
      std::string known;
      for (const Choice& c : choices) known += fmt::format("{}{}", known.empty() ? "" : ", ", c.key);
      return Diagnostic{Code::invalid_config, fmt::format("this kernel has no knob `{}`", k)}.fix("its knobs are " +
                                                                                                  known);
    }
    if (std::find(choice->values.begin(), choice->values.end(), v) == choice->values.end()) {
      return Diagnostic{Code::invalid_config, fmt::format("`{}` cannot be {}", k, v)}.fix(
          fmt::format("allowed here: {}", fmt::join(choice->values, ", ")));
    }
  }
  return success();
}

}  // namespace hc::knob
