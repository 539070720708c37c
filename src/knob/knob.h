// Knobs: the table of tunable decisions, a Config (values by knob and site), a Space (what each site allows here).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diag.h"

namespace hc::knob {

enum class SiteKind : uint8_t { kernel, block, launch, reduction, tensor, tunable };

struct Row {
  std::string_view name;
  SiteKind site;
  std::string_view values;
  std::string_view default_value;
  std::string_view sentence;
};

/// All rows, in the table's order.
const std::vector<Row>& rows();
/// The row of that name, or null.
const Row* find_row(std::string_view name);

/// `vector_bytes` for a kernel knob, `block_size[tile_n]` for a site.
std::string key(std::string_view name, std::string_view site = "");

/// One decision of a kernel: its key, the values allowed and the default.
struct Choice {
  std::string key;
  std::string name;  ///< the row's name
  std::string site;
  std::vector<std::string> values;
  std::string default_value;
};

/// Values by key. Absent keys mean the default of whoever asks.
class Config {
 public:
  void set(std::string key, std::string value) { values_[std::move(key)] = std::move(value); }
  bool has(std::string_view key) const { return values_.find(std::string(key)) != values_.end(); }
  std::string get(std::string_view key, std::string_view fallback) const;
  int64_t get_int(std::string_view key, int64_t fallback) const;
  const std::map<std::string, std::string>& values() const { return values_; }
  bool operator==(const Config&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

/// Canonical text: `block_size[tile_n]=32 threads=2`, keys sorted.
std::string to_text(const Config& config);
/// Reads the canonical text; any white space separates.
Result<Config> config_from_text(std::string_view text);

/// What a tuner may choose for one kernel, arguments and target.
struct Space {
  std::vector<Choice> choices;
  const Choice* find(std::string_view key) const;
  Config defaults() const;
  /// invalid_config when a key is unknown here or a value is not among the allowed ones; the message lists those.
  Status check(const Config& config) const;
};

}  // namespace hc::knob
