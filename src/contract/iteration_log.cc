// The iteration log, read from and written to the ledger.
#include "contract/iteration_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/backlog.h"
#include "contract/faults.h"

namespace hc::contract {
namespace {

/// `i` and a number: what only the backlog gives out.
bool is_idea_id(const std::string& text) {
  return text.size() > 1 && text.front() == 'i' && text.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

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
    return usage_error("a log line needs the idea tried and its result");
  }
  if (is_idea_id(iteration.idea)) {
    std::vector<std::string> ids;
    for (const Idea& one : backlog(store.view(), run)) ids.push_back(one.id);
    if (std::find(ids.begin(), ids.end(), iteration.idea) == ids.end()) {
      return usage_error(fmt::format("the backlog has no idea `{}`", iteration.idea))
          .fix(fmt::format("its ideas are: {}; a few words in place of an id do as well", listed(ids)));
    }
  }
  if (iteration.variant.empty() && !report.variants.empty()) iteration.variant = report.variants.front().name;
  const auto known = std::find_if(report.variants.begin(), report.variants.end(),
                                  [&](const auto& v) { return v.name == iteration.variant; });
  if (known == report.variants.end()) {
    std::vector<std::string> names;
    for (const ledger::VariantVerdict& v : report.variants) names.push_back(v.name);
    return usage_error(fmt::format("the goal has no variant \"{}\"", iteration.variant))
        .fix("its variants are " + listed(names));
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
