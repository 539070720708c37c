// Commands as rows: name, sentence, options, action. The parser, --help and docs/cli.md follow from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diag/diag.h"

namespace hc::cli {

/// How an option is written: `--name`, `--name VALUE` (the last one counts), `--name A B C`, or a bare word.
enum class OptionKind : uint8_t { flag, one, many, word, optional_word };

struct Option {
  std::string name;  ///< with its dashes, or the word's name in capitals
  OptionKind kind = OptionKind::flag;
  std::string value;  ///< placeholder of the value, empty for flags and words
  std::string sentence;
};

/// What was typed, by option name.
class Parsed {
 public:
  void set(const std::string& name, std::vector<std::string> values) { values_[name] = std::move(values); }
  bool has(const std::string& name) const { return values_.find(name) != values_.end(); }
  /// The last value, or the fallback.
  std::string get(const std::string& name, const std::string& fallback = "") const;
  /// All values in order.
  std::vector<std::string> all(const std::string& name) const;
  /// A whole number at least `min`, or usage.
  Result<int64_t> whole(const std::string& name, int64_t fallback, int64_t min) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

/// What the environment says; nothing below this folder reads it.
struct Context {
  std::string cache_folder;  ///< HILLCLIMB_CACHE, else XDG_CACHE_HOME/hillclimb, else ~/.cache/hillclimb
  std::string state_folder;  ///< XDG_STATE_HOME/hillclimb, else ~/.local/state/hillclimb
  std::string anchor;        ///< HILLCLIMB_ANCHOR, else empty
  std::string program;       ///< absolute path of this executable
};

using Action = Result<int> (*)(const Parsed& parsed, const Context& context);

struct Command {
  std::string name;
  bool hidden = false;  ///< not listed: started by hillclimb itself
  std::string sentence;
  std::vector<Option> options;
  Action action = nullptr;
};

/// All commands in the order of the help text.
const std::vector<Command>& commands();

#define HC_COMMAND(name, ...) const Command& name##_command();
#include "cli/commands.def"
#undef HC_COMMAND

Context read_environment();

/// Parses and runs; returns the exit status.
int run_command_line(int argc, const char* const* argv);

/// docs/cli.md.
std::string cli_document();
/// docs/knobs.md.
std::string knobs_document();
/// docs/errors.md.
std::string errors_document();

}  // namespace hc::cli
