// The canonical text of tile IR; parse.cc reads it back and docs/ir.md has the grammar.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "ir/quoted.h"
#include "ir/tile_ir.h"

namespace hc::ir {
namespace {

std::string list_text(const std::vector<int64_t>& list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

/// Prints one launch; text is appended to `out`.
class LaunchPrinter {
 public:
  LaunchPrinter(const Launch& launch, std::string& out) : launch_(launch), out_(out) {}

  void print() {
    out_ += fmt::format("launch {} {{\n", in_quotes(launch_.name));
    for (const GridAxis& axis : launch_.axes) {
      const std::string block = axis.block == kNone ? "grid" : fmt::format("b{}", axis.block);
      out_ +=
          fmt::format("  axis {} {} {}..{} step {}\n", in_quotes(axis.name), block, axis.begin, axis.end, axis.step);
    }
    out_ += fmt::format("  body{} {{\n", arguments(launch_.body));
    ops(launch_.body, 4);
    out_ += "  }\n}\n";
  }

 private:
  bool known(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(launch_.values.size()); }

  std::string definition(ValueId v) const {
    std::string out = fmt::format("%{}", v);
    if (known(v) && !launch_.values[static_cast<size_t>(v)].name.empty()) {
      out += ' ' + in_quotes(launch_.values[static_cast<size_t>(v)].name);
    }
    return out;
  }

  std::string type_of(ValueId v) const { return known(v) ? to_text(launch_.type(v)) : "?"; }

  std::string arguments(const Region& region) const {
    std::string out = "(";
    for (size_t i = 0; i < region.args.size(); ++i) {
      if (i != 0) out += ", ";
      out += definition(region.args[i]) + ": " + type_of(region.args[i]);
    }
    return out + ")";
  }

  /// A use; `rank` is the number of dimensions that the map leads into. A map that says the identity is left out.
  std::string use(const Operand& operand, int rank) const {
    std::string out = fmt::format("%{}", operand.value);
    bool identity = static_cast<int>(operand.map.size()) == rank;
    for (size_t i = 0; i < operand.map.size(); ++i) identity = identity && operand.map[i] == static_cast<int8_t>(i);
    if (operand.map.empty() || identity) return out;
    if (operand.map.size() == 1) return out + fmt::format("@{}", static_cast<int>(operand.map[0]));
    std::string map;
    for (int8_t dim : operand.map) map += fmt::format("{}{}", map.empty() ? "" : ", ", static_cast<int>(dim));
    return out + fmt::format("@[{}]", map);
  }

  std::string uses(const Op& op, size_t begin, size_t end, int rank) const {
    std::string out;
    for (size_t i = begin; i < end && i < op.operands.size(); ++i) {
      if (i != begin) out += ", ";
      out += use(op.operands[i], rank);
    }
    return out;
  }

  /// Dimensions that the operands follow: the result's, or those of the value stored.
  int rank_of(const Op& op) const {
    ValueId v = kNone;
    if (!op.results.empty()) v = op.results[0];
    if (op.kind == OpKind::store && !op.operands.empty()) v = op.operands[0].value;
    return known(v) ? launch_.type(v).rank() : -1;
  }

  std::string access(const Op& op, int rank) const {
    const size_t first = op.kind == OpKind::store ? 1 : 0;
    const size_t count = op.operands.size();
    const size_t last = op.masked && count > first ? count - 1 : count;
    std::string out = fmt::format(" t{}[{}]", op.tensor, uses(op, first, last, rank));
    if (op.kind == OpKind::store) out += ", " + uses(op, 0, 1, rank);
    if (op.masked) out += " mask " + uses(op, last, count, rank);
    return out;
  }

  /// What stands between the op's name and its types.
  std::string middle(const Op& op) const {
    const int rank = rank_of(op);
    const size_t count = op.operands.size();
    switch (op.kind) {
      case OpKind::constant:
        return ' ' + literal_text(
                         op.results.empty() || !known(op.results[0]) ? DType::i64 : launch_.type(op.results[0]).dtype,
                         op.literal);
      case OpKind::tile_index:
        return fmt::format(" {} b{}", uses(op, 0, count, -1), op.block);
      case OpKind::load:
      case OpKind::store:
        return access(op, rank);
      case OpKind::reduce:
        return fmt::format(" {} {} axis={}", reduce_name(op.reduce), uses(op, 0, count, -1), op.axis);
      case OpKind::permute:
        return fmt::format(" {} [{}]", uses(op, 0, count, -1), fmt::join(op.ints, ", "));
      case OpKind::for_tile:
        return fmt::format(" b{} {}", op.block, loop_operands(op, 2));
      case OpKind::for_grid:
        return ' ' + loop_operands(op, 3);
      default:
        return count == 0 ? "" : ' ' + uses(op, 0, count, rank);
    }
  }

  std::string loop_operands(const Op& op, size_t bounds) const {
    std::string out = uses(op, 0, bounds, -1);
    if (op.operands.size() > bounds) out += fmt::format(" carry({})", uses(op, bounds, op.operands.size(), -1));
    return out;
  }

  void print_op(const Op& op, int indent) {
    const std::string pad(static_cast<size_t>(indent), ' ');
    out_ += pad;
    for (size_t i = 0; i < op.results.size(); ++i) out_ += (i != 0 ? ", " : "") + definition(op.results[i]);
    if (!op.results.empty()) out_ += " = ";
    out_ += op_name(op.kind);
    out_ += middle(op);
    for (size_t i = 0; i < op.results.size(); ++i) out_ += (i != 0 ? ", " : " : ") + type_of(op.results[i]);
    for (size_t i = 0; i < op.regions.size(); ++i) {
      out_ += i != 0 ? pad + "} else " : " ";
      if (op.kind != OpKind::if_else) out_ += arguments(op.regions[i]) + ' ';
      out_ += "{\n";
      ops(op.regions[i], indent + 2);
    }
    if (!op.regions.empty()) out_ += pad + '}';
    out_ += '\n';
  }

  void ops(const Region& region, int indent) {
    for (const Op& op : region.ops) print_op(op, indent);
  }

  const Launch& launch_;
  std::string& out_;
};

void print_block(const Block& block, size_t id, std::string& out) {
  out += fmt::format("block b{} {} size={} min={} max={}", id, in_quotes(block.name), block.size, block.min, block.max);
  if (block.extent != -1) out += fmt::format(" extent={}", block.extent);
  out += block.fixed ? " fixed\n" : "\n";
}

void print_tunable(const Tunable& tunable, std::string& out) {
  std::string values;
  for (const std::string& value : tunable.values) values += (values.empty() ? "" : ", ") + in_quotes(value);
  out += fmt::format("tunable {} = {} of [{}]\n", in_quotes(tunable.name), in_quotes(tunable.value), values);
}

void print_storage(const Storage& storage, size_t id, std::string& out) {
  out += fmt::format("storage s{} {} {} {}", id, in_quotes(storage.name), dtype_name(storage.dtype), storage.numel);
  out += storage.role == StorageRole::alloc ? " alloc\n" : fmt::format(" param {}\n", storage.param_index);
}

void print_tensor(const Tensor& tensor, size_t id, std::string& out) {
  out += fmt::format("tensor t{} {} s{} {}{} strides{} offset={}\n", id, in_quotes(tensor.name), tensor.storage,
                     dtype_name(tensor.dtype), list_text(tensor.shape), list_text(tensor.strides), tensor.offset);
}

void print_step(const Program& program, const Step& step, std::string& out) {
  if (step.kind == Step::Kind::launch) return LaunchPrinter(step.launch, out).print();
  const bool known = step.fill_tensor >= 0 && step.fill_tensor < static_cast<TensorId>(program.tensors.size());
  const DType dtype = known ? program.tensor(step.fill_tensor).dtype : DType::i64;
  out += fmt::format("fill t{} {}\n", step.fill_tensor, literal_text(dtype, step.fill_value));
}

std::string returned_text(const Returned& returned) {
  if (returned.kind == Returned::Kind::tensor) return fmt::format("t{}", returned.tensor);
  return returned.kind == Returned::Kind::none ? "none" : float_text(returned.number);
}

}  // namespace

std::string to_text(const Type& type) {
  std::string out(dtype_name(type.dtype));
  if (type.dims.empty()) return out;
  out += '[';
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i != 0) out += ", ";
    const Dim& dim = type.dims[i];
    out += dim.block == kNone ? std::to_string(dim.size) : fmt::format("b{}", dim.block);
  }
  return out + ']';
}

std::string print(const Program& program) {
  std::string out = fmt::format("program {} index={}\n", in_quotes(program.name), dtype_name(program.index_dtype));
  for (size_t i = 0; i < program.blocks.size(); ++i) print_block(program.blocks[i], i, out);
  for (const Tunable& tunable : program.tunables) print_tunable(tunable, out);
  for (size_t i = 0; i < program.storages.size(); ++i) print_storage(program.storages[i], i, out);
  for (size_t i = 0; i < program.tensors.size(); ++i) print_tensor(program.tensors[i], i, out);
  for (size_t i = 0; i < program.mutated.size(); ++i) {
    out += fmt::format("{}s{}", i == 0 ? "mutated " : ", ", program.mutated[i]);
  }
  if (!program.mutated.empty()) out += '\n';
  for (const Step& step : program.steps) print_step(program, step, out);
  out += "return";
  for (size_t i = 0; i < program.returned.size(); ++i) {
    out += (i == 0 ? " " : ", ") + returned_text(program.returned[i]);
  }
  return out + '\n';
}

}  // namespace hc::ir
