// Opening a goal for one step, first numbers, nominations and confirming rounds.
#include "cli/workbench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "cli/climb_options.h"
#include "cli/evidence.h"
#include "cli/kernel_request.h"
#include "cli/writing.h"
#include "contract/status.h"
#include "ledger/checker.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

Diagnostic goal_error(std::string message) { return Diagnostic{Code::goal_error, std::move(message)}; }

}  // namespace

Status Workbench::refuse_without_goal() {
  task_ = HC_TRY(contract::read_task(options_.task_path));
  goal_ = HC_TRY(contract::read_goal(options_.artifacts));
  const std::string start = fmt::format("`hillclimb start {}` makes one", options_.task_path);
  if (!goal_.has_lock()) return goal_error("the goal file has no lock, so nothing can be measured for it").fix(start);
  if (goal_.task != task_.name) {
    return goal_error(fmt::format("the goal here is of the task {}, not of {}", goal_.task, task_.name)).fix(start);
  }
  lock_ = HC_TRY(contract::read_lock(options_.artifacts, goal_.lock));
  if (lock_.task_sha256 == task_.sha256) return success();
  return goal_error("the task file changed since the goal was made").fix(start + " and archives this one");
}

Status Workbench::hold(const std::string& name) {
  work_ = Work{};
  work_.variant = task_.variant(name);
  if (!work_.variant) {
    std::string known;
    for (const contract::TaskVariant& v : task_.variants) known += (known.empty() ? "" : ", ") + v.name;
    return Diagnostic{Code::usage, fmt::format("the task {} has no variant `{}`", task_.name, name)}.fix(
        "its variants are " + known);
  }
  work_.label = fmt::format("{}/{}", task_.name, name);
  work_.subject = HC_TRY(subject(*work_.variant));
  return success();
}

Status Workbench::open(const std::string& variant) {
  HC_TRY(refuse_without_goal());
  HC_TRY(hold(variant));
  HC_TRY(Climb::start());
  return hold(variant);
}

Status Workbench::open_to_read(const std::string& variant) {
  HC_TRY(refuse_without_goal());
  site_.target = target::host();
  const Result<runtime::Toolchain> toolchain = runtime::find_toolchain();
  if (!by_worker() || toolchain.ok()) site_.toolchain = HC_TRY(toolchain);
  program_sha256_ = sha256_hex(read_file(context_.program).value_or(""));
  store_ = HC_TRY(ledger::Store::open(options_.artifacts, anchor_path(context_, options_.artifacts)));
  return hold(variant);
}

std::string Workbench::folder(const std::string& purpose) const {
  return fmt::format("{}/{}/build/{}-{}", options_.artifacts, goal_.run, work_.variant->name, purpose);
}

std::optional<std::pair<std::string, ledger::TuneRecord>> Workbench::newest_tune(int skip) const {
  std::vector<std::pair<std::string, ledger::TuneRecord>> found;
  const std::string entry = entry_tune(work_);
  const auto& lines = store_->view().lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work_.variant->name) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    if (!text.ok()) continue;
    const Result<std::string> kind = ledger::artifact_kind(text.value(), line->name);
    if (!kind.ok() || kind.value() != "tune") continue;
    Result<ledger::TuneRecord> record = ledger::parse_tune(text.value(), line->name);
    if (!record.ok() || record.value().variant_hash != work_.variant->hash) continue;
    if (record.value().arm != (by_worker() ? task_.candidate->name : kOwnCandidate)) continue;
    found.emplace_back(line->object, std::move(record).value());
  }
  // the winner that the goal's entry rests on goes before newer ones that did not get there
  std::stable_partition(found.begin(), found.end(), [&](const auto& one) { return one.first == entry; });
  if (static_cast<size_t>(skip) >= found.size()) return std::nullopt;
  return std::move(found[static_cast<size_t>(skip)]);
}

Result<knob::Config> Workbench::defaults() const {
  if (by_worker()) return not_ours();
  const knob::Space space = HC_TRY(compile::space(work_.subject.request, site_.target));
  return space.defaults();
}

/// Of a step that needs a config of our own compiler.
Diagnostic Workbench::not_ours() const {
  return Diagnostic{Code::not_available,
                    fmt::format("the candidate {} of {} is a worker: there is no config and no source of ours",
                                task_.candidate->name, task_.name)}
      .fix(
          "start, measure, verify, confirm, climb, check and report work with it; what it generates is its own affair");
}

Result<tune::Built> Workbench::built(const std::optional<knob::Config>& config) {
  if (by_worker()) return not_ours();
  tune::BuildSite site = site_;
  site.cache_folder = folder("steps");
  const std::string why = make_folders(site.cache_folder);
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", site.cache_folder, why)};
  progress_.now(fmt::format("{}  building", work_.label));
  if (config) return tune::build(work_.subject.request, *config, site);
  const auto tuned = newest_tune(0);
  if (!tuned) {
    progress_.line(fmt::format("{}  no tune is stored yet: taking the defaults", work_.label));
    return tune::build(work_.subject.request, {}, site);
  }
  return tune::build(work_.subject.request, HC_TRY(tune::config_from_json(tuned->second.winner)), site);
}

/// The stored winner as today's compiler makes it; it also stands for the known-good config.
Result<tune::Built> Workbench::incumbent() {
  tune::Built winner = HC_TRY(built(std::nullopt));
  work_.known_good = winner;
  return winner;
}

Result<ledger::VariantVerdict> Workbench::verdict() const {
  const ledger::Goal goal = HC_TRY(contract::read_goal(options_.artifacts));
  ledger::Evidence evidence(options_.artifacts, store_->view());
  for (const ledger::GoalShape& shape : goal.shapes) {
    if (shape.name == work_.variant->name) return ledger::judge_variant(evidence, lock_, shape.name, shape.evidence);
  }
  return goal_error(fmt::format("the goal has no variant \"{}\"", work_.variant->name));
}

Status Workbench::finish() {
  HC_TRY(contract::write_plan(options_.artifacts, anchor_path(context_, options_.artifacts)));
  return success();
}

Result<std::string> Workbench::nominate(const std::vector<tune::Contender>& arms, const std::string& name) {
  const int pairs = options_.pairs > 0 ? options_.pairs : std::max(2, task_.effort.nominate_pairs);
  const tune::CampaignPlan plan = campaign_plan(work_, ledger::Purpose::nominate, pairs, "nominating");
  return measure_and_store(work_, arms, plan, name, {});
}

/// Checks the candidate against the oracle and makes it the arm that is measured.
Status Workbench::prepare_candidate(tune::Built candidate) {
  work_.built = std::move(candidate);
  return check_candidate(work_);
}

/// Rewrites the goal's entry, except that a nomination of another candidate leaves a confirmed one alone.
Result<ledger::VariantVerdict> Workbench::settle_entry(const std::string& subject) {
  ledger::Goal goal = HC_TRY(contract::read_goal(options_.artifacts));
  const ledger::GoalShape* shape = goal.shape(work_.variant->name);
  bool confirmed = false;
  bool same = false;
  ledger::Evidence evidence(options_.artifacts, store_->view());
  for (const std::string& id : shape ? shape->evidence : std::vector<std::string>{}) {
    std::vector<std::string> broken;
    const ledger::PairsArtifact* artifact = evidence.pairs(id, &broken);
    if (!artifact) continue;
    confirmed |= artifact->purpose == ledger::Purpose::confirm;
    for (const ledger::Arm& arm : artifact->arms) {
      same |=
          arm.role == ledger::Role::candidate && ledger::candidate_subject(arm.source_sha256, arm.config) == subject;
    }
  }
  if (shape && confirmed && !same && !shape->stale) {
    progress_.line(fmt::format("{}  the goal keeps its confirmed entry, which is of another config", work_.label));
    return verdict();
  }
  std::vector<std::string> ids = work_.evidence;
  for (const std::string& id : ledger::confirming_ids(store_->view(), work_.variant->name, subject)) ids.push_back(id);
  return contract::update_shape(*store_, work_.variant->name, ids);
}

/// The candidate of the config, or the stored winner, timed against the baselines; `work_.evidence` names the record.
Status Workbench::nominate_candidate(const std::optional<knob::Config>& config) {
  if (by_worker()) {
    if (config) return not_ours();
    HC_TRY(tune_variant(work_));
    HC_TRY(check_candidate(work_));
  } else {
    const auto tuned = newest_tune(0);
    if (config && tuned) HC_TRY(incumbent());
    tune::Built candidate = HC_TRY(built(config));
    // only the very winner of a tune may name it
    if (tuned && tuned->second.winner_source_sha256 == candidate.manifest.source_sha256 &&
        HC_TRY(tune::config_from_json(tuned->second.winner)) == candidate.compiled.config) {
      work_.tune_id = tuned->first;
    }
    HC_TRY(prepare_candidate(std::move(candidate)));
  }
  std::vector<tune::Contender> arms = HC_TRY(rivals(work_));
  if (!work_.evidence.empty()) return success();
  arms.insert(arms.begin(), work_.candidate);
  work_.evidence.push_back(HC_TRY(nominate(arms, nomination_name(work_))));
  return success();
}

Result<ledger::VariantVerdict> Workbench::measure(const std::optional<knob::Config>& config) {
  HC_TRY(nominate_candidate(config));
  return settle_entry(subject_hash(work_));
}

Result<Ratios> Workbench::measure_in_a_row(const std::optional<knob::Config>& config) {
  beside_ = true;
  HC_TRY(nominate_candidate(config));
  return nominated();
}

Result<Ratios> Workbench::nominated() const {
  const std::string text = HC_TRY(ledger::read_object(options_.artifacts, work_.evidence.back()));
  const ledger::PairsArtifact artifact = HC_TRY(ledger::parse_pairs(text, work_.evidence.back()));
  Ratios out;
  for (const ledger::Arm& arm : artifact.arms) {
    if (arm.role != ledger::Role::baseline) continue;
    out.emplace_back(arm.name, ledger::compare_pairs(ledger::pair_times(artifact, arm.name), {}));
  }
  return out;
}

/// Confirming rounds of the candidate in hand, never taken from an earlier run, and the goal's entry.
Result<ledger::VariantVerdict> Workbench::confirm_candidate() {
  HC_TRY(check_candidate(work_));
  again_ = true;
  const std::vector<tune::Contender> best = HC_TRY(rivals(work_));
  HC_TRY(Climb::confirm(work_, best));
  look_at_thin_win(work_, best);
  return contract::update_shape(*store_, work_.variant->name, work_.evidence);
}

Result<ledger::VariantVerdict> Workbench::verify() {
  // whom to confirm against was settled by the nomination of this candidate
  keep_nomination_ = by_worker();
  if (by_worker() ? !newest_tune(0) : !stored_tune(work_)) {
    return goal_error(fmt::format("no winner of {} is stored that this compiler found for this kernel", work_.label))
        .fix(fmt::format("`hillclimb confirm {} --variant {}` tunes anew", options_.task_path, work_.variant->name));
  }
  HC_TRY(tune_variant(work_));
  return confirm_candidate();
}

Result<ledger::VariantVerdict> Workbench::confirm_anew() {
  std::optional<tune::Built> old;
  if (newest_tune(0) && !by_worker()) old = HC_TRY(built(std::nullopt));
  retune_.insert(work_.variant->name);
  if (!options_.seed) options_.seed = tune::fresh_seed();
  HC_TRY(tune_variant(work_));
  const ledger::VariantVerdict verdict = HC_TRY(confirm_candidate());
  if (!old) return verdict;
  if (old->manifest.source_sha256 == work_.built.manifest.source_sha256) {
    progress_.line(fmt::format("{}  the cold tune found the stored winner by itself", work_.label));
    return verdict;
  }
  tune::Contender before = tune::candidate_contender("incumbent", *old, context_.program, work_.candidate.prepare.seed,
                                                     task_.effort.threads);
  before.arm.role = ledger::Role::anchor;
  before.config = old->manifest.config;
  HC_TRY(tune::hash_binary(&before));
  const std::string id =
      HC_TRY(nominate({work_.candidate, before}, fmt::format("against-incumbent-{}", work_.variant->name)));
  const std::string text = HC_TRY(ledger::read_object(options_.artifacts, id));
  const ledger::PairsArtifact artifact = HC_TRY(ledger::parse_pairs(text, id));
  const ledger::Comparison c = ledger::compare_pairs(ledger::pair_times(artifact, "incumbent"), {});
  progress_.line(fmt::format("{}  the cold tune found another config, {:.3f} times as fast as the one before",
                             work_.label, c.ratio));
  return verdict;
}

std::unique_ptr<Climb> Workbench::part() const { return std::unique_ptr<Climb>(new Workbench(options_, context_)); }

/// The first numbers of one variant; the whole of a climb has its own.
Status Workbench::one_variant(const contract::TaskVariant& variant) {
  HC_TRY(hold(variant.name));
  HC_TRY(tune_variant(work_));
  HC_TRY(check_candidate(work_));
  std::vector<tune::Contender> arms = HC_TRY(rivals(work_));
  if (work_.evidence.empty()) {
    arms.insert(arms.begin(), work_.candidate);
    work_.evidence.push_back(HC_TRY(nominate(arms, nomination_name(work_))));
  }
  const ledger::VariantVerdict v = HC_TRY(contract::update_shape(*store_, variant.name, work_.evidence));
  progress_.line(fmt::format("{}  {:.3f} of {}, nominated", work_.label, v.ratio, v.best_baseline));
  work_ = Work{};  // and with it the hold on its GPU
  return success();
}

Result<int> Workbench::first_numbers() {
  HC_TRY(Climb::start());
  Variants due;
  for (const contract::TaskVariant& variant : task_.variants) {
    const ledger::GoalShape* shape = goal_.shape(variant.name);
    if (shape && !shape->evidence.empty() && !shape->stale) continue;
    const std::vector<std::string>& only = options_.variants;
    if (!only.empty() && std::find(only.begin(), only.end(), variant.name) == only.end()) continue;
    due.push_back(&variant);
  }
  const int without = HC_TRY(take_all(due));
  HC_TRY(finish());
  return without;
}

Option back_to_back_option() {
  return {"--back-to-back", OptionKind::flag, "",
          "Time launches in a row over rotated inputs; a goal keeps the mode that it began with."};
}

std::vector<Option> workbench_options(std::vector<Option> more) {
  std::vector<Option> out = {{"TASK", OptionKind::word, "", "The task file."},
                             {"--variant", OptionKind::one, "NAME", "The variant; needed."}};
  out.insert(out.end(), more.begin(), more.end());
  out.push_back(artifacts_option());
  return out;
}

Result<ClimbOptions> read_workbench_options(const Parsed& parsed, const std::string& who) {
  if (!parsed.has("--variant")) {
    return Diagnostic{Code::usage, fmt::format("{} works on one variant, and none is named", who)}.fix(
        "--variant NAME");
  }
  ClimbOptions options = HC_TRY(read_climb_options(parsed));
  options.variants = {parsed.get("--variant")};
  options.who = fmt::format("{} {}", who, parsed.get("--variant"));
  return options;
}

Result<std::optional<knob::Config>> read_config_of_candidate(const Parsed& parsed, ClimbOptions* options) {
  const contract::Task task = HC_TRY(contract::read_task(options->task_path));
  if (!task.candidate) return read_optional_config(parsed);
  if (parsed.has("--set")) {
    return Diagnostic{Code::usage, fmt::format("the candidate {} of {} is a worker, which has no knobs of our compiler",
                                               task.candidate->name, task.name)}
        .fix("--config FILE|JSON gives it a whole config of its own");
  }
  if (parsed.has("--config")) options->pinned = HC_TRY(read_worker_config(parsed.get("--config")));
  return std::optional<knob::Config>();
}

Result<std::optional<knob::Config>> read_optional_config(const Parsed& parsed) {
  if (!parsed.has("--config") && !parsed.has("--set")) return std::optional<knob::Config>();
  return std::optional<knob::Config>(HC_TRY(read_config(parsed)));
}

int print_verdict(const ledger::VariantVerdict& verdict) {
  fmt::print("{}\n", contract::variant_line(verdict));
  for (const ledger::BaselineVerdict& b : verdict.baselines) {
    fmt::print("      against {}: {:.4f} [{:.4f}, {:.4f}] in {} pairs, {:.4g} ms to {:.4g} ms\n", b.name,
               b.comparison.ratio, b.comparison.lcb, b.comparison.ucb, b.comparison.pairs, b.seconds * 1e3,
               verdict.candidate_seconds * 1e3);
  }
  if (!verdict.calibration.device.empty()) fmt::print("      A/A: {}\n", ledger::calibration_text(verdict.calibration));
  if (verdict.verdict == ledger::Verdict::pass) return ledger::kExitMet;
  return verdict.verdict == ledger::Verdict::fail ? ledger::kExitUnmet : ledger::kExitUndecided;
}

}  // namespace hc::cli
