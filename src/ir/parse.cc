// Parser of tile IR's text: the inverse of print(). docs/ir.md has the grammar.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/lexer.h"
#include "ir/tile_ir.h"

namespace hc::ir {
namespace {

constexpr int kMaxDepth = 100;  ///< nested regions; deeper text is not a program but a way to exhaust the stack

DType parse_dtype(Lexer& lex) {
  const auto dtype = lex.peek().kind == TokenKind::word ? dtype_from_name(lex.peek().text) : std::nullopt;
  if (dtype) {
    lex.take();
    return *dtype;
  }
  lex.fail_expected("a dtype such as f32");
  return DType::f32;
}

Literal parse_literal(Lexer& lex, DType dtype) {
  Literal literal;
  if (is_floating(dtype)) {
    literal.f = lex.floating();
  } else {
    literal.i = lex.integer();
  }
  return literal;
}

/// "[1, 2]": whole numbers in brackets.
std::vector<int64_t> parse_list(Lexer& lex) {
  std::vector<int64_t> list;
  lex.expect("[");
  while (!lex.failed() && !lex.at("]")) {
    list.push_back(lex.integer());
    if (!lex.accept(",")) break;
  }
  lex.expect("]");
  return list;
}

int32_t small_integer(Lexer& lex, int64_t low, int64_t high) {
  const Token token = lex.peek();
  const int64_t value = lex.integer();
  if (!lex.failed() && (value < low || value > high)) {
    lex.fail(token, fmt::format("{} is not between {} and {}", value, low, high));
  }
  return static_cast<int32_t>(value);
}

int32_t parse_int32(Lexer& lex) {
  return small_integer(lex, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

Type parse_type(Lexer& lex, const Program& program) {
  Type type;
  type.dtype = parse_dtype(lex);
  if (!lex.accept("[")) return type;
  do {
    if (lex.peek().kind == TokenKind::number) {
      type.dims.push_back({kNone, lex.integer()});
      continue;
    }
    const Token token = lex.peek();
    const BlockId block = lex.id('b', "a size or a block such as b0");
    if (lex.failed()) return type;
    if (block < 0 || block >= static_cast<BlockId>(program.blocks.size())) {
      lex.fail(token, fmt::format("block b{} is not declared above", block));
      return type;
    }
    type.dims.push_back({block, program.block(block).size});
  } while (lex.accept(","));
  lex.expect("]");
  return type;
}

/// Parses one launch from behind the word `launch`.
class LaunchParser {
 public:
  LaunchParser(Lexer& lex, const Program& program) : lex_(lex), program_(program) {}

  Launch parse() {
    launch_.name = lex_.string();
    lex_.expect("{");
    while (lex_.accept("axis")) launch_.axes.push_back(axis());
    lex_.expect("body");
    arguments(launch_.body);
    lex_.expect("{");
    ops(launch_.body, 0);
    lex_.expect("}");
    lex_.expect("}");
    return std::move(launch_);
  }

 private:
  GridAxis axis() {
    GridAxis axis;
    axis.name = lex_.string();
    if (!lex_.accept("grid")) axis.block = lex_.id('b', "`grid` or a block such as b0");
    axis.begin = lex_.integer();
    lex_.expect("..");
    axis.end = lex_.integer();
    lex_.expect("step");
    axis.step = lex_.integer();
    return axis;
  }

  Value& at(ValueId v) {
    if (launch_.values.size() <= static_cast<size_t>(v)) launch_.values.resize(static_cast<size_t>(v) + 1);
    return launch_.values[static_cast<size_t>(v)];
  }

  ValueId definition() {
    const ValueId v = lex_.value_id();
    if (v < 0) return kNone;
    if (lex_.peek().kind == TokenKind::string) at(v).name = lex_.string();
    return v;
  }

  void set_type(ValueId v) {
    Type type = parse_type(lex_, program_);
    if (v >= 0) at(v).type = std::move(type);
  }

  void arguments(Region& region) {
    lex_.expect("(");
    while (!lex_.failed() && !lex_.at(")")) {
      region.args.push_back(definition());
      lex_.expect(":");
      set_type(region.args.back());
      if (!lex_.accept(",")) break;
    }
    lex_.expect(")");
  }

  void use(Op& op) {
    Operand operand;
    operand.value = lex_.value_id();
    if (lex_.accept("@")) {
      const bool several = lex_.accept("[");
      do {
        operand.map.push_back(static_cast<int8_t>(small_integer(lex_, -128, 127)));
      } while (several && lex_.accept(","));
      if (several) lex_.expect("]");
    }
    op.operands.push_back(std::move(operand));
  }

  /// Uses up to the token that does not continue the list.
  void uses(Op& op) {
    if (lex_.peek().kind != TokenKind::value) return;
    do {
      use(op);
    } while (lex_.accept(","));
  }

  void exact_uses(Op& op, int count) {
    for (int i = 0; i < count; ++i) {
      if (i != 0) lex_.expect(",");
      use(op);
    }
  }

  void access(Op& op) {
    op.tensor = lex_.id('t', "a tensor such as t0");
    lex_.expect("[");
    uses(op);
    lex_.expect("]");
    if (op.kind == OpKind::store) {
      lex_.expect(",");
      use(op);
      // The text has the indices first, the op has the value first.
      std::rotate(op.operands.begin(), op.operands.end() - 1, op.operands.end());
    }
    op.masked = lex_.accept("mask");
    if (op.masked) use(op);
  }

  void loop_operands(Op& op, int bounds) {
    exact_uses(op, bounds);
    if (!lex_.accept("carry")) return;
    lex_.expect("(");
    uses(op);
    lex_.expect(")");
  }

  /// What stands between the op's name and its types; a constant's literal waits for its type.
  void middle(Op& op, Token& literal) {
    switch (op.kind) {
      case OpKind::constant:
        literal = lex_.take();
        break;
      case OpKind::tile_index:
        use(op);
        op.block = lex_.id('b', "a block such as b0");
        break;
      case OpKind::load:
      case OpKind::store:
        access(op);
        break;
      case OpKind::reduce:
        reduce(op);
        break;
      case OpKind::permute:
        use(op);
        for (int64_t dim : parse_list(lex_)) op.ints.push_back(static_cast<int32_t>(dim));
        break;
      case OpKind::for_tile:
        op.block = lex_.id('b', "a block such as b0");
        loop_operands(op, 2);
        break;
      case OpKind::for_grid:
        loop_operands(op, 3);
        break;
      default:
        uses(op);
    }
  }

  void reduce(Op& op) {
    const auto kind = lex_.peek().kind == TokenKind::word ? reduce_from_name(lex_.peek().text) : std::nullopt;
    if (!kind) return lex_.fail_expected("a reduction such as sum");
    lex_.take();
    op.reduce = *kind;
    use(op);
    lex_.expect("axis");
    lex_.expect("=");
    op.axis = parse_int32(lex_);
  }

  void result_types(Op& op) {
    if (op.results.empty()) return;
    lex_.expect(":");
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i != 0) lex_.expect(",");
      set_type(op.results[i]);
    }
  }

  /// A constant's text is read again now that its dtype is known.
  void set_literal(Op& op, const Token& token) {
    const DType dtype = op.results.empty() || op.results[0] < 0 ? DType::i64 : at(op.results[0]).type.dtype;
    Lexer literal(std::make_shared<diag::Source>("", token.text));
    op.literal = parse_literal(literal, dtype);
    if (literal.failed() || token.kind == TokenKind::string || token.kind == TokenKind::value) {
      lex_.fail(token, fmt::format("expected a constant of {}, found `{}`", dtype_name(dtype), token.text));
    }
  }

  void regions(Op& op, int depth) {
    const bool loop = op.kind == OpKind::for_tile || op.kind == OpKind::for_grid;
    if (!loop && op.kind != OpKind::if_else) return;
    if (depth >= kMaxDepth) return lex_.fail(lex_.peek(), fmt::format("regions are nested deeper than {}", kMaxDepth));
    op.regions.resize(loop ? 1 : 2);
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (i != 0) lex_.expect("else");
      if (loop) arguments(op.regions[i]);
      lex_.expect("{");
      ops(op.regions[i], depth + 1);
      lex_.expect("}");
    }
  }

  void ops(Region& region, int depth) {
    while (!lex_.failed() && !lex_.at("}")) region.ops.push_back(parse_op(depth));
  }

  Op parse_op(int depth) {
    Op op;
    const uint32_t begin = lex_.peek().begin;
    if (lex_.peek().kind == TokenKind::value) {
      do {
        op.results.push_back(definition());
      } while (lex_.accept(","));
      lex_.expect("=");
    }
    const auto kind = lex_.peek().kind == TokenKind::word ? op_from_name(lex_.peek().text) : std::nullopt;
    if (!kind) {
      lex_.fail_expected("an operation");
      return op;
    }
    lex_.take();
    op.kind = *kind;
    Token literal;
    middle(op, literal);
    result_types(op);
    op.span = lex_.span_from(begin);
    if (op.kind == OpKind::constant && !lex_.failed()) set_literal(op, literal);
    regions(op, depth);
    return op;
  }

  Lexer& lex_;
  const Program& program_;
  Launch launch_;
};

/// Parses a whole program.
class ProgramParser {
 public:
  explicit ProgramParser(Lexer& lex) : lex_(lex) {}

  Program parse() {
    lex_.expect("program");
    program_.name = lex_.string();
    lex_.expect("index");
    lex_.expect("=");
    program_.index_dtype = parse_dtype(lex_);
    while (lex_.accept("block")) block();
    while (lex_.accept("tunable")) tunable();
    while (lex_.accept("storage")) storage();
    while (lex_.accept("tensor")) tensor();
    if (lex_.accept("mutated")) {
      do {
        program_.mutated.push_back(lex_.id('s', "a storage such as s0"));
      } while (lex_.accept(","));
    }
    while (lex_.at("launch") || lex_.at("fill")) step();
    if (!lex_.at("return")) lex_.fail_expected("`launch`, `fill` or `return`");
    returned();
    if (lex_.peek().kind != TokenKind::end) lex_.fail_expected("the end of the text");
    return std::move(program_);
  }

 private:
  /// An id in a declaration: ids are given in order, so that a reader can count on them.
  void declared(char prefix, size_t next) {
    const Token token = lex_.peek();
    const int32_t id = lex_.id(prefix, fmt::format("`{}{}`", prefix, next));
    if (!lex_.failed() && static_cast<size_t>(id) != next) {
      lex_.fail(token,
                fmt::format("expected `{}{}`, found `{}{}`: ids are declared in order", prefix, next, prefix, id));
    }
  }

  int64_t field(std::string_view name) {
    lex_.expect(name);
    lex_.expect("=");
    return lex_.integer();
  }

  void block() {
    declared('b', program_.blocks.size());
    Block block;
    block.name = lex_.string();
    block.size = field("size");
    block.min = field("min");
    block.max = field("max");
    if (lex_.at("extent")) block.extent = field("extent");
    block.fixed = lex_.accept("fixed");
    program_.blocks.push_back(std::move(block));
  }

  void tunable() {
    Tunable tunable;
    tunable.name = lex_.string();
    lex_.expect("=");
    tunable.value = lex_.string();
    lex_.expect("of");
    lex_.expect("[");
    while (!lex_.failed() && !lex_.at("]")) {
      tunable.values.push_back(lex_.string());
      if (!lex_.accept(",")) break;
    }
    lex_.expect("]");
    program_.tunables.push_back(std::move(tunable));
  }

  void storage() {
    declared('s', program_.storages.size());
    Storage storage;
    storage.name = lex_.string();
    storage.dtype = parse_dtype(lex_);
    storage.numel = lex_.integer();
    if (lex_.accept("param")) {
      storage.role = StorageRole::param;
      storage.param_index = parse_int32(lex_);
    } else {
      lex_.expect("alloc");
    }
    program_.storages.push_back(std::move(storage));
  }

  void tensor() {
    declared('t', program_.tensors.size());
    Tensor tensor;
    tensor.name = lex_.string();
    tensor.storage = lex_.id('s', "a storage such as s0");
    tensor.dtype = parse_dtype(lex_);
    tensor.shape = parse_list(lex_);
    lex_.expect("strides");
    tensor.strides = parse_list(lex_);
    tensor.offset = field("offset");
    program_.tensors.push_back(std::move(tensor));
  }

  void step() {
    Step step;
    if (lex_.accept("launch")) {
      step.launch = LaunchParser(lex_, program_).parse();
    } else {
      lex_.expect("fill");
      step.kind = Step::Kind::fill;
      const Token token = lex_.peek();
      step.fill_tensor = lex_.id('t', "a tensor such as t0");
      if (lex_.failed()) return;
      if (step.fill_tensor < 0 || step.fill_tensor >= static_cast<TensorId>(program_.tensors.size())) {
        return lex_.fail(token, fmt::format("tensor t{} is not declared above", step.fill_tensor));
      }
      step.fill_value = parse_literal(lex_, program_.tensor(step.fill_tensor).dtype);
    }
    program_.steps.push_back(std::move(step));
  }

  void returned() {
    lex_.expect("return");
    while (!lex_.failed() && lex_.peek().kind != TokenKind::end) {
      Returned item;
      const Token& token = lex_.peek();
      if (lex_.accept("none")) {
        item.kind = Returned::Kind::none;
      } else if (token.kind == TokenKind::word && token.text[0] == 't') {
        item.tensor = lex_.id('t', "a tensor such as t0");
      } else {
        item.kind = Returned::Kind::number;
        item.number = lex_.floating();
      }
      program_.returned.push_back(item);
      if (!lex_.accept(",")) return;
    }
  }

  Lexer& lex_;
  Program program_;
};

}  // namespace

Result<Program> parse(diag::SourcePtr source) {
  Lexer lex(std::move(source));
  Program program = ProgramParser(lex).parse();
  if (lex.failed()) return lex.error();
  return program;
}

}  // namespace hc::ir
