// What an interrupted run left behind: finished tunes and measurements of the same run are used, the rest is done
// again.
#include <algorithm>

#include "cli/climb.h"
#include "ledger/judge.h"

namespace hc::cli {

std::string Climb::subject_hash(const Work& work) const {
  return ledger::candidate_subject(work.candidate.arm.source_sha256, work.candidate.arm.config);
}

/// The tune that the goal's entry of the variant rests on; empty without one, or where another is no better than it.
std::string Climb::entry_tune(const Work& work) const {
  const Result<ledger::Goal> goal = contract::read_goal(options_.artifacts);
  if (!by_entry_ || !goal.ok()) return "";
  for (const ledger::GoalShape& shape : goal.value().shapes) {
    if (shape.name != work.variant->name) continue;
    for (auto id = shape.evidence.rbegin(); id != shape.evidence.rend(); ++id) {
      const Result<std::string> text = ledger::read_object(options_.artifacts, *id);
      const Result<ledger::PairsArtifact> pairs =
          text.ok() ? ledger::parse_pairs(text.value(), *id) : Result<ledger::PairsArtifact>(text.error());
      if (!pairs.ok()) continue;
      for (const ledger::Arm& arm : pairs.value().arms) {
        if (arm.role == ledger::Role::candidate && !arm.tune.empty()) return arm.tune;
      }
    }
  }
  return "";
}

std::optional<std::pair<std::string, ledger::TuneRecord>> Climb::stored_tune(const Work& work) const {
  if (retune_.contains(work.variant->name)) return std::nullopt;
  const std::string entry = entry_tune(work);
  std::optional<std::pair<std::string, ledger::TuneRecord>> newest;
  const auto& lines = store_->view().lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work.variant->name) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    if (!text.ok()) continue;
    const Result<std::string> kind = ledger::artifact_kind(text.value(), line->name);
    if (!kind.ok() || kind.value() != "tune") continue;
    Result<ledger::TuneRecord> record = ledger::parse_tune(text.value(), line->name);
    if (!record.ok() || record.value().variant_hash != work.variant->hash) continue;
    if (record.value().arm != kOwnCandidate) continue;
    // Another compiler or kernel might find another winner: such a tune does not speak for them.
    if (record.value().compiler_sha256 != program_sha256_) continue;
    if (record.value().kernel_sha256 != work.subject.kernel_sha256) continue;
    const bool wanted = entry.empty() || line->object == entry;
    if (wanted || !newest) newest = std::make_pair(line->object, std::move(record).value());
    if (wanted) break;
  }
  return newest;
}

std::optional<std::pair<std::string, ledger::PairsArtifact>> Climb::stored_pairs(const Work& work,
                                                                                 ledger::Purpose purpose,
                                                                                 const std::string& rival) const {
  if (again_) return std::nullopt;
  const auto& lines = store_->view().lines;
  const std::string subject = subject_hash(work);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work.variant->name) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    if (!text.ok()) continue;
    const Result<std::string> kind = ledger::artifact_kind(text.value(), line->name);
    if (!kind.ok() || kind.value() != "pairs") continue;
    Result<ledger::PairsArtifact> artifact = ledger::parse_pairs(text.value(), line->name);
    if (!artifact.ok() || artifact.value().purpose != purpose || artifact.value().lock != goal_.lock) continue;
    const auto& pairs = artifact.value().pairs;  // none is valid in what was kept of an unfinished run
    if (std::none_of(pairs.begin(), pairs.end(), [](const ledger::Pair& pair) { return pair.valid; })) continue;
    bool mine = false;
    bool theirs = rival.empty();
    for (const ledger::Arm& arm : artifact.value().arms) {
      mine |=
          arm.role == ledger::Role::candidate && ledger::candidate_subject(arm.source_sha256, arm.config) == subject;
      theirs |= arm.name == rival;
    }
    if (mine && theirs) return std::make_pair(line->object, std::move(artifact).value());
  }
  return std::nullopt;
}

/// The newest nomination of this run and candidate in which each of the arms was timed, whatever `again_` says.
std::optional<std::pair<std::string, ledger::PairsArtifact>> Climb::stored_nomination(
    const Work& work, const std::vector<tune::Contender>& arms) const {
  const auto& lines = store_->view().lines;
  const std::string subject = subject_hash(work);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->kind != "object" || line->run != goal_.run || line->variant != work.variant->name) continue;
    const Result<std::string> text = ledger::read_object(options_.artifacts, line->object);
    const Result<std::string> kind =
        text.ok() ? ledger::artifact_kind(text.value(), line->name) : Result<std::string>(text.error());
    if (!kind.ok() || kind.value() != "pairs") continue;
    Result<ledger::PairsArtifact> artifact = ledger::parse_pairs(text.value(), line->name);
    if (!artifact.ok() || artifact.value().purpose != ledger::Purpose::nominate) continue;
    const ledger::PairsArtifact& a = artifact.value();
    bool whole = a.lock == goal_.lock && ledger::is_back_to_back(a) == in_a_row();
    for (const ledger::Arm& arm : a.arms) {
      if (arm.role == ledger::Role::candidate)
        whole &= ledger::candidate_subject(arm.source_sha256, arm.config) == subject;
    }
    for (const tune::Contender& arm : arms) {
      const std::string name = arm.arm.name.substr(0, arm.arm.name.find('#'));
      whole &= ledger::arm_seconds(a, name) > 0;
    }
    if (whole) return std::make_pair(line->object, std::move(artifact).value());
  }
  return std::nullopt;
}

}  // namespace hc::cli
