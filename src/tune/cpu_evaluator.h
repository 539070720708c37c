// The real world of the search: system compiler in parallel, oracle in forks, timing beside an anchor in a worker.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/screen.h"
#include "tune/build.h"
#include "tune/probe.h"
#include "tune/search.h"

namespace hc::tune {

/// Everything that is fixed while one kernel call is tuned.
struct EvaluatorSetup {
  compile::Request request;
  std::string kernel_file;
  std::vector<std::string> arg_texts;
  BuildSite site;
  std::string program;  ///< this executable, for the hidden commands `worker` and `probe`
  uint64_t input_seed = 1;
  int64_t samples = 192;         ///< elements per output checked for every candidate
  int64_t final_samples = 4096;  ///< for finalists
  int threads = 0;               ///< 0: all that the process may use
  int jobs = 1;                  ///< compilers at once
  double run_limit_s = 20;       ///< for one launch of a candidate under check
  /// Told what is being done: `compiling`, `checking`, `timing`, `finalists`; how many of how many are done.
  std::function<void(const std::string& phase, int done, int total)> on_phase;
};

class CpuEvaluator : public Evaluator {
 public:
  explicit CpuEvaluator(EvaluatorSetup setup);
  ~CpuEvaluator() override;
  Planned plan(const knob::Config& config) override;
  std::vector<Evaluation> evaluate(const std::vector<knob::Config>& batch) override;
  std::vector<Evaluation> retime(const std::vector<knob::Config>& configs) override;
  std::vector<Evaluation> finals(const std::vector<knob::Config>& finalists) override;
  /// What was built for a config that plan() and evaluate() accepted, or null.
  const Built* built(const knob::Config& config) const;
  /// Batches that were timed again because the anchor had moved.
  int repeated_batches() const { return repeated_batches_; }
  /// Why something could not be written: candidates have fallen through no fault of their own since then.
  const std::optional<Diagnostic>& trouble() const { return trouble_; }

 private:
  void compile_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out);
  void check_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out);
  void time_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out);
  bool time_once(const std::vector<Built*>& batch, std::vector<Evaluation>* out);
  void time_one(const Built& built, int rounds, Evaluation* evaluation, double* anchor_seconds);
  Evaluation check_one(Probe& probe, const Built& built, bool hash);
  void final_rounds(const std::vector<Built*>& finalists, std::vector<Evaluation>* out);
  bench::PrepareRequest prepare_request(const Built& built) const;
  std::optional<double> fresh_seconds(const Built& built, std::string* why) const;
  std::function<void(const std::string&)> waiting() const;
  void phase(const std::string& name, int done, size_t total) const;

  EvaluatorSetup setup_;
  Probe probe_;
  bench::Screener screener_;
  std::map<std::string, std::unique_ptr<Built>> built_;  ///< by config text
  const Built* anchor_ = nullptr;
  int repeated_batches_ = 0;
  std::optional<Diagnostic> trouble_;
};

}  // namespace hc::tune
