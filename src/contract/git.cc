// Running git.
#include "contract/git.h"

#include <fmt/format.h>

#include "base/subprocess.h"

namespace hc::contract {
namespace {

constexpr double kLimitS = 120;

Diagnostic git_failed(const std::vector<std::string>& args, const RunOutcome& outcome) {
  std::string why = outcome.failure.empty() ? outcome.err : outcome.failure;
  if (outcome.timed_out) why = "it took too long";
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  return Diagnostic{.code = Code::file_error, .message = fmt::format("`git {}` failed: {}", fmt::join(args, " "), why)};
}

}  // namespace

Result<Git> Git::open(const std::string& folder) {
  const std::vector<std::string> args{"git", "-C", folder, "rev-parse", "--show-toplevel"};
  const RunOutcome outcome = run_process(args, kLimitS, {"LC_ALL=C"});
  if (!outcome.failure.empty()) {
    return Diagnostic{.code = Code::not_available, .message = "git cannot be started: " + outcome.failure};
  }
  if (!outcome.ok()) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{} lies in no git work tree", folder)};
  }
  std::string top = outcome.out;
  while (!top.empty() && top.back() == '\n') top.pop_back();
  return Git(std::move(top));
}

Result<std::string> Git::run(const std::vector<std::string>& args, const std::vector<std::string>& env) const {
  std::vector<std::string> argv{"git", "-C", top_, "-c", "core.quotePath=false"};
  argv.insert(argv.end(), args.begin(), args.end());
  std::vector<std::string> all{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"};
  all.insert(all.end(), env.begin(), env.end());
  RunOutcome outcome = run_process(argv, kLimitS, all);
  if (!outcome.ok()) return git_failed(args, outcome);
  if (!outcome.out.empty() && outcome.out.back() == '\n') outcome.out.pop_back();
  return std::move(outcome.out);
}

Result<std::vector<std::string>> Git::list(const std::vector<std::string>& args,
                                           const std::vector<std::string>& env) const {
  const std::string text = HC_TRY(run(args, env));
  std::vector<std::string> out;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool Git::knows(const std::string& name) const {
  return !name.empty() && name.front() != '-' && run({"rev-parse", "--verify", "--quiet", name + "^{commit}"}).ok();
}

Result<std::string> Git::commit(const std::string& name) const {
  if (!knows(name)) {
    return Diagnostic{.code = Code::usage, .message = fmt::format("`{}` names no commit of {}", name, top_)};
  }
  return run({"rev-parse", "--verify", name + "^{commit}"});
}

Result<std::string> Git::base(const std::string& asked, const std::string& head) const {
  if (!asked.empty()) return run({"merge-base", HC_TRY(commit(asked)), HC_TRY(commit(head))});
  const std::string tip = HC_TRY(commit(head));
  for (const std::string name : {"origin/main", "origin/master", "main", "master"}) {
    if (!knows(name)) continue;
    std::string found = HC_TRY(run({"merge-base", name, tip}));
    // a local branch that is its own base says nothing about where the work began
    if (found != tip || name.starts_with("origin/")) return found;
  }
  return Diagnostic{.code = Code::usage, .message = "there is no origin/main to compare with"}.fix(
      "name the commit that the work began at with --base");
}

}  // namespace hc::contract
