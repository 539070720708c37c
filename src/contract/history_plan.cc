// Planning and applying a cleaned history.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "contract/history.h"

namespace hc::contract {
namespace {

constexpr const char* kHistorySchema = "hillclimb.history/1";

struct PastCommit {
  std::string id, subject, message;
  std::vector<std::string> paths;
};

Diagnostic usage(std::string message) { return Diagnostic{.code = Code::usage, .message = std::move(message)}; }

Result<std::vector<std::string>> changed_paths(const Git& git, const std::string& from, const std::string& to) {
  return git.list({"diff-tree", "-r", "--name-only", "--no-renames", "-z", from, to});
}

Result<std::vector<PastCommit>> past(const Git& git, const std::string& base, const std::string& head) {
  std::vector<PastCommit> out;
  const std::string ids = HC_TRY(git.run({"rev-list", "--reverse", "--no-merges", base + ".." + head}));
  for (size_t at = 0; at < ids.size(); at += 41) {
    PastCommit one;
    one.id = ids.substr(at, 40);
    one.subject = HC_TRY(git.run({"log", "-1", "--format=%s", one.id}));
    one.message = HC_TRY(git.run({"log", "-1", "--format=%B", one.id}));
    one.paths =
        HC_TRY(git.list({"diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "--no-renames", "-z", one.id}));
    out.push_back(std::move(one));
  }
  return out;
}

/// Gathers commits that share a file, since their changes of that file cannot be told apart in the end.
class Gatherer {
 public:
  explicit Gatherer(const std::vector<std::string>& paths) : paths_(paths), parent_(paths.size()) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (size_t i = 0; i < paths.size(); ++i) index_[paths[i]] = i;
  }
  void together(const std::vector<std::string>& touched) {
    size_t first = paths_.size();
    for (const std::string& path : touched) {
      const auto it = index_.find(path);
      if (it == index_.end()) continue;
      if (first == paths_.size()) first = root(it->second);
      parent_[root(it->second)] = first;
    }
  }
  size_t root(size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  /// Root of the first path of a commit that is still there in the end, or npos.
  size_t group_of(const std::vector<std::string>& touched) const {
    for (const std::string& path : touched) {
      if (const auto it = index_.find(path); it != index_.end()) return root(it->second);
    }
    return std::string::npos;
  }

 private:
  const std::vector<std::string>& paths_;
  std::vector<size_t> parent_;
  std::map<std::string, size_t> index_;
};

/// The subject with the prefix that its paths ask for.
std::string prefixed(const HistoryRules& rules, const std::vector<std::string>& paths, std::string message) {
  for (const auto& [prefix, pattern] : rules.prefixes) {
    const bool asked =
        std::any_of(paths.begin(), paths.end(), [&, wanted = pattern](const auto& p) { return path_fits(wanted, p); });
    if (asked && !message.starts_with(prefix)) message = prefix + " " + message;
  }
  return message;
}

std::string message_for(const std::vector<const PastCommit*>& commits, const std::string& otherwise) {
  if (commits.empty()) return otherwise;
  if (commits.size() == 1) return commits.front()->message;
  std::string out = commits.back()->subject + "\n";
  for (const PastCommit* one : commits) out += "\n* " + one->subject;
  return out;
}

HistoryGroup group(const HistoryRules& rules, const std::string& head, std::vector<std::string> paths,
                   const std::vector<const PastCommit*>& commits, const std::string& otherwise) {
  HistoryGroup out;
  out.at = head;
  out.message = prefixed(rules, paths, message_for(commits, otherwise));
  out.paths = std::move(paths);
  for (const PastCommit* one : commits) out.commits.push_back(one->subject);
  return out;
}

/// The middle of the history, in the order in which the groups were begun.
void add_work(const HistoryRules& rules, const std::string& head, const std::vector<std::string>& work,
              const std::vector<PastCommit>& commits, HistoryPlan* plan) {
  Gatherer gatherer(work);
  for (const PastCommit& one : commits) gatherer.together(one.paths);
  std::vector<size_t> order;
  std::map<size_t, std::vector<const PastCommit*>> members;
  for (const PastCommit& one : commits) {
    const size_t root = gatherer.group_of(one.paths);
    if (root == std::string::npos) continue;
    if (members[root].empty()) order.push_back(root);
    members[root].push_back(&one);
  }
  for (const size_t root : order) {
    std::vector<std::string> paths;
    for (size_t i = 0; i < work.size(); ++i) {
      if (gatherer.root(i) == root) paths.push_back(work[i]);
    }
    plan->groups.push_back(group(rules, head, std::move(paths), members[root], "work"));
  }
}

std::vector<std::string> texts(const Json& json) {
  std::vector<std::string> out;
  if (!json.is_array()) return out;
  for (const Json& one : json) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

/// A temporary index file that is gone when this goes.
class TempIndex {
 public:
  std::vector<std::string> env() const { return {"GIT_INDEX_FILE=" + join_path(folder_.path(), "index")}; }

 private:
  TempFolder folder_{"history"};
};

/// Gives `path` in the index the state that it has at a commit.
Status set_path(const Git& git, const std::vector<std::string>& env, const std::string& at, const std::string& path) {
  const std::vector<std::string> entries = HC_TRY(git.list({"ls-tree", "-z", at, "--", ":(literal)" + path}));
  if (entries.empty()) {
    HC_TRY(git.run({"update-index", "--force-remove", "--", path}, env));
    return success();
  }
  // "100644 blob <id>\t<path>"
  const std::string& entry = entries.front();
  const size_t space = entry.find(' '), id = entry.find(' ', space + 1) + 1;
  if (entry.compare(space + 1, 4, "tree") == 0) return usage(fmt::format("`{}` is a folder; a plan lists files", path));
  HC_TRY(git.run({"update-index", "--add", "--replace", "--cacheinfo",
                  fmt::format("{},{},{}", entry.substr(0, space), entry.substr(id, 40), path)},
                 env));
  return success();
}

}  // namespace

Result<HistoryPlan> plan_history(const Git& git, const HistoryRules& rules, const std::string& base) {
  HistoryPlan plan;
  plan.head = HC_TRY(git.commit("HEAD"));
  plan.base = HC_TRY(git.base(base, plan.head));
  const std::vector<PastCommit> commits = HC_TRY(past(git, plan.base, plan.head));
  std::vector<std::string> bench, work, noland;
  for (std::string& path : HC_TRY(changed_paths(git, plan.base, plan.head))) {
    auto& where = fits_any(rules.noland, path) ? noland : fits_any(rules.bench, path) ? bench : work;
    where.push_back(std::move(path));
  }
  const auto touching = [&](const std::vector<std::string>& paths) {
    std::vector<const PastCommit*> out;
    const std::set<std::string> wanted(paths.begin(), paths.end());
    for (const PastCommit& one : commits) {
      if (std::any_of(one.paths.begin(), one.paths.end(), [&](const auto& p) { return wanted.count(p) > 0; }))
        out.push_back(&one);
    }
    return out;
  };
  if (bench.empty() && work.empty() && noland.empty()) {
    return usage(fmt::format("nothing was committed since {}, so there is no history to plan", plan.base.substr(0, 12)))
        .fix("--base COMMIT names an earlier one");
  }
  if (!bench.empty()) {
    HistoryGroup first = group(rules, plan.head, bench, touching(bench), "");
    first.message = "benchmarks and baselines";
    plan.groups.push_back(std::move(first));
  }
  add_work(rules, plan.head, work, commits, &plan);
  if (!noland.empty()) {
    HistoryGroup last = group(rules, plan.head, noland, touching(noland), "");
    last.message = std::string(kNoland) + " planning files";
    plan.groups.push_back(std::move(last));
  }
  return plan;
}

std::string to_json(const HistoryPlan& plan) {
  Json out;
  out["schema"] = kHistorySchema;
  out["base"] = plan.base;
  out["head"] = plan.head;
  out["groups"] = Json::array();
  for (const HistoryGroup& one : plan.groups) {
    out["groups"].push_back({{"message", one.message}, {"at", one.at}, {"paths", one.paths}, {"commits", one.commits}});
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<HistoryPlan> parse_history_plan(const std::string& text, const std::string& where) {
  const auto wrong = [&](const std::string& why) {
    return Diagnostic{.code = Code::file_error, .message = fmt::format("{}: {}", where, why)};
  };
  const std::optional<Json> json = parse_json(text);
  if (!json || !json->is_object() || json->value("schema", Json()) != kHistorySchema) {
    return wrong(fmt::format("this is no history plan of schema {}", kHistorySchema));
  }
  HistoryPlan plan;
  plan.base = json->value("base", Json("")).is_string() ? json->value("base", "") : "";
  plan.head = json->value("head", Json("")).is_string() ? json->value("head", "") : "";
  for (const Json& one : json->value("groups", Json::array())) {
    if (!one.is_object() || !one.value("message", Json()).is_string()) return wrong("each group needs its `message`");
    HistoryGroup group;
    group.message = one["message"].get<std::string>();
    group.at = one.value("at", Json()).is_string() ? one["at"].get<std::string>() : plan.head;
    group.paths = texts(one.value("paths", Json()));
    group.commits = texts(one.value("commits", Json()));
    if (group.message.find_first_not_of(" \n\t") == std::string::npos) return wrong("a group's `message` is empty");
    if (group.paths.empty()) return wrong(fmt::format("the group \"{}\" has no `paths`", group.message));
    plan.groups.push_back(std::move(group));
  }
  if (plan.base.empty() || plan.head.empty() || plan.groups.empty())
    return wrong("`base`, `head` and `groups` are needed");
  return plan;
}

std::string plan_summary(const HistoryPlan& plan) {
  std::string out = fmt::format("{} commits on {}\n", plan.groups.size(), plan.base.substr(0, 12));
  for (const HistoryGroup& one : plan.groups) {
    out += fmt::format("  {}  ({} files", one.message.substr(0, one.message.find('\n')), one.paths.size());
    out += one.commits.size() > 1 ? fmt::format(", from {} commits)\n", one.commits.size()) : ")\n";
  }
  return out;
}

Result<std::string> apply_history(const Git& git, const HistoryPlan& plan, const std::string& branch) {
  HC_TRY(git.run({"check-ref-format", "--branch", branch}));
  if (git.knows("refs/heads/" + branch)) {
    return usage(fmt::format("the branch {} exists already; a rewritten history goes on a new one", branch));
  }
  const std::string head = HC_TRY(git.commit(plan.head));
  if (HC_TRY(git.commit("HEAD")) != head) {
    return usage("the plan is of another head than the one checked out")
        .fix("`hillclimb history plan` makes a fresh one");
  }
  const TempIndex index;
  HC_TRY(git.run({"read-tree", HC_TRY(git.commit(plan.base))}, index.env()));
  std::string parent = HC_TRY(git.commit(plan.base));
  std::string tree = HC_TRY(git.run({"rev-parse", parent + "^{tree}"}));
  for (const HistoryGroup& one : plan.groups) {
    const std::string at = HC_TRY(git.commit(one.at));
    for (const std::string& path : one.paths) HC_TRY(set_path(git, index.env(), at, path));
    const std::string next = HC_TRY(git.run({"write-tree"}, index.env()));
    if (next == tree) return usage(fmt::format("the group \"{}\" changes nothing", one.message));
    tree = next;
    parent = HC_TRY(git.run({"commit-tree", tree, "-p", parent, "-m", one.message}));
  }
  if (tree != HC_TRY(git.run({"rev-parse", head + "^{tree}"}))) {
    const std::vector<std::string> missing = HC_TRY(changed_paths(git, tree, head));
    return usage(fmt::format("the planned commits do not end at the same tree: {} would differ", missing.front()));
  }
  HC_TRY(git.run({"branch", "--no-track", branch, parent}));
  return parent;
}

}  // namespace hc::contract
