// Reads the canonical text of kernel IR; docs/kernel-ir.md has the grammar.
#include <map>

#include "ir/kernel_ir.h"
#include "ir/lexer.h"

namespace hc::ir {
namespace {

constexpr size_t kMostRegs = 1 << 20;

class KernelParser {
 public:
  explicit KernelParser(diag::SourcePtr source) : lex_(std::move(source)) {
    for (int i = 0; i < static_cast<int>(OpKind::constant); ++i) {
      const auto kind = static_cast<OpKind>(i);
      if (is_elementwise(kind)) elementwise_[std::string(op_name(kind))] = kind;
    }
  }

  Result<KernelProgram> parse() {
    header();
    while (lex_.at("storage")) storage();
    while (!lex_.failed() && lex_.peek().kind != TokenKind::end) {
      KernelStep step;
      if (lex_.accept("fill")) {
        fill(step);
      } else {
        lex_.expect("launch");
        launch(step.launch);
      }
      program_.steps.push_back(std::move(step));
    }
    if (lex_.failed()) return lex_.error();
    return std::move(program_);
  }

 private:
  void header() {
    lex_.expect("kernel");
    program_.name = lex_.string();
    program_.threads = static_cast<int>(field("threads"));
    lex_.expect("schedule");
    lex_.expect("=");
    program_.schedule = lex_.accept("dynamic") ? Schedule::dynamically : Schedule::statically;
    if (program_.schedule == Schedule::statically) lex_.expect("static");
    program_.chunk = field("chunk");
  }

  int64_t field(std::string_view name) {
    lex_.expect(name);
    lex_.expect("=");
    return lex_.integer();
  }

  DType dtype() {
    const Token at = lex_.peek();
    const std::string name = lex_.word("a dtype");
    if (const auto found = dtype_from_name(name)) return *found;
    lex_.fail(at, "`" + name + "` is no dtype");
    return DType::f32;
  }

  void storage() {
    lex_.expect("storage");
    lex_.id('s', "a storage");
    Storage out;
    out.name = lex_.string();
    out.dtype = dtype();
    out.numel = lex_.integer();
    if (lex_.accept("param")) {
      out.role = StorageRole::param;
      out.param_index = static_cast<int32_t>(lex_.integer());
    } else {
      lex_.expect("alloc");
    }
    program_.storages.push_back(std::move(out));
  }

  Literal literal(DType type) {
    Literal out;
    if (is_floating(type)) {
      out.f = lex_.floating();
    } else {
      out.i = lex_.integer();
    }
    return out;
  }

  DType storage_dtype(int32_t id) {
    if (id >= 0 && static_cast<size_t>(id) < program_.storages.size()) {
      return program_.storages[static_cast<size_t>(id)].dtype;
    }
    lex_.fail(lex_.peek(), "there is no such storage");
    return DType::f32;
  }

  void fill(KernelStep& step) {
    step.kind = KernelStep::Kind::fill;
    step.fill_storage = lex_.id('s', "a storage");
    lex_.expect("[");
    step.fill_begin = lex_.integer();
    lex_.expect("..");
    step.fill_end = lex_.integer();
    lex_.expect("]");
    step.fill_value = literal(storage_dtype(step.fill_storage));
  }

  void launch(KernelLaunch& out) {
    launch_ = &out;
    out.name = lex_.string();
    lex_.expect("{");
    while (lex_.accept("local")) {
      lex_.id('l', "a local memory");
      Local local;
      local.name = lex_.string();
      local.dtype = dtype();
      local.numel = lex_.integer();
      out.locals.push_back(std::move(local));
    }
    body(out.body);
  }

  /// Statements up to and with the closing brace.
  void body(std::vector<Stmt>& out) {
    while (!lex_.failed() && !lex_.accept("}")) out.push_back(statement());
  }

  /// Makes room for a register and gives it its type.
  void declare(RegId r, Reg reg) {
    if (r < 0 || static_cast<size_t>(r) >= kMostRegs) return lex_.fail(lex_.peek(), "too many registers");
    if (launch_->regs.size() <= static_cast<size_t>(r)) launch_->regs.resize(static_cast<size_t>(r) + 1);
    launch_->regs[static_cast<size_t>(r)] = reg;
  }

  DType reg_dtype(RegId r) const {
    const bool known = r >= 0 && static_cast<size_t>(r) < launch_->regs.size();
    return known ? launch_->reg(r).dtype : DType::f32;
  }

  Affine affine() {
    Affine out;
    do {
      if (lex_.peek().kind != TokenKind::value) {
        out.constant += lex_.integer();
        continue;
      }
      Affine::Term term;
      term.reg = lex_.value_id();
      lex_.expect("*");
      term.scale = lex_.integer();
      out.terms.push_back(term);
    } while (lex_.accept("+"));
    return out;
  }

  Address address() {
    Address out;
    const bool local = !lex_.peek().text.empty() && lex_.peek().text[0] == 'l';
    out.space = local ? Space::local : Space::storage;
    out.memory = lex_.id(local ? 'l' : 's', "a memory");
    lex_.expect("[");
    out.offset = affine();
    lex_.expect("]");
    if (lex_.accept("stride")) out.stride = lex_.integer();
    if (lex_.accept("gather")) out.gather = lex_.value_id();
    return out;
  }

  DType memory_dtype(const Address& at) {
    if (at.space == Space::storage) return storage_dtype(at.memory);
    const auto i = static_cast<size_t>(at.memory);
    if (i < launch_->locals.size()) return launch_->locals[i].dtype;
    lex_.fail(lex_.peek(), "there is no such local memory");
    return DType::f32;
  }

  void mask(Stmt& stmt) {
    if (lex_.accept("mask")) stmt.mask = lex_.value_id();
  }

  std::vector<RegId> uses() {
    std::vector<RegId> out;
    do {
      out.push_back(lex_.value_id());
    } while (lex_.accept(","));
    return out;
  }

  Stmt statement() {
    if (lex_.peek().kind == TokenKind::value) return definition();
    Stmt out;
    if (lex_.accept("store")) {
      out.op = KernelOp::store;
      out.address = address();
      lex_.expect(",");
      out.args = {lex_.value_id()};
      mask(out);
      out.streaming = lex_.accept("streaming");
      out.exact = lex_.accept("exact");
    } else if (lex_.accept("set")) {
      out.op = KernelOp::set;
      out.args = uses();
    } else if (lex_.accept("accumulate")) {
      out.op = KernelOp::accumulate;
      out.args = uses();
      mask(out);
      lex_.expect("at");
      out.affine = affine();
      lex_.expect("stride");
      out.stride = lex_.integer();
    } else if (lex_.accept("fill")) {
      out.op = KernelOp::fill;
      out.address = address();
      lex_.expect(",");
      out.literal = literal(memory_dtype(out.address));
    } else if (lex_.accept("prefetch")) {
      out.op = KernelOp::prefetch;
      out.address = address();
      lex_.expect("level");
      out.stride = lex_.integer();
      if (lex_.accept("part")) {
        out.step = lex_.integer();
        lex_.expect("of");
        out.copies = static_cast<int32_t>(lex_.integer());
      }
    } else if (lex_.accept("branch")) {
      out.op = KernelOp::branch;
      out.args = {lex_.value_id()};
      lex_.expect("{");
      body(out.body);
      if (lex_.accept("else")) {
        lex_.expect("{");
        body(out.otherwise);
      }
    } else {
      loop(out);
    }
    return out;
  }

  void loop(Stmt& out) {
    lex_.expect("loop");
    out.op = KernelOp::loop;
    if (lex_.accept("grid")) {
      out.level = Level::grid;
    } else if (lex_.accept("vector")) {
      out.level = Level::vector;
    } else {
      lex_.expect("serial");
    }
    out.dst = lex_.value_id();
    declare(out.dst, {DType::i64, 1});
    lex_.expect("=");
    out.begin = affine();
    lex_.expect("to");
    out.end = affine();
    out.valid = lex_.accept("valid") ? affine() : out.end;
    if (lex_.accept("step")) out.step = lex_.integer();
    if (lex_.accept("unroll")) out.unroll = static_cast<int32_t>(lex_.integer());
    lex_.expect("{");
    body(out.body);
  }

  Stmt definition() {
    Stmt out;
    out.dst = lex_.value_id();
    lex_.expect(":");
    Reg reg;
    reg.dtype = dtype();
    if (lex_.accept("[")) {
      reg.lanes = static_cast<int32_t>(lex_.integer());
      lex_.expect("]");
    }
    declare(out.dst, reg);
    lex_.expect("=");
    if (lex_.accept("constant")) {
      out.op = KernelOp::constant;
      out.literal = literal(reg.dtype);
    } else if (lex_.accept("index")) {
      out.op = KernelOp::index;
      out.affine = affine();
    } else if (lex_.accept("lanes")) {
      out.op = KernelOp::lanes;
      out.affine = affine();
      lex_.expect("stride");
      out.stride = lex_.integer();
    } else if (lex_.accept("load")) {
      out.op = KernelOp::load;
      out.address = address();
      mask(out);
    } else if (lex_.accept("accumulator")) {
      accumulator(out);
    } else if (lex_.accept("var")) {
      out.op = KernelOp::var;
      out.args = uses();
    } else if (lex_.accept("collapse")) {
      out.op = KernelOp::collapse;
      out.args = uses();
    } else {
      elementwise(out);
    }
    return out;
  }

  void accumulator(Stmt& out) {
    out.op = KernelOp::accumulator;
    const Token at = lex_.peek();
    const std::string name = lex_.word("a reduction");
    bool found = false;
    for (int i = 0; i <= static_cast<int>(ReduceKind::all); ++i) {
      if (reduce_name(static_cast<ReduceKind>(i)) != name) continue;
      out.reduce = static_cast<ReduceKind>(i);
      found = true;
    }
    if (!found) lex_.fail(at, "`" + name + "` is no reduction");
    out.literal = literal(reg_dtype(out.dst));
    lex_.expect("copies");
    out.copies = static_cast<int32_t>(lex_.integer());
  }

  void elementwise(Stmt& out) {
    const Token at = lex_.peek();
    const std::string name = lex_.word("an operation");
    const auto found = elementwise_.find(name);
    if (found == elementwise_.end()) return lex_.fail(at, "`" + name + "` is no operation");
    out.elementwise = found->second;
    out.op = KernelOp::elementwise;
    out.args = uses();
  }

  Lexer lex_;
  KernelProgram program_;
  KernelLaunch* launch_ = nullptr;
  std::map<std::string, OpKind> elementwise_;
};

}  // namespace

Result<KernelProgram> parse_kernel(diag::SourcePtr source) { return KernelParser(std::move(source)).parse(); }

}  // namespace hc::ir
