// Interleaved rounds of fresh processes: the raw record behind every published ratio. No statistics: those are the
// ledger's.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/canary.h"
#include "bench/protocol.h"
#include "bench/worker_client.h"

namespace hc::ledger {
struct PairsArtifact;
}

namespace hc::bench {

/// A file that an arm runs. Its hash is taken before each start; one that differs from `sha256` (if given) voids the
/// pair.
struct RunFile {
  std::string path;
  std::string sha256;
};

/// One hash for all files of an arm: that of the only file, or of the list of hashes.
std::string combined_sha256(const std::vector<RunFile>& files);

/// What the oracle says of the outputs of one run.
struct OutputVerdict {
  bool correct = true;
  double worst_error = 0;  ///< largest error as a share of the bound
  int64_t nonfinite = 0;   ///< outputs that are not finite where the reference is
  std::string message;     ///< what is wrong
};

/// One implementation under measurement.
struct Arm {
  std::string name;               ///< "candidate", "onednn-3.2", ...
  std::string role = "baseline";  ///< candidate, baseline, anchor, ceiling
  std::vector<std::string> argv;  ///< its worker
  std::vector<std::string> env;   ///< NAME=VALUE added to the worker's environment
  PrepareRequest prepare;
  std::vector<RunFile> files;                  ///< shared object, library, script: what makes it this arm
  std::vector<std::vector<int64_t>> elements;  ///< per output: those that `verify` looks at; empty: all
};

/// How to measure; fixed before the first pair.
struct PairPlan {
  std::string run_id;  ///< one bit of its hash says which arm runs first in the first pair
  int pairs = 5;       ///< valid pairs wanted
  int max_invalid = 10;
  TimeRequest time{.blocks = 15, .warmup_s = 0.1};
  Limits limits;
  double canary_band = 0.15;  ///< largest relative distance from the reference canary
  /// Readings at the begin that show how the memory rate scatters by itself; where that is wider than the band, it is
  /// the band of the memory part.
  int calibration_canaries = 0;
  int reference_canaries = 5;  ///< that have to agree at the begin
  double settle_s = 10;        ///< at the begin, to find them
  double patience_s = 60;      ///< in all, waiting for the canary to come back into its band
  bool check_outputs = true;   ///< on poisoned outputs before timing, and on what the last timed launch left
  std::string scratch_dir;     ///< for outputs to be verified; empty: a temporary folder
  /// Judges outputs with hashes not yet seen for this arm; their files are gone afterwards. Null: outputs are only
  /// hashed.
  std::function<Result<OutputVerdict>(const Arm& arm, const CheckReply& outputs)> verify;
  /// Asked after each round, when no worker runs: why the device was not ours alone, or empty. Null: nobody shares it.
  std::function<std::string()> intruder;
  /// Told the files of the modules that a worker loaded, as found: why one of them may not be measured, or empty. Null:
  /// all may.
  std::function<std::string(const std::vector<RunFile>& loaded)> outside;
  /// Stands in for the canary: a GPU's, or that of a test. Null: the processor's.
  std::function<CanaryReading()> canary;
};

/// What one fresh process of an arm gave.
struct ArmRun {
  int arm = 0;  ///< position among the arms
  int64_t pid = 0;
  double start_unix_s = 0;
  double start_monotonic_s = 0;
  double mid_monotonic_s = 0;  ///< of the timed blocks
  double timing_wall_s = 0;    ///< between request and reply of the timing, by this process's clock
  double end_monotonic_s = 0;
  std::vector<RunFile> files;   ///< as found
  std::vector<RunFile> loaded;  ///< modules of the worker that no package brought, hashed once it was ready
  PrepareReply prepared;
  TimeReply timed;
  OutputVerdict verdict;                         ///< the worse of before and after timing
  std::vector<std::string> output_sha256;        ///< on poisoned outputs, before timing
  std::vector<std::string> output_sha256_timed;  ///< left by the last timed launch; empty for kernels in place
  std::string rule;                              ///< worker_failed, hash_mismatch, outside_snapshot, or empty
  std::string message;
};

/// A round: every arm once. A void one says by which rule: canary, worker_failed, hash_mismatch, outside_snapshot,
/// foreign_process.
struct PairRecord {
  int index = 0;             ///< number of the valid pair that it is or was meant to be
  int attempt = 0;           ///< how many void ones came before it at this index
  std::string order;         ///< "AB", "BA", "ABC", ...
  std::vector<ArmRun> runs;  ///< in order of running
  CanaryReading canary_before;
  CanaryReading canary_after;
  CanaryReading canary_reference;
  bool valid = true;
  std::string rule;
  std::string message;
};

/// The whole campaign, raw.
struct CampaignRecord {
  std::string environment_open;  ///< JSON text of environment() at the begin
  std::string environment_close;
  std::string opened_at;  ///< UTC
  std::string closed_at;
  double opened_monotonic_s = 0;
  double closed_monotonic_s = 0;
  CanaryReading canary_reference;  ///< of the begin
  CanaryBand canary_band;          ///< of the begin
  std::vector<PairRecord> pairs;   ///< valid and void, in order of running
  int valid_pairs = 0;
  int void_pairs = 0;
  bool stopped = false;  ///< the callback wanted no more
  std::string failure;   ///< why it ended without the pairs wanted, or empty
};

/// Called after each pair, valid or void, before the next one starts: store it. False ends the campaign.
using OnPair = std::function<bool(const PairRecord& pair)>;

/// Measures the arms in rounds, forwards and backwards in turn. measurement_failed for a plan that cannot be followed;
/// otherwise a record, with `failure` set when the pairs wanted did not come together or an output was wrong. The
/// caller holds the measurement lock (lock.h).
Result<CampaignRecord> run_pairs(const std::vector<Arm>& arms, const PairPlan& plan, const OnPair& on_pair);

/// Everything of one pair, and of the whole campaign, unrounded.
nlohmann::ordered_json to_json(const PairRecord& pair);
nlohmann::ordered_json to_json(const CampaignRecord& record, const std::vector<Arm>& arms, const PairPlan& plan);
/// Appends one pair to the evidence, every reading as a block of one launch.
void append_pair(const PairRecord& pair, const std::vector<Arm>& arms, ledger::PairsArtifact* artifact);
/// The evidence's `timer` of a measurement on the processor.
std::string timer_text(Mode mode);
/// Arms, timer, machine, input and pairs of the evidence; task, variant, work and ledger fields are the caller's.
void fill_artifact(const CampaignRecord& record, const std::vector<Arm>& arms, const PairPlan& plan,
                   ledger::PairsArtifact* artifact);

}  // namespace hc::bench
