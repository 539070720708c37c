// The rounds of a measurement that still runs: on disk as each one ends, so that a killed or failed run loses none.
#pragma once

#include <string>
#include <vector>

#include "ledger/records.h"

namespace hc::tune {

/// A file with one line per round. Each line is a whole record of that round alone, so that any prefix can be read.
class Journal {
 public:
  /// `<folder>/<name>-<open_seq>.rounds.jsonl`; nothing is written before the first round.
  Journal(const std::string& folder, const std::string& name, int64_t open_seq);
  /// Appends the last round of `so_far` and hands it to the system; file_error when it cannot be written.
  Status append(const ledger::PairsArtifact& so_far) const;
  /// Takes the file away, once what it holds is stored.
  void remove() const;
  /// Of the file, whether or not it is there yet.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Journals of a folder, in order of their names.
std::vector<std::string> journals_in(const std::string& folder);
/// All rounds of a journal in one record; a torn last line is left out. file_error without a readable line.
Result<ledger::PairsArtifact> read_journal(const std::string& path);
/// Marks a measurement that did not come to its end: each round is void by `rule`, unless it already was by another,
/// `why` stands among the machine's facts, and the name begins with `prefix`.
void mark_unfinished(ledger::PairsArtifact* artifact, const std::string& prefix, const std::string& rule,
                     const std::string& why);

}  // namespace hc::tune
