// The climb: start if there is none, then tune, measure and confirm every variant, then the verdict and the report.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/devices.h"
#include "cli/progress.h"
#include "cli/subject.h"
#include "cli/worker_arm.h"
#include "contract/goal.h"
#include "contract/task.h"
#include "ledger/checker.h"
#include "ledger/store.h"
#include "tune/campaign.h"
#include "tune/tune.h"

namespace hc::cli {

/// What the command line asks of a climb.
struct ClimbOptions {
  std::string task_path;
  std::string artifacts = "artifacts";
  std::vector<std::string> variants;  ///< only these; all when empty
  bool fresh = false;                 ///< archive the goal that is there and start anew
  bool beyond = false;                ///< go on when every variant passes
  bool back_to_back = false;          ///< a new goal agrees on launches in a row; one of single launches is refused
  std::string pinned;                 ///< JSON text of a worker's config in place of what its tuner found; or empty
  std::optional<uint64_t> seed;
  int64_t max_candidates = 0;  ///< per tune; 0: the task's own limit
  double max_seconds = 0;
  int pairs = 0;                                   ///< 0: as agreed in the goal's criteria
  std::string who = "climb";                       ///< in whose name the goal is written
  double anchor_band = 0.08;                       ///< by which the known-good config may move during a batch of probes
  std::function<bench::CanaryReading()> canary{};  ///< stands in for the processor's; for tests
  /// Stands in for the GPUs of this machine; for tests.
  std::function<Result<bench::GpuPool>(bench::GpuPoolOptions)> gpus{};
  /// Stand in for a GPU's memory rates and for the copy that anchors its rounds; a stand-in for GPUs has none else.
  std::function<Result<bench::GpuRates>(const std::string& uuid)> gpu_rates{};
  std::optional<tune::Contender> gpu_anchor{};
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();  ///< one for all parts of a climb
};

/// One climb of one task.
class Climb {
 public:
  Climb(ClimbOptions options, const Context& context) : options_(std::move(options)), context_(context) {}
  virtual ~Climb() = default;
  /// The checker's exit code, or why it could not go on; what was stored before stays.
  Result<int> run();

 protected:
  /// A variant on its way: what was found so far.
  struct Work {
    const contract::TaskVariant* variant = nullptr;
    Subject subject;
    std::string tune_id;  ///< object id of the tune that found the candidate
    tune::Built built;    ///< the candidate
    std::vector<std::string> evidence;
    std::unique_ptr<tune::Probe> probe;
    std::unique_ptr<tune::Judge> judge;
    tune::Contender candidate;
    std::string label;                       ///< task/variant
    std::optional<tune::Built> known_good;   ///< begins and ends each batch; the candidate itself when there is none
    std::shared_ptr<bench::GpuLease> lease;  ///< of a task on a GPU
    std::vector<std::string> env;            ///< for every worker of the variant
    std::vector<std::vector<int64_t>> elements;  ///< of each output, those that the judge looks at; empty: all
    std::map<std::string, Description> asked;    ///< what baselines' workers answered, by name, until it is recorded
  };

  // climb.cc: the whole
  Status start();
  Status open_goal();
  std::vector<const contract::TaskVariant*> due();
  std::vector<const contract::TaskVariant*> beyond(const ledger::CheckReport& report);
  bool is_entry(const Work& work) const;
  bool better_than_before(const Work& work) const;
  virtual Status one_variant(const contract::TaskVariant& variant);
  void hand_off(const Work& work, const ledger::VariantVerdict& verdict);
  Result<int> conclude();
  // climb_spread.cc: variants one after the other on each GPU, the GPUs beside one another
  using Variants = std::vector<const contract::TaskVariant*>;
  virtual std::unique_ptr<Climb> part() const;
  Result<int> take_all(const Variants& variants);
  Result<int> take_in_turn(const Variants& variants, const std::atomic<bool>* stop);
  Result<int> take_spread(const std::map<std::string, Variants>& shares);
  Result<std::map<std::string, Variants>> shares_of(const Variants& variants);
  Status join(const Climb& whole);
  // climb_variant.cc: the steps of one variant
  Status tune_variant(Work& work);
  Status search_variant(Work& work, uint64_t seed);
  Status check_candidate(Work& work);
  Result<std::vector<tune::Contender>> rivals(Work& work);
  Status confirm(Work& work, const std::vector<tune::Contender>& rivals);
  void measure_ceiling(Work& work);
  Result<std::string> measure_and_store(Work& work, const std::vector<tune::Contender>& arms,
                                        const tune::CampaignPlan& plan, const std::string& name,
                                        const std::function<void(ledger::PairsArtifact*)>& edit);
  void describe_pairs(const Work& work, ledger::PairsArtifact* artifact, const std::string& name,
                      int64_t open_seq) const;
  Result<std::string> store_pairs(Work& work, ledger::PairsArtifact artifact, const std::string& name,
                                  int64_t open_seq);
  tune::CampaignPlan campaign_plan(const Work& work, ledger::Purpose purpose, int pairs, const std::string& what);
  // climb_calibrate.cc: what the machine shows of a difference that is not there
  Status calibrate(Work& work, const tune::Contender& rival);
  Status measure_against_itself(Work& work, const tune::Contender& rival);
  // climb_mode.cc: single launches, and launches in a row
  Status agree_on_mode() const;
  bool in_a_row() const { return lock_.back_to_back || beside_; }
  double preheat_seconds(const Work& work, ledger::Purpose purpose) const;
  std::string nomination_name(const Work& work) const;
  Result<std::string> measure_beside(Work& work, const std::vector<tune::Contender>& arms);
  void look_at_thin_win(Work& work, const std::vector<tune::Contender>& rivals);
  // climb_journal.cc: rounds of measurements that did not come to their end
  Status keep_unfinished(const std::string& journal, const std::string& prefix, const std::string& rule,
                         const std::string& why);
  void recover_rounds();
  // climb_anchor.cc: batches between two looks at the known-good config
  double moved_limit() const;
  Result<ledger::PairsArtifact> measure_batch(Work& work, const std::vector<tune::Contender>& arms,
                                              const tune::CampaignPlan& plan,
                                              const std::function<Status(ledger::PairsArtifact)>& keep_void);
  Status confirm_past_slow_modes(Work& work, const std::vector<tune::Contender>& rivals);
  void mark_stale_shapes();
  void mark_stale_worker(const std::string& variant, const Subject& subject, const ledger::Arm& arm);
  // climb_worker.cc: a candidate that is a worker, and the configs of all workers
  bool by_worker() const { return task_.candidate.has_value(); }
  Result<Subject> subject(const contract::TaskVariant& variant) const;
  Status open_pool();
  Status lease_device(Work& work);
  ledger::Facts device_facts(const Work& work) const;
  ledger::Facts cool_down(const Work& work);
  std::vector<double> pooled_seconds(const Work& work, const std::vector<tune::Contender>& arms,
                                     const std::vector<std::string>& names, std::vector<double> seconds) const;
  Result<std::vector<tune::Contender>> with_anchor(const Work& work, std::vector<tune::Contender> arms) const;
  void plan_for_workers(const Work& work, tune::CampaignPlan* plan);
  std::optional<std::pair<std::string, ledger::TuneRecord>> stored_config(const Work& work,
                                                                          const tune::Contender& arm) const;
  Result<std::pair<std::string, ledger::TuneRecord>> record_config(Work& work, const tune::Contender& arm,
                                                                   double tune_s, const std::string& name,
                                                                   std::optional<Description> asked = std::nullopt);
  Status tune_worker(Work& work);
  Status pin_worker(Work& work);
  Result<std::string> choose_judge(Work& work);
  Status check_worker(Work& work);
  // climb_second.cc: the candidate's kernel under further backends
  using Asked = std::pair<tune::Contender, std::future<Description>>;
  Result<std::vector<Asked>> ask_seconds(const Work& work);
  Status judge_seconds(Work& work, std::vector<Asked> seconds);
  bool checked_before(const Work& work) const;
  void ask_workers(Work& work);
  void judge_outputs(const Work& work, const tune::Contender& arm, Description* asked) const;
  Result<bool> ready_worker(Work& work, const contract::TaskBaseline& baseline, tune::Contender* arm);
  // climb_baselines.cc: what can run on this machine
  Status look_for_baselines(const Subject& subject) const;
  Status leave_out(Work& work, const contract::TaskBaseline& baseline, const Diagnostic& why);
  Result<std::vector<tune::Contender>> arms_of(Work& work, const contract::TaskBaseline& baseline);
  // climb_resume.cc: what an earlier, interrupted run of the same name left
  std::optional<std::pair<std::string, ledger::TuneRecord>> stored_tune(const Work& work) const;
  std::optional<std::pair<std::string, ledger::PairsArtifact>> stored_pairs(const Work& work, ledger::Purpose purpose,
                                                                            const std::string& rival) const;
  std::optional<std::pair<std::string, ledger::PairsArtifact>> stored_nomination(
      const Work& work, const std::vector<tune::Contender>& arms) const;
  std::string subject_hash(const Work& work) const;
  std::string entry_tune(const Work& work) const;

  ClimbOptions options_;
  const Context& context_;
  Progress& progress_ = *options_.progress;
  contract::Task task_;
  std::optional<ledger::WriterLock> writer_;
  std::optional<ledger::Store> store_;
  ledger::Goal goal_;
  ledger::Lock lock_;
  tune::BuildSite site_;
  std::string program_sha256_;
  bool beside_ = false;           ///< measures in a row for a goal of single launches: part of no verdict
  bool again_ = false;            ///< every variant was measured before: those that do not pass are measured anew
  bool beyond_ = false;           ///< every variant passes: a new candidate must be better than the one that is there
  std::set<std::string> retune_;  ///< and these are tuned anew: more pairs would not help them
  bool by_entry_ = false;         ///< the tune that the goal's entry names goes before newer ones
  bool keep_nomination_ = false;  ///< a nomination of this run that has every arm is good enough for whom to confirm
  std::optional<bench::GpuPool> pool_;
  std::set<std::string> calibrated_;  ///< devices of which this command has made an A/A record
};

/// Arm of the candidates that our own tuner finds.
inline constexpr const char* kOwnCandidate = "hillclimb";

/// Name of a run that no folder under `artifacts` has yet: task and date, `-2`, `-3`, ... appended if need be.
std::string fresh_run_name(const std::string& artifacts, const std::string& task);

}  // namespace hc::cli
