// The steps of a variant whose candidate is a worker: its GPU, its own tuner, its check, and the configs of everybody.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>

#include "base/files.h"
#include "base/json.h"
#include "bench/gpu_canary.h"
#include "bench/gpu_rates.h"
#include "bench/worker_client.h"
#include "cli/climb.h"
#include "cli/reference_judge.h"
#include "cli/worker_arm.h"
#include "compile/compile.h"
#include "contract/snapshot.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

constexpr double kDeviceWait = 600;      ///< for the lock of a variant's own GPU
constexpr double kGpuCanaryBand = 0.08;  ///< a copy on an idle card repeats to a few per cent
constexpr double kNearIdle = 5;          ///< degrees above the idle temperature at which confirming rounds may begin
constexpr double kCoolWait = 60;         ///< for that, in seconds
constexpr int kGpuCanaries = 3;          ///< each is a process
constexpr int64_t kMostSamples = 4096;
constexpr int64_t kFewestSamples = 128;
constexpr int64_t kSampledWork = int64_t{1} << 26;  ///< elements that the oracle may have to visit, about

/// The oracle visits a whole row for each element of a row's reduction: long rows get fewer samples.
int64_t samples_for(const Subject& subject) {
  int64_t longest = 1;
  for (const lang::Arg& arg : subject.request.args) {
    const TensorSpec* spec = std::get_if<TensorSpec>(&arg);
    if (spec && !spec->shape.empty()) longest = std::max(longest, spec->shape.back());
  }
  return std::clamp(kSampledWork / longest, kFewestSamples, kMostSamples);
}

/// What a worker refuses it refuses again; one that died may have had bad luck.
bool is_settled(const ledger::TuneRecord& record) {
  const ledger::Outcome outcome = record.candidates.front().outcome;
  return outcome == ledger::Outcome::ok || outcome == ledger::Outcome::refused;
}

/// A run whose task file lies in a snapshot loads modules of that snapshot, of packages, and of no other checkout.
std::function<std::string(const std::vector<bench::RunFile>&)> frozen_rule(const std::string& task_path) {
  const Result<std::optional<contract::FrozenTree>> frozen = contract::FrozenTree::around(task_path);
  if (!frozen.ok()) return [why = frozen.error().message](const std::vector<bench::RunFile>&) { return why; };
  if (!frozen.value()) return nullptr;
  return [tree = *frozen.value()](const std::vector<bench::RunFile>& loaded) {
    for (const bench::RunFile& file : loaded) {
      if (std::string why = tree.refusal(file.path, file.sha256); !why.empty()) return why;
    }
    return std::string();
  };
}

bench::CanaryReading read_canary(const std::string& uuid) {
  const Result<bench::CanaryReading> reading = bench::gpu_canary(bench::own_gpu_canary(), uuid);
  // one that fails is as far from the reference as can be, so that its round is void
  return reading.ok() ? reading.value() : bench::CanaryReading{INFINITY, INFINITY, 0};
}

}  // namespace

Result<Subject> Climb::subject(const contract::TaskVariant& variant) const {
  Subject out = HC_TRY(by_worker() ? subject_of_worker(variant) : subject_of(variant));
  if (!goal_.lock.empty()) out.input_seed = input_seed_of(goal_.run, goal_.lock);
  return out;
}

/// The GPUs that this process sees, with what the run remembers of them.
Status Climb::open_pool() {
  if (pool_) return success();
  const std::string state = join_path(join_path(options_.artifacts, goal_.run), "devices.json");
  const std::string why = make_folders(join_path(options_.artifacts, goal_.run));
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", state, why)};
  bench::GpuPoolOptions pool;
  pool.state_path = state;
  pool.wait_s = kDeviceWait;
  pool.rules.canary_band = kGpuCanaryBand;
  pool.canary = [](const std::string& uuid) { return bench::gpu_canary(bench::own_gpu_canary(), uuid); };
  pool_.emplace(HC_TRY(options_.gpus ? options_.gpus(std::move(pool))
                                     : bench::GpuPool::open(bench::nvml_probe(), std::move(pool))));
  return success();
}

/// One GPU for the variant, always the same, held until the variant is done with.
Status Climb::lease_device(Work& work) {
  if (task_.device != "gpu" || work.lease) return success();
  HC_TRY(open_pool());
  progress_.now(fmt::format("{}  waiting for its GPU", work.label));
  work.lease = std::make_shared<bench::GpuLease>(HC_TRY(pool_->acquire(work.variant->name)));
  const ledger::GoalShape* shape = goal_.shape(work.variant->name);
  if (!work.lease->moved_from.empty() && shape && !shape->evidence.empty()) {
    return Diagnostic{
        Code::measurement_failed,
        fmt::format("{} was measured on {}, which somebody else uses now; what another GPU gives must not "
                    "be pooled with that",
                    work.label, work.lease->moved_from)}
        .fix("start a new run with --fresh, or wait until that GPU is idle and remove it from devices.json");
  }
  work.env = work.lease->environment();
  return success();
}

/// Facts about the variant's GPU, as records hold them.
ledger::Facts Climb::device_facts(const Work& work) const {
  if (!work.lease) return {};
  return bench::named_facts(bench::gpu_facts(work.lease->uuid));
}

/// The arms, and on a GPU the referee's own copy behind them: what fairness holds the baselines against.
Result<std::vector<tune::Contender>> Climb::with_anchor(const Work& work, std::vector<tune::Contender> arms) const {
  if (!work.lease || (options_.gpus && !options_.gpu_anchor)) return arms;
  tune::Contender anchor = options_.gpu_anchor ? *options_.gpu_anchor : tune::device_anchor(context_.program);
  anchor.env = work.env;
  HC_TRY(tune::hash_binary(&anchor));
  arms.push_back(std::move(anchor));
  return arms;
}

/// Tuning heats a GPU: confirming rounds begin near the temperature at which it was idle, or say that they do not.
ledger::Facts Climb::cool_down(const Work& work) {
  if (!work.lease) return {};
  progress_.now(fmt::format("{}  waiting for its GPU to cool down", work.label));
  const bench::CoolDown cooling = pool_->cool_down(*work.lease, kNearIdle, kCoolWait);
  if (cooling.idle_c > 0 && !cooling.reached) {
    progress_.line(fmt::format("{}  its GPU stays at {:.0f} C, and was idle at {:.0f} C: measuring all the same",
                               work.label, cooling.end_c, cooling.idle_c));
  }
  return bench::named_facts(cooling);
}

/// Device and canary of a measurement with workers.
void Climb::plan_for_workers(const Work& work, tune::CampaignPlan* plan) {
  if (by_worker() || !std::all_of(task_.baselines.begin(), task_.baselines.end(), is_own)) {
    plan->limits = worker_limits();
  }
  plan->outside = frozen_rule(options_.task_path);
  if (!work.lease) return;
  if (!plan->canary) plan->canary = [uuid = work.lease->uuid] { return read_canary(uuid); };
  plan->canary_band = kGpuCanaryBand;
  plan->reference_canaries = kGpuCanaries;
  if (options_.gpu_rates) {
    plan->rates = [this, uuid = work.lease->uuid] { return options_.gpu_rates(uuid); };
  } else if (!options_.gpus) {
    plan->rates = [uuid = work.lease->uuid] { return bench::gpu_rates(bench::own_gpu_rates(), uuid); };
  }
  plan->intruder = [this, lease = work.lease] { return pool_->intruder(*lease); };
}

/// The newest record of an arm's config in this run that is of the same recipe and kernel, or nothing.
std::optional<std::pair<std::string, ledger::TuneRecord>> Climb::stored_config(const Work& work,
                                                                               const tune::Contender& arm) const {
  const std::string entry = arm.arm.role == ledger::Role::candidate ? entry_tune(work) : "";
  std::optional<std::pair<std::string, ledger::TuneRecord>> newest;
  const auto& lines = store_->view().lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work.variant->name) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    if (!text.ok()) continue;
    const Result<std::string> kind = ledger::artifact_kind(text.value(), line->name);
    if (!kind.ok() || kind.value() != "tune") continue;
    Result<ledger::TuneRecord> record = ledger::parse_tune(text.value(), line->name);
    if (!record.ok() || record.value().arm != arm.arm.name) continue;
    const ledger::TuneRecord& r = record.value();
    if (r.variant_hash != work.variant->hash || r.kernel_sha256 != work.subject.kernel_sha256 ||
        r.winner_source_sha256 != arm.arm.source_sha256) {
      continue;
    }
    const bool wanted = entry.empty() || line->object == entry;
    if (wanted || !newest) newest = std::make_pair(line->object, std::move(record).value());
    if (wanted) break;
  }
  return newest;
}

/// Asks a worker in a process of its own for its config, and keeps the answer, good or bad, as a record of this run.
Result<std::pair<std::string, ledger::TuneRecord>> Climb::record_config(Work& work, const tune::Contender& arm,
                                                                        double tune_s, const std::string& name,
                                                                        std::optional<Description> asked) {
  const int64_t open_seq = HC_TRY(store_->run_open(goal_.run, "tune", work.variant->name, ""));
  const std::string opened_at = ledger::utc_now();
  const Description description = asked ? *asked : describe(arm, tune_s);
  ledger::TuneRecord record = describe_record(arm, description, tune_s);
  record.run = goal_.run;
  record.name = name;
  record.task = task_.name;
  record.variant = work.variant->name;
  record.variant_hash = work.variant->hash;
  record.opened_at = opened_at;
  record.closed_at = ledger::utc_now();
  record.compiler_sha256 = program_sha256_;
  record.kernel_sha256 = work.subject.kernel_sha256;
  for (const auto& fact : device_facts(work)) record.machine.push_back(fact);
  for (const auto& fact : tune::machine_facts()) record.machine.push_back(fact);
  const std::string id = HC_TRY(store_->put(goal_.run, name, ledger::to_json(record), work.variant->name, open_seq));
  HC_TRY(store_->run_close(open_seq, description.reason.empty() ? "done" : description.reason));
  return std::make_pair(id, std::move(record));
}

Status Climb::tune_worker(Work& work) {
  HC_TRY(lease_device(work));
  const contract::TaskBaseline& candidate = *task_.candidate;
  work.candidate = HC_TRY(worker_contender(candidate, task_, work.subject, ledger::Role::candidate));
  work.candidate.env = work.env;
  if (!options_.pinned.empty()) return pin_worker(work);
  double tune_s = std::max(0.0, candidate.tune_seconds);
  if (options_.max_seconds > 0) tune_s = options_.max_seconds;
  if (!candidate.config.empty()) tune_s = -1;
  auto found = retune_.contains(work.variant->name) ? std::nullopt : stored_config(work, work.candidate);
  const bool before = found && found->second.candidates.front().outcome == ledger::Outcome::ok;
  if (!before) {
    const std::string limit = tune_s > 0 ? fmt::format("at most {:.0f} s", tune_s) : "no limit";
    progress_.line(fmt::format("{}  {}", work.label,
                               tune_s < 0 ? "the config is pinned by the task, so nothing is tuned"
                                          : fmt::format("asking {} for its config; a search of its own is given {}",
                                                        work.candidate.arm.name, limit)));
    found = HC_TRY(record_config(work, work.candidate, tune_s, fmt::format("tune-{}", work.variant->name)));
  }
  const ledger::TuneRecord& record = found->second;
  const ledger::Candidate& outcome = record.candidates.front();
  if (outcome.outcome != ledger::Outcome::ok) return Diagnostic{Code::no_config, outcome.reason};
  work.tune_id = found->first;
  const bool has_config = record.winner != "{}";
  if (has_config) pin_config(&work.candidate, record.winner);
  work.candidate.arm.config = record.winner;
  work.candidate.arm.tune = work.tune_id;
  work.candidate.arm.has_tuner = !record.without_search();
  HC_TRY(tune::hash_binary(&work.candidate));
  const std::string how = record.without_search() ? "no search, so it cannot pass"
                          : record.cold_and_full()
                              ? record.ended_by
                              : fmt::format("{}, not a full cold tune, so it cannot pass", record.ended_by);
  const std::string made =
      fmt::format("{}{}", record.without_search() ? "config asked for" : "tuned", before ? " before" : "");
  progress_.line(fmt::format("{}  {} in {:.0f} s ({}): {}", work.label, made, record.seconds, how, record.winner));
  return success();
}

/// The config that the command line gives. Only one that a tune of this run found names that tune; nothing is recorded
/// of another, so that it never stands for the stored winner.
Status Climb::pin_worker(Work& work) {
  tune::Contender& candidate = work.candidate;
  const auto found = stored_config(work, candidate);
  const bool winner = found && found->second.winner == options_.pinned;
  pin_config(&candidate, options_.pinned);
  candidate.arm.config = options_.pinned;
  work.tune_id = winner ? found->first : "";
  candidate.arm.tune = work.tune_id;
  candidate.arm.has_tuner = winner && !found->second.without_search();
  HC_TRY(tune::hash_binary(&candidate));
  progress_.line(fmt::format("{}  {}: {}", work.label,
                             winner ? "the given config is the stored winner's"
                                    : "given a config that no tune found, "
                                      "so it cannot pass",
                             options_.pinned));
  return success();
}

/// Who says what is right: the oracle on the user's own kernel, or the first baseline where our compiler cannot read
/// it.
Result<std::string> Climb::choose_judge(Work& work) {
  if (work.subject.unreadable.empty()) {
    work.probe = std::make_unique<tune::Probe>(
        context_.program, tune::ProbeSetup{work.subject.file, work.subject.request.kernel, work.subject.arg_texts,
                                           work.subject.input_seed, samples_for(work.subject), ""});
    auto judge = std::make_unique<tune::OutputJudge>(*work.probe, "");
    work.elements = HC_TRY(judge->elements());
    work.judge = std::move(judge);
    return std::string("oracle");
  }
  const contract::TaskBaseline& first = task_.baselines.front();
  tune::Contender reference = HC_TRY(worker_contender(first, task_, work.subject, ledger::Role::baseline));
  reference.env = work.env;
  progress_.line(
      fmt::format("{}  our compiler cannot read the kernel ({}): outputs are compared with those of {}, so "
                  "an error that both share is not found",
                  work.label, work.subject.unreadable, first.name));
  work.judge = HC_TRY(ReferenceJudge::make(reference));
  return "baseline " + first.name;
}

/// Whether this very candidate was found right in this run. Its outputs are looked at again in every campaign.
bool Climb::checked_before(const Work& work) const {
  const auto& lines = store_->view().lines;
  const std::string subject = subject_hash(work);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work.variant->name) continue;
    if (line->opens < 0) continue;
    const ledger::LedgerLine& opened = lines[static_cast<size_t>(line->opens)];
    if (opened.purpose != "check" || opened.subject != subject) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    const Result<ledger::CheckRecord> record =
        text.ok() ? ledger::parse_check(text.value(), line->name) : Result<ledger::CheckRecord>(text.error());
    return record.ok() && record.value().passed;
  }
  return false;
}

/// The candidate with its pinned config, in a fresh process, on poisoned outputs.
Status Climb::check_worker(Work& work) {
  progress_.now(fmt::format("{}  checking the candidate's outputs", work.label));
  const std::string reference = HC_TRY(choose_judge(work));
  work.candidate.elements = work.elements;
  if (keep_nomination_ && checked_before(work)) return success();
  std::vector<Asked> seconds = HC_TRY(ask_seconds(work));
  const auto look = [&]() -> Result<bench::OutputVerdict> {
    const tune::Contender& c = work.candidate;
    const std::unique_ptr<bench::Worker> worker = HC_TRY(bench::Worker::start(c.argv, worker_limits(), c.env));
    HC_TRY(worker->prepare(c.prepare));
    const TempFolder folder("hillclimb-check");
    Result<bench::OutputVerdict> verdict =
        work.judge->judge(c, HC_TRY(worker->check({.out_dir = folder.path(), .elements = c.elements})));
    (void)worker->bye();
    return verdict;
  };
  const int64_t open_seq = HC_TRY(store_->run_open(goal_.run, "check", work.variant->name, subject_hash(work)));
  const Result<bench::OutputVerdict> verdict = look();
  ledger::CheckRecord record;
  record.run = goal_.run;
  record.name = fmt::format("check-{}", work.variant->name);
  record.task = task_.name;
  record.variant = work.variant->name;
  record.variant_hash = work.variant->hash;
  record.backend = task_.candidate->name;
  record.passed = verdict.ok() && verdict.value().correct;
  record.worst_error = verdict.ok() ? verdict.value().worst_error : 0;
  for (const auto& output : work.elements) record.elements += static_cast<int64_t>(output.size());
  record.nonfinite = verdict.ok() ? verdict.value().nonfinite : 0;
  record.reference = reference;
  record.at = ledger::utc_now();
  HC_TRY(store_->put(goal_.run, record.name, ledger::to_json(record), work.variant->name, open_seq));
  const std::string reason = !verdict.ok() ? verdict.error().message : verdict.value().message;
  HC_TRY(store_->run_close(open_seq, record.passed ? "done" : reason));
  if (!verdict.ok()) return verdict.error();
  if (!record.passed) return Diagnostic{Code::wrong_answer, fmt::format("{}: {}", work.label, reason)};
  return judge_seconds(work, std::move(seconds));
}

/// A baseline with a wrong answer is left out with the reason, and the others go on.
void Climb::judge_outputs(const Work& work, const tune::Contender& arm, Description* asked) const {
  if (asked->outcome == ledger::Outcome::ok && work.judge) {
    const Result<bench::OutputVerdict> verdict = work.judge->judge(arm, asked->outputs);
    if (!verdict.ok() || !verdict.value().correct) {
      asked->outcome = verdict.ok() ? ledger::Outcome::wrong_answer : ledger::Outcome::crashed;
      asked->reason = verdict.ok() ? verdict.value().message : verdict.error().message;
    }
  }
  std::error_code ignored;
  if (!asked->folder.empty()) std::filesystem::remove_all(asked->folder, ignored);
}

/// Asks all workers whose config is not on record at once: nothing is timed meanwhile, and each has to import its
/// framework. One that tunes itself is asked alone, later.
void Climb::ask_workers(Work& work) {
  std::vector<std::pair<std::string, std::future<Description>>> answers;
  for (const contract::TaskBaseline& baseline : task_.baselines) {
    if (is_own(baseline) || baseline.tune_seconds >= 0) continue;
    Result<tune::Contender> arm = worker_contender(baseline, task_, work.subject, ledger::Role::baseline);
    if (!arm.ok()) continue;
    arm.value().env = work.env;
    arm.value().elements = work.elements;
    const auto found = stored_config(work, arm.value());
    if (found && is_settled(found->second)) continue;
    answers.emplace_back(baseline.name, std::async(std::launch::async, [contender = std::move(arm).value()] {
                           return describe(contender, -1, true);
                         }));
  }
  if (!answers.empty())
    progress_.now(fmt::format("{}  asking {} workers for their configs", work.label, answers.size()));
  for (auto& [name, answer] : answers) work.asked[name] = answer.get();
}

/// A baseline's worker made ready: its config is recorded once a run and pinned from then on. False when it refuses.
Result<bool> Climb::ready_worker(Work& work, const contract::TaskBaseline& baseline, tune::Contender* arm) {
  arm->env = work.env;
  arm->elements = work.elements;
  auto found = stored_config(work, *arm);
  if (!found || !is_settled(found->second)) {
    progress_.now(fmt::format("{}  asking {} for its config", work.label, baseline.name));
    const auto known = work.asked.find(baseline.name);
    Description asked =
        known == work.asked.end() ? describe(*arm, baseline.tune_seconds, true) : std::move(known->second);
    judge_outputs(work, *arm, &asked);
    found = HC_TRY(record_config(work, *arm, baseline.tune_seconds,
                                 fmt::format("config-{}-{}", work.variant->name, baseline.name), std::move(asked)));
  }
  const ledger::TuneRecord& record = found->second;
  if (record.candidates.front().outcome != ledger::Outcome::ok) {
    progress_.line(fmt::format("{}  left out: {}", work.label, record.candidates.front().reason));
    return false;
  }
  if (record.winner != "{}") pin_config(arm, record.winner);
  arm->arm.tune = found->first;
  arm->arm.has_tuner = !record.without_search();
  return true;
}

}  // namespace hc::cli
