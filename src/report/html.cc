// The report as one self-contained HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/ceiling.h"
#include "report/pages.h"
#include "report/style.h"
#include "report/svg.h"

namespace hc::report {
namespace {

std::string verdict_badge(const Row& row) {
  const std::string_view word = ledger::verdict_name(row.verdict.verdict);
  const char* style = row.verdict.verdict == ledger::Verdict::pass   ? "pass"
                      : row.verdict.verdict == ledger::Verdict::fail ? "fail"
                                                                     : "open";
  const std::string reason = row.verdict.reason.empty() ? "" : fmt::format(" title=\"{}\"", escape(row.verdict.reason));
  return fmt::format("<span class=\"badge {}\"{}>{}</span>{}", style, reason, word, row.stale ? " stale" : "");
}

std::string tile(const std::string& label, const std::string& value, const std::string& note) {
  return fmt::format(
      "<div class=\"tile\"><div class=\"label\">{}</div><div class=\"number\">{}</div><div "
      "class=\"note\">{}</div></div>",
      escape(label), escape(value), escape(note));
}

std::string hero(const Model& m) {
  const std::string style = m.state == "MET"                                     ? "pass"
                            : m.state == "UNMET" || m.state == "EVIDENCE BROKEN" ? "fail"
                                                                                 : "open";
  std::string out = fmt::format("<header class=\"{}\"><div class=\"state\">{}{}</div><h1>{}</h1><p>{}</p>", style,
                                m.interim ? "<span class=\"interim\">INTERIM</span> " : "", escape(m.state),
                                escape(m.lock.task), escape(m.headline));
  if (!m.question.empty()) out += "<blockquote>" + escape(m.question) + "</blockquote>";
  return out + "</header>\n";
}

std::string tiles(const Model& m) {
  int passing = 0, valid = 0, voided = 0, candidates = 0;
  const Row *worst = nullptr, *best = nullptr;
  for (const Row& row : m.rows) {
    passing += row.verdict.verdict == ledger::Verdict::pass;
    valid += row.valid_pairs;
    voided += row.void_pairs;
    candidates += row.tune.candidates;
    if (!row.verdict.measured) continue;
    if (!worst || row.verdict.ratio < worst->verdict.ratio) worst = &row;
    if (!best || row.verdict.ratio > best->verdict.ratio) best = &row;
  }
  const ledger::Geomean& g = m.check.geomean;
  std::string out = "<section class=\"tiles\">";
  out += tile("geomean of ratios", ratio_text(g.value),
              g.lower > 0 ? fmt::format("lower bound {:.3f}, minimum {:.3f}", g.lower, m.check.geomean_min)
                          : fmt::format("minimum {:.3f}", m.check.geomean_min));
  out += tile("variants passing", fmt::format("{} of {}", passing, m.rows.size()), "each against its best baseline");
  if (worst)
    out += tile("worst variant", ratio_text(worst->verdict.ratio),
                worst->name + " against " + worst->verdict.best_baseline);
  if (best)
    out +=
        tile("best variant", ratio_text(best->verdict.ratio), best->name + " against " + best->verdict.best_baseline);
  out +=
      tile("process pairs", std::to_string(valid), voided ? fmt::format("{} more were void", voided) : "none was void");
  out += tile("candidates tried", std::to_string(candidates), "each checked and recorded");
  return out + "</section>\n";
}

std::string table_head(const Model& m) {
  const std::string unit = m.units.size() == 1 ? fmt::format("<small>{}</small>", escape(m.units[0])) : "";
  std::string out = fmt::format(
      "<caption>{}</caption><thead><tr><th>variant</th><th class=\"num\">before {}</th><th class=\"num\">after {}</th>",
      escape(machine_line(m)), unit, unit);
  for (const ledger::LockedBaseline& b : m.lock.baselines)
    out += fmt::format("<th class=\"num\">{} {}</th>", escape(b.name), unit);
  if (m.has_ceiling) out += fmt::format("<th class=\"num\">streaming copy {}</th>", unit);
  return out +
         "<th class=\"num\">ratio "
         "before</th><th class=\"num\">ratio</th><th class=\"num\">bounds</th><th>verdict</th><th "
         "class=\"num\">pairs</th><th>artifact</th></tr></thead>";
}

std::string table_row(const Model& m, const Row& row) {
  const std::string unit = m.units.size() > 1 ? " " + row.unit : "";
  const auto link = [&](const std::string& text, const std::string& artifact) {
    if (artifact.empty() || text == "–") return escape(text);
    return fmt::format("<a href=\"{}\">{}</a>", escape(href(m, artifact)), escape(text));
  };
  const auto number = [&](const std::string& text) {
    return fmt::format("<td class=\"num\">{}</td>", html_links(m, text, row.pooled));
  };
  const auto earlier_number = [&](const std::string& text) {
    return fmt::format("<td class=\"num\">{}</td>", link(text, row.before_artifact));
  };
  std::string out =
      fmt::format("<tr><td><b>{}</b><div class=\"sub\">{}</div></td>", escape(row.name), escape(row.inputs));
  out +=
      earlier_number(speed_text(row.before)) +
      fmt::format("<td class=\"num strong\">{}{}</td>", html_links(m, speed_text(row.after), row.pooled), escape(unit));
  for (const Speed& b : row.baselines) {
    out += fmt::format("<td class=\"num\">{}</td>", b.nominated.empty() ? html_links(m, baseline_text(b), row.pooled)
                                                                        : link(baseline_text(b), b.nominated));
  }
  if (m.has_ceiling) out += number(speed_text(row.ceiling));
  out += earlier_number(ratio_text(row.before_ratio));
  out += fmt::format("<td class=\"num strong\">{}</td>", html_links(m, ratio_text(row.verdict.ratio), row.pooled)) +
         number(bounds_text(row.verdict));
  out += fmt::format("<td>{}</td><td class=\"num\">{}{}</td>", verdict_badge(row),
                     html_links(m, std::to_string(row.valid_pairs), row.pooled),
                     row.void_pairs ? fmt::format("<div class=\"sub\">{} void</div>", row.void_pairs) : "");
  std::string files = row.artifact;
  for (size_t i = 1; i < row.pooled.size(); ++i) files += ", " + row.pooled[i];
  const bool earlier = !row.before_artifact.empty() && row.before_artifact != row.artifact;
  return out + fmt::format("<td class=\"file\">{}{}</td></tr>\n", row.artifact.empty() ? "–" : escape(files),
                           earlier ? "<div class=\"sub\">before: " + escape(row.before_artifact) + "</div>" : "");
}

std::string table_foot(const Model& m) {
  const bool one_unit = m.units.size() == 1;
  const auto mean = [&](auto value) {
    std::vector<double> values;
    for (const Row& row : m.rows) values.push_back(value(row));
    return fmt::format("<td class=\"num\">{}</td>", one_unit ? speed_text(arithmetic_mean(values)) : "–");
  };
  std::string out = "<tfoot><tr><td>mean <span class=\"sub\">(ratios: geomean)</span></td>";
  out += mean([](const Row& r) { return r.before; }) + mean([](const Row& r) { return r.after; });
  for (size_t i = 0; i < m.lock.baselines.size(); ++i)
    out += fmt::format("<td class=\"num\">{}</td>", baseline_mean_text(m, i));
  if (m.has_ceiling) out += mean([](const Row& r) { return r.ceiling; });
  std::vector<double> before;
  for (const Row& row : m.rows) before.push_back(row.before_ratio);
  const ledger::Geomean& g = m.check.geomean;
  return out + fmt::format(
                   "<td class=\"num\">{}</td><td class=\"num strong\">{}</td><td "
                   "class=\"num\">{}</td><td></td><td></td><td></td></tr></tfoot>",
                   ratio_text(geometric_mean(before)), ratio_text(g.value),
                   g.lower > 0 ? fmt::format("[{:.3f}, –]", g.lower) : "–");
}

/// What a reading of a small kernel is made of besides the kernel.
std::string empty_launches(const Model& m) {
  std::string out;
  for (const Row& row : m.rows) {
    if (!row.empty_launches.empty()) out += "<li>" + escape(row.name + ": " + row.empty_launches) + "</li>";
  }
  if (out.empty()) return "";
  return "<p>An empty launch makes up over 5 % of a reading, in each arm alike:</p><ul>" + out + "</ul>";
}

std::string speed_section(const Model& m) {
  std::string out =
      "<section><h2>Speed</h2><p class=\"lead\">A ratio is the best baseline's time divided by ours: above 1 is "
      "faster. "
      "Bounds are one-sided at 95 % over interleaved pairs of fresh processes.</p><div class=\"scroll\"><table>";
  out += table_head(m) + "<tbody>";
  for (const Row& row : m.rows) out += table_row(m, row);
  out += "</tbody>" + table_foot(m) + "</table></div>" + empty_launches(m);
  if (const std::string pooled = pooled_text(m); !pooled.empty()) out += "<p>" + escape(pooled) + "</p>";
  if (const std::string share = copy_share_text(m); !share.empty()) out += "<p>" + escape(share) + "</p>";
  out += "</section>\n<section class=\"plots\">";
  for (const std::string& unit : m.units) {
    out += fmt::format("<figure><figcaption><b>Speed per variant</b>, {}<div class=\"legend\">", escape(unit));
    const bool before = std::any_of(m.rows.begin(), m.rows.end(), [](const Row& r) { return r.before > 0; });
    if (before) out += "<span><i class=\"before\"></i>before</span>";
    out += "<span><i class=\"after\"></i>after</span>";
    for (size_t i = 0; i < m.lock.baselines.size(); ++i) {
      out += fmt::format("<span><i class=\"base{}\"></i>{}</span>", i % 4, escape(m.lock.baselines[i].name));
    }
    if (m.has_ceiling) out += "<span><i class=\"ceiling\"></i>streaming copy</span>";
    out += "</div></figcaption>" + speed_plot(m, unit) + "</figure>";
  }
  return out +
         "<figure><figcaption><b>Ratio and bounds</b> against the best baseline; the shaded side is behind by more "
         "than 1 %"
         "</figcaption>" +
         ratio_plot(m) + "</figure></section>\n";
}

std::string tuning_section(const Model& m) {
  std::string plots, rows;
  for (const Row& row : m.rows) {
    if (!row.tune.present) continue;
    double reference = 0;
    for (const Speed& b : row.baselines) reference = std::max(reference, b.value);
    const std::string plot = tune_plot(row, reference);
    if (!plot.empty())
      plots += fmt::format("<figure><figcaption><b>{}</b>, {}</figcaption>{}</figure>", escape(row.name),
                           escape(row.unit), plot);
    std::string outcomes;
    for (const auto& [name, count] : row.tune.outcomes) {
      outcomes += fmt::format("<span class=\"chip {}\">{} {}</span>", name == "ok" ? "ok" : "", count, escape(name));
    }
    rows += fmt::format(
        "<tr><td><b>{}</b></td><td class=\"num\">{}</td><td>{}</td><td class=\"num\">{:.0f}</td><td "
        "class=\"num\">{:.1f} s</td>"
        "<td class=\"num\">{}</td><td>{}</td><td><code>{}</code></td><td class=\"file\">{}</td></tr>\n",
        escape(row.name), row.tune.candidates, outcomes, row.tune.space, row.tune.seconds, row.tune.seed,
        escape(row.tune.how()), escape(row.tune.winner), escape(row.tune.file));
  }
  if (rows.empty()) return "";
  return "<section><h2>Tuning</h2><p class=\"lead\">Best speed so far over the seconds of each search. Dots are "
         "candidates that ran, red marks "
         "those that fell; the dashed line is the fastest baseline.</p><div class=\"multiples\">" +
         plots +
         "</div><div "
         "class=\"scroll\"><table><thead><tr><th>variant</th><th "
         "class=\"num\">candidates</th><th>outcomes</th><th>space</"
         "th><th class=\"num\">time</th><th class=\"num\">seed</th>"
         "<th>ended</th><th>winner</th><th>artifact</th></tr></thead><tbody>" +
         rows + "</tbody></table></div></section>\n";
}

std::string losses_section(const Model& m) {
  if (m.losses.empty()) return "";
  std::string out =
      "<section><h2>Why candidates fell</h2><div "
      "class=\"scroll\"><table><thead><tr><th class=\"num\">count</th><th>outcome</th><th>reason</th>"
      "<th>for example</th></tr></thead><tbody>";
  for (const Loss& loss : m.losses) {
    out += fmt::format("<tr><td class=\"num\">{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n", loss.count,
                       escape(loss.outcome), escape(loss.reason), escape(loss.example));
  }
  return out + "</tbody></table></div></section>\n";
}

std::string risks_section(const Model& m) {
  std::string out = "<section><h2>Risks</h2>";
  if (m.risks.empty()) return out + "<p>None was flagged.</p></section>\n";
  out += "<ul class=\"risks\">";
  for (const std::string& risk : m.risks) out += "<li>" + escape(risk) + "</li>";
  return out + "</ul></section>\n";
}

}  // namespace

std::string html_page(const Model& m, const std::string& generated) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">";
  out += fmt::format("<title>{}{}: {}</title><style>{}</style></head><body><main>\n", m.interim ? "INTERIM " : "",
                     escape(m.lock.task), escape(m.state), kStyle);
  out += hero(m) + tiles(m);
  out += speed_section(m);
  out += "<section><h2>The checker</h2><pre>" + escape(m.check.text) + "</pre></section>\n";
  out += html_life(m) + tuning_section(m) + losses_section(m) + risks_section(m);
  out += fmt::format(
      "<footer>Run <b>{}</b> · {} measurements and tunes announced, {} objects stored · written {}{}</footer>\n",
      escape(m.run), m.announced, m.stored, escape(generated), m.interim ? " · INTERIM, the goal is not met" : "");
  return out + "</main></body></html>\n" + stamp(m, generated);
}

}  // namespace hc::report
