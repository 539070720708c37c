// The search itself: random start, seeds, neighbour moves, convergence. It knows nothing of compilers and clocks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "knob/knob.h"
#include "ledger/records.h"

namespace hc::tune {

/// What lowering says of a config before anything is compiled.
struct Planned {
  bool legal = false;
  std::string reason;         ///< of the refusal
  std::string source_sha256;  ///< two configs of one source are one candidate
};

/// What became of a config that was compiled, checked and timed.
struct Evaluation {
  ledger::Outcome outcome = ledger::Outcome::ok;
  std::string reason;  ///< a sentence, empty when ok
  double cost = 0;     ///< time relative to the anchor's in the same batch: 0.5 is twice as fast
  double seconds = 0;  ///< per call
};

/// The world in which configs are tried. The real one compiles and measures; a test has a formula.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual Planned plan(const knob::Config& config) = 0;
  /// One evaluation per config, in order. All are compiled before the first is timed.
  virtual std::vector<Evaluation> evaluate(const std::vector<knob::Config>& batch) = 0;
  /// Times configs once more, beside each other: for a challenger and the best so far, since the luckiest reading of
  /// many always looks better than it is.
  virtual std::vector<Evaluation> retime(const std::vector<knob::Config>& configs) = 0;
  /// The same configs once more, each in fresh processes, interleaved; costs comparable within the answer.
  virtual std::vector<Evaluation> finals(const std::vector<knob::Config>& finalists) = 0;
};

struct SearchOptions {
  uint64_t seed = 1;
  int batch = 8;          ///< configs per generation
  int random_start = 12;  ///< random configs beside defaults and seeds
  int patience =
      3;  ///< generations that end it: without gain after all neighbours of the best, or without one that is ok
  double gain = 0.005;  ///< relative gain that counts as one
  int finalists = 4;
  int64_t max_candidates = 0;   ///< that were compiled; 0: no limit
  double max_seconds = 0;       ///< 0: no limit
  std::function<double()> now;  ///< seconds; null: the monotonic clock
};

struct SearchResult {
  std::vector<ledger::Candidate> candidates;  ///< all, in order, refused ones and duplicates too
  bool found = false;
  knob::Config winner;
  double winner_cost = 0;
  double winner_seconds = 0;
  std::string ended_by;  ///< "converged" or "limit"
};

/// One line per generation: number of candidates, best cost and seconds so far.
struct SearchProgress {
  int generation = 0;
  int compiled = 0;
  int fell = 0;
  double best_seconds = 0;
};
using OnProgress = std::function<void(const SearchProgress&)>;

/// Runs until converged or out of budget. The choices depend on the seed and on the evaluations only.
SearchResult search(const knob::Space& space, const std::vector<knob::Config>& seeds, Evaluator& evaluator,
                    const SearchOptions& options, const OnProgress& on_progress);

/// Every config that differs from `config` in one knob by a near value: the next ones for numbers, any for a few names.
std::vector<knob::Config> neighbours(const knob::Space& space, const knob::Config& config);
/// JSON object of knob to value, as tune records hold configs.
std::string config_json(const knob::Config& config);
Result<knob::Config> config_from_json(const std::string& text);

}  // namespace hc::tune
