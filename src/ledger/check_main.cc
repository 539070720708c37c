// hillclimb-check: the referee alone, without compiler and without CUDA.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ledger/checker.h"

namespace {

constexpr int kUsage = 64;

/// HILLCLIMB_ANCHOR, or the file under the user's state directory.
std::string anchor_path(const std::string& goal_path) {
  if (const char* given = std::getenv("HILLCLIMB_ANCHOR"); given && *given) return given;
  const size_t slash = goal_path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : goal_path.substr(0, slash);
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state) return hc::ledger::anchor_path_for(std::string(state) + "/hillclimb", folder);
  const char* home = std::getenv("HOME");
  return home && *home ? hc::ledger::anchor_path_for(std::string(home) + "/.local/state/hillclimb", folder) : "";
}

}  // namespace

int main(int argc, char** argv) {
  hc::ledger::CheckOptions options;
  bool json = false, seen = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--strict") {
      options.strict = true;
    } else if (argument == "--help" || argument == "-h" || seen || argument.substr(0, 1) == "-") {
      std::printf(
          "usage: hillclimb-check [--json] [--strict] [artifacts/goal.json]\n"
          "exit status: 0 met, 1 unmet, 2 evidence broken, 3 undecided, 64 usage\n");
      return argument == "--help" || argument == "-h" ? 0 : kUsage;
    } else {
      options.goal_path = argument;
      seen = true;
    }
  }
  options.anchor_path = anchor_path(options.goal_path);
  const hc::ledger::CheckReport report = hc::ledger::check_goal(options);
  std::fputs((json ? to_json(report) : report.text).c_str(), stdout);
  return report.exit_code;
}
