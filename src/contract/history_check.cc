// The rules of a clean history, applied commit by commit.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/subprocess.h"
#include "contract/history.h"

namespace hc::contract {
namespace {

constexpr size_t kTailOfOutput = 400;  ///< characters of a failed test's output that are shown
constexpr size_t kShortestName = 5;    ///< a file name shorter than this is only looked for with its folder

struct Commit {
  std::string id, subject, message, added;  ///< `added`: every line that the commit adds
  std::vector<std::string> paths;
  bool merge = false, noland = false, bench = false;
  std::string name() const { return fmt::format("{} \"{}\"", id.substr(0, 10), subject); }
};

/// Everything that one check shares.
struct History {
  const Git& git;
  const HistoryRules& rules;
  std::vector<Commit> commits;
  std::vector<std::string> findings;
  void find(std::string sentence) { findings.push_back(std::move(sentence)); }
};

/// The lines that a commit adds, without the headers of the patch.
std::string added_lines(const std::string& patch) {
  std::string out;
  size_t begin = 0;
  while (begin < patch.size()) {
    const size_t end = std::min(patch.find('\n', begin), patch.size());
    if (patch[begin] == '+' && patch.compare(begin, 4, "+++ ") != 0) out += patch.substr(begin + 1, end - begin);
    begin = end + 1;
  }
  return out;
}

Result<Commit> read_commit(const Git& git, const HistoryRules& rules, const std::string& id) {
  Commit c;
  c.id = id;
  c.subject = HC_TRY(git.run({"log", "-1", "--format=%s", id}));
  c.message = HC_TRY(git.run({"log", "-1", "--format=%B", id}));
  c.merge = HC_TRY(git.run({"log", "-1", "--format=%P", id})).find(' ') != std::string::npos;
  c.paths = HC_TRY(git.list({"diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "--no-renames", "-z", id}));
  c.added = added_lines(HC_TRY(git.run({"diff-tree", "-p", "-U0", "--root", "--no-commit-id", "--no-renames", id})));
  c.noland = c.subject.starts_with(kNoland);
  c.bench =
      !c.noland && std::any_of(c.paths.begin(), c.paths.end(), [&](const auto& p) { return fits_any(rules.bench, p); });
  return c;
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; }

/// Whether `text` speaks of `name` as a word of its own.
bool mentions(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool before = at > 0 && word_character(text[at - 1]);
    const size_t end = at + name.size();
    // a full stop ends a sentence as well
    const bool after = end < text.size() && word_character(text[end]) && text[end] != '.';
    if (!before && !after) return true;
  }
  return false;
}

void check_order(History& h) {
  size_t noland = 0;
  for (size_t i = 0; i < h.commits.size(); ++i) {
    const Commit& c = h.commits[i];
    if (c.merge) h.find(fmt::format("{} is a merge; a clean history is a line", c.name()));
    if (c.bench && i > 0) h.find(fmt::format("{} touches benchmarks, which belong into the first commit", c.name()));
    noland += c.noland;
    if (c.noland && i + 1 < h.commits.size()) h.find(fmt::format("{} is not the last commit", c.name()));
  }
  if (noland > 1) h.find(fmt::format("there are {} {} commits; one is enough", noland, kNoland));
  const Commit& first = h.commits.front();
  if (!first.bench) return;
  for (const std::string& path : first.paths) {
    if (!fits_any(h.rules.bench, path)) {
      h.find(fmt::format("{} holds {} beside the benchmarks", first.name(), path));
    }
  }
}

void check_paths(History& h) {
  for (const Commit& c : h.commits) {
    for (const std::string& path : c.paths) {
      if (path.starts_with("artifacts/"))
        h.find(fmt::format("{} tracks {}; raw results stay out of git", c.name(), path));
      if (c.noland) continue;
      if (fits_any(h.rules.noland, path)) {
        h.find(fmt::format("{} holds {}, which belongs into the {} commit", c.name(), path, kNoland));
      }
      const TaskScope& scope = h.rules.scope;
      const bool allowed = scope.allow.empty() || fits_any(scope.allow, path) || fits_any(h.rules.bench, path);
      if (!allowed || fits_any(scope.deny, path)) {
        h.find(fmt::format("{} changes {}, which lies outside the scope", c.name(), path));
      }
    }
  }
}

void check_messages(History& h) {
  for (const Commit& c : h.commits) {
    if (c.subject.empty()) h.find(fmt::format("{} has no subject", c.id.substr(0, 10)));
    for (const char* start : {"fixup!", "squash!", "wip", "WIP"}) {
      if (c.subject.starts_with(start)) h.find(fmt::format("{} is not meant to stay", c.name()));
    }
    if (c.noland || c.bench) continue;
    for (const auto& [prefix, pattern] : h.rules.prefixes) {
      const bool asked = std::any_of(c.paths.begin(), c.paths.end(),
                                     [&, wanted = pattern](const auto& p) { return path_fits(wanted, p); });
      if (asked && !c.subject.starts_with(prefix)) h.find(fmt::format("{} needs the prefix {}", c.name(), prefix));
    }
  }
}

/// No other commit may touch or speak of what will not land.
void check_references(History& h) {
  std::set<std::string> hidden;
  for (const Commit& c : h.commits) {
    if (c.noland) hidden.insert(c.paths.begin(), c.paths.end());
  }
  for (const Commit& c : h.commits) {
    if (c.noland) continue;
    for (const std::string& path : hidden) {
      if (std::find(c.paths.begin(), c.paths.end(), path) != c.paths.end()) {
        h.find(fmt::format("{} touches {} as the {} commit does", c.name(), path, kNoland));
        continue;
      }
      const std::string leaf = path.substr(path.rfind('/') + 1);
      const bool spoken = mentions(c.message, path) || mentions(c.added, path) ||
                          (leaf.size() >= kShortestName && (mentions(c.message, leaf) || mentions(c.added, leaf)));
      if (spoken) h.find(fmt::format("{} refers to {}, which will not land", c.name(), path));
    }
  }
}

/// Runs the task's test command on an exported copy of each commit.
Status check_tests(History& h) {
  if (h.rules.scope.test.empty()) return success();
  for (const Commit& c : h.commits) {
    const TempFolder copy("commit");
    const std::string& folder = copy.path();
    const std::vector<std::string> env{"GIT_INDEX_FILE=" + join_path(folder, "index")};
    HC_TRY(h.git.run({"read-tree", c.id}, env));
    HC_TRY(h.git.run({"checkout-index", "--all", "--prefix=" + join_path(folder, "tree") + "/"}, env));
    (void)make_folders(join_path(folder, "tree"));
    const RunOutcome run = run_process({"sh", "-c", "cd \"$0\" && " + h.rules.scope.test, join_path(folder, "tree")},
                                       h.rules.test_seconds);
    if (run.ok()) continue;
    const std::string all = run.out + run.err + run.failure;
    h.find(fmt::format("the test command {} on {}: {}", run.timed_out ? "did not end" : "fails", c.name(),
                       all.size() > kTailOfOutput ? "..." + all.substr(all.size() - kTailOfOutput) : all));
  }
  return success();
}

}  // namespace

Result<std::vector<std::string>> check_history(const Git& git, const HistoryRules& rules, const std::string& base,
                                               const std::string& head) {
  History h{git, rules, {}, {}};
  const std::string tip = HC_TRY(git.commit(head));
  const std::string from = HC_TRY(git.base(base, tip));
  const std::string ids = HC_TRY(git.run({"rev-list", "--reverse", "--topo-order", from + ".." + tip}));
  for (size_t at = 0; at < ids.size(); at += 41) {
    h.commits.push_back(HC_TRY(read_commit(git, rules, ids.substr(at, 40))));
  }
  if (h.commits.empty()) return std::vector<std::string>{"there is no commit since " + from.substr(0, 12)};
  for (const std::string& path : HC_TRY(git.list({"ls-tree", "-r", "--name-only", "-z", tip, "--", "artifacts"}))) {
    h.find(path + " is tracked; raw results stay out of git");
    break;
  }
  check_order(h);
  check_paths(h);
  check_messages(h);
  check_references(h);
  HC_TRY(check_tests(h));
  return std::move(h.findings);
}

}  // namespace hc::contract
