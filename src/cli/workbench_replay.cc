// Measuring a stored confirmation again, independently of what is stored: the strongest audit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/workbench.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

const ledger::Arm* candidate_arm(const ledger::PairsArtifact& artifact) {
  for (const ledger::Arm& arm : artifact.arms) {
    if (arm.role == ledger::Role::candidate) return &arm;
  }
  return nullptr;
}

constexpr size_t kPairsToSpeak = 6;  ///< that all of them lie below a true lower bound happens once in 64 times

/// The largest ratio that any single pair showed; needs no bound and no mode.
double best_pair(const std::vector<ledger::PairTimes>& pairs) {
  double out = 0;
  for (const ledger::PairTimes& t : pairs) out = std::max(out, std::exp(t.baseline - t.candidate));
  return out;
}

/// What two comparisons of the same candidate and baseline say of each other.
std::string disagreement(const ledger::Comparison& stored, const ledger::Comparison& fresh,
                         const std::vector<ledger::PairTimes>& pairs, double limit, double margin, bool same) {
  if (same && pairs.size() >= kPairsToSpeak && best_pair(pairs) < stored.lcb * (1 - margin)) {
    return fmt::format("the best of {} fresh pairs reaches {:.4f}, and the stored bound is {:.4f}", pairs.size(),
                       best_pair(pairs), stored.lcb);
  }
  if (stored.lcb >= limit && fresh.verdict == ledger::Verdict::fail) {
    return fmt::format("the stored bound {:.4f} reaches {:.4f}, the fresh one {:.4f} stays below", stored.lcb, limit,
                       fresh.ucb);
  }
  if (same && (fresh.ucb < stored.lcb * (1 - margin) || fresh.lcb * (1 - margin) > stored.ucb)) {
    return fmt::format("stored [{:.4f}, {:.4f}] and fresh [{:.4f}, {:.4f}] lie apart on the same machine", stored.lcb,
                       stored.ucb, fresh.lcb, fresh.ucb);
  }
  return "";
}

}  // namespace

/// The very candidate of a stored measurement; goal_error when today's compiler makes another one.
Status Workbench::rebuild_candidate(const ledger::PairsArtifact& stored) {
  if (by_worker()) {
    HC_TRY(tune_variant(work_));
    return check_candidate(work_);
  }
  const ledger::Arm* arm = candidate_arm(stored);
  if (!arm) return Diagnostic{Code::evidence_broken, fmt::format("{} has no candidate", stored.name)};
  tune::Built candidate = HC_TRY(built(HC_TRY(tune::config_from_json(arm->config))));
  if (candidate.manifest.source_sha256 != arm->source_sha256) {
    return Diagnostic{Code::goal_error,
                      fmt::format("{}: this compiler and kernel make another candidate than the one of {}/{}",
                                  work_.label, stored.run, stored.name)}
        .fix("audit with the program and the kernel that the goal was measured with");
  }
  work_.tune_id = arm->tune;
  return prepare_candidate(std::move(candidate));
}

Result<Replay> Workbench::replay(const std::string& object) {
  const std::string text = HC_TRY(ledger::read_object(options_.artifacts, object));
  const ledger::PairsArtifact stored = HC_TRY(ledger::parse_pairs(text, object));
  HC_TRY(hold(stored.variant));
  // what is true of a candidate does not hang on the inputs that the run happened to draw
  work_.subject.input_seed = tune::fresh_seed();
  HC_TRY(rebuild_candidate(stored));
  std::vector<tune::Contender> arms = {work_.candidate};
  for (const ledger::Arm& arm : stored.arms) {
    if (arm.role != ledger::Role::baseline) continue;
    arms.push_back(HC_TRY(whole_baseline(*HC_TRY(baseline(arm.name)))));
  }
  const std::vector<int>& looks = lock_.criteria.looks;
  const int agreed = looks.empty() ? task_.effort.pairs : *std::max_element(looks.begin(), looks.end());
  const tune::CampaignPlan plan =
      campaign_plan(work_, ledger::Purpose::audit, options_.pairs > 0 ? options_.pairs : agreed, "measuring once more");
  ledger::PairsArtifact fresh;
  Replay out;
  out.variant = stored.variant;
  out.object = HC_TRY(measure_and_store(work_, arms, plan, fmt::format("audit-{}", stored.variant),
                                        [&](ledger::PairsArtifact* artifact) { fresh = *artifact; }));
  ledger::CompareRules rules;
  rules.limit = work_.variant->target * (1 - lock_.criteria.margin);
  rules.alpha = lock_.criteria.alpha;
  rules.rate_tolerance = lock_.criteria.rate_tolerance;
  for (size_t i = 1; i < arms.size(); ++i) {
    const std::string& name = arms[i].arm.name;
    const ledger::Comparison before = ledger::compare_pairs(ledger::pair_times(stored, name), rules);
    const std::vector<ledger::PairTimes> pairs = ledger::pair_times(fresh, name);
    const ledger::Comparison now = ledger::compare_pairs(pairs, rules);
    out.baselines.push_back({name, before, now,
                             disagreement(before, now, pairs, rules.limit, lock_.criteria.margin,
                                          ledger::other_device(stored, fresh).empty())});
  }
  return out;
}

}  // namespace hc::cli
