// Batches of measurements between two looks at a known-good config, and evidence that today's compiler contradicts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/canary.h"
#include "bench/worker_client.h"
#include "cli/climb.h"
#include "cli/worker_arm.h"
#include "contract/goal.h"
#include "ledger/judge.h"
#include "ledger/statistics.h"

namespace hc::cli {
namespace {

constexpr int kVisits = 2;   ///< fresh processes per look, of which the faster counts
constexpr int kBatches = 3;  ///< tries until a batch stands

/// Median seconds of a launch in a fresh process.
Result<double> visit(const tune::Contender& contender) {
  const std::unique_ptr<bench::Worker> worker =
      HC_TRY(bench::Worker::start(contender.argv, worker_limits(), contender.env));
  HC_TRY(worker->prepare(contender.prepare));
  const bench::TimeReply reply = HC_TRY(worker->time({.blocks = 3, .max_launches = 200}));
  (void)worker->bye();
  std::vector<double> medians;
  for (const bench::Block& block : reply.blocks) medians.push_back(ledger::median(block.seconds));
  return ledger::median(std::move(medians));
}

Result<double> look(const tune::Contender& known_good) {
  double best = INFINITY;
  for (int i = 0; i < kVisits; ++i) best = std::min(best, HC_TRY(visit(known_good)));
  return best;
}

/// Probes are judged by what surrounds them; confirming rounds have their own rule for each round.
bool is_probe(ledger::Purpose purpose) {
  return purpose == ledger::Purpose::nominate || purpose == ledger::Purpose::attempt ||
         purpose == ledger::Purpose::ablate;
}

/// Whether too many processes were slow for an answer, and not the bounds too wide.
bool left_open_by_slow_modes(const ledger::Comparison& c, double limit) {
  const bool slow = c.slow_baseline + c.slow_candidate > 0;
  return c.verdict == ledger::Verdict::open && slow && (std::isinf(c.ucb) || c.lcb >= limit);
}

}  // namespace

/// By how much the known-good config may move during a batch. On a processor whose memory rate scatters by itself, two
/// looks differ by the square root of two of that.
double Climb::moved_limit() const {
  if (by_worker() || options_.canary) return options_.anchor_band;
  return std::max(options_.anchor_band, std::sqrt(2.0) * bench::memory_scatter_now());
}

/// Measures between two looks at the known-good config. A batch of probes during which that moved is void: its raw
/// samples go to `keep_void` with every round void, and it is repeated.
Result<ledger::PairsArtifact> Climb::measure_batch(Work& work, const std::vector<tune::Contender>& arms,
                                                   const tune::CampaignPlan& plan,
                                                   const std::function<Status(ledger::PairsArtifact)>& keep_void) {
  const tune::Built& built = work.known_good ? *work.known_good : work.built;
  // A worker that imports a framework takes long to start, and its candidate is in every round: the first and the last
  // reading of it are the looks.
  tune::Contender known_good;
  if (!by_worker()) {
    known_good =
        tune::candidate_contender("known good", built, context_.program, arms[0].prepare.seed, task_.effort.threads);
  }
  for (int batch = 1;; ++batch) {
    const double limit = is_probe(plan.purpose) ? moved_limit() : 0;
    double before = by_worker() ? 0 : HC_TRY(look(known_good));
    ledger::PairsArtifact artifact = HC_TRY(tune::measure_pairs(arms, plan, *work.judge));
    double after = by_worker() ? 0 : HC_TRY(look(known_good));
    if (by_worker()) {
      const std::vector<ledger::PairTimes> rounds = ledger::pair_times(artifact, arms[1].arm.name);
      before = std::exp(rounds.front().candidate);
      after = std::exp(rounds.back().candidate);
    }
    const double moved = std::abs(std::log(after / before));
    artifact.machine.emplace_back("known-good config", by_worker() ? work.candidate.arm.config : built.manifest.config);
    artifact.machine.emplace_back("known-good before s", fmt::format("{}", before));
    artifact.machine.emplace_back("known-good after s", fmt::format("{}", after));
    if (!is_probe(plan.purpose) || moved <= limit) return artifact;
    for (ledger::Pair& pair : artifact.pairs) {
      pair.valid = false;
      pair.rule = "known_good_moved";
    }
    HC_TRY(keep_void(std::move(artifact)));
    const std::string what = fmt::format(
        "the known-good config went from {:.4g} to {:.4g} ms during the batch, and "
        "{:.0f} % is the limit",
        before * 1e3, after * 1e3, 100 * limit);
    if (batch == kBatches) return Diagnostic{Code::measurement_failed, fmt::format("void: {}", what)};
    progress_.line(fmt::format("{}  the batch is void and repeated: {}", work.label, what));
  }
}

/// Confirming rounds that slow modes left open are measured once more by the same command, pooled with the first.
Status Climb::confirm_past_slow_modes(Work& work, const std::vector<tune::Contender>& rivals) {
  HC_TRY(confirm(work, rivals));
  if (again_) return success();  // this is the second time
  ledger::Evidence evidence(options_.artifacts, store_->view());
  const ledger::VariantVerdict verdict = ledger::judge_variant(evidence, lock_, work.variant->name, work.evidence);
  if (!verdict.undecided || !verdict.broken.empty()) return success();
  const auto stuck = std::find_if(verdict.baselines.begin(), verdict.baselines.end(),
                                  [&](const auto& b) { return left_open_by_slow_modes(b.comparison, verdict.limit); });
  if (stuck == verdict.baselines.end()) return success();
  progress_.line(fmt::format("{}  slow modes left it open, so it is measured once more: {}", work.label,
                             stuck->comparison.reason));
  again_ = true;
  const Status repeated = confirm(work, rivals);
  again_ = false;
  return repeated;
}

/// A worker's candidate is its kernel file, its command, its files and its recipe.
void Climb::mark_stale_worker(const std::string& variant, const Subject& subject, const ledger::Arm& arm) {
  const Result<tune::Contender> today = worker_contender(*task_.candidate, task_, subject, ledger::Role::candidate);
  if (today.ok() && today.value().arm.source_sha256 == arm.source_sha256) return;
  const std::string why = "the kernel's file, the worker's files or its recipe are others today";
  const Status marked = contract::mark_stale(*store_, variant, why);
  progress_.line(fmt::format("{}/{}  stale: {}", task_.name, variant, marked.ok() ? why : marked.error().message));
}

/// Stored evidence is about the candidate that the compiler made then. Where today's makes another one of the same
/// kernel and config, it no longer counts.
void Climb::mark_stale_shapes() {
  for (const ledger::GoalShape& shape : goal_.shapes) {
    const contract::TaskVariant* variant = task_.variant(shape.name);
    if (!variant || shape.evidence.empty() || shape.stale) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, shape.evidence.back());
    if (!text.ok()) continue;
    const Result<ledger::PairsArtifact> artifact = ledger::parse_pairs(text.value(), shape.artifact);
    if (!artifact.ok()) continue;
    const Result<Subject> subject = this->subject(*variant);
    const bool same_kernel = subject.ok() && subject.value().kernel_sha256 == artifact.value().kernel_sha256;
    // the same compiler and kernel make the same candidate
    if (!by_worker() && same_kernel && artifact.value().compiler_sha256 == program_sha256_) continue;
    for (const ledger::Arm& arm : artifact.value().arms) {
      if (arm.role != ledger::Role::candidate || !subject.ok()) continue;
      if (by_worker()) {
        mark_stale_worker(shape.name, subject.value(), arm);
        continue;
      }
      const Result<knob::Config> config = tune::config_from_json(arm.config);
      const Result<tune::Built> today = config.ok() ? tune::lower(subject.value().request, config.value(), site_)
                                                    : Result<tune::Built>(config.error());
      if (today.ok() && today.value().manifest.source_sha256 == arm.source_sha256) continue;
      const std::string why = today.ok() ? "the compiler or the kernel would make another candidate today"
                                         : "its config is refused today: " + today.error().message;
      const Status marked = contract::mark_stale(*store_, shape.name, why);
      progress_.line(
          fmt::format("{}/{}  stale: {}", task_.name, shape.name, marked.ok() ? why : marked.error().message));
    }
  }
  Result<ledger::Goal> again = contract::read_goal(options_.artifacts);
  if (again.ok()) goal_ = std::move(again).value();
}

}  // namespace hc::cli
