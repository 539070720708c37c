// Local search with several elites; see search.h for the rule that ends it.
#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/json.h"
#include "base/subprocess.h"

namespace hc::tune {
namespace {

using knob::Choice;
using knob::Config;
using knob::Space;

constexpr size_t kElites = 3;
constexpr size_t kFewValues = 4;
constexpr int kDrawLimit = 400;  ///< tries to find a config that was not seen before

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A config with its standing.
struct Known {
  Config config;
  double cost = 0;
  double seconds = 0;
  int64_t seq = 0;
};

class Search {
 public:
  Search(const Space& space, Evaluator& evaluator, const SearchOptions& options)
      : space_(space), evaluator_(evaluator), options_(options), random_(options.seed), start_(now()) {}

  void begin(const std::vector<Config>& seeds);
  bool step(const OnProgress& on_progress);
  SearchResult finish();

 private:
  struct Proposal {
    Config config;
    std::string origin;
    int64_t seq = 0;  ///< its record
  };

  double now() const { return options_.now ? options_.now() : monotonic_s(); }
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  Config random_config();
  Config mutated(const Config& from, int moves);
  Config crossed(const Config& a, const Config& b);
  bool propose(const Config& config, const std::string& origin);
  void propose_random(size_t wanted, const std::string& origin, const std::function<Config()>& draw);
  void next_generation();
  void record(const Proposal& proposal, const Evaluation& evaluation);
  bool out_of_budget() const;
  void evaluate_batch();
  void challenge();

  const Space& space_;
  Evaluator& evaluator_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  double start_;
  std::set<std::string> seen_;                ///< config texts
  std::map<std::string, int64_t> by_source_;  ///< source hash to the record of its first config
  std::vector<ledger::Candidate> records_;
  std::vector<Proposal> batch_;
  std::vector<Known> elites_;  ///< the best, then those of the lowest cost beside it
  std::vector<Known> known_;   ///< every one that is ok, lowest cost first
  int64_t best_ = -1;          ///< record of the best
  int generation_ = 0;
  int compiled_ = 0;
  int stale_ = 0;  ///< generations without gain since the best's neighbours were exhausted, or without any winner
  bool converged_ = false;
};

Config Search::random_config() {
  Config config;
  for (const Choice& choice : space_.choices) config.set(choice.key, choice.values[below(choice.values.size())]);
  return config;
}

Config Search::mutated(const Config& from, int moves) {
  Config config = from;
  for (int i = 0; i < moves; ++i) {
    const std::vector<Config> near = neighbours(space_, config);
    if (near.empty()) return config;
    config = near[below(near.size())];
  }
  return config;
}

Config Search::crossed(const Config& a, const Config& b) {
  Config config;
  for (const Choice& choice : space_.choices) {
    config.set(choice.key, (below(2) ? a : b).get(choice.key, choice.default_value));
  }
  return config;
}

/// Records a refusal or a duplicate at once; puts anything else into the batch. False: it was seen before.
bool Search::propose(const Config& config, const std::string& origin) {
  if (!seen_.insert(knob::to_text(config)).second) return false;
  const Planned planned = evaluator_.plan(config);
  ledger::Candidate candidate;
  candidate.seq = static_cast<int64_t>(records_.size());
  candidate.t_s = now() - start_;
  candidate.config = config_json(config);
  candidate.origin = origin;
  if (!planned.legal) {
    candidate.outcome = ledger::Outcome::refused;
    candidate.reason = planned.reason;
    records_.push_back(candidate);
    return true;
  }
  const auto [it, fresh] = by_source_.emplace(planned.source_sha256, candidate.seq);
  if (!fresh) {
    const ledger::Candidate& twin = records_[static_cast<size_t>(it->second)];
    candidate.origin = fmt::format("{}, same code as {}", origin, twin.seq);
    candidate.outcome = twin.outcome;
    candidate.reason = twin.reason;
    candidate.seconds = twin.seconds;
    records_.push_back(candidate);
    return true;
  }
  batch_.push_back({config, origin, candidate.seq});
  records_.push_back(candidate);
  return true;
}

void Search::propose_random(size_t wanted, const std::string& origin, const std::function<Config()>& draw) {
  const size_t target = batch_.size() + wanted;
  for (int tries = 0; tries < kDrawLimit && batch_.size() < target; ++tries) propose(draw(), origin);
}

void Search::begin(const std::vector<Config>& seeds) {
  propose(space_.defaults(), "default");
  for (const Config& seed : seeds) propose(seed, "seed");
  propose_random(static_cast<size_t>(options_.random_start), "random", [&] { return random_config(); });
}

/// Neighbours of the best first; when none is left, wider moves until patience ends.
void Search::next_generation() {
  const auto size = static_cast<size_t>(options_.batch);
  if (elites_.empty()) {
    ++stale_;  // where nothing comes through, more of the same would try the whole space
    propose_random(size, "random", [&] { return random_config(); });
    return;
  }
  std::vector<Config> near = neighbours(space_, elites_[0].config);
  std::shuffle(near.begin(), near.end(), random_);
  for (const Config& config : near) {
    if (batch_.size() >= size) return;
    propose(config, fmt::format("neighbour of {}", elites_[0].seq));
  }
  if (!batch_.empty()) return;
  ++stale_;
  for (size_t e = 1; e < elites_.size(); ++e) {
    near = neighbours(space_, elites_[e].config);
    std::shuffle(near.begin(), near.end(), random_);
    for (const Config& config : near) {
      if (batch_.size() >= size / 2) break;
      propose(config, fmt::format("neighbour of {}", elites_[e].seq));
    }
  }
  propose_random(size / 4, "two moves", [&] { return mutated(elites_[0].config, 2); });
  propose_random(size / 8 + 1, "crossover",
                 [&] { return crossed(elites_[0].config, elites_[below(elites_.size())].config); });
  if (batch_.size() < size) propose_random(size - batch_.size(), "random", [&] { return random_config(); });
}

void Search::record(const Proposal& proposal, const Evaluation& evaluation) {
  ledger::Candidate& candidate = records_[static_cast<size_t>(proposal.seq)];
  candidate.t_s = now() - start_;
  candidate.outcome = evaluation.outcome;
  candidate.reason = evaluation.reason;
  candidate.seconds = evaluation.seconds;
  // Twins were recorded while this one was still waiting.
  const std::string mark = fmt::format(", same code as {}", proposal.seq);
  for (ledger::Candidate& other : records_) {
    if (!other.origin.ends_with(mark)) continue;
    other.outcome = candidate.outcome;
    other.reason = candidate.reason;
    other.seconds = candidate.seconds;
  }
  if (evaluation.outcome != ledger::Outcome::ok) return;
  known_.push_back({proposal.config, evaluation.cost, evaluation.seconds, proposal.seq});
}

bool Search::out_of_budget() const {
  if (options_.max_candidates > 0 && compiled_ >= options_.max_candidates) return true;
  return options_.max_seconds > 0 && now() - start_ >= options_.max_seconds;
}

void Search::evaluate_batch() {
  // A batch is cut into pieces so that limits hold to within one piece.
  while (!batch_.empty() && !out_of_budget()) {
    size_t take = std::min(batch_.size(), static_cast<size_t>(options_.batch));
    if (options_.max_candidates > 0) take = std::min(take, static_cast<size_t>(options_.max_candidates - compiled_));
    std::vector<Config> configs;
    for (size_t i = 0; i < take; ++i) configs.push_back(batch_[i].config);
    const std::vector<Evaluation> evaluations = evaluator_.evaluate(configs);
    for (size_t i = 0; i < take; ++i) record(batch_[i], evaluations[i]);
    batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(take));
    compiled_ += static_cast<int>(take);
  }
  challenge();
}

/// The lowest cost becomes the best only when it wins beside the best once more.
void Search::challenge() {
  const auto by_cost = [](const Known& a, const Known& b) { return a.cost < b.cost; };
  std::stable_sort(known_.begin(), known_.end(), by_cost);
  if (known_.empty()) return;
  if (best_ < 0) {
    best_ = known_[0].seq;
    stale_ = 0;
  }
  const auto best = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.seq == best_; });
  Known& first = known_[0];
  if (first.seq != best_ && first.cost < best->cost * (1 - options_.gain)) {
    const std::vector<Evaluation> again = evaluator_.retime({best->config, first.config});
    const bool both = again[0].outcome == ledger::Outcome::ok && again[1].outcome == ledger::Outcome::ok;
    if (both && again[1].cost < again[0].cost * (1 - options_.gain)) {
      best_ = first.seq;
      stale_ = 0;
      first.cost = std::max(first.cost, again[1].cost);
    } else {
      first.cost = std::max(first.cost, both ? again[1].cost : best->cost);
    }
    std::stable_sort(known_.begin(), known_.end(), by_cost);
  }
  elites_.clear();
  for (const Known& k : known_) {
    if (k.seq == best_) elites_.insert(elites_.begin(), k);
    if (k.seq != best_ && elites_.size() < kElites) elites_.push_back(k);
  }
  if (elites_.size() > kElites) elites_.pop_back();
}

/// One generation; false when the search is over.
bool Search::step(const OnProgress& on_progress) {
  if (generation_ > 0) next_generation();
  if (batch_.empty()) {
    converged_ = true;
    return false;
  }
  evaluate_batch();
  ++generation_;
  SearchProgress progress{generation_, compiled_, 0, elites_.empty() ? 0 : elites_[0].seconds};
  for (const ledger::Candidate& c : records_) progress.fell += c.outcome != ledger::Outcome::ok;
  if (on_progress) on_progress(progress);
  if (out_of_budget()) return false;
  converged_ = stale_ >= options_.patience;
  return !converged_;
}

SearchResult Search::finish() {
  SearchResult result;
  result.ended_by = converged_ ? "converged" : "limit";
  // What was proposed but not reached any more was never a candidate.
  std::set<int64_t> waiting;
  for (const Proposal& proposal : batch_) waiting.insert(proposal.seq);
  for (const ledger::Candidate& candidate : records_) {
    bool never = waiting.contains(candidate.seq);
    for (const int64_t seq : waiting) never |= candidate.origin.ends_with(fmt::format(", same code as {}", seq));
    if (!never) result.candidates.push_back(candidate);
  }
  if (known_.empty()) return result;
  const size_t count = std::min(static_cast<size_t>(options_.finalists), known_.size());
  std::vector<Config> finalists = {elites_[0].config};
  for (const Known& k : known_) {
    if (finalists.size() < count && k.seq != best_) finalists.push_back(k.config);
  }
  const std::vector<Evaluation> finals = evaluator_.finals(finalists);
  for (size_t i = 0; i < count; ++i) {
    if (finals[i].outcome != ledger::Outcome::ok) continue;
    if (result.found && finals[i].cost >= result.winner_cost) continue;
    result.found = true;
    result.winner = finalists[i];
    result.winner_cost = finals[i].cost;
    result.winner_seconds = finals[i].seconds;
  }
  return result;
}

}  // namespace

std::vector<Config> neighbours(const Space& space, const Config& config) {
  std::vector<Config> out;
  for (const Choice& choice : space.choices) {
    const std::string current = config.get(choice.key, choice.default_value);
    const auto at = std::find(choice.values.begin(), choice.values.end(), current) - choice.values.begin();
    const bool ordered = std::all_of(choice.values.begin(), choice.values.end(), is_number);
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(choice.values.size()); ++i) {
      if (i == at) continue;
      if (ordered && choice.values.size() > kFewValues && std::abs(i - at) > 1) continue;
      Config next = config;
      next.set(choice.key, choice.values[static_cast<size_t>(i)]);
      out.push_back(std::move(next));
    }
  }
  return out;
}

std::string config_json(const Config& config) {
  Json out = Json::object();
  for (const auto& [key, value] : config.values()) out[key] = value;
  return out.dump();
}

Result<Config> config_from_json(const std::string& text) {
  const std::optional<Json> json = parse_json(text);
  if (!json || !json->is_object())
    return Diagnostic{Code::invalid_config, "the config of a tune record is not an object"};
  Config config;
  for (const auto& [key, value] : json->items()) {
    if (value.is_string()) config.set(key, value.get<std::string>());
  }
  return config;
}

SearchResult search(const Space& space, const std::vector<Config>& seeds, Evaluator& evaluator,
                    const SearchOptions& options, const OnProgress& on_progress) {
  Search search(space, evaluator, options);
  search.begin(seeds);
  while (search.step(on_progress)) {
  }
  return search.finish();
}

}  // namespace hc::tune
