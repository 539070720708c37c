// The backlog, replayed from the ledger's idea lines.
#include "contract/backlog.h"

#include "contract/faults.h"
#include "contract/goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace hc::contract {
namespace {

constexpr size_t kShortestPrefix = 8;

std::vector<Idea>::iterator find(std::vector<Idea>& ideas, const std::string& id) {
  return std::find_if(ideas.begin(), ideas.end(), [&](const Idea& idea) { return idea.id == id; });
}

/// Puts the idea at its rank among the open ones; ranks outside of the list mean its ends.
void place(std::vector<Idea>& open, Idea idea, int64_t rank) {
  const int64_t last = static_cast<int64_t>(open.size());
  const int64_t at = rank <= 0 || rank > last ? last : rank - 1;
  open.insert(open.begin() + at, std::move(idea));
}

int64_t rank_of(const ledger::LedgerLine& line) {
  int64_t rank = 0;
  std::from_chars(line.purpose.data() + line.purpose.find(' ') + 1, line.purpose.data() + line.purpose.size(), rank);
  return rank;
}

/// An idea line: `purpose` is the action (with the rank where it has one), `subject` the idea's id, `note` the text.
ledger::LedgerLine idea_line(const std::string& run, std::string action, std::string id, std::string note) {
  ledger::LedgerLine line;
  line.kind = "idea";
  line.run = run;
  line.purpose = std::move(action);
  line.subject = std::move(id);
  line.note = std::move(note);
  return line;
}

Result<Idea> need_open(const ledger::Store& store, const std::string& run, const std::string& id) {
  std::vector<Idea> ideas = backlog(store.view(), run);
  const auto it = find(ideas, id);
  if (it == ideas.end()) {
    return goal_error(fmt::format("the backlog has no idea `{}`", id))
        .fix("give its id, such as `i1`, and not its place; `hillclimb idea list` lists the ideas");
  }
  if (!it->open) return goal_error(fmt::format("the idea {} was closed: {}", id, it->outcome));
  return *it;
}

Status need_variant(const ledger::Store& store, const std::string& variant) {
  const Goal goal = HC_TRY(read_goal(store.artifacts_dir()));
  std::vector<std::string> known;
  for (const ledger::LockedVariant& v : HC_TRY(read_lock(store.artifacts_dir(), goal.lock)).variants) {
    if (v.name == variant) return success();
    known.push_back(v.name);
  }
  return usage_error(fmt::format("the goal has no variant \"{}\"", variant)).fix("its variants are " + listed(known));
}

}  // namespace

std::vector<Idea> backlog(const ledger::LedgerView& view, const std::string& run) {
  std::vector<Idea> open, closed;
  int added = 0;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind != "idea" || line.run != run) continue;
    if (line.purpose.starts_with("add")) {
      // numbered by their order in the ledger, so that two writers at once cannot give one number twice
      place(open, Idea{fmt::format("i{}", ++added), line.note, line.variant, true, "", ""}, rank_of(line));
      continue;
    }
    const auto it = find(open, line.subject);
    if (it == open.end()) continue;
    Idea idea = std::move(*it);
    open.erase(it);
    if (line.purpose == "close") {
      idea.open = false;
      idea.outcome = line.note;
      idea.evidence = line.object;
      closed.push_back(std::move(idea));
    } else {
      place(open, std::move(idea), rank_of(line));
    }
  }
  open.insert(open.end(), closed.begin(), closed.end());
  return open;
}

Result<std::string> add_idea(ledger::Store& store, const std::string& run, const std::string& text,
                             const std::string& variant, int64_t rank) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) return usage_error("an idea needs a text");
  if (!variant.empty()) HC_TRY(need_variant(store, variant));
  for (const Idea& idea : backlog(store.view(), run)) {
    if (idea.open && idea.text == text && idea.variant == variant) return idea.id;
  }
  ledger::LedgerLine line = idea_line(run, fmt::format("add {}", rank), "", text);
  line.variant = variant;
  const int64_t seq = HC_TRY(store.append(std::move(line)));
  const auto& lines = store.view().lines;
  const auto count = std::count_if(lines.begin(), lines.begin() + seq + 1, [&](const ledger::LedgerLine& one) {
    return one.kind == "idea" && one.run == run && one.purpose.starts_with("add");
  });
  return fmt::format("i{}", count);
}

Status rank_idea(ledger::Store& store, const std::string& run, const std::string& id, int64_t rank) {
  HC_TRY(need_open(store, run, id));
  if (rank < 1) return goal_error("the best rank is 1");
  HC_TRY(store.append(idea_line(run, fmt::format("rank {}", rank), id, "")));
  return success();
}

Status close_idea(ledger::Store& store, const std::string& run, const std::string& id, const std::string& outcome,
                  const std::string& evidence) {
  HC_TRY(need_open(store, run, id));
  if (evidence.empty()) {
    return goal_error(fmt::format("closing {} needs evidence: an artifact that shows what came of it", id))
        .fix("measure it (`hillclimb try` or `hillclimb measure`) and name the artifact with --evidence");
  }
  ledger::LedgerLine line = idea_line(run, "close", id, outcome.empty() ? "tried" : outcome);
  line.object = HC_TRY(resolve_object(store.view(), evidence));
  HC_TRY(ledger::read_object(store.artifacts_dir(), line.object));
  HC_TRY(store.append(std::move(line)));
  return success();
}

Result<std::string> resolve_object(const ledger::LedgerView& view, const std::string& text) {
  std::set<std::string> found;
  std::string path = text;
  if (const size_t at = path.rfind("artifacts/"); at != std::string::npos) path = path.substr(at + 10);
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind != "object") continue;
    if (line.object == text || line.name == path) found = {line.object};
    if (line.object == text || line.name == path) break;
    if (text.size() >= kShortestPrefix && line.object.starts_with(text)) found.insert(line.object);
  }
  if (found.size() == 1) return *found.begin();
  const char* what = found.empty() ? "no object of the ledger" : "more than one object of the ledger";
  return Diagnostic{.code = Code::goal_error, .message = fmt::format("`{}` names {}", text, what)}.fix(
      "give an object id, its first 8 digits or more, or its path artifacts/RUN/NAME.json");
}

}  // namespace hc::contract
