// A/A calibration: an implementation against itself, once a day and device, before the first confirming rounds.
#include <fmt/format.h>

#include <utility>

#include "cli/climb.h"
#include "ledger/calibration.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

constexpr int kStretch = 2;  ///< a record that does not resolve the margin may take this many times the agreed pairs

/// A calibration that came to nothing costs a PASS, not the measurement.
bool only_this(Code code) {
  return code == Code::measurement_failed || code == Code::worker_failed || code == Code::wrong_answer;
}

}  // namespace

/// Records the implementation against itself: same program, same rounds, same timer and canaries.
Status Climb::measure_against_itself(Work& work, const tune::Contender& rival) {
  tune::Contender twin = rival;
  twin.arm.name = rival.arm.name + ", again";
  twin.arm.role = ledger::Role::candidate;
  const int agreed = lock_.criteria.aa_pairs;
  tune::CampaignPlan plan = campaign_plan(work, ledger::Purpose::aa, kStretch * agreed,
                                          fmt::format("A/A, {} against itself", rival.arm.name));
  plan.enough = [&](const ledger::PairsArtifact& so_far) {
    const std::vector<ledger::PairTimes> times = ledger::pair_times(so_far, rival.arm.name);
    if (static_cast<int>(times.size()) < agreed) return false;
    const ledger::NoiseFloor noise = ledger::noise_of(times);
    return !noise.biased && noise.floor <= lock_.criteria.margin;
  };
  const std::vector<tune::Contender> arms = {twin, rival};
  std::swap(work.candidate, twin);  // the run is announced as one of the implementation
  const Result<std::string> stored = measure_and_store(work, arms, plan, fmt::format("aa-{}", work.variant->name), {});
  std::swap(work.candidate, twin);
  return stored.ok() ? success() : Status(stored.error());
}

/// Makes sure that an A/A record of the variant's device speaks for the confirming rounds that come. One that tells
/// identical code apart, or scatters too much, is pooled with one more of this command.
Status Climb::calibrate(Work& work, const tune::Contender& rival) {
  if (lock_.rules_version < 2 || lock_.criteria.aa_pairs == 0) return success();
  ledger::Facts machine = device_facts(work);
  for (const auto& fact : tune::machine_facts()) machine.push_back(fact);
  const std::string device = ledger::device_of(machine);
  ledger::PairsArtifact next;  // as the confirming rounds will describe themselves
  next.timer = bench::timer_text(in_a_row() ? bench::Mode::back_to_back : bench::Mode::single);
  describe_pairs(work, &next, "", -1);
  const auto known = [&] {
    ledger::Evidence evidence(options_.artifacts, store_->view());
    return ledger::calibration_of(evidence, lock_, device, next.timer, ledger::utc_now());
  };
  if (known().resolves(lock_.criteria.margin) || !calibrated_.insert(device).second) return success();
  const Status made = measure_against_itself(work, rival);
  if (!made.ok() && !only_this(made.error().code)) return made;
  progress_.line(fmt::format("{}  A/A: {}", work.label,
                             made.ok() ? ledger::calibration_text(known()) : "no record: " + made.error().message));
  return success();
}

}  // namespace hc::cli
