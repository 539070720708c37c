// `hillclimb idea`: the ranked backlog.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/writing.h"
#include "contract/backlog.h"

namespace hc::cli {
namespace {

Status need(const Parsed& parsed, const std::string& name, const std::string& form) {
  if (parsed.has(name)) return success();
  return Diagnostic{Code::usage, fmt::format("`idea {}` lacks {}", parsed.get("ACTION"), name)}.fix("`hillclimb idea " +
                                                                                                    form + "`");
}

void print_backlog(const Writing& writing) {
  int rank = 0;
  for (const contract::Idea& idea : contract::backlog(writing.store.view(), writing.goal.run)) {
    const std::string variant = idea.variant.empty() ? "" : " [" + idea.variant + "]";
    if (idea.open) {
      fmt::print("{}. {}{} {}\n", ++rank, idea.id, variant, idea.text);
    } else {
      fmt::print("   {}{} {}: {} ({})\n", idea.id, variant, idea.text, idea.outcome, idea.evidence.substr(0, 12));
    }
  }
}

Result<int> idea(const Parsed& parsed, const Context& context) {
  const std::string action = parsed.get("ACTION", "list");
  if (action == "add") HC_TRY(need(parsed, "TEXT", "add \"what to try\" [--variant V]"));
  if (action == "rank") HC_TRY(need(parsed, "--rank", "rank ID --rank 1"));
  if (action == "close") HC_TRY(need(parsed, "--evidence", "close ID --evidence OBJECT --outcome \"what came of it\""));
  if (action != "add" && action != "rank" && action != "close" && action != "list") {
    return Diagnostic{Code::usage, fmt::format("`idea {}` is not known", action)}.fix("add, rank, close and list are");
  }
  const int64_t rank = HC_TRY(parsed.whole("--rank", 0, 1));
  Writing writing = HC_TRY(open_writing(parsed, context, ""));
  const std::string text = parsed.get("TEXT");
  if (action == "add") {
    HC_TRY(contract::add_idea(writing.store, writing.goal.run, text, parsed.get("--variant"), rank));
  } else if (action == "rank") {
    HC_TRY(contract::rank_idea(writing.store, writing.goal.run, text, rank));
  } else if (action == "close") {
    HC_TRY(
        contract::close_idea(writing.store, writing.goal.run, text, parsed.get("--outcome"), parsed.get("--evidence")));
  }
  if (action != "list") HC_TRY(finish_writing(writing));
  print_backlog(writing);
  return 0;
}

}  // namespace

const Command& idea_command() {
  static const Command kCommand{
      "idea",
      false,
      "Keep the ranked backlog: add an idea, rank it, close it with the evidence of what came of it.",
      {{"ACTION", OptionKind::optional_word, "", "add, rank, close or list."},
       {"TEXT", OptionKind::optional_word, "", "add: what to try. rank, close: the idea's id."},
       {"--variant", OptionKind::one, "V", "add: the variant that it is for."},
       {"--rank", OptionKind::one, "N", "add, rank: its place among the open ideas, 1 being the best."},
       {"--evidence", OptionKind::one, "ID", "close: an object of the ledger, by id or path."},
       {"--outcome", OptionKind::one, "TEXT", "close: what came of it."},
       artifacts_option()},
      idea};
  return kCommand;
}

}  // namespace hc::cli
