// What can be set back in a baseline's recipe, one thing at a time.
#pragma once

#include <string>
#include <vector>

#include "contract/task.h"
#include "diag/diag.h"
#include "target/target.h"
#include "tune/campaign.h"

namespace hc::cli {

/// A baseline's recipe with one thing changed.
struct RecipeChange {
  std::string text;                    ///< `options.compile: true -> left out`
  contract::TaskBaseline recipe;       ///< with the change
  std::vector<std::string> variables;  ///< NAME=VALUE for its worker
  int threads = 0;                     ///< 0: as the baseline
  std::string config;                  ///< JSON text in place of its config; empty: as the baseline
};

/// Every key of the recipe that is no part of what is computed left out, keys of its tables one at a time; of the
/// config that `whole` is pinned to likewise; one thread; and for oneDNN the smaller instruction sets and the other
/// libraries among `libraries`. Each `set`, KEY=VALUE with `env.NAME`, `threads`, `config.KEY`, a key of the recipe or
/// TABLE.KEY of it, adds one; usage when it is none.
Result<std::vector<RecipeChange>> recipe_changes(const contract::TaskBaseline& baseline, const tune::Contender& whole,
                                                 const target::Target& machine,
                                                 const std::vector<std::string>& libraries,
                                                 const std::vector<std::string>& sets);

/// Writes the change into what is started and into what the evidence says of it.
void apply_change(const RecipeChange& change, tune::Contender* contender);

}  // namespace hc::cli
