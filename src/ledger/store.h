// The evidence on disk: content-addressed read-only objects, named copies per run, and the hash-chained ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/records.h"

namespace hc::ledger {

/// One line of artifacts/ledger.jsonl; `prev` is the SHA-256 of the line before (64 zeros for the first).
struct LedgerLine {
  int64_t seq = 0;
  std::string prev;
  std::string kind;  ///< run_open, run_close, object, goal, amend, stale, status, archive, lost, adopted, ...
  std::string time;  ///< UTC
  std::string run;
  std::string object;  ///< object id, or empty
  std::string name;    ///< path of the named copy under artifacts/, or empty
  std::string variant;
  std::string purpose;  ///< run_open: nominate, confirm, tune, ...
  std::string subject;  ///< run_open: hash of candidate source and config
  int64_t opens = -1;   ///< run_close and object: seq of their run_open
  std::string note;
};

/// Where the head of the ledger is kept outside of artifacts/; an empty path means nowhere.
struct Anchor {
  int64_t count = 0;
  std::string head;
  std::string next{};  ///< SHA-256 of the line that a writer is about to append, or empty
};

/// Everything read from a ledger file, and what was wrong with it.
struct LedgerView {
  std::vector<LedgerLine> lines;
  std::vector<std::string> hashes;  ///< SHA-256 of each line
  std::string torn;                 ///< an unfinished last line, left out of `lines`
  std::vector<std::string> broken;  ///< sentences: chain, order, schema
  std::string head() const;
};

/// `<state_folder>/anchors/<hash of the folder's absolute path>.json`; the state folder is this program's own.
std::string anchor_path_for(const std::string& state_folder, const std::string& artifacts_dir);
/// The sentence about an artifacts folder that is a symlink, whose anchor would be another one; empty if it is none.
std::string symlinked_folder(const std::string& artifacts_dir);
std::optional<Anchor> read_anchor(const std::string& path);
/// Reads and verifies the chain; a missing file is an empty ledger.
LedgerView read_ledger(const std::string& artifacts_dir);
/// Sentences about a ledger that was cut or rewritten behind an anchor that was read before it.
std::vector<std::string> compare_with_anchor(const LedgerView& view, const Anchor& anchor);
/// The sentence about lines that no writer of ours left, for an anchor read after the ledger: every line is announced
/// to the anchor before it is appended, so only the announced one can lie beyond. Empty if there are none.
std::string written_past_anchor(const LedgerView& view, const Anchor& anchor);

/// `<artifacts>/objects/<aa>/<sha256>.json`.
std::string object_path(const std::string& artifacts_dir, const std::string& id);
/// The object's text after its hash was verified; missing or changed is evidence_broken.
Result<std::string> read_object(const std::string& artifacts_dir, const std::string& id);

/// The only writer of evidence. Every append is locked against other processes, announced to the anchor, synced, and
/// then anchored.
class Store {
 public:
  /// Opens or creates artifacts/, sets a torn last line aside and checks the chain; a broken chain is evidence_broken.
  static Result<Store> open(const std::string& artifacts_dir, const std::string& anchor_path);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Announces a measurement or tune before anything runs; returns the line's seq.
  Result<int64_t> run_open(const std::string& run, const std::string& purpose, const std::string& variant,
                           const std::string& subject);
  /// Ends an announced one: "done", or why it was given up. A confirming run of which no pair could be measured ends
  /// with "void: ..." and then does not spend any of the error level; one that is left open or given up does.
  Status run_close(int64_t open_seq, const std::string& outcome);
  /// Stores `text` as an object and as `artifacts/<run>/<name>.json` and lists it; returns the object id. A name
  /// already taken by other content gets `-2`, `-3`, ... appended: raw files are never overwritten.
  Result<std::string> put(const std::string& run, const std::string& name, const std::string& text,
                          const std::string& variant, int64_t open_seq);
  /// Appends a line of another kind (goal, amend, stale, status, archive); seq, prev and time are filled in.
  Result<int64_t> append(LedgerLine line);

  const std::string& artifacts_dir() const;
  /// `artifacts/<run>/NAME.json` as the goal file writes it, of an object stored through put() in this or an earlier
  /// run.
  std::string named_path(const std::string& id) const;
  const LedgerView& view() const;
  /// Sentences about repairs made on opening, empty if none.
  const std::vector<std::string>& repairs() const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Excludes other commands that write the goal; the error names who holds it.
class WriterLock {
 public:
  static Result<WriterLock> take(const std::string& artifacts_dir, const std::string& who);
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

 private:
  explicit WriterLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace hc::ledger
