// Reads the kernel, its arguments and its config from the command line.
#include "cli/kernel_request.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "tune/search.h"

namespace hc::cli {
namespace {

/// Splits at the last colon, which a path may not hold after its last slash.
std::pair<std::string, std::string> split_kernel_word(const std::string& word) {
  const size_t colon = word.rfind(':');
  const size_t slash = word.rfind('/');
  if (colon == std::string::npos || (slash != std::string::npos && colon < slash)) return {word, ""};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

/// A config file is the canonical text, or JSON with a field `winner` or `config`, as tune records have.
Result<std::string> config_text_of_file(const std::string& path) {
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{Code::file_error, fmt::format("the config file {} cannot be read: {}", path, why)};
  if (text->find('{') == std::string::npos) return *text;
  const std::optional<Json> json = parse_json(*text);
  for (const char* field : {"winner", "config"}) {
    if (!json || !json->is_object() || !json->contains(field)) continue;
    const Json& config = (*json)[field];
    if (config.is_string()) return config.get<std::string>();
    if (!config.is_object()) continue;
    return knob::to_text(HC_TRY(tune::config_from_json(config.dump())));
  }
  return Diagnostic{Code::invalid_config, fmt::format("{} holds no config", path)}.fix(
      "a config file holds knob=value words, or is the record that `hillclimb tune --out` writes");
}

}  // namespace

std::vector<Option> kernel_call_options() {
  return {{"KERNEL", OptionKind::word, "", "The file, or FILE.py:NAME where it has several kernels."},
          {"--args", OptionKind::many, "ARG",
           "Arguments in order, such as 'bf16[4096,2560]' 'i64[4096]=range(0,32000)' 0.5 None true."},
          {"--set", OptionKind::many, "KNOB=VALUE", "Set a knob, such as block_size[tile_n]=32."},
          {"--config", OptionKind::one, "FILE", "Take the config from a file; --set goes on top of it."}};
}

Result<knob::Config> read_config(const Parsed& parsed) {
  std::string text;
  if (parsed.has("--config")) text = HC_TRY(config_text_of_file(parsed.get("--config")));
  for (const std::string& word : parsed.all("--set")) text += " " + word;
  return knob::config_from_text(text);
}

Result<std::string> read_worker_config(const std::string& word) {
  std::string text = word;
  if (word.find('{') == std::string::npos) {
    std::string why;
    const std::optional<std::string> read = read_file(word, &why);
    if (!read) return Diagnostic{Code::file_error, fmt::format("the config file {} cannot be read: {}", word, why)};
    text = *read;
  }
  std::optional<Json> json = parse_json(text);
  if (json && json->is_object() && json->contains("winner") && json->contains("schema")) {
    Json winner = (*json)["winner"];
    json = winner.is_string() ? parse_json(winner.get<std::string>()) : std::move(winner);
  }
  if (json && json->is_object() && !json->empty()) return json->dump();
  return Diagnostic{Code::invalid_config, fmt::format("`{}` holds no config of a worker", word)}.fix(
      "a JSON object, as the worker reports it, or the record of a tune");
}

Result<KernelCall> read_kernel_call(const Parsed& parsed) {
  KernelCall call;
  const auto [file, name] = split_kernel_word(parsed.get("KERNEL"));
  call.file = file;
  if (!file_exists(file)) {
    return Diagnostic{Code::file_error, fmt::format("there is no kernel file `{}`", file)}.fix(
        "kernels that come with hillclimb are in kernels/");
  }
  call.request.module = HC_TRY(lang::parse_file(file));
  call.request.kernel = HC_TRY(lang::find_kernel(*call.request.module, name)).name;
  for (const std::string& word : parsed.all("--args")) {
    call.request.args.push_back(HC_TRY(lang::arg_from_text(word)));
    call.arg_texts.push_back(word);
  }
  call.config = HC_TRY(read_config(parsed));
  return call;
}

}  // namespace hc::cli
