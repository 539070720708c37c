// Taking a baseline's recipe apart.
#include "cli/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/json.h"

namespace hc::cli {
namespace {

constexpr const char* kOneDnnWorker = "onednn";

/// Keys that say what is computed, or where its text is, and not how.
bool says_what(const std::string& key) {
  static constexpr std::array<std::string_view, 7> kKeys = {"operation", "implementation", "kernel", "source",
                                                            "reference", "library",        "args"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::optional<Json> object_of(const std::string& text) {
  std::optional<Json> json = parse_json(text);
  return json && json->is_object() ? json : std::nullopt;
}

/// Sets a key of the recipe, or a key inside of one of its tables when `inner` is given.
void set_key(contract::TaskBaseline* recipe, const std::string& key, const std::string& inner, const Json& value) {
  auto found =
      std::find_if(recipe->recipe.begin(), recipe->recipe.end(), [&](const auto& e) { return e.first == key; });
  if (found == recipe->recipe.end()) found = recipe->recipe.insert(recipe->recipe.end(), {key, "{}"});
  Json whole = value;
  if (!inner.empty()) {
    whole = object_of(found->second).value_or(Json::object());
    whole[inner] = value;
  }
  found->second = whole.dump();
}

void leave_out(contract::TaskBaseline* recipe, const std::string& key, const std::string& inner) {
  auto found =
      std::find_if(recipe->recipe.begin(), recipe->recipe.end(), [&](const auto& e) { return e.first == key; });
  if (found == recipe->recipe.end()) return;
  if (inner.empty()) {
    recipe->recipe.erase(found);
    return;
  }
  Json whole = object_of(found->second).value_or(Json::object());
  whole.erase(inner);
  found->second = whole.dump();
}

void keys_left_out(const contract::TaskBaseline& baseline, std::vector<RecipeChange>* out) {
  for (const auto& [key, value] : baseline.recipe) {
    if (says_what(key)) continue;
    const std::optional<Json> table = object_of(value);
    if (!table) {
      RecipeChange change{fmt::format("{}: {} -> left out", key, value), baseline, {}, 0, ""};
      leave_out(&change.recipe, key, "");
      out->push_back(std::move(change));
      continue;
    }
    for (const auto& [inner, had] : table->items()) {
      RecipeChange change{fmt::format("{}.{}: {} -> left out", key, inner, had.dump()), baseline, {}, 0, ""};
      leave_out(&change.recipe, key, inner);
      out->push_back(std::move(change));
    }
  }
}

/// Keys of a config that the recipe does not have: what a tuner of its own found.
void tuned_keys_left_out(const contract::TaskBaseline& baseline, const tune::Contender& whole,
                         std::vector<RecipeChange>* out) {
  const std::optional<Json> config = object_of(whole.prepare.config);
  if (!config) return;
  for (const auto& [key, had] : config->items()) {
    Json without = *config;
    without.erase(key);
    out->push_back({fmt::format("config.{}: {} -> left out", key, had.dump()), baseline, {}, 0, without.dump()});
  }
}

/// What oneDNN chooses by itself: the instruction set and the library.
void onednn_changes(const contract::TaskBaseline& baseline, const tune::Contender& whole, const target::Target& machine,
                    const std::vector<std::string>& libraries, std::vector<RecipeChange>* out) {
  const auto cap = [&](const char* name) {
    out->push_back({fmt::format("instruction set: the widest -> {}", name),
                    baseline,
                    {fmt::format("ONEDNN_MAX_CPU_ISA={}", name), fmt::format("DNNL_MAX_CPU_ISA={}", name)},
                    0,
                    ""});
  };
#if defined(__x86_64__)
  if (machine.vector_bytes >= 64) cap("AVX2");
  if (machine.vector_bytes >= 32) cap("SSE41");
#else
  (void)machine;
  (void)cap;
#endif
  for (const std::string& library : libraries) {
    if (library == whole.prepare.library) continue;
    RecipeChange change{fmt::format("library: {} -> {}", whole.prepare.library, library), baseline, {}, 0, ""};
    set_key(&change.recipe, "library", "", library);
    out->push_back(std::move(change));
  }
}

Result<RecipeChange> typed_change(const contract::TaskBaseline& baseline, const tune::Contender& whole,
                                  const std::string& set) {
  const size_t equals = set.find('=');
  const std::string key = set.substr(0, equals);
  if (equals == std::string::npos || key.empty() || key.ends_with('.')) {
    return Diagnostic{Code::usage, fmt::format("--set is `{}`, and KEY=VALUE is needed", set)}.fix(
        "env.NAME=VALUE, threads=N, config.KEY=VALUE or a key of the baseline's recipe");
  }
  const std::string text = set.substr(equals + 1);
  const Json value = parse_json(text).value_or(Json(text));
  RecipeChange change{fmt::format("{} -> {}", key, text), baseline, {}, 0, ""};
  const size_t dot = key.find('.');
  if (key.substr(0, dot) == "env" && dot != std::string::npos) {
    change.variables.push_back(fmt::format("{}={}", key.substr(dot + 1), text));
  } else if (key.substr(0, dot) == "config" && dot != std::string::npos) {
    Json config = object_of(whole.prepare.config).value_or(Json::object());
    config[key.substr(dot + 1)] = value;
    change.config = config.dump();
  } else if (key == "threads") {
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > 4096) {
      return Diagnostic{Code::usage, fmt::format("--set threads is `{}`, and a whole number from 1 is needed", text)};
    }
    change.threads = value.get<int>();
  } else if (says_what(key) && key != "library") {
    return Diagnostic{Code::usage, fmt::format("`{}` says what the baseline computes, so it cannot be varied", key)};
  } else {
    const std::string head = key.substr(0, dot);
    set_key(&change.recipe, head, dot == std::string::npos ? "" : key.substr(dot + 1), value);
  }
  return change;
}

}  // namespace

Result<std::vector<RecipeChange>> recipe_changes(const contract::TaskBaseline& baseline, const tune::Contender& whole,
                                                 const target::Target& machine,
                                                 const std::vector<std::string>& libraries,
                                                 const std::vector<std::string>& sets) {
  std::vector<RecipeChange> out;
  for (const std::string& set : sets) out.push_back(HC_TRY(typed_change(baseline, whole, set)));
  keys_left_out(baseline, &out);
  tuned_keys_left_out(baseline, whole, &out);
  if (whole.prepare.implementation == kOneDnnWorker) onednn_changes(baseline, whole, machine, libraries, &out);
  if (machine.cores > 1 && whole.prepare.threads != 1) out.push_back({"threads: all -> 1", baseline, {}, 1, ""});
  return out;
}

void apply_change(const RecipeChange& change, tune::Contender* contender) {
  Json recipe = object_of(contender->arm.config).value_or(Json::object());
  if (change.threads > 0) {
    contender->prepare.threads = change.threads;
    recipe["threads"] = change.threads;
  }
  if (!change.config.empty()) {
    contender->prepare.config = change.config;
    recipe["config"] = parse_json(change.config).value_or(Json(change.config));
  }
  if (!change.variables.empty()) {
    std::vector<std::string> argv = {"env"};
    argv.insert(argv.end(), change.variables.begin(), change.variables.end());
    argv.insert(argv.end(), contender->argv.begin(), contender->argv.end());
    contender->argv = std::move(argv);
    recipe["env"] = change.variables;
  }
  contender->arm.config = recipe.dump();
  contender->arm.source_sha256 = sha256_hex(contender->arm.config);
}

}  // namespace hc::cli
