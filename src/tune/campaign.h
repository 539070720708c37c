// Measurements as evidence: contenders, interleaved rounds of fresh processes, and their raw records.
#pragma once

#include <functional>
#include <string>
#include <vector>

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
  std::string binary;   ///< the file that decides its speed: shared object, library or program
  bool ours = false;    ///< its outputs are storages of our program, not dense tensors
  bool checked = true;  ///< false: a copy, which has nothing to compare
  std::string config;   ///< canonical text for the oracle's program, where it is not the judge's
};

/// The candidate: a built config as an arm named `name`.
Contender candidate_contender(const std::string& name, const Built& built, const std::string& program,
                              uint64_t input_seed, int threads);
/// The streaming copy of as many bytes as a call has to move, as the ceiling.
Contender copy_contender(const std::string& program, double compulsory_bytes, int threads);
/// Reads the binary's hash into the arm; file_error when it is not there.
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
  std::function<void(int done)> on_pair;         ///< told the number of valid pairs so far
  /// After a valid pair: true ends the campaign, since a verdict may be taken.
  std::function<bool(const ledger::PairsArtifact& so_far)> enough;
};

/// Compares outputs with the oracle; `config` (canonical text) is the candidate's and decides the oracle's program.
class OutputJudge {
 public:
  OutputJudge(Probe& probe, std::string config) : probe_(probe), config_(std::move(config)) {}
  Result<bench::OutputVerdict> judge(const Contender& contender, const bench::CheckReply& outputs);

 private:
  Probe& probe_;
  std::string config_;
};

/// Interleaved rounds of fresh processes, one per contender, the order reversed each round, canaries between them. The
/// caller holds the measurement lock. wrong_answer names the contender whose outputs are outside the bound.
Result<ledger::PairsArtifact> measure_pairs(const std::vector<Contender>& contenders, const CampaignPlan& plan,
                                            OutputJudge& judge);

}  // namespace hc::tune
