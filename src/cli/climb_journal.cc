// Rounds of measurements that did not come to their end are stored as well, and count for nothing.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "cli/climb.h"
#include "tune/journal.h"

namespace hc::cli {

/// Turns a journal into an object whose rounds are all void. Its line names no announced run, so that no judgement
/// pools it; that the run was announced is in the ledger already, and spends what it spends.
Status Climb::keep_unfinished(const std::string& journal, const std::string& prefix, const std::string& rule,
                              const std::string& why) {
  ledger::PairsArtifact artifact = HC_TRY(tune::read_journal(journal));
  tune::mark_unfinished(&artifact, prefix, rule, why);
  const std::string id =
      HC_TRY(store_->put(artifact.run, artifact.name, ledger::to_json(artifact), artifact.variant, -1));
  std::error_code ignored;
  std::filesystem::remove(journal, ignored);
  progress_.line(fmt::format("{} rounds of {}/{} are kept in {} and count for nothing: {}", artifact.pairs.size(),
                             artifact.task, artifact.variant, store_->named_path(id), why));
  return success();
}

/// What killed runs left, in every run of these artifacts. The caller is the only writer.
void Climb::recover_rounds() {
  std::error_code error;
  std::vector<std::string> found;
  for (auto it = std::filesystem::directory_iterator(options_.artifacts, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    for (std::string& path : tune::journals_in(it->path().string())) found.push_back(std::move(path));
  }
  for (const std::string& path : found) {
    const Result<ledger::PairsArtifact> left = tune::read_journal(path);
    const auto& lines = store_->view().lines;
    const bool stored = left.ok() && std::any_of(lines.begin(), lines.end(), [&](const ledger::LedgerLine& line) {
                          return line.kind == "object" && line.opens == left.value().open_seq &&
                                 line.name.find("/void-") == std::string::npos;
                        });
    if (!left.ok() || stored) {  // killed before its first round was whole, or after the whole was stored
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
      continue;
    }
    const Status kept = keep_unfinished(path, "killed-", "run_killed", "the run was killed");
    if (!kept.ok()) progress_.line(kept.error().message);
  }
}

}  // namespace hc::cli
