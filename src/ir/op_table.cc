// The op table in memory: names, meanings, arities and type rules read from ops.def, and the reference made from them.
#include <fmt/format.h>

#include <array>
#include <string>

#include "ir/tile_ir.h"

namespace hc::ir {
namespace {

struct Row {
  std::string_view name;
  int arity;
  TypeRule rule;
  bool elementwise;
  std::string_view sentence;
};

constexpr Row kRows[] = {
#define HC_ELEMENTWISE(name, arity, rule, sentence) {#name, arity, TypeRule::rule, true, sentence},
#define HC_STRUCTURED(name, sentence) {#name, 0, TypeRule::same, false, sentence},
#include "ir/ops.def"
};

constexpr std::array<std::string_view, 7> kRuleNames = {"same",    "integral", "floating", "compare",
                                                        "logical", "select",   "convert"};

constexpr std::array<std::string_view, 8> kReduceNames = {"sum",    "prod",   "amax", "amin",
                                                          "argmax", "argmin", "any",  "all"};

const Row& row(OpKind kind) { return kRows[static_cast<size_t>(kind)]; }

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

}  // namespace

std::string_view op_name(OpKind kind) { return row(kind).name; }
std::string_view op_sentence(OpKind kind) { return row(kind).sentence; }
bool is_elementwise(OpKind kind) { return row(kind).elementwise; }
int op_arity(OpKind kind) { return row(kind).arity; }
TypeRule op_rule(OpKind kind) { return row(kind).rule; }
std::string_view reduce_name(ReduceKind kind) { return kReduceNames[static_cast<size_t>(kind)]; }

DType reduce_dtype(ReduceKind kind, DType operand) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::prod:
      return is_floating(operand) ? operand : DType::i64;
    case ReduceKind::argmax:
    case ReduceKind::argmin:
      return DType::i64;
    case ReduceKind::any:
    case ReduceKind::all:
      return DType::boolean;
    case ReduceKind::amax:
    case ReduceKind::amin:
      break;
  }
  return operand;
}

std::optional<OpKind> op_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

std::optional<ReduceKind> reduce_from_name(std::string_view name) {
  for (size_t i = 0; i < kReduceNames.size(); ++i) {
    if (kReduceNames[i] == name) return static_cast<ReduceKind>(i);
  }
  return std::nullopt;
}

std::string op_reference() {
  // A bar would end the table's cell, and brackets beside it are plain text anyway.
  const auto cell = [](std::string_view text) {
    std::string out;
    for (char c : text) {
      if (c == '|') out += '\\';
      out += c;
    }
    return out;
  };
  std::string out = "| Elementwise op | Operands | Type rule | Value |\n| --- | --- | --- | --- |\n";
  for (const Row& r : kRows) {
    if (!r.elementwise) continue;
    out += fmt::format("| `{}` | {} | {} | {} |\n", r.name, r.arity, kRuleNames[static_cast<size_t>(r.rule)],
                       cell(r.sentence));
  }
  out += "\n| Structured op | Meaning |\n| --- | --- |\n";
  for (const Row& r : kRows) {
    if (!r.elementwise) out += fmt::format("| `{}` | {} |\n", r.name, cell(r.sentence));
  }
  return out;
}

int64_t Type::numel() const {
  int64_t n = 1;
  for (const Dim& dim : dims) n *= dim.size;
  return n;
}

int64_t Tensor::numel() const { return product(shape); }

}  // namespace hc::ir
