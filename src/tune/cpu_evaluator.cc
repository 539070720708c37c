// Compiles a whole batch, then checks it, then times it: never two of these at once.
#include "tune/cpu_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/subprocess.h"
#include "bench/lock.h"
#include "ledger/statistics.h"

namespace hc::tune {
namespace {

using ledger::Outcome;

constexpr double kAnchorBand = 0.05;     ///< a batch whose anchor moved more is timed again
constexpr double kUnstableSpread = 1.0;  ///< of a candidate's own rounds, relative, while the anchor's stood still
constexpr double kQuietSpread = 0.25;    ///< of the anchor's rounds
constexpr int kRounds = 3;
constexpr int kMoreRounds = 7;
constexpr int64_t kScreenLaunches =
    40;  ///< per visit; each is preceded by an eviction that costs more than a small kernel
constexpr int64_t kFinalLaunches = 150;
constexpr double kLockWait = 600;
constexpr int kFinalRounds = 3;

/// Relative distance of the largest from the smallest.
double spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return values.empty() || *low <= 0 ? 0 : *high / *low - 1;
}

/// The fastest launch of each round: what disturbs a processor only ever adds time.
std::vector<double> round_minima(const std::vector<bench::Block>& blocks) {
  std::vector<double> out;
  for (const bench::Block& block : blocks) {
    if (!block.seconds.empty()) out.push_back(*std::min_element(block.seconds.begin(), block.seconds.end()));
  }
  return out;
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

Evaluation fallen(Outcome outcome, std::string reason) { return {outcome, std::move(reason), 0, 0}; }

Outcome outcome_of(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::ok:
      return Outcome::ok;
    case ProbeOutcome::wrong_answer:
      return Outcome::wrong_answer;
    case ProbeOutcome::timed_out:
      return Outcome::timed_out;
    case ProbeOutcome::crashed:
    case ProbeOutcome::failed:
      return Outcome::crashed;
  }
  return Outcome::crashed;
}

/// A candidate that hangs costs a minute of a tune, not the five that a campaign grants.
constexpr bench::Limits kScreeningLimits = {.time_s = 60};

ProbeSetup probe_setup(const EvaluatorSetup& setup, int64_t samples) {
  return {setup.kernel_file, setup.request.kernel, setup.arg_texts, setup.input_seed, samples, ""};
}

}  // namespace

CpuEvaluator::CpuEvaluator(EvaluatorSetup setup)
    : setup_(std::move(setup)),
      probe_(setup_.program, probe_setup(setup_, setup_.samples)),
      screener_({setup_.program, "worker"}, kScreeningLimits) {}

CpuEvaluator::~CpuEvaluator() = default;

void CpuEvaluator::phase(const std::string& name, int done, size_t total) const {
  if (setup_.on_phase) setup_.on_phase(name, done, static_cast<int>(total));
}

std::function<void(const std::string&)> CpuEvaluator::waiting() const {
  return [this](const std::string& holder) { phase("waiting for the machine, held by " + holder + ",", 0, 1); };
}

Planned CpuEvaluator::plan(const knob::Config& config) {
  Result<Built> lowered = lower(setup_.request, config, setup_.site);
  if (!lowered.ok()) return {false, lowered.error().message, ""};
  auto kept = std::make_unique<Built>(std::move(lowered).value());
  const std::string source = kept->manifest.source_sha256;
  built_[knob::to_text(config)] = std::move(kept);
  return {true, "", source};
}

const Built* CpuEvaluator::built(const knob::Config& config) const {
  const auto it = built_.find(knob::to_text(config));
  return it == built_.end() || it->second->manifest_path.empty() ? nullptr : it->second.get();
}

void CpuEvaluator::compile_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out) {
  std::atomic<size_t> next{0};
  std::atomic<int> done{0};
  std::mutex mutex;
  const bool full = trouble_.has_value();
  const auto work = [&] {
    for (size_t i = next++; i < batch.size(); i = next++) {
      const Status status = full ? Status(*trouble_) : make_shared_object(setup_.site, batch[i]);
      const std::lock_guard guard(mutex);
      if (!status.ok()) (*out)[i] = fallen(Outcome::compile_failed, status.error().message);
      if (!status.ok() && status.error().code == Code::file_error && !trouble_) trouble_ = status.error();
      phase("compiling", ++done, batch.size());
    }
  };
  std::vector<std::thread> threads;
  for (int j = 1; j < std::min<int>(setup_.jobs, static_cast<int>(batch.size())); ++j) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

Evaluation CpuEvaluator::check_one(Probe& probe, const Built& built, bool hash) {
  ProbeRequest request;
  request.manifest_path = built.manifest_path;
  request.config = built.manifest.config;
  request.limit_s = setup_.run_limit_s;
  request.hash = hash;
  const ProbeAnswer answer = probe.ask(request);
  return {outcome_of(answer.outcome), answer.reason, 0, 0};
}

void CpuEvaluator::check_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out) {
  int done = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if ((*out)[i].outcome == Outcome::ok) (*out)[i] = check_one(probe_, *batch[i], false);
    phase("checking", ++done, batch.size());
  }
}

bench::PrepareRequest CpuEvaluator::prepare_request(const Built& built) const {
  bench::PrepareRequest request;
  request.manifest = built.manifest_path;
  request.seed = setup_.input_seed;
  request.threads = setup_.threads;
  return request;
}

void CpuEvaluator::time_one(const Built& built, int rounds, Evaluation* evaluation, double* anchor_seconds) {
  bench::ScreenPlan plan;
  plan.rounds = rounds;
  plan.time.max_launches = kScreenLaunches;
  const Result<bench::Screened> result = screener_.time(prepare_request(built), plan);
  if (!result.ok()) {
    *evaluation = fallen(Outcome::crashed, result.error().message);
    return;
  }
  const std::vector<double> mine = round_minima(result.value().blocks);
  const std::vector<double> anchor = round_minima(result.value().anchor_blocks);
  *anchor_seconds = least(anchor);
  evaluation->seconds = least(mine);
  evaluation->cost = *anchor_seconds > 0 ? evaluation->seconds / *anchor_seconds : evaluation->seconds;
  // A restless machine shows on the anchor as well, and says nothing about the candidate.
  if (spread(mine) > kUnstableSpread && spread(anchor) < kQuietSpread) {
    evaluation->outcome = Outcome::unstable;
    evaluation->reason = fmt::format("its time spread by {:.0f} % over {} rounds while the anchor's stood still",
                                     100 * spread(mine), mine.size());
  }
}

/// False when the anchor at the end was not what it was at the begin.
bool CpuEvaluator::time_once(const std::vector<Built*>& batch, std::vector<Evaluation>* out) {
  std::vector<double> anchors;
  int done = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    Evaluation& evaluation = (*out)[i];
    const bool timed = evaluation.outcome == Outcome::ok || evaluation.outcome == Outcome::unstable;
    if (timed) {
      double anchor = 0;
      evaluation = {};
      time_one(*batch[i], kRounds, &evaluation, &anchor);
      if (evaluation.outcome == Outcome::unstable) {
        evaluation = {};
        time_one(*batch[i], kMoreRounds, &evaluation, &anchor);
      }
      if (anchor > 0) anchors.push_back(anchor);
    }
    phase("timing", ++done, batch.size());
  }
  if (anchors.size() < 2) return true;
  return spread({anchors.front(), anchors.back()}) <= kAnchorBand;
}

void CpuEvaluator::time_all(const std::vector<Built*>& batch, std::vector<Evaluation>* out) {
  if (!anchor_) {
    for (size_t i = 0; i < batch.size() && !anchor_; ++i) {
      if ((*out)[i].outcome == Outcome::ok) anchor_ = batch[i];
    }
    if (!anchor_) return;
    screener_.set_anchor(prepare_request(*anchor_));
  }
  const auto lock = bench::MeasurementLock::acquire(kLockWait, waiting());
  if (!lock.ok()) {
    for (Evaluation& e : *out) {
      if (e.outcome == Outcome::ok) e = fallen(Outcome::unstable, lock.error().message);
    }
    return;
  }
  // Costs are relative to the anchor's visits, so a batch that moved twice is still the best that this machine gives.
  if (time_once(batch, out)) return;
  ++repeated_batches_;
  time_once(batch, out);
}

std::vector<Evaluation> CpuEvaluator::evaluate(const std::vector<knob::Config>& batch) {
  std::vector<Built*> builts;
  for (const knob::Config& config : batch) builts.push_back(built_.at(knob::to_text(config)).get());
  std::vector<Evaluation> out(batch.size());
  compile_all(builts, &out);
  check_all(builts, &out);
  time_all(builts, &out);
  return out;
}

std::vector<Evaluation> CpuEvaluator::retime(const std::vector<knob::Config>& configs) {
  std::vector<Evaluation> out(configs.size());
  const auto lock = bench::MeasurementLock::acquire(kLockWait, waiting());
  for (size_t i = 0; i < configs.size(); ++i) {
    double anchor = 0;
    if (lock.ok()) {
      time_one(*built_.at(knob::to_text(configs[i])), kMoreRounds, &out[i], &anchor);
    } else {
      out[i] = fallen(Outcome::unstable, lock.error().message);
    }
  }
  return out;
}

/// Median seconds per launch in a process of its own, or nothing with the reason.
std::optional<double> CpuEvaluator::fresh_seconds(const Built& built, std::string* why) const {
  auto worker = bench::Worker::start({setup_.program, "worker"});
  if (!worker.ok()) {
    *why = worker.error().message;
    return std::nullopt;
  }
  const auto prepared = worker.value()->prepare(prepare_request(built));
  if (!prepared.ok()) {
    *why = prepared.error().message;
    return std::nullopt;
  }
  const auto timed = worker.value()->time({.blocks = 3, .max_launches = kFinalLaunches});
  if (!timed.ok()) {
    *why = timed.error().message;
    return std::nullopt;
  }
  (void)worker.value()->bye();
  std::vector<double> medians;
  for (const bench::Block& block : timed.value().blocks) medians.push_back(ledger::median(block.seconds));
  return ledger::median(medians);
}

/// Rounds of anchor, finalists, anchor; every visit is a process of its own.
void CpuEvaluator::final_rounds(const std::vector<Built*>& finalists, std::vector<Evaluation>* out) {
  std::vector<std::vector<double>> seconds(finalists.size());
  std::vector<std::vector<double>> costs(finalists.size());
  int done = 0;
  for (int round = 0; round < kFinalRounds; ++round) {
    std::string why;
    const std::optional<double> before = anchor_ ? fresh_seconds(*anchor_, &why) : std::nullopt;
    std::vector<double> readings(finalists.size(), 0);
    for (size_t i = 0; i < finalists.size(); ++i) {
      if ((*out)[i].outcome != Outcome::ok) continue;
      const std::optional<double> reading = fresh_seconds(*finalists[i], &why);
      if (!reading) (*out)[i] = fallen(Outcome::crashed, why);
      readings[i] = reading.value_or(0);
      phase("finalists", ++done, finalists.size() * kFinalRounds);
    }
    const std::optional<double> after = anchor_ ? fresh_seconds(*anchor_, &why) : std::nullopt;
    const double anchor = before && after ? std::sqrt(*before * *after) : 1;
    for (size_t i = 0; i < finalists.size(); ++i) {
      if (readings[i] <= 0) continue;
      seconds[i].push_back(readings[i]);
      costs[i].push_back(readings[i] / anchor);
    }
  }
  for (size_t i = 0; i < finalists.size(); ++i) {
    if ((*out)[i].outcome != Outcome::ok) continue;
    (*out)[i].seconds = ledger::median(seconds[i]);
    (*out)[i].cost = ledger::median(costs[i]);
  }
}

std::vector<Evaluation> CpuEvaluator::finals(const std::vector<knob::Config>& finalists) {
  std::vector<Built*> builts;
  for (const knob::Config& config : finalists) builts.push_back(built_.at(knob::to_text(config)).get());
  std::vector<Evaluation> out(finalists.size());
  Probe thorough(setup_.program, probe_setup(setup_, setup_.final_samples));
  for (size_t i = 0; i < builts.size(); ++i) {
    out[i] = check_one(thorough, *builts[i], false);
    phase("checking finalists", static_cast<int>(i) + 1, builts.size());
  }
  const auto lock = bench::MeasurementLock::acquire(kLockWait, waiting());
  if (!lock.ok()) {
    for (Evaluation& e : out) e = fallen(Outcome::unstable, lock.error().message);
    return out;
  }
  final_rounds(builts, &out);
  return out;
}

}  // namespace hc::tune
