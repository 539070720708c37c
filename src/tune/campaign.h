// Measurements as evidence: contenders, interleaved rounds of fresh processes, and their raw records.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu_rates.h"
#include "bench/pairing.h"
#include "ledger/records.h"
#include "tune/build.h"
#include "tune/probe.h"

namespace hc::tune {

/// An implementation that can be started and timed.
struct Contender {
  ledger::Arm arm;                ///< as the evidence names it
  std::vector<std::string> argv;  ///< of its worker
  bench::PrepareRequest prepare;
  std::string binary;                          ///< the file that decides its speed: shared object, library or program
  std::vector<bench::RunFile> files;           ///< all such files, where the binary is not the only one
  std::vector<std::string> env;                ///< NAME=VALUE for its worker
  std::vector<std::vector<int64_t>> elements;  ///< per output: those that the judge looks at; empty: all
  bool ours = false;                           ///< its outputs are storages of our program, not dense tensors
  bool checked = true;                         ///< false: a copy, which has nothing to compare
  std::string config;                          ///< canonical text for the oracle's program, where it is not the judge's
};

/// The candidate: a built config as an arm named `name`.
Contender candidate_contender(const std::string& name, const Built& built, const std::string& program,
                              uint64_t input_seed, int threads);
/// The streaming copy of as many bytes as a call has to move, as the ceiling.
Contender copy_contender(const std::string& program, double compulsory_bytes, int threads);
/// The referee's own copy on a GPU, which stands in every campaign there: how fast the device was in that very run.
Contender device_anchor(const std::string& program);
/// Reads the hash of the binary, or of all files, into the arm; file_error when one is not there.
Status hash_binary(Contender* contender);

/// Starts its worker and makes it ready, without timing anything; the worker's words when it refuses.
Status can_start(const Contender& contender);
/// Gives an arm another name, in the artifact and in the contender.
void rename_arm(ledger::PairsArtifact* artifact, Contender* contender, const std::string& name);
/// Facts about this machine as records hold them.
ledger::Facts machine_facts();

/// How to measure.
struct CampaignPlan {
  std::string run_id;
  ledger::Purpose purpose = ledger::Purpose::confirm;
  int pairs = 10;  ///< valid pairs wanted
  bench::TimeRequest time;
  std::function<bench::CanaryReading()> canary;  ///< stands in for the processor's; null: that one
  double canary_band = 0;                        ///< limit of its relative distance; 0: the processor's own scatter
  int reference_canaries = 5;                    ///< that have to agree at the begin
  bool read_rate = true;                         ///< measure the memory's; false where the arms do not run on it
  std::function<Result<bench::GpuRates>()> rates;  ///< of the GPU's memory, before and after the rounds; null: none
  std::function<std::string()> intruder;         ///< see bench::PairPlan
  /// See bench::PairPlan.
  std::function<std::string(const std::vector<bench::RunFile>& loaded)> outside;
  bench::Limits limits;                          ///< of the workers' answers
  std::function<void(int done)> on_pair;         ///< told the number of valid pairs so far
  /// Given all rounds so far after each one, valid or void: the place to put them on disk.
  std::function<void(const ledger::PairsArtifact& so_far)> on_round;
  /// After a valid pair: true ends the campaign, since a verdict may be taken.
  std::function<bool(const ledger::PairsArtifact& so_far)> enough;
};

/// Says whether outputs are right.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual Result<bench::OutputVerdict> judge(const Contender& contender, const bench::CheckReply& outputs) = 0;
};

/// Compares outputs with the oracle; `config` (canonical text) is the candidate's and decides the oracle's program.
class OutputJudge : public Judge {
 public:
  OutputJudge(Probe& probe, std::string config) : probe_(probe), config_(std::move(config)) {}
  Result<bench::OutputVerdict> judge(const Contender& contender, const bench::CheckReply& outputs) override;
  /// The elements of each output that it compares.
  Result<std::vector<std::vector<int64_t>>> elements();

 private:
  Probe& probe_;
  std::string config_;
};

/// Interleaved rounds of fresh processes, one per contender, the order reversed each round, canaries between them. The
/// caller holds the measurement lock. wrong_answer names the contender whose outputs are outside the bound.
Result<ledger::PairsArtifact> measure_pairs(const std::vector<Contender>& contenders, const CampaignPlan& plan,
                                            Judge& judge);

}  // namespace hc::tune
