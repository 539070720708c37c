// The single steps of a climb as commands: first numbers, one variant measured, verified, confirmed, tried, ablated.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/climb.h"

namespace hc::cli {

struct RecipeChange;

/// One thing set back, and how much slower the winner (or the baseline) gets without it.
struct Ablation {
  std::string change;  ///< `KNOB: winner's value -> default`
  std::string reason;  ///< why it could not be measured, or empty
  ledger::Comparison comparison{};
  std::string object{};  ///< of the measurement, or empty
};

/// Comparisons by baseline.
using Ratios = std::vector<std::pair<std::string, ledger::Comparison>>;

/// A stored confirmation beside a fresh measurement of the same candidate.
struct Replay {
  std::string variant, object;  ///< of the fresh one
  struct Against {
    std::string name;
    ledger::Comparison stored, fresh;
    std::string disagreement;  ///< a sentence, or empty
  };
  std::vector<Against> baselines;
};

/// What came of a hand-edited source.
struct Attempt {
  std::string object;                                                 ///< of the measurement
  ledger::Verdict verdict = ledger::Verdict::open;                    ///< against all baselines measured beside it
  std::vector<std::pair<std::string, ledger::Comparison>> baselines;  ///< by name
  ledger::Comparison incumbent;                                       ///< above 1: faster than the stored winner
};

/// Arms of a `try` beside the baselines: the stored winner, and the source that was edited.
inline constexpr const char* kIncumbent = "incumbent";
inline constexpr const char* kHandEdited = "hand-edited";

/// One goal with one variant (all of them for first_numbers) in the hand.
class Workbench : protected Climb {
 public:
  Workbench(ClimbOptions options, const Context& context) : Climb(std::move(options), context) { by_entry_ = true; }

  /// Creates the goal if there is none, and gives every variant without numbers its first: cold tune, check, nominated
  /// baselines. The number of variants that got none.
  Result<int> first_numbers();
  /// Takes the goal's writer lock; goal_error when there is no goal of this task, or another one's.
  Status open(const std::string& variant);
  /// Reads goal and variant without the lock, for commands that measure nothing.
  Status open_to_read(const std::string& variant);

  /// A nomination with the config, or with the stored winner. Never a PASS of its own.
  Result<ledger::VariantVerdict> measure(const std::optional<knob::Config>& config);
  /// What that nomination measured, whatever the goal's entry is.
  Result<Ratios> nominated() const;
  /// The same by launches in a row, beside a goal of single launches: a record that stands in no entry.
  Result<Ratios> measure_in_a_row(const std::optional<knob::Config>& config);
  /// Confirming rounds with the winner that is stored.
  Result<ledger::VariantVerdict> verify();
  /// A cold full tune with a fresh seed, and confirming rounds of what it finds.
  Result<ledger::VariantVerdict> confirm_anew();
  /// The edited source in place of the one generated for the config, paired with baselines and incumbent.
  Result<Attempt> attempt(const std::string& source, const std::optional<knob::Config>& config);
  /// The same of a candidate that is a worker: the source that its winner's config generates, edited; `file_name` ends
  /// as the worker needs it. not_available where the worker takes none.
  Result<Attempt> attempt_worker(const std::string& source, const std::string& file_name);
  /// The stored winner of a candidate that is a worker, pinned, with the variant's GPU; goal_error without one.
  Result<tune::Contender> stored_worker();
  /// A baseline as this run pinned it, with the variant's GPU.
  Result<tune::Contender> stored_baseline(const contract::TaskBaseline& baseline);
  /// Every knob of the winner that is not at its default, set back one at a time; the last row sets back all.
  Result<std::vector<Ablation>> ablate();
  /// The same of a candidate that is a worker, whose defaults are not known: each key of its winner's config that
  /// differs from `base`, JSON text, set back to what stands there.
  Result<std::vector<Ablation>> ablate_worker(const std::string& base);
  /// Everything in a baseline's recipe and config that can be set back, one at a time, beside the baseline as it is;
  /// `sets` are further changes, KEY=VALUE.
  Result<std::vector<Ablation>> ablate_baseline(const std::string& name, const std::vector<std::string>& sets);
  /// Builds the candidate of a stored confirmation and measures it again; decides nothing in the goal.
  Result<Replay> replay(const std::string& object);
  /// The task's baseline of that name; usage names those that there are.
  Result<const contract::TaskBaseline*> baseline(const std::string& name) const;
  /// Every implementation that the baseline could run as, before any of them is measured.
  Result<std::vector<tune::Contender>> implementations(const contract::TaskBaseline& baseline) const {
    return baseline_contenders(baseline, task_, work_.subject, context_);
  }

  /// A config of the variant built as today's compiler makes it: the one given, or the stored winner.
  Result<tune::Built> built(const std::optional<knob::Config>& config);
  /// The stored winner of the variant, of whatever compiler, or nothing: the tune that the goal's entry rests on, then
  /// the newest ones of this run; `skip` passes over so many.
  std::optional<std::pair<std::string, ledger::TuneRecord>> newest_tune(int skip) const;
  /// Defaults of the variant's knobs.
  Result<knob::Config> defaults() const;
  const contract::TaskVariant& variant() const { return *work_.variant; }
  const contract::Task& task() const { return task_; }
  const ledger::Goal& goal() const { return goal_; }
  const ledger::Lock& lock() const { return lock_; }
  const tune::BuildSite& site() const { return site_; }
  const std::string& artifacts() const { return options_.artifacts; }
  /// What the goal's evidence says of the variant now.
  Result<ledger::VariantVerdict> verdict() const;
  Progress& progress() { return progress_; }
  /// The ledger as this command knows it.
  const std::vector<ledger::LedgerLine>& lines() const { return store_->view().lines; }
  /// Rewrites the plan document.
  Status finish();

 private:
  std::unique_ptr<Climb> part() const override;
  Status one_variant(const contract::TaskVariant& variant) override;
  Status refuse_without_goal();
  Status hold(const std::string& variant);
  std::string folder(const std::string& purpose) const;
  Diagnostic not_ours() const;
  Status nominate_candidate(const std::optional<knob::Config>& config);
  Result<tune::Built> incumbent();
  Result<std::string> nominate(const std::vector<tune::Contender>& arms, const std::string& name);
  Result<ledger::VariantVerdict> settle_entry(const std::string& subject);
  Result<ledger::VariantVerdict> confirm_candidate();
  Status prepare_candidate(tune::Built candidate);
  std::string generated_source(const tune::Contender& winner);
  Result<std::string> store_source(const std::string& source);
  Result<Attempt> judge_attempt(const std::string& object, const std::vector<tune::Contender>& arms);
  Status rebuild_candidate(const ledger::PairsArtifact& stored);
  Result<tune::Contender> whole_baseline(const contract::TaskBaseline& baseline);
  Result<tune::Contender> changed_baseline(const RecipeChange& change, const tune::Contender& whole);
  Result<std::vector<Ablation>> measure_baseline_ablations(std::vector<Ablation> rows, const tune::Contender& whole,
                                                           const std::vector<tune::Contender>& arms,
                                                           const std::vector<size_t>& row_of_arm);
  Result<std::vector<Ablation>> measure_ablations(std::vector<Ablation> rows, const std::vector<tune::Contender>& arms,
                                                  const std::vector<size_t>& row_of_arm);

  Work work_;
};

/// --back-to-back, the same for every command that has it.
Option back_to_back_option();
/// The options of every command that works on one variant.
std::vector<Option> workbench_options(std::vector<Option> more);
/// TASK, --variant, --artifacts, --pairs and --seed as typed; `who` is the command.
Result<ClimbOptions> read_workbench_options(const Parsed& parsed, const std::string& who);
/// As read_optional_config, for a task whose candidate may be a worker: then --config goes into `options->pinned`.
Result<std::optional<knob::Config>> read_config_of_candidate(const Parsed& parsed, ClimbOptions* options);
/// The config of --config and --set, or nothing when neither was given.
Result<std::optional<knob::Config>> read_optional_config(const Parsed& parsed);
/// Prints the verdict of one variant; 0 PASS, 1 FAIL, 3 OPEN.
int print_verdict(const ledger::VariantVerdict& verdict);

}  // namespace hc::cli
