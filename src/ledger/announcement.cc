// Whether a stored measurement is the one that the ledger announced.
#include <fmt/format.h>

#include <algorithm>

#include "ledger/judge.h"

namespace hc::ledger {
namespace {

using Sentences = std::vector<std::string>;

/// The announcement must stand before the measurement, with the same purpose and subject.
void check_line(Evidence& evidence, const std::string& id, const PairsArtifact& a, Sentences* out) {
  const LedgerLine* listed = evidence.listing(id);
  const auto& lines = evidence.view().lines;
  const bool in_range = a.open_seq >= 0 && a.open_seq < listed->seq;
  const LedgerLine* open = in_range ? &lines[static_cast<size_t>(a.open_seq)] : nullptr;
  std::string subject;
  for (const Arm& arm : a.arms) {
    if (arm.role == Role::candidate) subject = candidate_subject(arm.source_sha256, arm.config);
  }
  if (!open || open->kind != "run_open" || listed->opens != a.open_seq) {
    out->push_back(fmt::format("{}/{} was not announced in the ledger before it ran", a.run, a.name));
  } else if (open->purpose != purpose_name(a.purpose) || open->variant != a.variant || open->subject != subject) {
    out->push_back(fmt::format("{}/{} is not what ledger line {} announced (purpose, variant or candidate differ)",
                               a.run, a.name, open->seq + 1));
  }
}

/// A run gives one measurement, before it ends; what stands behind its end, or beside another one, was put there later.
void check_run(Evidence& evidence, const std::string& id, const PairsArtifact& a, Sentences* out) {
  const LedgerLine* listed = evidence.listing(id);
  Sentences ignored;
  for (const LedgerLine& line : evidence.view().lines) {
    if (line.opens != a.open_seq || a.open_seq < 0) continue;
    if (line.kind == "run_close" && line.seq < listed->seq) {
      out->push_back(fmt::format("{}/{} was listed after its run had ended", a.run, a.name));
    }
    if (line.kind != "object" || line.object == id) continue;
    const PairsArtifact* other = evidence.pairs(line.object, &ignored);
    const bool counts =
        other && std::any_of(other->pairs.begin(), other->pairs.end(), [](const Pair& pair) { return pair.valid; });
    if (counts) {
      out->push_back(fmt::format("{}/{} and {}/{} are two measurements of one announced run", a.run, a.name, other->run,
                                 other->name));
    }
  }
}

/// A measurement that names a lock was made under the goal's present lock or one that was amended into it.
void check_lock(Evidence& evidence, const PairsArtifact& a, Sentences* out) {
  if (a.lock.empty()) return;
  bool known = false;
  for (const LedgerLine& line : evidence.view().lines) {
    if (line.kind == "goal") known = false;
    known = known || ((line.kind == "goal" || line.kind == "amend") && line.object == a.lock);
  }
  if (!known) out->push_back(fmt::format("{}/{} was measured under the lock of another goal", a.run, a.name));
}

}  // namespace

std::vector<std::string> announcement_faults(Evidence& evidence, const std::string& id, const PairsArtifact& artifact) {
  Sentences out;
  check_line(evidence, id, artifact, &out);
  check_run(evidence, id, artifact, &out);
  check_lock(evidence, artifact, &out);
  return out;
}

}  // namespace hc::ledger
