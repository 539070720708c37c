// Interleaved pairs of fresh processes: the raw record behind every published ratio. No statistics here: those are the
// ledger's.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/canary.h"
#include "bench/protocol.h"
#include "bench/worker_client.h"

namespace hc::bench {

/// A file that an arm runs. Before each start its hash is taken; one that differs from `sha256` (if given) spoils the
/// pair.
struct RunFile {
  std::string path;
  std::string sha256;
};

/// One side of a comparison.
struct Arm {
  std::string name;  ///< "candidate", "onednn-3.5", ...
  std::string role;  ///< "candidate" or "baseline"
  std::vector<std::string> argv;
  std::vector<std::string> env;
  PrepareRequest prepare;
  std::vector<RunFile> files;              ///< program, shared object, library
  std::vector<std::string> output_sha256;  ///< outputs known to be right, by hash; others go to PairPlan::verify
};

/// How to measure; fixed before the first pair.
struct PairPlan {
  std::string run_id;                ///< its hash's first bit says whether the first pair is AB or BA
  std::string purpose = "nominate";  ///< nominate, confirm, audit, aa
  int pairs = 5;                     ///< valid pairs wanted
  int max_invalid = 10;              ///< repeated pairs before giving up
  TimeRequest time;
  double canary_band = 0.15;  ///< largest relative distance from the campaign's first canaries
  bool check_outputs = true;  ///< on poisoned outputs before, and on what the last timed launch left
  std::string scratch_dir;    ///< for outputs to be verified; empty: a temporary folder
  /// Judges outputs whose hashes are not yet known to be right; their files are gone afterwards. Null: any output
  /// passes.
  std::function<Status(const Arm& arm, const CheckReply& outputs)> verify;
};

/// What one fresh process of an arm gave.
struct ArmRun {
  int arm = 0;  ///< 0: A, 1: B
  int64_t pid = 0;
  double start_unix_s = 0;
  double start_monotonic_s = 0;
  double end_monotonic_s = 0;
  std::vector<RunFile> files;  ///< as found
  PrepareReply prepared;
  TimeReply timed;
  std::vector<std::string> output_sha256;  ///< of the checked outputs
  std::string failure;                     ///< empty, or the diagnostic's message
};

/// Pair k in the order in which it was run. An invalid one says by which rule: canary, worker_failed, hash_mismatch.
struct PairRecord {
  int index = 0;             ///< number of the valid pair that it is or was meant to be
  int attempt = 0;           ///< 0, or how many invalid ones came before it at this index
  std::string order;         ///< "AB", "BA"
  std::vector<ArmRun> runs;  ///< in order of running
  CanaryReading canary_before;
  CanaryReading canary_after;
  bool valid = true;
  std::string rule;
  std::string message;
};

/// The whole campaign, raw.
struct CampaignRecord {
  std::string environment_open;  ///< JSON text of environment() at the begin
  std::string environment_close;
  CanaryReading canary_reference;
  std::vector<PairRecord> pairs;  ///< valid and invalid, in order of running
  int valid_pairs = 0;
  int invalid_pairs = 0;
  bool stopped = false;  ///< the callback wanted no more
  std::string failure;   ///< why it ended early, or empty
  double opened_unix_s = 0;
  double closed_unix_s = 0;
  double opened_monotonic_s = 0;
  double closed_monotonic_s = 0;
};

/// Called after each pair, valid or not, before the next one starts: store it. False ends the campaign.
using OnPair = std::function<bool(const PairRecord& pair)>;

/// Measures. wrong_answer when an output is refused by verify; otherwise a record, `failure` set when the pairs wanted
/// did not come together. The caller holds the measurement lock (lock.h).
Result<CampaignRecord> run_pairs(const Arm& a, const Arm& b, const PairPlan& plan, const OnPair& on_pair);

nlohmann::ordered_json to_json(const PairRecord& pair);
Result<PairRecord> pair_from_json(const nlohmann::ordered_json& json);
/// The artifact (schema "hillclimb.artifact/1") without its ledger fields, which the caller adds: variant, goal hashes,
/// source.
nlohmann::ordered_json artifact_json(const Arm& a, const Arm& b, const PairPlan& plan, const CampaignRecord& record);

}  // namespace hc::bench
