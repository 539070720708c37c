// Reading a run's life from ledger and git.
#include "report/history.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <limits>
#include <map>

#include "contract/git.h"

namespace hc::report {
namespace {

constexpr char kField = '\x1f';
constexpr char kRecord = '\x1e';

/// The line that ends an announced run.
const ledger::LedgerLine* close_of(const ledger::LedgerView& view, int64_t seq) {
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "run_close" && line.opens == seq) return &line;
  }
  return nullptr;
}

bool is_pairs(ledger::Evidence& evidence, const ledger::LedgerLine& line) {
  std::vector<std::string> ignored;
  const std::string* text = evidence.text(line.object, &ignored);
  if (!text) return false;
  const Result<std::string> kind = ledger::artifact_kind(*text, line.name);
  return kind.ok() && kind.value() == "pairs";
}

double limit_of(const ledger::Lock& lock, const std::string& variant) {
  for (const ledger::LockedVariant& v : lock.variants) {
    if (v.name == variant) return v.target * (1 - lock.criteria.margin);
  }
  return std::numeric_limits<double>::infinity();
}

/// A ratio of the candidate as it was measured.
struct Reading {
  double time = 0;
  std::string variant;
  double ratio = 0;
};

std::vector<Reading> readings(ledger::Evidence& evidence, const ledger::Lock& lock, const std::string& run) {
  std::vector<Reading> out;
  std::vector<std::string> ignored;
  for (const ledger::LedgerLine& line : evidence.view().lines) {
    if (line.kind != "object" || line.run != run || line.variant.empty() || !is_pairs(evidence, line)) continue;
    const ledger::PairsArtifact* a = evidence.pairs(line.object, &ignored);
    const bool counts = a && (a->purpose == ledger::Purpose::confirm || a->purpose == ledger::Purpose::nominate);
    if (!counts || ledger::is_back_to_back(*a) != lock.back_to_back) continue;
    const double ratio = ledger::lowest_ratio(*a, lock);
    if (ratio > 0) out.push_back({unix_time(line.time), line.variant, ratio});
  }
  return out;
}

/// `sm1 0.912 to 1.020, sm2 first measured at 0.950`.
std::string effect_between(const std::vector<Reading>& all, double from, double to) {
  std::map<std::string, double> before, after;
  for (const Reading& r : all) {
    if (r.time < from) before[r.variant] = r.ratio;
    if (r.time >= from && r.time < to) after[r.variant] = r.ratio;
  }
  std::string out;
  for (const auto& [variant, ratio] : after) {
    if (!out.empty()) out += ", ";
    const auto had = before.find(variant);
    out += had == before.end() ? fmt::format("{} first measured at {:.3f}", variant, ratio)
                               : fmt::format("{} {:.3f} to {:.3f}", variant, had->second, ratio);
  }
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == at) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// Runs of blanks and line ends become one blank.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// When the present goal was made, or 0.
double goal_time(const ledger::LedgerView& view) {
  double out = 0;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "goal") out = unix_time(line.time);
  }
  return out;
}

Result<std::string> log_since(const contract::Git& git, const std::string& base, const ledger::LedgerView& view,
                              Commits* out) {
  const std::vector<std::string> format = {"log", "--reverse", "--format=%x1e%H%x1f%at%x1f%s%x1f%b%x1f", "--shortstat"};
  const Result<std::string> left = git.base(base, out->head);
  if (left.ok()) {
    std::vector<std::string> args = format;
    args.push_back(left.value() + ".." + out->head);
    std::string text = HC_TRY(git.run(args));
    if (!text.empty()) {
      out->since = fmt::format("the commit {}", left.value().substr(0, 10));
      out->base = left.value();
      return text;
    }
  } else if (!base.empty()) {
    return left.error();
  }
  const double made = goal_time(view);
  if (made <= 0) return std::string();
  out->since = "the goal was made";
  std::vector<std::string> args = format;
  args.push_back(fmt::format("--since=@{:.0f}", made));
  args.push_back(out->head);
  return git.run(args);
}

}  // namespace

double unix_time(const std::string& utc) {
  std::tm tm{};
  double seconds = 0;
  const int read = std::sscanf(utc.c_str(), "%d-%d-%dT%d:%d:%lf", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                               &tm.tm_min, &seconds);
  if (read != 6) return 0;
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  return static_cast<double>(::timegm(&tm)) + seconds;
}

std::vector<RunLine> run_history(ledger::Evidence& evidence, const ledger::Lock& lock, const std::string& run) {
  std::vector<RunLine> out;
  std::map<int64_t, size_t> at;
  std::vector<std::string> ignored;
  for (const ledger::LedgerLine& line : evidence.view().lines) {
    if (line.run != run) continue;
    if (line.kind == "run_open" && line.purpose != "check") {
      const ledger::LedgerLine* close = close_of(evidence.view(), line.seq);
      at[line.seq] = out.size();
      out.push_back({line.time, line.purpose, line.variant, close ? close->note : "", "", 0, false});
    }
    const auto open = line.kind == "object" ? at.find(line.opens) : at.end();
    if (open == at.end()) continue;
    RunLine& of = out[open->second];
    of.artifact = "artifacts/" + line.name;
    if (!is_pairs(evidence, line)) continue;
    const ledger::PairsArtifact* a = evidence.pairs(line.object, &ignored);
    if (a) of.ratio = ledger::lowest_ratio(*a, lock);
    if (a && ledger::is_back_to_back(*a) != lock.back_to_back) of.purpose += ", back to back";
    of.won = of.ratio >= limit_of(lock, line.variant);
  }
  return out;
}

std::vector<std::string> amendments(const ledger::LedgerView& view) {
  std::vector<std::string> out;
  for (const ledger::LedgerLine& line : view.lines) {
    if (line.kind == "goal") out.clear();
    if (line.kind == "amend") out.push_back(fmt::format("{}: {}", line.time.substr(0, 16), line.note));
  }
  return out;
}

Commits gather_commits(const std::string& folder, const std::string& base, const std::string& head,
                       ledger::Evidence& evidence, const ledger::Lock& lock, const std::string& run) {
  Commits out;
  const Result<contract::Git> git = contract::Git::open(folder);
  if (!git.ok()) {
    out.trouble = "the artifacts lie in no git work tree";
    return out;
  }
  const Result<std::string> known = git.value().commit(head.empty() ? "HEAD" : head);
  if (!known.ok()) {
    out.trouble = "the repository has no commit yet";
    return out;
  }
  out.head = known.value();
  const Result<std::string> log = log_since(git.value(), base, evidence.view(), &out);
  if (!log.ok()) {
    out.trouble = log.error().message;
    return out;
  }
  std::vector<double> times;
  for (const std::string& record : split(log.value(), kRecord)) {
    const std::vector<std::string> fields = split(record, kField);
    if (fields.size() < 5) continue;
    times.push_back(std::atof(fields[1].c_str()));
    CommitLine line{fields[0].substr(0, 10), one_line(fields[2]), one_line(fields[3]), "", 0};
    (void)std::sscanf(fields[4].c_str(), " %d", &line.files);
    out.lines.push_back(std::move(line));
  }
  const std::vector<Reading> measured = readings(evidence, lock, run);
  for (size_t i = 0; i < out.lines.size(); ++i) {
    const double until = i + 1 < times.size() ? times[i + 1] : std::numeric_limits<double>::infinity();
    out.lines[i].effect = effect_between(measured, times[i], until);
  }
  if (out.lines.empty()) out.trouble = "there are no commits since the goal was made";
  return out;
}

}  // namespace hc::report
