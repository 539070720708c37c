// TOML values with places.
#include "contract/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hc::contract {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string kind_name(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  if (node.is_string()) return "text";
  if (node.is_boolean()) return "true or false";
  return node.is_number() ? "a number" : "a date or time";
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  std::string out;
  for (const std::string_view candidate : known) {
    if (word.size() >= 3 && candidate.substr(0, word.size()) == word) return std::string(candidate);
    const size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      out = candidate;
    }
  }
  return out;
}

TomlReader::TomlReader(std::string path, std::string text)
    : source_(std::make_shared<diag::Source>(std::move(path), std::move(text))), line_starts_{0} {
  const std::string& all = source_->text();
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i] == '\n') line_starts_.push_back(i + 1);
  }
}

bool TomlReader::parse() {
  toml::parse_result result = toml::parse(std::string_view(source_->text()), source_->path());
  if (!result) {
    std::string message(result.error().description());
    // the library's sentence ends with its own quotation of the text, which the caret shows already
    if (!message.empty() && message.back() == '.') message.pop_back();
    if (!message.empty()) message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
    fail(region(result.error().source()), "the file is not valid TOML: " + message);
    return false;
  }
  root_ = std::move(result).table();
  return true;
}

uint32_t TomlReader::offset(const toml::source_position& position) const {
  if (position.line == 0) return 0;
  const size_t line = std::min<size_t>(position.line, line_starts_.size()) - 1;
  const uint32_t column = position.column > 0 ? position.column - 1 : 0;
  return std::min<uint32_t>(line_starts_[line] + column, static_cast<uint32_t>(source_->text().size()));
}

Span TomlReader::region(const toml::source_region& region) const {
  const uint32_t begin = offset(region.begin);
  return {source_, begin, std::max(begin, offset(region.end))};
}

Span TomlReader::span(const toml::node& node) const { return region(node.source()); }
Span TomlReader::head(std::string_view key) const {
  const toml::node* node = root_.get(key);
  return node ? span(*node) : Span{source_, 0, 0};
}

Span TomlReader::span(const toml::key& key) const { return region(key.source()); }

Span TomlReader::inside(const toml::node& node, size_t begin, size_t end) const {
  Span whole = span(node);
  const uint32_t first = whole.begin + 1 + static_cast<uint32_t>(begin);
  if (first >= whole.end) return whole;
  return {source_, first, std::min(whole.end, whole.begin + 1 + static_cast<uint32_t>(end))};
}

void TomlReader::fail(Span where, std::string message, std::string fix) {
  if (error_) return;
  error_ = Diagnostic{.code = Code::task_error, .message = std::move(message)}.at(std::move(where));
  error_->help = std::move(fix);
}

void TomlReader::only(const toml::table& table, const std::vector<std::string_view>& known, std::string_view what) {
  for (const auto& [key, node] : in_order(table)) {
    if (std::find(known.begin(), known.end(), key->str()) != known.end()) continue;
    const std::string near = nearest(key->str(), known);
    std::string all;
    for (const std::string_view k : known) all += (all.empty() ? "" : ", ") + std::string(k);
    fail(span(*key), fmt::format("{} has no key `{}`", what, key->str()),
         near.empty() ? "its keys are " + all : fmt::format("did you mean `{}`?", near));
    return;
  }
}

const toml::node* TomlReader::need(const toml::table& table, std::string_view key, std::string_view what) {
  const toml::node* node = table.get(key);
  if (!node) {
    Span where = span(table);
    where.end = where.begin;  // a table's region may cover many lines; its head is the place to point at
    fail(where, fmt::format("{} needs the key `{}`", what, key));
  }
  return node;
}

std::string TomlReader::text(const toml::table& table, std::string_view key, std::string otherwise) {
  const toml::node* node = table.get(key);
  if (!node) return otherwise;
  if (!node->is_string()) {
    fail(span(*node), fmt::format("`{}` is {} and must be text", key, kind_name(*node)), "put it in quotes");
    return otherwise;
  }
  return node->as_string()->get();
}

double TomlReader::number(const toml::table& table, std::string_view key, double otherwise, double low, double high) {
  const toml::node* node = table.get(key);
  if (!node) return otherwise;
  const std::optional<double> value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value || !(*value >= low && *value <= high)) {
    fail(span(*node), value ? fmt::format("`{}` must lie between {} and {}", key, low, high)
                            : fmt::format("`{}` is {} and must be a number", key, kind_name(*node)));
    return otherwise;
  }
  return *value;
}

int64_t TomlReader::integer(const toml::table& table, std::string_view key, int64_t otherwise, int64_t low,
                            int64_t high) {
  const toml::node* node = table.get(key);
  if (!node) return otherwise;
  if (!node->is_integer()) {
    fail(span(*node), fmt::format("`{}` is {} and must be an integer", key, kind_name(*node)));
    return otherwise;
  }
  const int64_t value = node->as_integer()->get();
  if (value < low || value > high) fail(span(*node), fmt::format("`{}` must lie between {} and {}", key, low, high));
  return value;
}

std::vector<std::string> TomlReader::texts(const toml::table& table, std::string_view key) {
  std::vector<std::string> out;
  const toml::node* node = table.get(key);
  if (!node) return out;
  if (node->is_string()) return {node->as_string()->get()};
  if (!node->is_array()) {
    fail(span(*node), fmt::format("`{}` is {} and must be a list of texts", key, kind_name(*node)));
    return out;
  }
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_string()) fail(span(element), fmt::format("`{}` may hold texts only", key), "put it in quotes");
    out.push_back(element.is_string() ? element.as_string()->get() : "");
  }
  return out;
}

const toml::table* TomlReader::table(const toml::table& parent, std::string_view key) {
  const toml::node* node = parent.get(key);
  if (!node) return nullptr;
  if (!node->is_table())
    fail(span(*node), fmt::format("`{}` is {} and must be a table", key, kind_name(*node)),
         fmt::format("begin it with [{}]", key));
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::tables(const toml::table& parent, std::string_view key) {
  std::vector<const toml::table*> out;
  const toml::node* node = parent.get(key);
  if (!node) return out;
  const toml::array* list = node->as_array();
  if (!list)
    fail(span(*node), fmt::format("`{}` is {} and must be a list of tables", key, kind_name(*node)),
         fmt::format("begin each one with [[{}]]", key));
  for (size_t i = 0; list && i < list->size(); ++i) {
    if (const toml::table* one = (*list)[i].as_table()) {
      out.push_back(one);
    } else {
      fail(span((*list)[i]), fmt::format("`{}` must hold tables only", key),
           fmt::format("begin each one with [[{}]]", key));
    }
  }
  return out;
}

std::vector<std::pair<const toml::key*, const toml::node*>> TomlReader::in_order(const toml::table& table) const {
  std::vector<std::pair<const toml::key*, const toml::node*>> out;
  for (auto it = table.begin(); it != table.end(); ++it) out.emplace_back(&it->first, &it->second);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    const toml::source_position &x = a.first->source().begin, &y = b.first->source().begin;
    return x.line != y.line ? x.line < y.line : x.column < y.column;
  });
  return out;
}

}  // namespace hc::contract
