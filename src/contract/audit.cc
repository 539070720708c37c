// Draws measurements, replays them and holds every number that rests on them against the replay.
#include "contract/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/files.h"
#include "base/hash.h"
#include "contract/audit_evidence.h"

namespace hc::contract {
namespace {

constexpr double kSame = 1e-9;  ///< two ways of computing the same number may differ by this share

bool same(double a, double b) {
  if (std::isinf(a) || std::isinf(b)) return std::isinf(a) && std::isinf(b);
  return std::fabs(a - b) <= kSame * std::max({std::fabs(a), std::fabs(b), 1e-300});
}

/// What a lock agreed for one variant.
struct Agreed {
  double limit = 0, alpha = 0, rate_tolerance = 0;
  bool ahead_when_slow = false, calibrated = false;
  std::vector<int> looks;
  std::vector<std::string> baselines;
  std::string fault;
};

Agreed agreed_in(const AuditDocument& lock, const std::string& variant) {
  Agreed out;
  out.fault = lock.fault;
  if (!out.fault.empty()) return out;
  const Json criteria = lock.json.value("criteria", Json::object());
  out.alpha = number_of(criteria, "alpha", 0);
  out.rate_tolerance = number_of(criteria, "rate_tolerance", 0);
  out.ahead_when_slow = number_of(lock.json.value("rules", Json::object()), "version", 1) >= 2;
  out.calibrated = out.ahead_when_slow && number_of(criteria, "aa_pairs", 0) > 0;
  for (const Json& look : list_of(criteria, "looks")) {
    if (look.is_number_integer()) out.looks.push_back(look.get<int>());
  }
  for (const Json& baseline : list_of(lock.json, "baselines")) out.baselines.push_back(text_of(baseline, "name"));
  for (const Json& one : list_of(lock.json, "variants")) {
    if (text_of(one, "name") == variant) {
      out.limit = number_of(one, "target", 0) * (1 - number_of(criteria, "margin", 1));
    }
  }
  if (out.alpha <= 0 || out.looks.empty()) out.fault = "its lock agrees on no level or no looks";
  if (out.limit <= 0) out.fault = fmt::format("its lock does not have the variant {}", variant);
  return out;
}

/// One baseline computed anew.
struct Replayed {
  AuditBounds bounds;
  std::string verdict = "OPEN";
  std::string fault;
};

Replayed replay_baseline(AuditEvidence& evidence, const AuditRecord& record, const Agreed& agreed,
                         const std::string& baseline) {
  Replayed out;
  size_t runs = 0;
  std::optional<std::vector<AuditRound>> rounds = evidence.pooled(record, baseline, &runs);
  if (!rounds) {
    out.fault = fmt::format("a reading of {} or of the candidate is no positive time", baseline);
    return out;
  }
  int look = 0;
  for (const int agreed_look : agreed.looks) {
    if (agreed_look <= static_cast<int>(rounds->size())) look = std::max(look, agreed_look);
  }
  if (runs == 1 && look > 0) rounds->resize(static_cast<size_t>(look));
  const int announced = evidence.announced(record.variant, evidence.subject_of(record), record.before);
  const double alpha = agreed.alpha / static_cast<double>(agreed.looks.size()) / std::exp2(announced - 1);
  out.bounds = audit_bounds(*rounds, alpha);
  bool often_slow = false;
  AuditBounds fast = out.bounds;
  if (!agreed.ahead_when_slow) fast.slowest = 0;
  out.bounds = audit_modes(fast, agreed.limit, agreed.rate_tolerance, &often_slow);
  if (look > 0 && out.bounds.lower >= agreed.limit && !often_slow) out.verdict = "PASS";
  if (look > 0 && out.bounds.upper < agreed.limit) out.verdict = "FAIL";
  return out;
}

void compare(const AuditRecord& record, const AuditNumbers& recorded, const Replayed& now, const Agreed& agreed,
             AuditedItem* item) {
  const auto number = [&](const char* name, double was, double is) {
    if (same(was, is)) return;
    item->differences.push_back(fmt::format("{} records {} {:.9g} of {} against {}; the replay gives {:.9g}",
                                            record.what, name, was, record.variant, recorded.baseline, is));
  };
  number("the ratio", recorded.ratio, now.bounds.ratio);
  number("the lower bound", recorded.lower, now.bounds.lower);
  number("the upper bound", recorded.upper, now.bounds.upper);
  if (recorded.pairs >= 0) number("the rounds", recorded.pairs, now.bounds.rounds);
  if (recorded.used >= 0) number("the fast rounds", recorded.used, now.bounds.used);
  // other rules may hold a PASS back to OPEN in the goal's entry, and the noise of A/A a FAIL; nothing turns an answer
  // round
  const bool held_back =
      record.goal_entry && recorded.verdict == "OPEN" && (now.verdict == "PASS" || agreed.calibrated);
  if (recorded.verdict != now.verdict && !held_back) {
    item->differences.push_back(fmt::format("{} records {} for {} against {}; the replay gives {}", record.what,
                                            recorded.verdict, record.variant, recorded.baseline, now.verdict));
  }
}

/// The best baseline's ratio and name, and bounds and verdict that hold against all.
Replayed combined(const std::vector<std::pair<std::string, Replayed>>& all, std::string* best) {
  Replayed out = all.front().second;
  *best = all.front().first;
  bool every_pass = true, any_fail = false;
  for (const auto& [name, one] : all) {
    if (one.bounds.ratio < out.bounds.ratio) {
      out.bounds.ratio = one.bounds.ratio;
      *best = name;
    }
    out.bounds.lower = std::min(out.bounds.lower, one.bounds.lower);
    out.bounds.upper = std::min(out.bounds.upper, one.bounds.upper);
    every_pass = every_pass && one.verdict == "PASS";
    any_fail = any_fail || one.verdict == "FAIL";
  }
  out.verdict = any_fail ? "FAIL" : every_pass ? "PASS" : "OPEN";
  return out;
}

/// Baselines of the lock that the record's confirming runs measured.
std::vector<std::string> measured(AuditEvidence& evidence, const AuditRecord& record, const Agreed& agreed) {
  std::vector<std::string> out;
  for (const std::string& name : agreed.baselines) {
    size_t runs = 0;
    const auto rounds = evidence.pooled(record, name, &runs);
    if (runs > 0 || !rounds) out.push_back(name);
  }
  return out;
}

void check_record(AuditEvidence& evidence, const AuditRecord& record, AuditedItem* item) {
  const Agreed agreed = agreed_in(evidence.document(record.lock), record.variant);
  std::string fault = agreed.fault;
  for (const std::string& id : record.evidence) {
    if (fault.empty()) fault = evidence.document(id).fault;
  }
  std::vector<std::pair<std::string, Replayed>> all;
  if (fault.empty()) {
    for (const std::string& name : measured(evidence, record, agreed)) {
      all.emplace_back(name, replay_baseline(evidence, record, agreed, name));
      if (!all.back().second.fault.empty()) fault = all.back().second.fault;
    }
  }
  if (fault.empty() && all.empty()) fault = "none of its baselines was measured";
  if (!fault.empty()) {
    item->differences.push_back(fmt::format("{} cannot be replayed for {}: {}", record.what, record.variant, fault));
    return;
  }
  ++item->records;
  if (record.goal_entry) {
    std::string best;
    const Replayed now = combined(all, &best);
    compare(record, record.numbers.front(), now, agreed, item);
    if (best != record.numbers.front().baseline) {
      item->differences.push_back(fmt::format("{} names {} as the best baseline of {}; the replay gives {}",
                                              record.what, record.numbers.front().baseline, record.variant, best));
    }
    return;
  }
  for (const auto& [name, now] : all) {
    const auto recorded = std::find_if(record.numbers.begin(), record.numbers.end(),
                                       [&n = name](const AuditNumbers& numbers) { return numbers.baseline == n; });
    if (recorded == record.numbers.end()) {
      item->differences.push_back(fmt::format("{} leaves out the baseline {}", record.what, name));
    } else {
      compare(record, *recorded, now, agreed, item);
    }
  }
}

AuditedItem replay(AuditEvidence& evidence, const ledger::LedgerLine& line) {
  AuditedItem item;
  item.object = line.object;
  item.name = line.name;
  item.variant = line.variant;
  const AuditDocument& document = evidence.document(line.object);
  if (!document.fault.empty()) {
    item.differences.push_back(document.fault);
    return item;
  }
  const std::optional<std::string> copy = read_file(join_path(evidence.artifacts(), line.name));
  if (!copy || sha256_hex(*copy) != line.object) {
    item.differences.push_back(fmt::format("artifacts/{} is not the object that the ledger lists", line.name));
  }
  if (text_of(document.json, "variant") != line.variant || text_of(document.json, "purpose") != "confirm") {
    item.differences.push_back(fmt::format("artifacts/{} is not a confirming run of {}", line.name, line.variant));
  }
  for (const Json& pair : list_of(document.json, "pairs")) {
    item.rounds += pair.is_object() && pair.contains("valid") && pair["valid"] == true;
  }
  for (const AuditRecord& record : evidence.records_on(line.object)) check_record(evidence, record, &item);
  return item;
}

/// A random part of the lines, in their order.
std::vector<const ledger::LedgerLine*> draw(std::vector<const ledger::LedgerLine*> lines, double share, uint64_t seed) {
  const auto wanted = static_cast<size_t>(std::ceil(share * static_cast<double>(lines.size()) - 1e-9));
  const size_t count = std::clamp<size_t>(wanted, 1, lines.size());
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < count; ++i) std::swap(lines[i], lines[i + random() % (lines.size() - i)]);
  lines.resize(count);
  std::sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) { return a->seq < b->seq; });
  return lines;
}

}  // namespace

bool AuditReport::agrees() const {
  return std::all_of(items.begin(), items.end(), [](const AuditedItem& item) { return item.differences.empty(); });
}

Result<AuditReport> audit(const AuditOptions& options) {
  AuditEvidence evidence(options.artifacts_dir, HC_TRY(read_goal(options.artifacts_dir)));
  AuditReport report;
  std::random_device entropy;
  report.seed = options.seed;
  while (report.seed == 0) report.seed = entropy();
  const std::vector<const ledger::LedgerLine*> all = evidence.confirming();
  report.confirming = all.size();
  if (all.empty()) {
    const Goal goal = HC_TRY(read_goal(options.artifacts_dir));
    const Result<ledger::Lock> lock = read_lock(options.artifacts_dir, goal.lock);
    return Diagnostic{.code = Code::goal_error, .message = "there is no confirming measurement to audit yet"}.fix(
        fmt::format("`hillclimb climb {}` makes them",
                    lock.ok() ? ledger::task_argument(lock.value()) : std::string("TASK")));
  }
  for (const ledger::LedgerLine* line : draw(all, options.share, report.seed)) {
    report.items.push_back(replay(evidence, *line));
  }
  for (const std::string& sentence : evidence.view().broken) report.items.front().differences.push_back(sentence);
  return report;
}

std::string audit_text(const AuditReport& report) {
  const bool agrees = report.agrees();
  std::string out =
      fmt::format("{}: {} of {} confirming measurements replayed, seed {}\n",
                  agrees ? "AUDIT AGREES" : "AUDIT DISAGREES", report.items.size(), report.confirming, report.seed);
  for (const AuditedItem& item : report.items) {
    // a run that nothing rests on yet has only its hashes to be held against
    const char* word = !item.differences.empty() ? "DIFFER" : item.records > 0 ? "same  " : "hashed";
    out += fmt::format("  {}  artifacts/{}  {}  {} rounds, {} {} computed anew\n", word, item.name,
                       item.object.substr(0, 12), item.rounds, item.records, item.records == 1 ? "record" : "records");
    for (const std::string& sentence : item.differences) out += fmt::format("          {}\n", sentence);
  }
  out += "Hashes were taken anew and ratios, bounds and verdicts computed by a second implementation.\n";
  return out;
}

}  // namespace hc::contract
