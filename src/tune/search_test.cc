// The search on worlds with a formula for a clock: it converges, repeats itself by seed and loses no candidate.
#include "tune/search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace hc::tune {
namespace {

knob::Choice numbers(const std::string& name, std::vector<std::string> values) {
  return {name, name, "", values, values.front()};
}

knob::Space make_space() {
  knob::Space space;
  space.choices.push_back(numbers("rows", {"1", "2", "4", "8", "16", "32", "64"}));
  space.choices.push_back(numbers("columns", {"8", "16", "32", "64", "128", "256"}));
  space.choices.push_back(numbers("unroll", {"1", "2", "4", "8"}));
  space.choices.push_back(numbers("store", {"plain", "stream"}));
  space.choices.push_back(numbers("idle", {"a", "b"}));  // changes nothing in the code
  return space;
}

/// Cost with one minimum at rows 8, columns 64, unroll 4, stream.
class World : public Evaluator {
 public:
  Planned plan(const knob::Config& config) override {
    if (config.get_int("rows", 0) * config.get_int("columns", 0) > 8192) return {false, "the tile is too large", ""};
    std::string source;
    for (const auto& [key, value] : config.values()) {
      if (key != "idle") source += key + value;
    }
    return {true, "", source};
  }
  std::vector<Evaluation> evaluate(const std::vector<knob::Config>& batch) override {
    std::vector<Evaluation> out;
    for (const knob::Config& config : batch) {
      ++evaluated;
      out.push_back(one(config));
    }
    return out;
  }
  std::vector<Evaluation> retime(const std::vector<knob::Config>& configs) override {
    std::vector<Evaluation> out;
    for (const knob::Config& config : configs) out.push_back(one(config));
    return out;
  }
  std::vector<Evaluation> finals(const std::vector<knob::Config>& finalists) override {
    final_count = finalists.size();
    std::vector<Evaluation> out;
    for (const knob::Config& config : finalists) out.push_back(one(config));
    return out;
  }
  static double cost(const knob::Config& config) {
    const double r = std::log2(static_cast<double>(config.get_int("rows", 1))) - 3;
    const double c = std::log2(static_cast<double>(config.get_int("columns", 1))) - 6;
    const double u = std::log2(static_cast<double>(config.get_int("unroll", 1))) - 2;
    return 1 + 0.1 * r * r + 0.05 * c * c + 0.03 * u * u + (config.get("store", "") == "stream" ? 0 : 0.2);
  }
  Evaluation one(const knob::Config& config) const {
    const int64_t columns = config.get_int("columns", 0);
    using ledger::Outcome;
    if (columns == 8) return {Outcome::compile_failed, "the compiler says no", 0, 0};
    if (columns == 16 && config.get_int("unroll", 0) == 8) return {Outcome::wrong_answer, "element 3 is off", 0, 0};
    if (columns == 256 && config.get_int("unroll", 0) == 1) return {Outcome::crashed, "signal 11", 0, 0};
    if (columns == 256 && config.get_int("unroll", 0) == 2) return {Outcome::timed_out, "no end in 60 s", 0, 0};
    if (config.get_int("rows", 0) == 64) return {Outcome::unstable, "readings spread by half", 0, 1e-3};
    return {Outcome::ok, "", cost(config), cost(config) * 1e-3};
  }
  int evaluated = 0;
  size_t final_count = 0;
};

TEST(Search, ConvergesOnTheMinimumForEverySeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world;
    SearchOptions options;
    options.seed = seed;
    const SearchResult result = search(make_space(), {}, world, options, {});
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.ended_by, "converged");
    EXPECT_DOUBLE_EQ(result.winner_cost, 1.0) << knob::to_text(result.winner);
    EXPECT_LT(world.evaluated, 150) << "of 336 in the space";
    EXPECT_EQ(world.final_count, 4U);
  }
}

TEST(Search, NoisyReadingsStillConverge) {
  /// Readings with 5 % of noise, now and then twice as long.
  class Noisy : public World {
   public:
    explicit Noisy(uint64_t seed) : random(seed) {}
    std::vector<Evaluation> evaluate(const std::vector<knob::Config>& batch) override {
      return shaken(World::evaluate(batch));
    }
    std::vector<Evaluation> retime(const std::vector<knob::Config>& configs) override {
      return shaken(World::retime(configs));
    }
    std::vector<Evaluation> shaken(std::vector<Evaluation> out) {
      for (Evaluation& e : out) {
        const double unit = static_cast<double>(random() % 1000) / 1000;
        e.cost *= 1 + 0.05 * unit + (random() % 20 == 0 ? 1 : 0);
      }
      return out;
    }
    std::mt19937_64 random;
  };
  double worst = 0;
  int most = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Noisy world(seed);
    SearchOptions options;
    options.seed = seed;
    const SearchResult result = search(make_space(), {}, world, options, {});
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.ended_by, "converged") << "seed " << seed;
    worst = std::max(worst, World::cost(result.winner));
    most = std::max(most, world.evaluated);
  }
  EXPECT_LT(worst, 1.11) << "the finalists are timed without noise here, so the minimum or its neighbours win";
  EXPECT_LT(most, 200) << "noise must not keep the search alive";
}

TEST(Search, SameSeedSameChoices) {
  const auto texts = [](uint64_t seed) {
    World world;
    SearchOptions options;
    options.seed = seed;
    std::vector<std::string> out;
    for (const ledger::Candidate& c : search(make_space(), {}, world, options, {}).candidates) {
      out.push_back(c.config + c.origin);
    }
    return out;
  };
  EXPECT_EQ(texts(7), texts(7));
  EXPECT_NE(texts(7), texts(8));
}

TEST(Search, EveryCandidateIsRecordedWithItsReason) {
  World world;
  SearchOptions options;
  options.random_start = 120;
  const SearchResult result = search(make_space(), {}, world, options, {});
  std::set<ledger::Outcome> seen;
  std::set<std::string> configs;
  int twins = 0;
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    const ledger::Candidate& c = result.candidates[i];
    EXPECT_EQ(c.seq, static_cast<int64_t>(i));
    EXPECT_TRUE(configs.insert(c.config).second) << "proposed twice: " << c.config;
    EXPECT_EQ(c.reason.empty(), c.outcome == ledger::Outcome::ok) << c.config;
    EXPECT_FALSE(c.origin.empty());
    twins += c.origin.find("same code as") != std::string::npos;
    seen.insert(c.outcome);
  }
  EXPECT_EQ(seen.size(), 7U) << "refused, compile_failed, wrong_answer, crashed, timed_out, unstable and ok";
  EXPECT_GT(twins, 0) << "the idle knob makes twins, and they are not compiled twice";
}

TEST(Search, LimitsEndItAndSaySo) {
  World world;
  SearchOptions options;
  options.max_candidates = 10;
  const SearchResult by_count = search(make_space(), {}, world, options, {});
  EXPECT_EQ(by_count.ended_by, "limit");
  EXPECT_EQ(world.evaluated, 10);
  EXPECT_TRUE(by_count.found);

  double clock = 0;
  options.max_candidates = 0;
  options.max_seconds = 5;
  options.now = [&clock] { return clock += 0.05; };
  World second;
  EXPECT_EQ(search(make_space(), {}, second, options, {}).ended_by, "limit");
}

TEST(Search, SeedsAreTriedAmongTheFirst) {
  knob::Config seed = make_space().defaults();
  seed.set("rows", "8");
  seed.set("columns", "64");
  World world;
  const SearchResult result = search(make_space(), {seed}, world, {}, {});
  ASSERT_GT(result.candidates.size(), 2U);
  EXPECT_EQ(result.candidates[0].origin, "default");
  EXPECT_EQ(result.candidates[1].origin, "seed");
  EXPECT_EQ(result.candidates[1].config, config_json(seed));
}

TEST(Search, NothingLegalIsNoWinner) {
  class Refusing : public World {
   public:
    Planned plan(const knob::Config&) override { return {false, "never", ""}; }
  } world;
  const SearchResult result = search(make_space(), {}, world, {}, {});
  EXPECT_FALSE(result.found);
  EXPECT_EQ(world.evaluated, 0);
  EXPECT_FALSE(result.candidates.empty());
}

TEST(Search, WhereEveryCandidateFallsItEndsLongBeforeTheSpaceDoes) {
  class Falling : public World {
   public:
    std::vector<Evaluation> evaluate(const std::vector<knob::Config>& batch) override {
      evaluated += static_cast<int>(batch.size());
      return std::vector<Evaluation>(batch.size(), {ledger::Outcome::compile_failed, "never", 0, 0});
    }
  } world;
  const SearchResult result = search(make_space(), {}, world, {}, {});
  EXPECT_FALSE(result.found);
  EXPECT_GT(world.evaluated, 12);
  EXPECT_LT(world.evaluated, 60) << "of 336 in the space";
}

TEST(Search, ConfigJsonRoundTrip) {
  const knob::Config config = make_space().defaults();
  const auto read = config_from_json(config_json(config));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), config);
  EXPECT_FALSE(config_from_json("[1]").ok());
}

}  // namespace
}  // namespace hc::tune
