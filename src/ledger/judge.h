// From raw objects to the verdict of one variant; the checker and the goal's writer both use it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ledger/calibration.h"
#include "ledger/goal_file.h"
#include "ledger/statistics.h"
#include "ledger/store.h"

namespace hc::ledger {

/// Version of the rules below; a lock names it, and is judged by the rules of its own version. 2: a candidate that is
/// often slow may pass by its slowest process; A/A calibration takes part.
inline constexpr int kRulesVersion = 2;
/// SHA-256 over this library's sources.
std::string rules_sha256();

struct BaselineVerdict {
  std::string name;
  Comparison comparison;
  double seconds = 0;      ///< median time per call of the baseline
  bool confirmed = false;  ///< from a confirming run, not a nomination
  bool full_tune = true;   ///< false: it has a tuner that was not run cold to its end
};

/// What the evidence says about a variant.
struct VariantVerdict {
  std::string name;
  bool measured = false;
  double ratio = 0, lcb = 0, ucb = 0;  ///< against the best baseline; bounds over all baselines
  Verdict verdict = Verdict::open;
  bool undecided = false;  ///< open only because more pairs are needed
  std::string reason;      ///< why it is not PASS
  std::string best_baseline;
  double candidate_seconds = 0;
  double limit = 0.99;     ///< 0.99 x target
  bool met_point = false;  ///< the spec's plain rule: ratio >= limit
  int pairs = 0;
  Comparison best;  ///< of the best baseline
  std::vector<BaselineVerdict> baselines;
  std::vector<std::pair<std::string, std::string>> left_out{};  ///< baselines that refused, each with its words
  Calibration calibration{};        ///< the weakest that its confirming runs have; only where the lock asks for one
  std::vector<std::string> broken;  ///< evidence that is missing, changed or not valid
};

/// Parsed and verified objects, each read once.
class Evidence {
 public:
  Evidence(std::string artifacts_dir, const LedgerView& view);
  /// nullptr after adding a sentence to `broken` when the object is missing, changed, unlisted or not of this kind.
  const PairsArtifact* pairs(const std::string& id, std::vector<std::string>* broken);
  const TuneRecord* tune(const std::string& id, std::vector<std::string>* broken);
  const std::string* text(const std::string& id, std::vector<std::string>* broken);
  const LedgerView& view() const { return view_; }
  /// The listing line of an object, or nullptr.
  const LedgerLine* listing(const std::string& id) const;

 private:
  std::string artifacts_dir_;
  const LedgerView& view_;
  std::map<std::string, const LedgerLine*> listings_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, PairsArtifact> pairs_;
  std::map<std::string, TuneRecord> tunes_;
};

/// Sentences about one measurement that breaks the rules of validity, empty if none.
std::vector<std::string> invalidities(const PairsArtifact& artifact, const Lock& lock);
/// Why a valid measurement cannot make a shape pass (wrong answer, impossible rate, void pairs, another machine), or
/// empty.
std::string refusal(const PairsArtifact& artifact);
/// The same without a look at its void pairs, which may be too many in one run and few among all of a candidate.
std::string reading_refusal(const PairsArtifact& artifact);
/// Whether more than half of the pairs of all these measurements are void; `more`: valid pairs that would mend it.
std::string void_refusal(const std::vector<const PairsArtifact*>& artifacts, int* more = nullptr);
/// The first fact by which two measurements ran on different devices, `left and right`; empty when they agree.
std::string other_device(const PairsArtifact& a, const PairsArtifact& b);
/// Sentences about a listed measurement that is not what the ledger announced, once, under this goal's lock.
std::vector<std::string> announcement_faults(Evidence& evidence, const std::string& id, const PairsArtifact& artifact);
/// The baseline's arm of that name, or nullptr.
const Arm* baseline_of(const PairsArtifact& artifact, const std::string& name);
/// The paired log times of candidate and one baseline over the valid pairs.
std::vector<PairTimes> pair_times(const PairsArtifact& artifact, const std::string& baseline);
/// Median seconds per call of an arm over the valid pairs, 0 if it was not measured.
double arm_seconds(const PairsArtifact& artifact, const std::string& arm);
/// Lowest ratio over the registered baselines of one measurement, 0 if it has none (for the "before" column).
double lowest_ratio(const PairsArtifact& artifact, const Lock& lock);
/// Verdict of `variant` from the objects listed as its evidence.
VariantVerdict judge_variant(Evidence& evidence, const Lock& lock, const std::string& variant,
                             const std::vector<std::string>& ids);
/// The confirming runs of `subject` since the goal was created that a judgement has to pool, in ledger order.
std::vector<std::string> confirming_ids(const LedgerView& view, const std::string& variant, const std::string& subject);
/// Hash that says which candidate a measurement is about: its source and config.
std::string candidate_subject(const std::string& source_sha256, const std::string& config);

}  // namespace hc::ledger
