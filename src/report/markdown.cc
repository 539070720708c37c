// The report as Markdown.
#include <fmt/format.h>

#include <cmath>

#include "report/ceiling.h"
#include "report/pages.h"

namespace hc::report {
namespace {

/// A vertical bar would end a table's cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string table_head(const Model& m) {
  const std::string unit = m.units.size() == 1 ? " " + m.units[0] : "";
  std::string head = fmt::format("| variant | before{0} | after{0} |", unit), rule = "|---|--:|--:|";
  for (const ledger::LockedBaseline& b : m.lock.baselines) {
    head += fmt::format(" {}{} |", b.name, unit);
    rule += "--:|";
  }
  if (m.has_ceiling) {
    head += fmt::format(" streaming copy{} |", unit);
    rule += "--:|";
  }
  head += " before ratio | ratio | bounds | verdict | pairs | artifact |\n";
  return head + rule + "--:|--:|:-:|:-:|--:|---|\n";
}

/// The raw files behind a row: of the ratio, and of the "before" column.
std::string files_text(const Row& row) {
  std::string out = row.artifact.empty() ? "–" : "`" + row.artifact + "`";
  for (size_t i = 1; i < row.pooled.size(); ++i) out += ", `" + row.pooled[i] + "`";
  if (!row.before_artifact.empty() && row.before_artifact != row.artifact)
    out += ", before `" + row.before_artifact + "`";
  return out;
}

std::string table_row(const Model& m, const Row& row) {
  const auto now = [&](const std::string& text) { return markdown_links(m, text, row.pooled); };
  const auto then = [&](const std::string& text) { return markdown_link(m, text, row.before_artifact); };
  std::string out =
      fmt::format("| {} | {} | {} |", cell(row.name), then(speed_text(row.before)), now(speed_text(row.after)));
  for (const Speed& b : row.baselines)
    out += fmt::format(" {} |",
                       b.nominated.empty() ? now(baseline_text(b)) : markdown_link(m, baseline_text(b), b.nominated));
  if (m.has_ceiling) out += fmt::format(" {} |", now(speed_text(row.ceiling)));
  return out + fmt::format(" {} | {} | {} | {}{} | {} | {} |\n", then(ratio_text(row.before_ratio)),
                           now(ratio_text(row.verdict.ratio)), bounds_text(row.verdict),
                           ledger::verdict_name(row.verdict.verdict), row.stale ? " (stale)" : "",
                           now(std::to_string(row.valid_pairs)), files_text(row));
}

/// Arithmetic means of the absolute columns, geometric means of the ratios; absolute means only within one unit.
std::string summary_row(const Model& m) {
  const bool one_unit = m.units.size() == 1;
  const auto mean = [&](auto value) {
    std::vector<double> values;
    for (const Row& row : m.rows) values.push_back(value(row));
    return one_unit ? speed_text(arithmetic_mean(values)) : std::string("–");
  };
  std::string out = "| **mean / geomean** |";
  out += fmt::format(" {} | {} |", mean([](const Row& r) { return r.before; }),
                     mean([](const Row& r) { return r.after; }));
  for (size_t i = 0; i < m.lock.baselines.size(); ++i) out += fmt::format(" {} |", baseline_mean_text(m, i));
  if (m.has_ceiling) out += fmt::format(" {} |", mean([](const Row& r) { return r.ceiling; }));
  std::vector<double> before;
  for (const Row& row : m.rows) before.push_back(row.before_ratio);
  const ledger::Geomean& g = m.check.geomean;
  return out + fmt::format(" {} | **{}** | {} | | | |\n", ratio_text(geometric_mean(before)), ratio_text(g.value),
                           g.lower > 0 ? fmt::format("[{:.3f}, –]", g.lower) : "–");
}

/// What a reading of a small kernel is made of besides the kernel.
std::string empty_launches(const Model& m) {
  std::string out;
  for (const Row& row : m.rows) {
    if (!row.empty_launches.empty()) out += fmt::format("* {}: {}\n", row.name, row.empty_launches);
  }
  return out.empty() ? "" : "An empty launch makes up over 5 % of a reading, in each arm alike:\n\n" + out + "\n";
}

std::string tuning_section(const Model& m) {
  std::string out = "## Tuning\n\n" + machine_line(m) +
                    "\n\n| variant | candidates | outcomes | space | time | seed | ended | winner | artifact |\n";
  out += "|---|--:|---|--:|--:|--:|---|---|---|\n";
  bool any = false;
  for (const Row& row : m.rows) {
    if (!row.tune.present) continue;
    any = true;
    std::string outcomes;
    for (const auto& [name, count] : row.tune.outcomes)
      outcomes += fmt::format("{}{} {}", outcomes.empty() ? "" : ", ", count, name);
    out += fmt::format("| {} | {} | {} | {:.0f} | {:.1f} s | {} | {} | `{}` | `{}` |\n", cell(row.name),
                       row.tune.candidates, cell(outcomes), row.tune.space, row.tune.seconds, row.tune.seed,
                       cell(row.tune.how()), cell(row.tune.winner), row.tune.file);
  }
  return any ? out + "\n" : "";
}

std::string losses_section(const Model& m) {
  if (m.losses.empty()) return "";
  std::string out = "## Why candidates fell\n\n| count | outcome | reason | for example |\n|--:|---|---|---|\n";
  for (const Loss& loss : m.losses) {
    out += fmt::format("| {} | {} | {} | `{}` |\n", loss.count, loss.outcome, cell(loss.reason), cell(loss.example));
  }
  return out + "\n";
}

}  // namespace

std::string ratio_text(double ratio) { return ratio > 0 && std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "–"; }

std::string speed_text(double speed) {
  if (!(speed > 0)) return "–";
  return speed >= 100     ? fmt::format("{:.0f}", speed)
         : speed >= 9.995 ? fmt::format("{:.1f}", speed)
                          : fmt::format("{:.2f}", speed);
}

std::string baseline_text(const Speed& baseline) {
  return speed_text(baseline.value) + (baseline.nominated.empty() ? "" : " (nominated)");
}

std::string baseline_mean_text(const Model& m, size_t index) {
  Speed mean;
  std::vector<double> values;
  for (const Row& row : m.rows) {
    values.push_back(row.baselines[index].value);
    if (!row.baselines[index].nominated.empty()) mean.nominated = row.baselines[index].nominated;
  }
  mean.value = arithmetic_mean(values);
  return m.units.size() == 1 && mean.value > 0 ? baseline_text(mean) : "–";
}

std::string bounds_text(const ledger::VariantVerdict& v) {
  if (!v.measured || v.lcb <= 0) return "–";
  return fmt::format("[{:.3f}, {}]", v.lcb, std::isfinite(v.ucb) ? fmt::format("{:.3f}", v.ucb) : "∞");
}

std::string machine_line(const Model& m) {
  std::string out;
  for (const auto& [name, value] : m.machine) out += fmt::format("{}{}: {}", out.empty() ? "" : " · ", name, value);
  for (const auto& [name, value] : m.versions) out += fmt::format("{}{} {}", out.empty() ? "" : " · ", name, value);
  for (const Row& row : m.rows) {
    if (row.timer.empty()) continue;
    return out + fmt::format("{}timer: {}{}", out.empty() ? "" : " · ", row.timer,
                             m.lock.back_to_back ? " (launches in a row over rotated inputs)" : "");
  }
  return out;
}

std::string markdown_page(const Model& m, const std::string& generated) {
  std::string out = fmt::format("# {}{}: {}\n\n", m.interim ? "INTERIM: " : "", m.lock.task, m.state);
  out += m.headline + "\n\n";
  if (!m.question.empty()) out += "> " + m.question + "\n\n";
  out += "## The checker\n\n```\n" + m.check.text + "```\n\n";
  out += "## Speed\n\n" + machine_line(m) + "\n\n";
  out +=
      "A ratio is the best baseline's time divided by ours: above 1 is faster. Bounds are one-sided at 95 % over "
      "fresh-process pairs.\n\n";
  out += table_head(m);
  for (const Row& row : m.rows) out += table_row(m, row);
  out += summary_row(m) + "\n" + empty_launches(m);
  if (const std::string pooled = pooled_text(m); !pooled.empty()) out += pooled + "\n\n";
  if (const std::string share = copy_share_text(m); !share.empty()) out += share + "\n\n";
  out += "Variants:\n\n";
  for (const Row& row : m.rows) out += fmt::format("* {}: `{}`\n", row.name, row.inputs);
  out += "\n" + markdown_life(m) + tuning_section(m) + losses_section(m);
  out += "## Risks\n\n";
  for (const std::string& risk : m.risks) out += "* " + risk + "\n";
  if (m.risks.empty()) out += "None was flagged.\n";
  out += fmt::format("\n---\nRun {}, {} measurements and tunes announced, {} objects stored; written {}{}\n", m.run,
                     m.announced, m.stored, generated, m.interim ? "; INTERIM, the goal is not met" : "");
  return out + "\n" + stamp(m, generated);
}

}  // namespace hc::report
