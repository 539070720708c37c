// Local rewrites of tile IR and common subexpressions, region by region.
#include "pass/simplify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace hc::pass {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Region;
using ir::ValueId;

void written_storages(const ir::Program& program, const Region& region, std::set<ir::StorageId>& out) {
  for (const Op& op : region.ops) {
    if (op.kind == OpKind::store) out.insert(program.tensor(op.tensor).storage);
    for (const Region& inner : op.regions) written_storages(program, inner, out);
  }
}

/// The neutral right operand of an operation: 0 or 1; nothing where there is none.
std::optional<double> neutral(OpKind kind) {
  switch (kind) {
    case OpKind::add:
    case OpKind::sub:
      return 0;
    case OpKind::mul:
    case OpKind::div:
      return 1;
    default:
      return std::nullopt;
  }
}

class Simplifier {
 public:
  Simplifier(const ir::Program& program, ir::Launch& launch) : program_(program), launch_(launch) {
    for (size_t v = 0; v < launch.values.size(); ++v) same_.push_back(static_cast<ValueId>(v));
    written_storages(program, launch.body, written_);
  }

  void run() { region(launch_.body, false); }

 private:
  /// What operations of the open regions have computed, by their text.
  using Scope = std::map<std::string, std::vector<ValueId>>;

  /// `tile`: the region makes a tile active, so that lanes which counted outside may not be valid inside.
  void region(Region& body, bool tile) {
    const size_t outer_tile = tile_;
    if (tile) tile_ = scopes_.size();
    scopes_.emplace_back();
    std::vector<Op> kept;
    for (Op& op : body.ops) {
      for (Operand& operand : op.operands) operand.value = same_[static_cast<size_t>(operand.value)];
      for (Region& inner : op.regions) region(inner, op.kind == OpKind::for_tile);
      fold(op);
      if (!repeats(op)) kept.push_back(std::move(op));
    }
    body.ops = std::move(kept);
    scopes_.pop_back();
    tile_ = outer_tile;
  }

  const Op* constant(ValueId v) const {
    const auto it = constants_.find(v);
    return it == constants_.end() ? nullptr : &it->second;
  }

  bool is_number(ValueId v, double number) const {
    const Op* op = constant(v);
    if (!op) return false;
    return is_floating(launch_.type(v).dtype) ? op->literal.f == number : static_cast<double>(op->literal.i) == number;
  }

  /// Integer arithmetic on constants that cannot overflow.
  std::optional<int64_t> integer(const Op& op) const {
    const Op* a = constant(op.operands[0].value);
    const Op* b = constant(op.operands[1].value);
    constexpr int64_t kSmall = int64_t{1} << 30;
    if (!a || !b || std::abs(a->literal.i) > kSmall || std::abs(b->literal.i) > kSmall) return std::nullopt;
    const int64_t x = a->literal.i, y = b->literal.i;
    switch (op.kind) {
      case OpKind::add:
        return x + y;
      case OpKind::sub:
        return x - y;
      case OpKind::minimum:
        return std::min(x, y);
      case OpKind::maximum:
        return std::max(x, y);
      case OpKind::floor_divide:
        if (x >= 0 && y > 0) return x / y;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// Turns an operation into a copy or a constant where its operands say so.
  void fold(Op& op) {
    if (op.kind == OpKind::constant) constants_.emplace(op.results[0], op);
    if (!ir::is_elementwise(op.kind) || op.operands.size() != 2) return;
    const ir::Type& type = launch_.type(op.results[0]);
    const DType dtype = type.dtype;
    if (type.rank() == 0 && (dtype == DType::i32 || dtype == DType::i64)) {
      if (const auto value = integer(op)) {
        op.kind = OpKind::constant;
        op.operands.clear();
        op.literal = {static_cast<double>(*value), *value};
        constants_.emplace(op.results[0], op);
        return;
      }
    }
    const auto number = neutral(op.kind);
    if (!number || dtype == DType::boolean) return;
    const bool commutes = op.kind == OpKind::add || op.kind == OpKind::mul;
    size_t other = 2;
    if (is_number(op.operands[1].value, *number)) other = 0;
    if (commutes && is_number(op.operands[0].value, *number)) other = 1;
    if (other == 2) return;
    op.kind = OpKind::copy;
    op.operands = {op.operands[other]};
  }

  /// Whether an equal operation is visible; its results then stand for this one's.
  bool repeats(const Op& op) {
    if (op.kind == OpKind::copy && launch_.type(op.operands[0].value) == launch_.type(op.results[0])) {
      same_[static_cast<size_t>(op.results[0])] = op.operands[0].value;
      return true;
    }
    if (!op.regions.empty() || op.results.empty()) return false;
    if (op.kind == OpKind::load && written_.count(program_.tensor(op.tensor).storage) != 0) return false;
    const std::string key = text(op);
    const bool by_lanes = op.kind == OpKind::load || op.kind == OpKind::reduce;
    for (size_t s = by_lanes ? tile_ : 0; s < scopes_.size(); ++s) {
      const auto it = scopes_[s].find(key);
      if (it == scopes_[s].end()) continue;
      for (size_t i = 0; i < op.results.size(); ++i) same_[static_cast<size_t>(op.results[i])] = it->second[i];
      return true;
    }
    scopes_.back().emplace(key, op.results);
    return false;
  }

  std::string text(const Op& op) const {
    std::string out = fmt::format("{} {} {} {} {} {} {:a} {}", static_cast<int>(op.kind), op.tensor, op.block, op.axis,
                                  static_cast<int>(op.reduce), op.masked, op.literal.f, op.literal.i);
    out += fmt::format(" [{}]", fmt::join(op.ints, ","));
    for (const Operand& operand : op.operands) {
      out += fmt::format(" %{}@{}", operand.value, fmt::join(operand.map.begin(), operand.map.end(), ","));
    }
    for (ValueId v : op.results) {
      const ir::Type& type = launch_.type(v);
      out += fmt::format(" : {}", dtype_name(type.dtype));
      for (const ir::Dim& dim : type.dims) out += fmt::format(" {}x{}", dim.block, dim.size);
    }
    return out;
  }

  const ir::Program& program_;
  ir::Launch& launch_;
  std::vector<ValueId> same_;  // by value: what stands for it
  std::set<ir::StorageId> written_;
  std::map<ValueId, Op> constants_;
  std::vector<Scope> scopes_;
  size_t tile_ = 0;  // scope of the innermost tile loop
};

}  // namespace

ir::Program simplify(ir::Program program) {
  for (ir::Step& step : program.steps) {
    if (step.kind == ir::Step::Kind::launch) Simplifier(program, step.launch).run();
  }
  return program;
}

}  // namespace hc::pass
