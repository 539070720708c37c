// The frame of a climb: goal, order of variants, verdict, report.
#include "cli/climb.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "cli/evidence.h"
#include "cli/handoff.h"
#include "cli/worker_arm.h"
#include "contract/ignore.h"
#include "ledger/checker.h"
#include "ledger/judge.h"
#include "report/report.h"

namespace hc::cli {
namespace {

const ledger::VariantVerdict* verdict_of(const ledger::CheckReport& report, const std::string& name) {
  for (const ledger::VariantVerdict& v : report.variants) {
    if (v.name == name) return &v;
  }
  return nullptr;
}

}  // namespace

std::string fresh_run_name(const std::string& artifacts, const std::string& task) {
  const std::string base = fmt::format("{}-{}", task, ledger::utc_now().substr(0, 10));
  std::string name = base;
  for (int n = 2; file_exists(join_path(artifacts, name)); ++n) name = fmt::format("{}-{}", base, n);
  return name;
}

Status Climb::open_goal() {
  const bool there = file_exists(contract::goal_path(options_.artifacts));
  if (there && !options_.fresh) {
    goal_ = HC_TRY(contract::read_goal(options_.artifacts));
    if (goal_.has_lock()) lock_ = HC_TRY(contract::read_lock(options_.artifacts, goal_.lock));
    if (goal_.has_lock() && goal_.task == task_.name && lock_.task_sha256 == task_.sha256) {
      HC_TRY(agree_on_mode());
      if (goal_.status == "paused" || goal_.status == "blocked") {
        return Diagnostic{Code::goal_error, fmt::format("the goal is {}, so nothing is measured", goal_.status)}.fix(
            "`hillclimb status` shows why; `hillclimb goal resume --quote \"...\"` goes on");
      }
      progress_.line(fmt::format("going on with run {}", goal_.run));
      return success();
    }
    progress_.line(goal_.task == task_.name ? "the task file changed since the goal was made: starting a new run"
                                            : fmt::format("archiving the goal of {}", goal_.task));
  }
  const std::string run = fresh_run_name(options_.artifacts, task_.name);
  goal_ = HC_TRY(contract::create_goal(*store_, task_, run));
  lock_ = HC_TRY(contract::read_lock(options_.artifacts, goal_.lock));
  progress_.line(fmt::format("run {}: {}", run, counted(task_.variants.size(), "variant")));
  return success();
}

Status Climb::start() {
  task_ = HC_TRY(contract::read_task(options_.task_path));
  task_.effort.back_to_back |= options_.back_to_back;
  for (const std::string& name : options_.variants) {
    if (task_.variant(name)) continue;
    std::string known;
    for (const contract::TaskVariant& v : task_.variants) known += (known.empty() ? "" : ", ") + v.name;
    return Diagnostic{Code::usage, fmt::format("the task {} has no variant `{}`", task_.name, name)}.fix(
        "its variants are " + known);
  }
  if (!by_worker() && task_.backend != "cpu") {
    return Diagnostic{Code::not_available, fmt::format("the backend `{}` is not there", task_.backend)}.fix(
        "the backend that this program has is cpu");
  }
  // Everything that can be found wrong without measuring is found before the first number.
  for (const contract::TaskVariant& variant : task_.variants) {
    const Subject subject = HC_TRY(this->subject(variant));
    if (by_worker()) {
      HC_TRY(worker_contender(*task_.candidate, task_, subject, ledger::Role::candidate));
    } else {
      HC_TRY(compile::tile_ir(subject.request, {}));
    }
    HC_TRY(look_for_baselines(subject));
  }
  site_.target = target::host();
  const Result<runtime::Toolchain> toolchain = runtime::find_toolchain();
  if (!by_worker() || toolchain.ok()) site_.toolchain = HC_TRY(toolchain);
  std::string why;
  program_sha256_ = sha256_hex(read_file(context_.program, &why).value_or(""));
  const std::string trouble = make_folders(options_.artifacts);
  if (!trouble.empty()) {
    return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", options_.artifacts, trouble)};
  }
  const Result<std::string> ignored = contract::ignore_artifacts(options_.artifacts);
  if (!ignored.ok() || !ignored.value().empty()) {
    progress_.line(ignored.ok() ? fmt::format("{} now ignores {}", ignored.value(), options_.artifacts)
                                : ignored.error().message);
  }
  writer_ = HC_TRY(ledger::WriterLock::take(options_.artifacts, options_.who));
  store_ = HC_TRY(ledger::Store::open(options_.artifacts, anchor_path(context_, options_.artifacts)));
  for (const std::string& repair : store_->repairs()) progress_.line(repair);
  recover_rounds();
  HC_TRY(open_goal());
  mark_stale_shapes();
  return success();
}

/// Variants that were never confirmed, in the task's order; when there is none, those that do not pass, worst first.
std::vector<const contract::TaskVariant*> Climb::due() {
  const auto wanted = [&](const std::string& name) {
    return options_.variants.empty() ||
           std::find(options_.variants.begin(), options_.variants.end(), name) != options_.variants.end();
  };
  const ledger::CheckReport report =
      ledger::check_goal({contract::goal_path(options_.artifacts), anchor_path(context_, options_.artifacts)});
  std::vector<const contract::TaskVariant*> unmeasured;
  for (const contract::TaskVariant& variant : task_.variants) {
    const ledger::VariantVerdict* verdict = verdict_of(report, variant.name);
    const auto shape = std::find_if(goal_.shapes.begin(), goal_.shapes.end(),
                                    [&](const ledger::GoalShape& s) { return s.name == variant.name; });
    const bool stale = shape != goal_.shapes.end() && shape->stale;
    const bool confirmed = verdict && std::any_of(verdict->baselines.begin(), verdict->baselines.end(),
                                                  [](const ledger::BaselineVerdict& b) { return b.confirmed; });
    if (wanted(variant.name) && (!confirmed || stale)) unmeasured.push_back(&variant);
  }
  if (!unmeasured.empty()) return unmeasured;
  std::vector<const contract::TaskVariant*> failing;
  for (const ledger::VariantVerdict& verdict : report.variants) {  // worst first
    if (verdict.verdict == ledger::Verdict::pass || !wanted(verdict.name)) continue;
    failing.push_back(task_.variant(verdict.name));
    if (!verdict.undecided) retune_.insert(verdict.name);
  }
  again_ = !failing.empty();
  if (failing.empty() && options_.beyond) return beyond(report);
  return failing;
}

/// All variants of a met goal, the smallest lead first; each is tuned anew.
std::vector<const contract::TaskVariant*> Climb::beyond(const ledger::CheckReport& report) {
  std::vector<const ledger::VariantVerdict*> leads;
  for (const ledger::VariantVerdict& verdict : report.variants) {
    const auto& only = options_.variants;
    if (only.empty() || std::find(only.begin(), only.end(), verdict.name) != only.end()) leads.push_back(&verdict);
  }
  std::sort(leads.begin(), leads.end(), [](const auto* a, const auto* b) { return a->lcb < b->lcb; });
  std::vector<const contract::TaskVariant*> out;
  for (const ledger::VariantVerdict* verdict : leads) {
    retune_.insert(verdict->name);
    out.push_back(task_.variant(verdict->name));
  }
  again_ = beyond_ = true;
  return out;
}

/// Whether the goal's entry is about this very candidate. More pairs of it would have to be pooled with those that the
/// entry rests on, and prove nothing new.
bool Climb::is_entry(const Work& work) const {
  const auto shape = std::find_if(goal_.shapes.begin(), goal_.shapes.end(),
                                  [&](const ledger::GoalShape& s) { return s.name == work.variant->name; });
  if (shape == goal_.shapes.end()) return false;
  const std::vector<std::string> confirmed =
      ledger::confirming_ids(store_->view(), work.variant->name, subject_hash(work));
  return std::any_of(confirmed.begin(), confirmed.end(), [&](const std::string& id) {
    return std::find(shape->evidence.begin(), shape->evidence.end(), id) != shape->evidence.end();
  });
}

/// What was confirmed stays the entry of a passing variant unless the new candidate's lower bound is above its own.
bool Climb::better_than_before(const Work& work) const {
  const auto shape = std::find_if(goal_.shapes.begin(), goal_.shapes.end(),
                                  [&](const ledger::GoalShape& s) { return s.name == work.variant->name; });
  ledger::Evidence evidence(options_.artifacts, store_->view());
  const ledger::VariantVerdict now = ledger::judge_variant(evidence, lock_, work.variant->name, work.evidence);
  return shape == goal_.shapes.end() || (now.verdict == ledger::Verdict::pass && now.lcb > shape->lcb);
}

Status Climb::one_variant(const contract::TaskVariant& variant) {
  Work work;
  work.variant = &variant;
  work.label = fmt::format("{}/{}", task_.name, variant.name);
  work.subject = HC_TRY(subject(variant));
  HC_TRY(tune_variant(work));
  HC_TRY(check_candidate(work));
  if (beyond_ && is_entry(work)) {
    progress_.line(fmt::format("{}  the tune found the entry's own candidate: the entry stays", work.label));
    return success();
  }
  const std::vector<tune::Contender> best = HC_TRY(rivals(work));
  HC_TRY(confirm_past_slow_modes(work, best));
  look_at_thin_win(work, best);
  measure_ceiling(work);
  if (beyond_ && !better_than_before(work)) {
    progress_.line(fmt::format("{}  no better than before: the entry stays", work.label));
    return success();
  }
  const ledger::VariantVerdict verdict = HC_TRY(contract::update_shape(*store_, variant.name, work.evidence));
  progress_.line(fmt::format("{}  {:.3f} of {} [{:.3f}, {:.3f}] {}{}", work.label, verdict.ratio, verdict.best_baseline,
                             verdict.lcb, verdict.ucb, ledger::verdict_name(verdict.verdict),
                             verdict.reason.empty() ? "" : ": " + verdict.reason));
  if (verdict.verdict == ledger::Verdict::fail) hand_off(work, verdict);
  return success();
}

/// What tuning did not close goes on by hand: everything for that lies in one folder.
void Climb::hand_off(const Work& work, const ledger::VariantVerdict& verdict) {
  Handoff out{.folder = handoff_folder(options_.artifacts, goal_.run, work.variant->name),
              .task_path = options_.task_path,
              .artifacts = options_.artifacts,
              .task = &task_,
              .variant = work.variant,
              .winner = &work.built,
              .toolchain = &site_.toolchain,
              .verdict = verdict};
  const auto write = [&]() -> Status {
    if (!by_worker()) return write_handoff(out);
    const WorkerListing listing = HC_TRY(list_worker(work.candidate, out.folder));
    out.listing = &listing;
    return write_worker_handoff(out);
  };
  const Status written = write();
  progress_.line(written.ok() ? fmt::format("{}  for going on by hand: {}/README.md", work.label, out.folder)
                              : fmt::format("{}  no hand-off: {}", work.label, written.error().message));
}

Result<int> Climb::conclude() {
  progress_.now("checking");
  const std::string anchor = anchor_path(context_, options_.artifacts);
  const ledger::CheckReport report = ledger::check_goal({contract::goal_path(options_.artifacts), anchor});
  progress_.line("the checker says:");
  fmt::print("\n{}\n", report.text);
  const Result<report::ReportPaths> paths =
      report::write_report(options_.artifacts, goal_.run, join_path(options_.artifacts, goal_.run), {anchor, ""});
  if (!paths.ok()) return paths.error();
  fmt::print("report: {}\n        {}\n", paths.value().markdown, paths.value().html);
  return report.exit_code;
}

Result<int> Climb::run() {
  HC_TRY(start());
  const std::vector<const contract::TaskVariant*> variants = due();
  if (variants.empty()) progress_.line("every variant passes: nothing is left to do");
  if (beyond_) {
    progress_.line(fmt::format("every variant passes: {} are tuned anew, the smallest lead first", variants.size()));
  } else if (again_) {
    progress_.line(fmt::format("{} without a pass: {} tuned anew, the others measured again, the worst first",
                               counted(variants.size(), "variant"), retune_.size()));
  }
  HC_TRY(take_all(variants));
  return conclude();
}

}  // namespace hc::cli
