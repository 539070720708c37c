// The iteration log of a run: one line per turn of the climb, kept in the ledger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/checker.h"
#include "ledger/store.h"

namespace hc::contract {

struct Iteration {
  int64_t seq = 0;      ///< ledger line
  std::string time;     ///< UTC
  std::string variant;  ///< the worst one when the iteration began
  std::string idea;     ///< id from the backlog or a few words
  std::string result;   ///< what came of it, in words
  std::string verdict;  ///< the checker's, derived when the line was written
};

/// Lines of a run, oldest first.
std::vector<Iteration> iterations(const ledger::LedgerView& view, const std::string& run);
/// Appends a line; `variant` and `verdict` are taken from the checker where they are empty.
Result<Iteration> add_iteration(ledger::Store& store, const std::string& run, const ledger::CheckReport& report,
                                Iteration iteration);
/// `2026-08-30 12:34  sm3  idea  result  verdict`, without a line end.
std::string iteration_line(const Iteration& iteration);
/// The checker's finding in a few words: `UNMET 5/8, geomean 0.984`.
std::string short_verdict(const ledger::CheckReport& report);

}  // namespace hc::contract
