// Runs one tune from an empty or remembered start to a named winner.
#include "tune/tune.h"

#include <fmt/format.h>

#include <map>
#include <random>

#include "base/subprocess.h"

namespace hc::tune {
namespace {

constexpr int kHistorySeeds = 4;

HistoryKey history_key(const TuneRequest& request) {
  const target::Target& target = request.setup.site.target;
  return {fmt::format("{}, {} cores", target.name, target.cores), request.kernel_sha256, request.setup.request.kernel,
          fmt::format("{}", fmt::join(request.setup.arg_texts, " "))};
}

/// Why no candidate came through: the commonest reason of each way to fall.
Diagnostic nothing_found(const SearchResult& result) {
  std::map<ledger::Outcome, std::pair<int, std::string>> counts;
  for (const ledger::Candidate& c : result.candidates) {
    auto& [count, reason] = counts[c.outcome];
    ++count;
    if (reason.empty()) reason = c.reason;
  }
  Diagnostic out{Code::no_config, fmt::format("none of {} candidates came through", result.candidates.size())};
  for (const auto& [outcome, counted] : counts) {
    out.notes.push_back(
        {{}, fmt::format("{} {}, first: {}", counted.first, ledger::outcome_name(outcome), counted.second)});
  }
  return out;
}

}  // namespace

uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 20) ^ device();
}

Result<TuneOutcome> tune(const TuneRequest& request) {
  const double start = monotonic_s();
  const EvaluatorSetup& setup = request.setup;
  const knob::Space space = HC_TRY(compile::space(setup.request, setup.site.target));
  std::vector<knob::Config> seeds = HC_TRY(compile::seeds(setup.request, setup.site.target));
  TuneOutcome outcome;
  std::unique_ptr<History> history;
  if (!request.history_path.empty()) {
    Result<std::unique_ptr<History>> opened = History::open(request.history_path);
    if (opened.ok()) {
      history = std::move(opened).value();
    } else {
      outcome.history_trouble = opened.error().message;
    }
  }
  if (history && !request.cold) {
    const auto remembered = history->best(history_key(request), kHistorySeeds);
    if (remembered.ok()) {
      for (const knob::Config& config : remembered.value()) {
        if (space.check(config).ok()) seeds.push_back(config);
      }
    }
  }
  CpuEvaluator evaluator(setup);
  outcome.result = search(space, seeds, evaluator, request.options, request.on_generation);
  outcome.seconds = monotonic_s() - start;
  outcome.repeated_batches = evaluator.repeated_batches();
  outcome.space_size = 1;
  for (const knob::Choice& choice : space.choices) outcome.space_size *= static_cast<double>(choice.values.size());
  if (history) {
    const Status added = history->add(history_key(request), outcome.result.candidates);
    if (!added.ok()) outcome.history_trouble = added.error().message;
  }
  // a tune in which candidates could not be written down is no full one, whatever else it found
  if (evaluator.trouble()) return *evaluator.trouble();
  if (!outcome.result.found) return nothing_found(outcome.result);
  outcome.winner = *evaluator.built(outcome.result.winner);
  return outcome;
}

ledger::TuneRecord to_record(const TuneRequest& request, const TuneOutcome& outcome) {
  ledger::TuneRecord record;
  record.kernel_sha256 = request.kernel_sha256;
  record.seed = request.options.seed;
  record.started_cold = request.cold;
  record.ended_by = outcome.result.ended_by;
  record.full = request.options.max_candidates == 0 && request.options.max_seconds == 0;
  // A limit that was never reached cut nothing short.
  record.full = record.full || record.ended_by == "converged";
  record.space_size = outcome.space_size;
  record.seconds = outcome.seconds;
  record.winner = config_json(outcome.winner.compiled.config);
  record.winner_seconds = outcome.result.winner_seconds;
  record.winner_source_sha256 = outcome.winner.manifest.source_sha256;
  record.candidates = outcome.result.candidates;
  return record;
}

}  // namespace hc::tune
