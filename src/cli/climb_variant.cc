// The steps of one variant: cold tune, check, nomination, confirming pairs, ceiling.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "bench/lock.h"
#include "bench/worker_client.h"
#include "cli/climb.h"
#include "cli/rivals.h"
#include "cli/worker_arm.h"
#include "contract/git.h"
#include "ledger/fairness.h"
#include "ledger/judge.h"
#include "ledger/statistics.h"
#include "tune/journal.h"

namespace hc::cli {
namespace {

constexpr int kCeilingPairs = 3;
constexpr double kLockWait = 1800;
constexpr int64_t kCheckSamples = 4096;
constexpr int64_t kBlockLaunches = 200;  ///< each is preceded by an eviction that costs more than a small kernel

/// A fresh seed per variant from one that a person can type again.
uint64_t variant_seed(uint64_t seed, const std::string& variant) {
  const std::string hash = sha256_hex(fmt::format("{} {}", seed, variant));
  return std::stoull(hash.substr(0, 12), nullptr, 16);
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

/// What workers inherit that may make an arm faster or slower: where modules and libraries are looked for, and settings
/// of frameworks. Some are not inherited at all (bench/worker_client.cc).
std::string worker_environment() {
  constexpr std::string_view kPrefixes[] = {
      "PYTHON", "LD_",    "HILLCLIMB_TIMER", "TORCH", "TRITON_",   "HELION_", "QUACK_", "CUTE_",   "CUDA_",
      "CUDNN_", "CUBLAS", "NVIDIA_",         "OMP_",  "OPENBLAS_", "MKL_",    "DNNL_",  "ONEDNN_", "ATEN_"};
  std::set<std::string> found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    if (!bench::inherited(text.substr(0, text.find('=')))) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (text.starts_with(prefix)) found.emplace(text);
    }
  }
  return fmt::format("{}", fmt::join(found, "; "));
}

/// The commit that the task lies in, and a hash of what its tracked files differ from that by; nothing outside of git.
ledger::Facts source_facts(const std::string& task_path) {
  const Result<contract::Git> git = contract::Git::open(std::filesystem::absolute(task_path).parent_path().string());
  const Result<std::string> head = git.ok() ? git.value().commit("HEAD") : Result<std::string>(git.error());
  if (!head.ok()) return {};
  const Result<std::string> edits = git.value().run({"diff", "--binary", "HEAD"});
  const bool same = edits.ok() && edits.value().empty();
  return {{"source commit", head.value()},
          {"source edits sha256", same         ? "none"
                                  : edits.ok() ? sha256_hex(edits.value())
                                               : "unknown"}};
}

}  // namespace

tune::CampaignPlan Climb::campaign_plan(const Work& work, ledger::Purpose purpose, int pairs, const std::string& what) {
  tune::CampaignPlan plan;
  plan.run_id = fmt::format("{}/{}/{}", goal_.run, work.variant->name, what);
  plan.purpose = purpose;
  plan.pairs = pairs;
  plan.time.blocks = task_.effort.blocks;
  plan.time.min_block_s = task_.effort.block_seconds;
  plan.time.mode = in_a_row() ? bench::Mode::back_to_back : bench::Mode::single;
  plan.time.max_launches = in_a_row() ? 0 : kBlockLaunches;
  plan.time.preheat_s = preheat_seconds(work, purpose);
  plan.canary = options_.canary;
  plan.read_rate = !work.lease;  // the processor's memory and caches say nothing of a GPU
  plan.on_pair = [this, label = work.label, what, pairs](int done) {
    progress_.now(fmt::format("{}  {}: {} of {} pairs", label, what, done, pairs));
  };
  plan_for_workers(work, &plan);
  progress_.now(fmt::format("{}  {}", work.label, what));
  return plan;
}

Status Climb::search_variant(Work& work, uint64_t seed) {
  tune::TuneRequest request;
  request.setup = evaluator_setup(work.subject, site_, context_, task_.effort.threads);
  // A cold tune compiles into a folder of its own, which is empty.
  const std::string folder = fmt::format("{}/{}/build/{}-{}", options_.artifacts, goal_.run, work.variant->name, seed);
  run_process({"rm", "-rf", folder}, 60);
  const std::string why = make_folders(folder);
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", folder, why)};
  request.setup.site.cache_folder = folder;
  request.options.seed = seed;
  request.options.max_candidates = options_.max_candidates ? options_.max_candidates : task_.effort.max_candidates;
  request.options.max_seconds = options_.max_seconds > 0 ? options_.max_seconds : task_.effort.tune_seconds;
  request.history_path = join_path(context_.state_folder, "history.sqlite");
  request.kernel_sha256 = work.subject.kernel_sha256;
  std::string so_far = "nothing timed yet";
  std::string phase;
  const auto say = [&] { progress_.now(fmt::format("{}  tuning: {}{}", work.label, so_far, phase)); };
  request.setup.on_phase = [&](const std::string& name, int done, int total) {
    phase = fmt::format(", {} {}/{}", name, done, total);
    say();
  };
  request.on_generation = [&](const tune::SearchProgress& p) {
    so_far = fmt::format("{} compiled, {} fell, best {}", p.compiled, p.fell, milliseconds(p.best_seconds));
    say();
  };
  const int64_t open_seq = HC_TRY(store_->run_open(goal_.run, "tune", work.variant->name, ""));
  const std::string opened_at = ledger::utc_now();
  Result<tune::TuneOutcome> tuned = tune::tune(request);
  if (!tuned.ok()) {
    HC_TRY(store_->run_close(open_seq, tuned.error().message));
    return tuned.error();
  }
  ledger::TuneRecord record = tune::to_record(request, tuned.value());
  record.run = goal_.run;
  record.name = fmt::format("tune-{}", work.variant->name);
  record.task = task_.name;
  record.variant = work.variant->name;
  record.variant_hash = work.variant->hash;
  record.arm = kOwnCandidate;
  record.opened_at = opened_at;
  record.closed_at = ledger::utc_now();
  record.compiler_sha256 = program_sha256_;
  record.machine = tune::machine_facts();
  record.machine.emplace_back("compiler", site_.toolchain.version);
  work.tune_id = HC_TRY(store_->put(goal_.run, record.name, ledger::to_json(record), work.variant->name, open_seq));
  HC_TRY(store_->run_close(open_seq, "done"));
  work.built = tuned.value().winner;
  tune::remove_all_but(folder, work.built);
  progress_.line(fmt::format("{}  tuned in {:.0f} s ({}): {} candidates, {} | {}", work.label, record.seconds,
                             record.ended_by, record.candidates.size(), milliseconds(record.winner_seconds),
                             work.built.manifest.config));
  if (!tuned.value().history_trouble.empty()) progress_.line(tuned.value().history_trouble);
  return success();
}

Status Climb::tune_variant(Work& work) {
  if (by_worker()) return tune_worker(work);
  if (const auto stored = stored_tune(work)) {
    const knob::Config config = HC_TRY(tune::config_from_json(stored->second.winner));
    tune::BuildSite site = site_;
    // compiled anew in an empty folder: what lies in the tune's may have been changed since
    site.cache_folder = fmt::format("{}/{}/build/{}-winner", options_.artifacts, goal_.run, work.variant->name);
    run_process({"rm", "-rf", site.cache_folder}, 60);
    progress_.now(fmt::format("{}  building the stored winner", work.label));
    work.built = HC_TRY(tune::build(work.subject.request, config, site));
    if (work.built.manifest.source_sha256 == stored->second.winner_source_sha256) {
      work.tune_id = stored->first;
      progress_.line(fmt::format("{}  tuned before: {}", work.label, work.built.manifest.config));
      return success();
    }
  }
  uint64_t seed = options_.seed.value_or(task_.effort.seed);
  if (seed == 0) seed = tune::fresh_seed();
  seed = options_.seed ? *options_.seed : variant_seed(seed, work.variant->name);
  progress_.line(fmt::format("{}  cold tune, --seed {}", work.label, seed));
  return search_variant(work, seed);
}

/// The candidate against the oracle on poisoned outputs, before it stands in any table.
Status Climb::check_candidate(Work& work) {
  if (by_worker()) return check_worker(work);
  const tune::EvaluatorSetup setup = evaluator_setup(work.subject, site_, context_, task_.effort.threads);
  work.probe = std::make_unique<tune::Probe>(
      context_.program, tune::ProbeSetup{work.subject.file, work.subject.request.kernel, work.subject.arg_texts,
                                         setup.input_seed, kCheckSamples, ""});
  work.judge = std::make_unique<tune::OutputJudge>(*work.probe, work.built.manifest.config);
  work.candidate =
      tune::candidate_contender(kOwnCandidate, work.built, context_.program, setup.input_seed, task_.effort.threads);
  work.candidate.arm.tune = work.tune_id;
  HC_TRY(tune::hash_binary(&work.candidate));
  progress_.now(fmt::format("{}  checking the candidate against the oracle", work.label));
  tune::ProbeRequest request;
  request.manifest_path = work.built.manifest_path;
  request.config = work.built.manifest.config;
  const tune::ProbeAnswer answer = work.probe->ask(request);
  ledger::CheckRecord record;
  record.run = goal_.run;
  record.name = fmt::format("check-{}", work.variant->name);
  record.task = task_.name;
  record.variant = work.variant->name;
  record.variant_hash = work.variant->hash;
  record.backend = "cpu";
  record.passed = answer.outcome == tune::ProbeOutcome::ok;
  record.worst_error = answer.worst;
  record.elements = answer.checked;
  record.reference = "oracle";
  record.at = ledger::utc_now();
  const int64_t open_seq = HC_TRY(store_->run_open(goal_.run, "check", work.variant->name, subject_hash(work)));
  HC_TRY(store_->put(goal_.run, record.name, ledger::to_json(record), work.variant->name, open_seq));
  HC_TRY(store_->run_close(open_seq, record.passed ? "done" : answer.reason));
  if (!record.passed) return Diagnostic{Code::wrong_answer, fmt::format("{}: {}", work.label, answer.reason)};
  return success();
}

/// Whose measurement it is.
void Climb::describe_pairs(const Work& work, ledger::PairsArtifact* artifact, const std::string& name,
                           int64_t open_seq) const {
  artifact->run = goal_.run;
  artifact->name = name;
  artifact->task = task_.name;
  artifact->variant = work.variant->name;
  artifact->variant_hash = work.variant->hash;
  artifact->lock = goal_.lock;
  artifact->open_seq = open_seq;
  artifact->compiler_sha256 = program_sha256_;
  artifact->kernel_sha256 = work.subject.kernel_sha256;
  if (const std::string processor = "monotonic/"; work.lease && artifact->timer.starts_with(processor)) {
    artifact->timer.replace(0, processor.size(), "event/");
  }
  artifact->work = work.variant->work;
}

Result<std::string> Climb::store_pairs(Work& work, ledger::PairsArtifact artifact, const std::string& name,
                                       int64_t open_seq) {
  describe_pairs(work, &artifact, name, open_seq);
  artifact.machine.emplace_back("compiler", site_.toolchain.version);
  artifact.machine.emplace_back(std::string(ledger::kEnvironmentFact), worker_environment());
  const ledger::Facts source = source_facts(options_.task_path);
  artifact.machine.insert(artifact.machine.end(), source.begin(), source.end());
  for (const auto& fact : device_facts(work)) artifact.machine_close.push_back(fact);
  return store_->put(goal_.run, name, ledger::to_json(artifact), work.variant->name, open_seq);
}

/// Holds the machine, measures, and says in the ledger how it ended.
Result<std::string> Climb::measure_and_store(Work& work, const std::vector<tune::Contender>& arms,
                                             const tune::CampaignPlan& plan, const std::string& name,
                                             const std::function<void(ledger::PairsArtifact*)>& edit) {
  const int64_t open_seq = HC_TRY(store_->run_open(goal_.run, std::string(ledger::purpose_name(plan.purpose)),
                                                   work.variant->name, subject_hash(work)));
  const ledger::Facts device = device_facts(work);  // as it is before the first round
  const tune::Journal journal(join_path(options_.artifacts, goal_.run), name, open_seq);
  tune::CampaignPlan journalled = plan;
  std::string unwritten;
  journalled.on_round = [&](const ledger::PairsArtifact& so_far) {
    ledger::PairsArtifact round = so_far;
    describe_pairs(work, &round, name, open_seq);
    round.machine.insert(round.machine.end(), device.begin(), device.end());
    const Status written = journal.append(round);
    if (!written.ok() && unwritten.empty()) progress_.line(unwritten = written.error().message);
  };
  const auto measure = [&]() -> Result<std::string> {
    const auto waiting = [&](const std::string& holder) {
      progress_.line("waiting for the machine: " + named_process(holder));
    };
    // a GPU has its own lock in the lease; beside it runs everything but a measurement on the processor
    const std::unique_ptr<bench::MeasurementLock> lock =
        HC_TRY(work.lease ? bench::MeasurementLock::share(kLockWait, waiting)
                          : bench::MeasurementLock::acquire(kLockWait, waiting));
    const auto keep_void = [&](ledger::PairsArtifact moved) -> Status {
      moved.machine.insert(moved.machine.end(), device.begin(), device.end());
      HC_TRY(store_pairs(work, std::move(moved), "void-" + name, open_seq));
      journal.remove();
      return success();
    };
    const std::vector<tune::Contender> all = HC_TRY(with_anchor(work, arms));
    ledger::PairsArtifact artifact = HC_TRY(measure_batch(work, all, journalled, keep_void));
    artifact.machine.insert(artifact.machine.end(), device.begin(), device.end());
    if (edit) edit(&artifact);
    return store_pairs(work, std::move(artifact), name, open_seq);
  };
  Result<std::string> stored = measure();
  if (stored.ok()) {
    journal.remove();
  } else if (file_exists(journal.path())) {
    HC_TRY(keep_unfinished(journal.path(), "failed-", "campaign_failed", stored.error().message));
  }
  HC_TRY(store_->run_close(open_seq, stored.ok() ? "done" : stored.error().message));
  return stored;
}

/// The seconds of a nomination, where a baseline counts as near the best one as over all measurements of the goal: the
/// checker asks for that, so that no baseline is measured away by one lucky round.
std::vector<double> Climb::pooled_seconds(const Work& work, const std::vector<tune::Contender>& arms,
                                          const std::vector<std::string>& names, std::vector<double> seconds) const {
  ledger::Evidence evidence(options_.artifacts, store_->view());
  const std::vector<std::string> measured = ledger::measured_ids(evidence, work.variant->name);
  const auto best = std::min_element(seconds.begin() + 1, seconds.end());
  const std::string& fastest = arms[static_cast<size_t>(best - seconds.begin())].arm.name;
  const double least = *best;
  for (size_t i = 1; i < arms.size(); ++i) {
    if (arms[i].arm.name != names[i] || arms[i].arm.name == fastest) continue;
    const double behind = ledger::times_behind(evidence, measured, names[i], fastest);
    if (behind > 0) seconds[i] = std::min(seconds[i], behind * least);
  }
  return seconds;
}

/// The baselines to confirm against: all implementations are timed in turn; the best one and any within 2 % of it stay.
Result<std::vector<tune::Contender>> Climb::rivals(Work& work) {
  std::vector<tune::Contender> arms = {work.candidate};
  ask_workers(work);
  for (const contract::TaskBaseline& baseline : task_.baselines) {
    for (tune::Contender& one : HC_TRY(arms_of(work, baseline))) arms.push_back(std::move(one));
  }
  if (arms.size() == 1) {
    return Diagnostic{Code::measurement_failed, fmt::format("{}: no baseline can start", work.label)};
  }
  if (arms.size() == 2) return std::vector<tune::Contender>{arms[1]};
  // Libraries of one baseline need names of their own while they are compared with each other.
  std::vector<std::string> names;
  for (size_t i = 0; i < arms.size(); ++i) {
    names.push_back(arms[i].arm.name);
    if (i > 0) arms[i].arm.name = fmt::format("{}#{}", names[i], i);
  }
  tune::CampaignPlan plan =
      campaign_plan(work, ledger::Purpose::nominate, std::max(2, task_.effort.nominate_pairs), "nominating baselines");
  std::vector<double> seconds;
  if (const auto before = keep_nomination_ ? stored_nomination(work, arms) : std::nullopt) {
    for (size_t i = 0; i < arms.size(); ++i) arms[i].arm.name = names[i];
    for (const tune::Contender& arm : arms) seconds.push_back(ledger::arm_seconds(before->second, arm.arm.name));
    work.evidence.push_back(before->first);
    return nearest_rivals(arms, names, pooled_seconds(work, arms, names, std::move(seconds)));
  }
  const auto settle = [&](ledger::PairsArtifact* artifact) {
    for (const tune::Contender& arm : arms) seconds.push_back(ledger::arm_seconds(*artifact, arm.arm.name));
    // The fastest library of a baseline takes its name; the others keep theirs and stay in the record.
    for (size_t i = 1; i < arms.size(); ++i) {
      bool fastest = true;
      for (size_t j = 1; j < arms.size(); ++j) fastest &= names[j] != names[i] || seconds[j] >= seconds[i] || j == i;
      if (fastest) tune::rename_arm(artifact, &arms[i], names[i]);
    }
  };
  work.evidence.push_back(HC_TRY(measure_and_store(work, arms, plan, nomination_name(work), settle)));
  return nearest_rivals(arms, names, pooled_seconds(work, arms, names, std::move(seconds)));
}

Status Climb::confirm(Work& work, const std::vector<tune::Contender>& rivals) {
  // A tune anew may land on the same candidate: its earlier confirming runs are pooled with the new one.
  for (const std::string& id : ledger::confirming_ids(store_->view(), work.variant->name, subject_hash(work))) {
    if (std::find(work.evidence.begin(), work.evidence.end(), id) == work.evidence.end()) work.evidence.push_back(id);
  }
  std::vector<tune::Contender> arms = {work.candidate};
  for (const tune::Contender& rival : rivals) {
    if (!stored_pairs(work, ledger::Purpose::confirm, rival.arm.name)) arms.push_back(rival);
  }
  if (arms.size() == 1) {
    progress_.line(fmt::format("{}  confirmed before", work.label));
    return success();
  }
  HC_TRY(calibrate(work, arms[1]));
  const std::vector<int>& looks = lock_.criteria.looks;
  const int agreed = looks.empty() ? task_.effort.pairs : *std::max_element(looks.begin(), looks.end());
  tune::CampaignPlan plan = campaign_plan(work, ledger::Purpose::confirm, options_.pairs > 0 ? options_.pairs : agreed,
                                          fmt::format("confirming against {}", arms[1].arm.name));
  ledger::CompareRules rules;
  rules.limit = work.variant->target * (1 - lock_.criteria.margin);
  rules.alpha = lock_.criteria.alpha / static_cast<double>(std::max<size_t>(looks.size(), 1));
  rules.rate_tolerance = lock_.criteria.rate_tolerance;
  rules.ahead_when_slow = lock_.rules_version >= 2;
  plan.enough = [&](const ledger::PairsArtifact& so_far) {
    for (size_t i = 1; i < arms.size(); ++i) {
      const std::vector<ledger::PairTimes> times = ledger::pair_times(so_far, arms[i].arm.name);
      if (std::find(looks.begin(), looks.end(), static_cast<int>(times.size())) == looks.end()) return false;
      if (ledger::compare_pairs(times, rules).verdict == ledger::Verdict::open) return false;
    }
    return true;
  };
  const ledger::Facts cooled = cool_down(work);
  const auto edit = [&](ledger::PairsArtifact* artifact) {
    artifact->machine.insert(artifact->machine.end(), cooled.begin(), cooled.end());
  };
  work.evidence.push_back(
      HC_TRY(measure_and_store(work, arms, plan, fmt::format("confirm-{}", work.variant->name), edit)));
  return success();
}

/// How near the candidate is to copying the same bytes. A ceiling is for reading: its failure costs nothing else.
void Climb::measure_ceiling(Work& work) {
  if (by_worker()) return;  // our copy runs on the processor and draws no inputs
  if (work.variant->work.unit != "GB/s" || work.variant->work.amount <= 0) return;
  if (stored_pairs(work, ledger::Purpose::ceiling, "")) return;
  tune::Contender copy = tune::copy_contender(context_.program, work.variant->work.amount, task_.effort.threads);
  const auto measure = [&]() -> Status {
    HC_TRY(tune::hash_binary(&copy));
    const tune::CampaignPlan plan =
        campaign_plan(work, ledger::Purpose::ceiling, kCeilingPairs, "pairs against a streaming copy");
    HC_TRY(measure_and_store(work, {work.candidate, copy}, plan, fmt::format("ceiling-{}", work.variant->name), {}));
    return success();
  };
  const Status status = measure();
  if (!status.ok()) progress_.line(fmt::format("{}  no ceiling: {}", work.label, status.error().message));
}

}  // namespace hc::cli
