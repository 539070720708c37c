// Repeats campaigns and counts their verdicts.
#include "sim/study.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "ledger/calibration.h"

namespace hc::sim {
namespace {

constexpr int kThreads = 2;
constexpr int kMostPairs = 20;
constexpr double kLimit = 0.99;

void count(Rates* rates, const Outcome& outcome) {
  ++(outcome.verdict == ledger::Verdict::pass   ? rates->pass
     : outcome.verdict == ledger::Verdict::fail ? rates->fail
                                                : rates->open);
  rates->pairs += outcome.pairs;
}

ledger::CompareRules rules_of(const ledger::Criteria& criteria, int runs) {
  ledger::CompareRules rules;
  rules.limit = 1 - criteria.margin;
  rules.rate_tolerance = criteria.rate_tolerance;
  rules.alpha = ledger::look_alpha(criteria, runs);
  return rules;
}

Outcome point(double ratio, int pairs) {
  return {ratio >= kLimit ? ledger::Verdict::pass : ledger::Verdict::fail, pairs};
}

}  // namespace

ledger::Criteria twenty_pairs() {
  ledger::Criteria criteria;
  criteria.looks = {8, 12, 16, kMostPairs};
  return criteria;
}

Outcome confirm(Machine& machine, const ledger::Criteria& criteria) {
  std::vector<ledger::PairTimes> pairs;
  for (const int look : criteria.looks) {
    while (static_cast<int>(pairs.size()) < look) pairs.push_back(machine.next_pair());
    const ledger::Comparison c = compare_pairs(pairs, rules_of(criteria, 1));
    if (c.verdict != ledger::Verdict::open) return {c.verdict, look};
  }
  return {ledger::Verdict::open, static_cast<int>(pairs.size())};
}

Outcome confirm_and_extend(Machine& machine, const ledger::Criteria& criteria, int extensions) {
  std::vector<ledger::PairTimes> pairs;
  for (int run = 1; run <= 1 + extensions; ++run) {
    const std::vector<ledger::PairTimes> more = machine.pairs(criteria.looks.back());
    pairs.insert(pairs.end(), more.begin(), more.end());
    const ledger::Comparison c = compare_pairs(pairs, rules_of(criteria, run));
    if (c.verdict != ledger::Verdict::open) return {c.verdict, c.pairs};
  }
  return {ledger::Verdict::open, static_cast<int>(pairs.size())};
}

double nominate(Machine& machine) {
  const ledger::PairTimes pair = machine.next_pair();
  return std::exp(pair.baseline - pair.candidate);
}

Rates repeat(int campaigns, uint64_t first_seed, const std::function<Outcome(uint64_t seed)>& campaign) {
  Rates rates;
  std::mutex mutex;
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Rates mine;
      for (int i = next++; i < campaigns; i = next++) count(&mine, campaign(first_seed + static_cast<uint64_t>(i)));
      const std::lock_guard<std::mutex> guard(mutex);
      rates.pass += mine.pass;
      rates.fail += mine.fail;
      rates.open += mine.open;
      rates.pairs += mine.pairs;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rates;
}

Rates study(const WorldSpec& spec, double ratio, const ledger::Criteria& criteria, int campaigns, uint64_t first_seed) {
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Machine machine(spec, ratio, seed);
    return confirm(machine, criteria);
  });
}

Rates study_best_nomination(double ratio, int tries, bool confirmed, int campaigns, uint64_t first_seed) {
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Machine machine(world("process-variance"), ratio, seed);
    double best = 0;
    for (int i = 0; i < tries; ++i) best = std::max(best, nominate(machine));
    return confirmed ? confirm(machine, twenty_pairs()) : point(best, tries);
  });
}

Rates study_many_candidates(double ratio, int candidates, int campaigns, uint64_t first_seed) {
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Machine machine(world("process-variance"), ratio, seed);
    Outcome last;
    for (int i = 0; i < candidates && last.verdict != ledger::Verdict::pass; ++i) {
      last = confirm(machine, twenty_pairs());
    }
    return last;
  });
}

Rates study_extensions(const WorldSpec& spec, double ratio, int extensions, int campaigns, uint64_t first_seed) {
  const ledger::Criteria criteria;  // one look at ten pairs
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Machine machine(spec, ratio, seed);
    return confirm_and_extend(machine, criteria, extensions);
  });
}

Rates study_slow_half(double fast, double slow, int campaigns, uint64_t first_seed) {
  WorldSpec spec = world("slow-candidate");
  spec.slow_by = fast / slow;
  return study(spec, fast, twenty_pairs(), campaigns, first_seed);
}

Rates study_biased(double ratio, double bias, int aa_pairs, int campaigns, uint64_t first_seed) {
  const ledger::Criteria criteria = twenty_pairs();
  const WorldSpec& spec = world("process-variance");
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Random random(seed);
    ledger::Calibration record;
    if (aa_pairs > 0) {
      Machine itself(spec, bias, random.bits());
      record.ids = {"record"};
      record.noise = ledger::noise_of(itself.pairs(aa_pairs));
    }
    Machine machine(spec, ratio * bias, random.bits());
    std::vector<ledger::PairTimes> pairs;
    for (const int look : criteria.looks) {
      while (static_cast<int>(pairs.size()) < look) pairs.push_back(machine.next_pair());
      const ledger::Comparison c = compare_pairs(pairs, rules_of(criteria, 1));
      if (c.verdict == ledger::Verdict::open) continue;
      const double distance = c.verdict == ledger::Verdict::pass ? std::log(c.lcb / kLimit) : std::log(kLimit / c.ucb);
      if (!noise_doubt(record, distance, criteria.margin).empty()) return Outcome{ledger::Verdict::open, look};
      return Outcome{c.verdict, look};
    }
    return Outcome{ledger::Verdict::open, static_cast<int>(pairs.size())};
  });
}

Rates study_geomean(double ratio, double least, int campaigns, uint64_t first_seed) {
  constexpr int kVariants = 12, kPairs = 10;
  const ledger::Criteria criteria;
  return repeat(campaigns, first_seed, [&](uint64_t seed) {
    Random random(seed);
    std::vector<double> logs;
    double sum = 0;
    for (int v = 0; v < kVariants; ++v) sum += logs.emplace_back(random.normal(0.03));
    std::vector<ledger::Comparison> comparisons;
    for (const double log : logs) {
      Machine machine(world("process-variance"), ratio * std::exp(log - sum / kVariants), random.bits());
      comparisons.push_back(compare_pairs(machine.pairs(kPairs), rules_of(criteria, 1)));
    }
    const ledger::Geomean g = geomean(comparisons, criteria.alpha);
    return Outcome{g.lower >= least ? ledger::Verdict::pass : ledger::Verdict::fail, kVariants * kPairs};
  });
}

}  // namespace hc::sim
