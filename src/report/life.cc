// The sections of a report about how the run went, in both forms.
#include <fmt/format.h>

#include "report/pages.h"
#include "report/svg.h"

namespace hc::report {
namespace {

/// A table in both forms: a head and rows of cells; a cell may link to artifacts.
struct Cell {
  Cell(std::string words, const std::string& artifact = "") : text(std::move(words)) {
    if (!artifact.empty()) artifacts.push_back(artifact);
  }
  Cell(std::string words, std::vector<std::string> pooled) : text(std::move(words)), artifacts(std::move(pooled)) {}
  std::string text;
  std::vector<std::string> artifacts;
};
struct Table {
  std::string title, lead;
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
};

std::string cell_text(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string short_time(const std::string& utc) {
  std::string out = utc.substr(0, 16);
  if (out.size() > 10) out[10] = ' ';
  return out;
}

std::string percent(double share) { return share > 0 ? fmt::format("{:.2f} %", 100 * share) : "–"; }

Table pairs_table(const Model& m) {
  Table t{"Pairs and modes",
          "The scatter is that of one pair. Slow: processes in a slow mode, ours "
          "and the best baseline's.",
          {"variant", "valid", "void", "scatter", "slow, ours", "slow, theirs", "ratio over all pairs"},
          {}};
  for (const Row& row : m.rows) {
    const ledger::Comparison& c = row.verdict.best;
    if (!row.verdict.measured) continue;
    t.rows.push_back({{row.name},
                      {std::to_string(row.valid_pairs), row.pooled},
                      {std::to_string(row.void_pairs), row.pooled},
                      {percent(row.scatter), row.pooled},
                      {std::to_string(c.slow_candidate), row.pooled},
                      {std::to_string(c.slow_baseline), row.pooled},
                      {ratio_text(c.mixture_ratio), row.pooled}});
  }
  return t;
}

Table calibration_table(const Model& m) {
  Table t{
      "A/A calibration",
      "One implementation against itself, as if it were two. The floor is what identical code may differ by here; a "
      "biased record tells it apart.",
      {"implementation", "device", "opened", "pairs", "ratio", "bounds", "noise floor", "biased"},
      {}};
  for (const ledger::Calibration& c : m.check.calibrations) {
    const std::string record = c.names.empty() ? "" : "artifacts/" + c.names.back();
    const ledger::Comparison& with_itself = c.noise.comparison;
    const std::string bounds =
        c.noise.bounded ? fmt::format("[{:.4f}, {:.4f}]", with_itself.lcb, with_itself.ucb) : "–";
    t.rows.push_back({{c.there() ? c.arm : "none"},
                      {c.device},
                      {c.there() ? short_time(c.at) : "–"},
                      {std::to_string(with_itself.pairs), record},
                      {c.there() ? fmt::format("{:.4f}", with_itself.ratio) : "–", record},
                      {bounds, record},
                      {percent(c.noise.floor), record},
                      {c.noise.biased ? "yes" : "no", record}});
  }
  return t;
}

Table cooling_table(const Model& m) {
  Table t{"Cool-down",
          "Temperature of the GPU in degrees Celsius: the lowest at which the run found it idle, before the wait that "
          "precedes the confirming rounds, and when they began.",
          {"variant", "idle", "before", "at the first round", "near the idle one"},
          {}};
  for (const Row& row : m.rows) {
    if (row.cooling.back().empty()) continue;
    std::vector<Cell> cells = {{row.name}};
    for (const std::string& value : row.cooling) cells.push_back({value.empty() ? "–" : value, row.artifact});
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Table runs_table(const Model& m) {
  Table t{"Every run",
          "Everything that was announced, those that lost included. A ratio below the limit is marked.",
          {"time", "purpose", "variant", "ratio", "ended", "artifact"},
          {}};
  for (const RunLine& run : m.history) {
    const std::string ratio = ratio_text(run.ratio) + (run.ratio > 0 && !run.won ? " (behind)" : "");
    t.rows.push_back({{short_time(run.time)},
                      {run.purpose},
                      {run.variant},
                      {ratio, run.artifact},
                      {run.outcome.empty() ? "never" : run.outcome},
                      {run.artifact.empty() ? "–" : run.artifact, run.artifact}});
  }
  return t;
}

Table log_table(const Model& m) {
  Table t{"Log",
          "One line per iteration, oldest first. Idea and result are the agent's own words: they are not derived from "
          "the measurements, and numbers in them are not verified. The verdict is the checker's.",
          {"time", "worst variant", "idea", "result", "verdict"},
          {}};
  for (const contract::Iteration& one : m.log) {
    t.rows.push_back({{short_time(one.time)}, {one.variant}, {one.idea}, {one.result}, {one.verdict}});
  }
  return t;
}

Table commits_table(const Model& m) {
  Table t{"Commits",
          fmt::format("Since {}. The effect is what was measured from a commit's time on until the next one's.",
                      m.commits.since),
          {"commit", "subject", "purpose", "files", "effect"},
          {}};
  for (const CommitLine& c : m.commits.lines) {
    t.rows.push_back({{c.id},
                      {c.subject},
                      {c.purpose.empty() ? "not said" : c.purpose},
                      {std::to_string(c.files)},
                      {c.effect.empty() ? "nothing was measured" : c.effect}});
  }
  return t;
}

/// Amendments as a table of one column; the words of a goal that was never amended.
Table amendments_table(const Model& m) {
  Table t{"Amendments", "They can only make the goal harder.", {"amendment"}, {}};
  for (const std::string& amendment : m.amendments) t.rows.push_back({{amendment}});
  return t;
}

std::vector<Table> tables(const Model& m) {
  std::vector<Table> out;
  for (Table table : {pairs_table(m), calibration_table(m), cooling_table(m), runs_table(m), log_table(m),
                      commits_table(m), amendments_table(m)}) {
    if (!table.rows.empty()) out.push_back(std::move(table));
  }
  return out;
}

/// What is not there and should be, in one sentence each.
std::vector<std::string> gaps(const Model& m) {
  std::vector<std::string> out;
  if (m.log.empty()) out.push_back("No iteration was logged.");
  if (m.commits.lines.empty()) out.push_back("No commits are listed: " + m.commits.trouble + ".");
  if (m.amendments.empty()) out.push_back("The goal was never amended.");
  return out;
}

std::string markdown_table(const Model& m, const Table& t) {
  std::string out = fmt::format("## {}\n\n{}\n\n{}\n\n|", t.title, t.lead, machine_line(m));
  for (const std::string& name : t.head) out += fmt::format(" {} |", name);
  out += "\n|";
  for (size_t i = 0; i < t.head.size(); ++i) out += "---|";
  out += "\n";
  for (const std::vector<Cell>& row : t.rows) {
    out += "|";
    for (const Cell& cell : row) {
      const std::string text = cell_text(cell.text);
      out += fmt::format(" {} |", markdown_links(m, text, cell.artifacts));
    }
    out += "\n";
  }
  return out + "\n";
}

std::string html_table(const Model& m, const Table& t) {
  std::string out = fmt::format(
      "<section><h2>{}</h2><p class=\"lead\">{}</p><div class=\"scroll\"><table><caption>{}</caption><thead><tr>",
      t.title, escape(t.lead), escape(machine_line(m)));
  for (const std::string& name : t.head) out += fmt::format("<th>{}</th>", escape(name));
  out += "</tr></thead><tbody>";
  for (const std::vector<Cell>& row : t.rows) {
    out += "<tr>";
    for (const Cell& cell : row) out += fmt::format("<td>{}</td>", html_links(m, cell.text, cell.artifacts));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></section>\n";
}

}  // namespace

std::string href(const Model& m, const std::string& artifact) {
  constexpr std::string_view kFolder = "artifacts/";
  return m.link_prefix + (artifact.starts_with(kFolder) ? artifact.substr(kFolder.size()) : artifact);
}

std::string markdown_link(const Model& m, const std::string& text, const std::string& artifact) {
  if (artifact.empty() || text == "–") return text;
  return fmt::format("[{}]({})", text, href(m, artifact));
}

std::string markdown_links(const Model& m, const std::string& text, const std::vector<std::string>& artifacts) {
  if (artifacts.empty()) return text;
  std::string out = markdown_link(m, text, artifacts.front());
  for (size_t i = 1; i < artifacts.size() && text != "–"; ++i) out += " " + markdown_link(m, "+", artifacts[i]);
  return out;
}

std::string html_links(const Model& m, const std::string& text, const std::vector<std::string>& artifacts) {
  if (artifacts.empty() || text == "–") return escape(text);
  std::string out;
  for (const std::string& artifact : artifacts) {
    out += fmt::format("{}<a href=\"{}\">{}</a>", out.empty() ? "" : " ", escape(href(m, artifact)),
                       out.empty() ? escape(text) : "+");
  }
  return out;
}

std::string pooled_text(const Model& m) {
  for (const Row& row : m.rows) {
    if (row.pooled.size() > 1) {
      return "A number with `+` behind it is taken over the rounds of several confirming runs: each link leads to one.";
    }
  }
  return "";
}

std::string markdown_life(const Model& m) {
  std::string out;
  if (!m.claims.empty()) out += "## What the author says\n\n" + m.claims + "\n";
  for (const Table& table : tables(m)) out += markdown_table(m, table);
  for (const std::string& gap : gaps(m)) out += gap + "\n";
  return out + "\n";
}

std::string html_life(const Model& m) {
  std::string out;
  if (!m.claims.empty()) out += "<section><h2>What the author says</h2><pre>" + escape(m.claims) + "</pre></section>\n";
  for (const Table& table : tables(m)) out += html_table(m, table);
  out += "<section>";
  for (const std::string& gap : gaps(m)) out += "<p>" + escape(gap) + "</p>";
  return out + "</section>\n";
}

std::string stamp(const Model& m, const std::string& generated) {
  return fmt::format("<!-- hillclimb report of {}; written {}; ledger {} {}; commits {} {} -->\n", m.run, generated,
                     m.ledger_lines, m.ledger_head, m.commits.base.empty() ? "-" : m.commits.base,
                     m.commits.head.empty() ? "-" : m.commits.head);
}

}  // namespace hc::report
