// The iteration log, read from and written to the ledger.
#include "contract/iteration_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace hc::contract {

std::vector<Iteration> iterations(const ledger::LedgerView& view, const std::string& run) {
  std::vector<Iteration> out;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind != "log" || line.run != run) continue;
    out.push_back({line.seq, line.time, line.variant, line.purpose, line.note, line.subject});
  }
  return out;
}

std::string short_verdict(const ledger::CheckReport& report) {
  const auto passing = std::count_if(report.variants.begin(), report.variants.end(),
                                     [](const auto& v) { return v.verdict == ledger::Verdict::pass; });
  std::string word = report.met ? "MET" : report.exit_code == ledger::kExitUndecided ? "UNDECIDED" : "UNMET";
  if (report.exit_code == ledger::kExitBroken) word = "BROKEN";
  std::string out = fmt::format("{} {}/{}", word, passing, report.variants.size());
  if (report.geomean.value > 0) out += fmt::format(", geomean {:.4f}", report.geomean.value);
  return out;
}

Result<Iteration> add_iteration(ledger::Store& store, const std::string& run, const ledger::CheckReport& report,
                                Iteration iteration) {
  if (iteration.idea.empty() || iteration.result.empty()) {
    return Diagnostic{.code = Code::goal_error, .message = "a log line needs the idea tried and its result"};
  }
  if (iteration.variant.empty() && !report.variants.empty()) iteration.variant = report.variants.front().name;
  const auto known = std::find_if(report.variants.begin(), report.variants.end(),
                                  [&](const auto& v) { return v.name == iteration.variant; });
  if (known == report.variants.end()) {
    return Diagnostic{.code = Code::goal_error,
                      .message = fmt::format("the goal has no variant \"{}\"", iteration.variant)};
  }
  if (iteration.verdict.empty()) {
    const std::string now =
        known->measured ? fmt::format("{} {:.4f} {}", known->name, known->ratio, ledger::verdict_name(known->verdict))
                        : known->name + " not measured";
    iteration.verdict = fmt::format("{}; {}", now, short_verdict(report));
  }
  ledger::LedgerLine line;
  line.kind = "log";
  line.run = run;
  line.variant = iteration.variant;
  line.purpose = iteration.idea;
  line.subject = iteration.verdict;
  line.note = iteration.result;
  iteration.seq = HC_TRY(store.append(std::move(line)));
  iteration.time = store.view().lines.back().time;
  return iteration;
}

std::string iteration_line(const Iteration& i) {
  std::string time = i.time.substr(0, 16);
  std::replace(time.begin(), time.end(), 'T', ' ');
  return fmt::format("{}  {}  {}: {} [{}]", time, i.variant, i.idea, i.result, i.verdict);
}

}  // namespace hc::contract
