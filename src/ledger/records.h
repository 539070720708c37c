// Record types of the evidence: raw measurements, tunes, correctness checks, the goal's lock and the goal file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diag.h"

namespace hc::ledger {

inline constexpr std::string_view kArtifactSchema = "hillclimb.artifact/1";
inline constexpr std::string_view kDerivedSchema = "hillclimb.derived/1";
inline constexpr std::string_view kGoalSchema = "hillclimb.goal/1";
inline constexpr std::string_view kLockSchema = "hillclimb.lock/1";
inline constexpr std::string_view kLedgerSchema = "hillclimb.ledger/1";

/// Named facts in the order in which they are shown (machine, versions, timer).
using Facts = std::vector<std::pair<std::string, std::string>>;
/// The value of a fact, or an empty string.
std::string fact(const Facts& facts, std::string_view name);
/// The time now as UTC text, `2026-08-30T12:34:56.789Z`.
std::string utc_now();

enum class Role { candidate, baseline, anchor, ceiling };
/// Why a measurement is made; only `confirm` can make a verdict.
enum class Purpose { nominate, confirm, aa, attempt, ablate, ceiling, audit };
enum class Verdict { pass, fail, open };
std::string_view role_name(Role role);
std::string_view purpose_name(Purpose purpose);
std::string_view verdict_name(Verdict verdict);  ///< PASS, FAIL, OPEN

/// One timed block: `seconds` for `launches` calls between one pair of events; never rounded.
struct Block {
  double seconds = 0;
  int64_t launches = 1;
};

/// What one fresh process of one arm reported.
struct Reading {
  std::string arm;            ///< name of its Arm
  int64_t pid = 0;            ///< process id
  double started_s = 0;       ///< start of the process, seconds of the referee's monotonic clock
  double mid_s = 0;           ///< middle of the timed blocks on the same clock
  double wall_s = 0;          ///< between request and reply of the timing, by the referee's clock; 0: not recorded
  std::vector<Block> blocks;  ///< in the order measured
  bool correct = false;       ///< outputs before and after timing lay inside the oracle's bound on poisoned memory
  double worst_error = 0;     ///< largest error as a share of the bound
  int64_t nonfinite = 0;      ///< outputs that are not finite where the reference is
  std::string binary_sha256;  ///< of what the process ran
  std::string inputs_sha256;  ///< of the input bytes as generated
  std::string mode;           ///< how launches were timed: single, back_to_back; empty: not recorded
  Facts facts;                ///< temperature, clock, load: whatever the worker reported beside
};

/// Seconds of the two parts of the canary, which is fixed work of the referee; 0: not recorded or failed.
struct Canary {
  double compute_s = 0;
  double memory_s = 0;
};

/// One round: every arm once, each in a process of its own; `readings` stand in the order in which they ran.
struct Pair {
  bool valid = true;
  std::string rule;  ///< the environment rule that voided it (never one about the times), or empty
  std::vector<Reading> readings;
  Canary before, after, reference;  ///< of the round, and what it was held against
};

/// One implementation under measurement.
struct Arm {
  std::string name;
  Role role = Role::candidate;
  std::string worker;            ///< command of the worker
  std::string source_sha256;     ///< of the generated source or of the baseline's recipe
  std::string generated_sha256;  ///< a hand-edited arm: of the source as generated for its config; empty: not shown
  std::string binary_sha256;     ///< of the object, library or interpreter script that runs
  std::string config = "{}";     ///< JSON text of the config it ran with
  std::string tune;              ///< object id of the tune that found the config, or empty
  bool has_tuner = false;        ///< it has a tuner of its own, so a full cold tune of it is due
  Facts loaded;        ///< modules and packages beside the binary, each with a hash, as its first process said
  std::string varies;  ///< ablations: the arm of which this one sets something back, or empty
  Facts versions;
};

/// Size of one call, from which GB/s or TFLOPS follow.
struct Work {
  std::string unit = "GB/s";  ///< GB/s or TFLOPS
  double amount = 0;          ///< compulsory bytes or floating-point operations of one call
};

/// A paired measurement: the raw samples of candidate and baselines in interleaved fresh processes.
struct PairsArtifact {
  std::string run, name, task, variant;
  std::string variant_hash;  ///< as in the lock
  std::string lock;          ///< object id of the goal's lock, empty before there is a goal
  Purpose purpose = Purpose::nominate;
  int64_t open_seq = -1;  ///< ledger line that announced it
  std::string opened_at, closed_at;
  std::string compiler_sha256, kernel_sha256;  ///< of this program and of the kernel's source
  std::string timer;                           ///< `event/one-launch/cold-l2`, `event/back-to-back`, `wall`, ...
  Facts machine;                               ///< cpu or gpu, power cap, driver, compiler and library versions
  Facts machine_close;                         ///< the machine when the run ended; empty: not recorded
  Facts input;                                 ///< generator, seed, distributions
  Work work;
  double read_gbs = 0;     ///< read rate of the same run, 0 if not measured (bounds what a reading may claim)
  double cache_bytes = 0;  ///< last-level cache that a cold reading may still hit
  std::vector<Arm> arms;
  std::vector<Pair> pairs;
};

enum class Outcome { ok, refused, compile_failed, wrong_answer, crashed, timed_out, unstable };
std::string_view outcome_name(Outcome outcome);

/// One candidate of a search, whether it lived or fell.
struct Candidate {
  int64_t seq = 0;
  double t_s = 0;             ///< seconds since the tune began
  std::string config = "{}";  ///< JSON text
  std::string origin;         ///< seed, random, neighbour, crossover, ...
  Outcome outcome = Outcome::ok;
  std::string reason;  ///< why it fell, empty when ok
  double seconds = 0;  ///< time per call, 0 unless ok (or unstable)
};

/// Name of the fact that holds what workers inherited from the environment.
inline constexpr std::string_view kEnvironmentFact = "worker environment";
/// Name of a reading's fact: launches change their own inputs, so that timed ones leave nothing to look at.
inline constexpr std::string_view kInPlaceFact = "in place";
/// The command of arms that are this program itself.
inline constexpr std::string_view kOwnWorker = "hillclimb worker";
/// What ended a tune that searched nothing.
inline constexpr std::string_view kNoSearch = "no search";

/// A search for a config; only a cold and full one can make a shape pass.
struct TuneRecord {
  std::string run, name, task, variant, variant_hash;
  std::string arm;  ///< whose config: the candidate's name, or a baseline with a tuner of its own
  std::string opened_at, closed_at;
  std::string compiler_sha256, kernel_sha256;
  uint64_t seed = 0;
  bool started_cold = false;  ///< fresh seed, empty compile cache, no history
  std::string ended_by;       ///< "converged", "limit" or kNoSearch
  bool full = false;          ///< full effort: no cap on time or candidates cut it short
  double space_size = 0;      ///< number of configs in the space (may be above 2^53, then rounded)
  double seconds = 0;         ///< how long it took
  std::string winner = "{}";  ///< JSON text of the best config
  double winner_seconds = 0;
  std::string winner_source_sha256;
  Facts machine;
  std::vector<Candidate> candidates;
  /// There was nothing to search: the config is pinned, or the implementation has no tuner.
  bool without_search() const { return ended_by == kNoSearch; }
  bool cold_and_full() const { return started_cold && full && ended_by == "converged"; }
};

/// The candidate compared with the reference under one backend, before the first number.
struct CheckRecord {
  std::string run, name, task, variant, variant_hash;
  std::string backend;  ///< oracle, cpu, cute, ...
  bool passed = false;
  double worst_error = 0;
  int64_t elements = 0, nonfinite = 0;
  std::string reference;
  std::string at;
};

struct Criteria {
  double margin = 0.01;  ///< fixed: may be tightened, never widened
  double geomean_min = 1.0;
  double geomean_slack = 0.005;  ///< the geomean's lower bound may lie this far below geomean_min
  double alpha = 0.05;           ///< one-sided, over all looks of a shape
  std::vector<int> looks{10};    ///< numbers of valid pairs at which a verdict may be taken
  double rate_tolerance = 0.2;   ///< share of pairs by which the candidate may be in a slow mode more often
  int aa_pairs = 0;              ///< pairs of an A/A calibration, once a day and device; 0: none is asked for
};

struct LockedVariant {
  std::string name, hash;  ///< hash over kernel, inputs, parameters and amount of work
  std::string text;        ///< inputs as expanded, for the reader
  double target = 1.0;     ///< ratio to the best baseline
  Work work;
};

struct LockedBaseline {
  std::string name, worker;
  std::string recipe;  ///< JSON text of everything the worker is told
};

/// What was agreed before the first number; never changed, only amended by a later lock.
struct Lock {
  std::string task, run, created;
  std::string task_sha256, kernel;
  int rules_version = 0;
  std::string rules_sha256;
  Criteria criteria;
  std::vector<LockedVariant> variants;
  std::vector<LockedBaseline> baselines;
  std::string waive;      ///< why fewer baselines than usual are enough, or empty
  std::string task_file;  ///< as typed, for the commands that are suggested; empty: not recorded
  /// Measured by launches in a row over rotated inputs, instead of single launches with cold caches.
  bool back_to_back = false;
};

/// How launches were timed, as Reading::mode says it.
std::string_view mode_name(bool back_to_back);
/// Whether the measurement says that it was timed back to back.
bool is_back_to_back(const PairsArtifact& artifact);

/// The task file as an argument for a shell, or TASK where the lock does not name it.
std::string task_argument(const Lock& lock);

/// JSON text of a record, canonical for its content (fixed key order, shortest doubles that read back the same).
std::string to_json(const PairsArtifact& artifact);
std::string to_json(const TuneRecord& tune);
std::string to_json(const CheckRecord& check);
std::string to_json(const Lock& lock);

/// `pairs`, `tune` or `check`; an unknown kind or newer schema is an error that names it. `where` is the file for
/// messages.
Result<std::string> artifact_kind(const std::string& text, const std::string& where);
Result<PairsArtifact> parse_pairs(const std::string& text, const std::string& where);
Result<TuneRecord> parse_tune(const std::string& text, const std::string& where);
Result<CheckRecord> parse_check(const std::string& text, const std::string& where);
Result<Lock> parse_lock(const std::string& text, const std::string& where);

}  // namespace hc::ledger
