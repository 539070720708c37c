// The command line: rows to CLI11, values to the action, diagnostics to the terminal and to an exit status.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>

#include "base/files.h"
#include "cli/command.h"

namespace hc::cli {
namespace {

constexpr int kUsageStatus = 64;

/// Stands before words that CLI11 would read in its own way: `[64]` as a list, `-1` as an option.
constexpr char kGuard = '\x1f';

std::string guarded(std::string_view word) {
  const bool list = word.starts_with('[');
  const bool number = word.size() > 1 && word[0] == '-' && (word[1] == '.' || (word[1] >= '0' && word[1] <= '9'));
  return list || number ? kGuard + std::string(word) : std::string(word);
}

/// Where CLI11 puts the values of one option.
struct Slot {
  const Option* option = nullptr;
  bool flag = false;
  std::vector<std::string> values;
  CLI::Option* bound = nullptr;
};

void bind(CLI::App& app, const Option& option, std::deque<Slot>* slots) {
  Slot& slot = slots->emplace_back();
  slot.option = &option;
  switch (option.kind) {
    case OptionKind::flag:
      slot.bound = app.add_flag(option.name, slot.flag, option.sentence);
      return;
    case OptionKind::one:
      slot.bound = app.add_option(option.name, slot.values, option.sentence)->type_name(option.value)->expected(1);
      slot.bound->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      return;
    case OptionKind::many:
      slot.bound = app.add_option(option.name, slot.values, option.sentence)->type_name(option.value)->expected(-1);
      return;
    case OptionKind::word:
    case OptionKind::optional_word:
      slot.bound = app.add_option(option.name, slot.values, option.sentence)->type_name("")->expected(1);
      slot.bound->allow_extra_args(false);  // the next word is the next option's
      if (option.kind == OptionKind::word) slot.bound->required();
      return;
  }
}

Parsed collect(const std::deque<Slot>& slots) {
  Parsed parsed;
  for (const Slot& slot : slots) {
    if (slot.bound->count() == 0) continue;
    std::vector<std::string> values = slot.values;
    for (std::string& value : values) {
      if (value.starts_with(kGuard)) value.erase(0, 1);
    }
    parsed.set(slot.option->name, std::move(values));
  }
  return parsed;
}

int finish(const Result<int>& result) {
  if (result.ok()) return result.value();
  std::fflush(stdout);
  std::fputs(diag::render(result.error()).c_str(), stderr);
  return diag::exit_status(result.error().code);
}

int usage_error(std::string message, const std::string& command) {
  return finish(Diagnostic{Code::usage, std::move(message)}.fix(
      fmt::format("`hillclimb {}--help` lists what is understood", command.empty() ? "" : command + " ")));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The first word that is not an option must be a command; CLI11 would only speak of surplus arguments.
bool unknown_command(int argc, const char* const* argv, std::string* word) {
  if (argc < 2 || argv[1][0] == '-') return false;
  *word = argv[1];
  for (const Command& command : commands()) {
    if (command.name == *word) return false;
  }
  return true;
}

/// A mistyped option; CLI11 would take it for a surplus word.
bool unknown_option(int argc, const char* const* argv, const Command& command, std::string* word) {
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.size() < 3 || !text.starts_with("--") || text == "--help" || text == "--version") continue;
    *word = text.substr(0, text.find('='));
    bool known = false;
    for (const Option& option : command.options) known |= option.name == *word;
    if (!known) return true;
  }
  return false;
}

}  // namespace

Context read_environment() {
  Context context;
  const std::string home = environment("HOME").empty() ? "/tmp" : environment("HOME");
  const std::string cache = environment("XDG_CACHE_HOME");
  const std::string state = environment("XDG_STATE_HOME");
  context.cache_folder = environment("HILLCLIMB_CACHE");
  if (context.cache_folder.empty()) {
    context.cache_folder = join_path(cache.empty() ? join_path(home, ".cache") : cache, "hillclimb");
  }
  context.state_folder = join_path(state.empty() ? join_path(home, ".local/state") : state, "hillclimb");
  context.anchor = environment("HILLCLIMB_ANCHOR");
  context.program = program_path();
  return context;
}

int run_command_line(int argc, const char* const* argv) {
  std::string word;
  if (unknown_command(argc, argv, &word)) return usage_error(fmt::format("there is no command `{}`", word), "");
  for (const Command& command : commands()) {
    if (argc < 2 || command.name != argv[1] || !unknown_option(argc, argv, command, &word)) continue;
    return usage_error(fmt::format("{} has no option `{}`", command.name, word), command.name);
  }
  CLI::App app{"Takes a tile kernel to the state of the art, and proves that it got there.", "hillclimb"};
  app.set_version_flag("--version", "hillclimb 0.1.0", "Print the version.");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::deque<std::deque<Slot>> slots;
  std::vector<CLI::App*> apps;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.sentence);
    if (command.hidden) sub->group("");
    std::deque<Slot>& mine = slots.emplace_back();
    for (const Option& option : command.options) bind(*sub, option, &mine);
    apps.push_back(sub);
  }
  const auto chosen = [&]() -> size_t {
    for (size_t i = 0; i < apps.size(); ++i) {
      if (apps[i]->parsed()) return i;
    }
    return apps.size();
  };
  try {
    std::vector<std::string> words;  // CLI11 takes them last word first
    for (int i = argc - 1; i > 0; --i) words.push_back(guarded(argv[i]));
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    // Help and version leave through here as well, with status 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    const size_t i = chosen();
    return usage_error(error.what(), i < apps.size() ? commands()[i].name : "");
  }
  const size_t i = chosen();
  if (i == apps.size()) return kUsageStatus;
  return finish(commands()[i].action(collect(slots[i]), read_environment()));
}

}  // namespace hc::cli
