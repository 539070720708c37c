// The ranked idea backlog of a run, kept as lines of the ledger so that nothing in it can vanish.
#pragma once

#include <string>
#include <vector>

#include "ledger/store.h"

namespace hc::contract {

struct Idea {
  std::string id;        ///< i1, i2, ... in the order of adding
  std::string text;      ///< what to try
  std::string variant;   ///< the variant it is for, or empty
  bool open = true;      ///< false once it was closed with evidence
  std::string outcome;   ///< what came of it, once closed
  std::string evidence;  ///< object id that shows it, once closed
};

/// Ideas of a run: the open ones by rank, best first, then the closed ones in the order of closing.
std::vector<Idea> backlog(const ledger::LedgerView& view, const std::string& run);
/// Adds an idea at `rank` (1 is the best; 0: at the end); returns its id.
Result<std::string> add_idea(ledger::Store& store, const std::string& run, const std::string& text,
                             const std::string& variant, int64_t rank);
/// Moves an open idea to `rank`, 1 being the best.
Status rank_idea(ledger::Store& store, const std::string& run, const std::string& id, int64_t rank);
/// Closes an open idea; the evidence is an object that the ledger lists, by id, unique beginning or path.
Status close_idea(ledger::Store& store, const std::string& run, const std::string& id, const std::string& outcome,
                  const std::string& evidence);
/// The id of a listed object from its id, a beginning of it (8 digits or more) or its path under artifacts/.
Result<std::string> resolve_object(const ledger::LedgerView& view, const std::string& text);

}  // namespace hc::contract
