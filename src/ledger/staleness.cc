// Evidence of a candidate that would be generated differently today.
#include "ledger/staleness.h"

#include <algorithm>
#include <set>

namespace hc::ledger {

bool is_evidence(const GoalShape& shape, const std::string& object) {
  return std::find(shape.evidence.begin(), shape.evidence.end(), object) != shape.evidence.end();
}

namespace {

const LedgerLine* opening(const LedgerView& view, const LedgerLine& line) {
  const bool there = line.opens >= 0 && line.opens < static_cast<int64_t>(view.lines.size());
  return there ? &view.lines[static_cast<size_t>(line.opens)] : nullptr;
}

/// Whom the verdict is about: the candidate of the last confirming evidence, or else of the last nomination.
std::string judged_subject(const LedgerView& view, const GoalShape& shape) {
  std::string nominated, confirmed;
  for (const LedgerLine& line : view.lines) {
    if (line.kind != "object" || !is_evidence(shape, line.object)) continue;
    const LedgerLine* opened = opening(view, line);
    if (opened) (opened->purpose == "confirm" ? confirmed : nominated) = opened->subject;
  }
  return confirmed.empty() ? nominated : confirmed;
}

}  // namespace

bool marked_stale(const LedgerView& view, const GoalShape& shape) {
  int64_t declared = -1, measured = -1;
  std::set<std::string> seen;
  const std::string judged = judged_subject(view, shape);
  for (const LedgerLine& line : view.lines) {
    if (line.kind == "goal") declared = -1;
    if (line.kind == "stale" && line.variant == shape.name) declared = line.seq;
    if (line.kind != "object" || !is_evidence(shape, line.object) || !seen.insert(line.object).second) continue;
    if (const LedgerLine* opened = opening(view, line); opened && opened->subject == judged) measured = line.seq;
  }
  return declared > measured && !shape.evidence.empty();
}

}  // namespace hc::ledger
