// Two texts beside each other by their longest common subsequence.
#include <fmt/format.h>

#include <algorithm>

#include "cli/disassembly.h"

namespace hc::cli {
namespace {

constexpr size_t kMostCells = 40'000'000;  ///< of the table of lengths; above it only the ends are matched

/// One row: indices of the lines, or npos where a side has none.
struct Row {
  size_t left, right;
};
constexpr size_t kNone = static_cast<size_t>(-1);

/// Rows for the middle, where neither first nor last lines agree.
void match_middle(const std::vector<std::string>& a, const std::vector<std::string>& b, size_t a0, size_t a1, size_t b0,
                  size_t b1, std::vector<Row>* rows) {
  const size_t n = a1 - a0, m = b1 - b0;
  std::vector<uint16_t> best;
  const bool whole = n > 0 && m > 0 && n < 65000 && m < 65000 && (n + 1) * (m + 1) <= kMostCells;
  const auto cell = [&](size_t i, size_t j) -> uint16_t& { return best[i * (m + 1) + j]; };
  if (whole) {
    best.assign((n + 1) * (m + 1), 0);
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        cell(i, j) = a[a0 + i] == b[b0 + j] ? static_cast<uint16_t>(cell(i + 1, j + 1) + 1)
                                            : std::max(cell(i + 1, j), cell(i, j + 1));
      }
    }
  }
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (whole && i < n && j < m && a[a0 + i] == b[b0 + j]) {
      rows->push_back({a0 + i++, b0 + j++});
    } else if (!whole || j == m || (i < n && cell(i + 1, j) >= cell(i, j + 1))) {
      // without a table the sides simply run beside each other
      rows->push_back({i < n ? a0 + i : kNone, whole || j >= m ? kNone : b0 + j});
      i += i < n;
      if (!whole && j < m) ++j;
    } else {
      rows->push_back({kNone, b0 + j++});
    }
  }
}

/// Lines that only one side has follow each other; a left one and a right one share a row.
std::vector<Row> paired(const std::vector<Row>& rows, const std::vector<std::string>& a,
                        const std::vector<std::string>& b) {
  std::vector<Row> out;
  size_t at = 0;
  const auto equal = [&](const Row& r) { return r.left != kNone && r.right != kNone && a[r.left] == b[r.right]; };
  while (at < rows.size()) {
    if (equal(rows[at])) {
      out.push_back(rows[at++]);
      continue;
    }
    std::vector<size_t> left, right;
    for (; at < rows.size() && !equal(rows[at]); ++at) {
      if (rows[at].left != kNone) left.push_back(rows[at].left);
      if (rows[at].right != kNone) right.push_back(rows[at].right);
    }
    for (size_t k = 0; k < std::max(left.size(), right.size()); ++k) {
      out.push_back({k < left.size() ? left[k] : kNone, k < right.size() ? right[k] : kNone});
    }
  }
  return out;
}

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text + std::string(width - text.size(), ' ') : text.substr(0, width - 1) + "~";
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string side_by_side(const std::vector<std::string>& a, const std::vector<std::string>& b, size_t width,
                         int context) {
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  std::vector<Row> rows;
  for (size_t i = 0; i < head; ++i) rows.push_back({i, i});
  match_middle(a, b, head, a.size() - tail, head, b.size() - tail, &rows);
  for (size_t i = tail; i > 0; --i) rows.push_back({a.size() - i, b.size() - i});
  rows = paired(rows, a, b);
  std::vector<bool> shown(rows.size(), context < 0);
  const auto differs = [&](const Row& r) { return r.left == kNone || r.right == kNone || a[r.left] != b[r.right]; };
  for (size_t i = 0; context >= 0 && i < rows.size(); ++i) {
    if (!differs(rows[i])) continue;
    const size_t around = static_cast<size_t>(context);
    const size_t end = std::min(rows.size(), i + around + 1);
    for (size_t k = i > around ? i - around : 0; k < end; ++k) shown[k] = true;
  }
  std::string out;
  bool gap = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!shown[i]) {
      gap = true;
      continue;
    }
    if (gap) out += "...\n";
    gap = false;
    const Row& r = rows[i];
    const char mark = r.left == kNone ? '>' : r.right == kNone ? '<' : differs(r) ? '|' : ' ';
    std::string line = fmt::format("{} {} {}", cut(r.left == kNone ? "" : a[r.left], width), mark,
                                   r.right == kNone ? "" : b[r.right].substr(0, width));
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace hc::cli
