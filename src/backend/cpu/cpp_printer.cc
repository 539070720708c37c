// Kernel IR to C++: launches, loops and reductions.
#include "backend/cpu/cpp_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/cpu/buffers.h"

namespace hc::backend::cpu {

using ir::Affine;
using ir::KernelOp;
using ir::Level;
using ir::ReduceKind;
using ir::RegId;
using ir::Stmt;

namespace {

constexpr int64_t kStackBytes = 64 << 10;  ///< local memories beyond this are static and thread-local

bool is_position(ReduceKind kind) { return kind == ReduceKind::argmax || kind == ReduceKind::argmin; }

}  // namespace

LaunchPrinter::LaunchPrinter(const ir::KernelProgram& program, const ir::KernelLaunch& launch, std::string name)
    : program_(program), launch_(launch), name_(std::move(name)), accumulators_(launch.regs.size(), nullptr) {
  scan(launch.body, false);
}

void LaunchPrinter::scan(const std::vector<Stmt>& stmts, bool in_vector) {
  for (const Stmt& stmt : stmts) {
    const bool access = stmt.op == KernelOp::load || stmt.op == KernelOp::store || stmt.op == KernelOp::prefetch;
    if (access && stmt.address.space == ir::Space::storage) {
      storages_.insert(stmt.address.memory);
      if (stmt.op == KernelOp::store) written_.insert(stmt.address.memory);
    }
    streams_ = streams_ || stmt.streaming;
    if (stmt.op == KernelOp::var) vars_.insert(stmt.dst);
    if (stmt.op == KernelOp::accumulator) {
      accumulators_[static_cast<size_t>(stmt.dst)] = &stmt;
      if (!in_vector) crossing_.insert(stmt.dst);
    }
    if (stmt.op == KernelOp::loop && stmt.level == Level::grid) {
      tiles_ *= (stmt.end.constant - stmt.begin.constant + stmt.step - 1) / stmt.step;
    }
    if (stmt.op == KernelOp::elementwise) note_divisor(stmt);
    if (stmt.op == KernelOp::loop && stmt.begin.is_constant()) {
      steps_[stmt.dst] = std::gcd(stmt.begin.constant, stmt.step);
    }
    const bool vector = in_vector || (stmt.op == KernelOp::loop && stmt.level == Level::vector);
    scan(stmt.body, vector);
    scan(stmt.otherwise, vector);
  }
}

/// A floating scalar that divides a vector gets its reciprocal beside it; registers that change do not.
void LaunchPrinter::note_divisor(const Stmt& stmt) {
  if (stmt.elementwise != ir::OpKind::div || type(stmt.dst).lanes == 1) return;
  if (type(stmt.args[1]).lanes == 1 && vars_.count(stmt.args[1]) == 0) {
    divisors_[stmt.args[1]] = type(stmt.dst).lanes;
  }
}

void LaunchPrinter::line(std::string text) {
  out_.append(static_cast<size_t>(indent_) * 2, ' ');
  out_ += text;
  out_ += '\n';
}

std::string LaunchPrinter::reg(RegId r, int copy) const {
  return type(r).lanes == 1 ? fmt::format("r{}", r) : fmt::format("r{}_{}", r, copy);
}

std::string LaunchPrinter::affine(const Affine& affine, int64_t extra) const {
  std::string out;
  for (const Affine::Term& term : affine.terms) {
    const std::string name =
        type(term.reg).dtype == DType::i64 ? scalar(term.reg) : fmt::format("int64_t({})", scalar(term.reg));
    const bool minus = term.scale == -1;
    if (!out.empty() || minus) out += out.empty() ? "-" : minus ? " - " : " + ";
    out += term.scale == 1 || minus ? name : fmt::format("{} * {}", name, term.scale);
  }
  const int64_t constant = affine.constant + extra;
  if (constant != 0 || out.empty()) {
    out += out.empty() ? fmt::format("{}", constant)
                       : fmt::format(" {} {}", constant < 0 ? "-" : "+", constant < 0 ? -constant : constant);
  }
  return out;
}

void LaunchPrinter::assign(RegId dst, int copy, const std::string& value) {
  line(fmt::format("const {} {} = {};", register_type(type(dst)), reg(dst, copy), value));
  if (divisors_.count(dst) == 0) return;
  line(fmt::format("const auto d{0} = hcv::make_divisor<{1}>(r{0});", dst, divisors_.at(dst)));
}

std::string LaunchPrinter::function() {
  out_ = fmt::format("static void {}(void* const* storages, [[maybe_unused]] int64_t tile) {{\n", name_);
  for (int32_t s : storages_) {
    const std::string memory = memory_type(program_.storages[static_cast<size_t>(s)].dtype);
    const std::string qualified = (written_.count(s) != 0 ? "" : "const ") + memory;
    line(fmt::format("{0}* const __restrict s{1} = static_cast<{0}*>(storages[{1}]);  // {2}", qualified, s,
                     program_.storages[static_cast<size_t>(s)].name));
  }
  int64_t bytes = 0;
  for (const ir::Local& local : launch_.locals) bytes += local.numel * dtype_bytes(local.dtype);
  for (size_t i = 0; i < launch_.locals.size(); ++i) {
    const ir::Local& local = launch_.locals[i];
    const std::string memory = memory_type(local.dtype);
    if (bytes <= kStackBytes) {
      line(fmt::format("alignas(64) {} l{}[{}];  // {}", memory, i, local.numel, local.name));
    } else {
      line(fmt::format("alignas(64) static thread_local {} memory{}[{}];  // {}", memory, i, local.numel, local.name));
      line(fmt::format("{}* const l{} = memory{};", memory, i, i));
    }
  }
  grid();
  out_ += "}\n";
  return std::move(out_);
}

/// Grid variables from the tile's number, then the body of the innermost grid loop.
void LaunchPrinter::grid() {
  const std::vector<Stmt>* inner = &launch_.body;
  std::vector<const Stmt*> loops;
  while (inner->size() == 1 && inner->front().op == KernelOp::loop && inner->front().level == Level::grid) {
    loops.push_back(&inner->front());
    inner = &inner->front().body;
  }
  int64_t below = 1;
  std::vector<std::string> lines;
  for (size_t i = loops.size(); i-- > 0;) {
    const Stmt& loop = *loops[i];
    const int64_t count = (loop.end.constant - loop.begin.constant + loop.step - 1) / loop.step;
    std::string number = below == 1 ? "tile" : fmt::format("tile / {}", below);
    if (i != 0) number = fmt::format("{} % {}", number, std::max<int64_t>(count, 1));
    if (loop.step != 1) number = fmt::format("({}) * {}", number, loop.step);
    if (loop.begin.constant != 0) number += fmt::format(" + {}", loop.begin.constant);
    lines.push_back(fmt::format("const int64_t {} = {};", scalar(loop.dst), number));
    below *= std::max<int64_t>(count, 1);
  }
  for (size_t i = lines.size(); i-- > 0;) line(lines[i]);
  body(*inner);
}

void LaunchPrinter::body(const std::vector<Stmt>& stmts) {
  for (const Stmt& stmt : stmts) statement(stmt);
}

void LaunchPrinter::statement(const Stmt& stmt) {
  switch (stmt.op) {
    case KernelOp::elementwise:
      return elementwise(stmt);
    case KernelOp::constant:
      return assign(stmt.dst, 0, literal_text(type(stmt.dst).dtype, stmt.literal));
    case KernelOp::index:
      return assign(stmt.dst, 0,
                    convert_text(fmt::format("({})", affine(stmt.affine)), {DType::i64, 1}, type(stmt.dst)));
    case KernelOp::lanes:
      return lanes(stmt);
    case KernelOp::load:
      return load(stmt);
    case KernelOp::store:
      return store(stmt);
    case KernelOp::var:
      for (int u = 0; u < copies_of(stmt.dst); ++u) {
        line(fmt::format("{} {} = {};", register_type(type(stmt.dst)), reg(stmt.dst, u),
                         splat_text(reg(stmt.args[0], u), type(stmt.args[0]), type(stmt.dst))));
      }
      return;
    case KernelOp::set:
      for (int u = 0; u < copies_of(stmt.args[0]); ++u) {
        line(fmt::format("{} = {};", reg(stmt.args[0], u),
                         splat_text(reg(stmt.args[1], u), type(stmt.args[1]), type(stmt.args[0]))));
      }
      return;
    case KernelOp::accumulator:
      return accumulator(stmt);
    case KernelOp::accumulate:
      return accumulate(stmt);
    case KernelOp::collapse:
      return collapse(stmt);
    case KernelOp::fill: {
      const ir::Local& local = launch_.locals[static_cast<size_t>(stmt.address.memory)];
      const std::string value = literal_text(local.dtype, stmt.literal);
      return line(
          fmt::format("for (int64_t i = 0; i < {}; ++i) l{}[i] = {};", local.numel, stmt.address.memory, value));
    }
    case KernelOp::prefetch:
      for (int u = 0; u < (stmt.address.stride != 0 ? mode_.copies : 1); ++u) {
        if (mode_.copies >= stmt.copies && u % stmt.copies != stmt.step % stmt.copies) continue;
        const std::string at = pointer(stmt.address, u, mode_.loop ? mode_.loop->step : 1);
        line(fmt::format("__builtin_prefetch({}, 0, {});", at, stmt.stride == 1 ? 3 : 2));
      }
      return;
    case KernelOp::loop:
      return loop(stmt);
    case KernelOp::branch:
      return branch(stmt);
  }
}

void LaunchPrinter::elementwise(const Stmt& stmt) {
  std::vector<ir::Reg> types;
  for (RegId arg : stmt.args) types.push_back(type(arg));
  for (int u = 0; u < copies_of(stmt.dst); ++u) {
    std::vector<std::string> args;
    for (RegId arg : stmt.args) args.push_back(reg(arg, u));
    if (stmt.elementwise == ir::OpKind::div && types[0].lanes > 1 && divisors_.count(stmt.args[1]) != 0) {
      assign(stmt.dst, u, fmt::format("({} / d{})", args[0], stmt.args[1]));
      continue;
    }
    assign(stmt.dst, u, elementwise_text(stmt.elementwise, args, types, type(stmt.dst)));
  }
}

void LaunchPrinter::lanes(const Stmt& stmt) {
  const ir::Reg t = type(stmt.dst);
  const std::string element = scalar_type(t.dtype);
  for (int u = 0; u < copies_of(stmt.dst); ++u) {
    const std::string first = affine(stmt.affine, u * int64_t{t.lanes} * stmt.stride);
    std::string count = fmt::format("hcv::iota<{}, {}>()", element, t.lanes);
    if (stmt.stride != 1) count += fmt::format(" * {}({})", register_type(t), stmt.stride);
    assign(stmt.dst, u, fmt::format("{}({}({})) + {}", register_type(t), element, first, count));
  }
}

void LaunchPrinter::accumulator(const Stmt& stmt) {
  const ir::Reg t = type(stmt.dst);
  const bool inside = mode_.loop != nullptr && t.lanes > 1;
  const int copies = inside ? mode_.copies : stmt.copies;
  const std::string value = splat_text(literal_text(t.dtype, stmt.literal), {t.dtype, 1}, t);
  for (int u = 0; u < copies; ++u) {
    line(fmt::format("{} {} = {};", register_type(t), reg(stmt.dst, u), value));
    if (!is_position(stmt.reduce)) continue;
    line(fmt::format("{} {}_at = 0;", register_type({DType::i64, t.lanes}), reg(stmt.dst, u)));
  }
}

/// An accumulator made outside of the open vector loop takes its lanes: those that are not valid must not count.
void LaunchPrinter::accumulate(const Stmt& stmt) {
  const RegId target = stmt.args[0], value = stmt.args[1];
  const ir::Reg t = type(target);
  const Stmt& made = *accumulators_[static_cast<size_t>(target)];
  for (int u = 0; u < copies_of(target); ++u) {
    const bool crosses = mode_.loop != nullptr && t.lanes > 1 && crossing_.count(target) != 0;
    std::string on = mask(stmt, u, crosses);
    if (is_position(made.reduce)) {
      accumulate_position(stmt, u, on);
      continue;
    }
    std::string add = splat_text(reg(value, u), type(value), t);
    const std::string identity = splat_text(literal_text(t.dtype, made.literal), {t.dtype, 1}, t);
    if (!on.empty() && t.dtype == DType::boolean && t.lanes > 1) {
      add = fmt::format("(({0} & {1}) | (~{0} & {2}))", on, add, identity);
    } else if (!on.empty()) {
      add = t.lanes == 1 ? fmt::format("({} ? {} : {})", on, add, identity)
                         : fmt::format("hcv::select({}, {}, {})", on, add, identity);
    }
    line(fmt::format("{} = {};", reg(target, u), combine_text(made.reduce, reg(target, u), add, t)));
  }
}

void LaunchPrinter::accumulate_position(const Stmt& stmt, int copy, const std::string& on) {
  const RegId target = stmt.args[0];
  const ir::Reg t = type(target);
  const Stmt& made = *accumulators_[static_cast<size_t>(target)];
  std::string where = affine(stmt.affine, copy * int64_t{t.lanes} * stmt.stride);
  if (t.lanes > 1) {
    where = fmt::format("{}({})", register_type({DType::i64, t.lanes}), where);
    if (stmt.stride != 0) where += fmt::format(" + hcv::iota<int64_t, {}>()", t.lanes);
  }
  const std::string all = t.lanes == 1 ? "true" : register_type({DType::boolean, t.lanes}) + "(-1)";
  line(fmt::format("hcv::take_extreme<{}>({}, {}_at, {}, {}, {});", made.reduce == ReduceKind::argmax,
                   reg(target, copy), reg(target, copy), splat_text(reg(stmt.args[1], copy), type(stmt.args[1]), t),
                   where, on.empty() ? all : on));
}

void LaunchPrinter::collapse(const Stmt& stmt) {
  const RegId source = stmt.args[0];
  const ir::Reg from = type(source), to = type(stmt.dst);
  const Stmt& made = *accumulators_[static_cast<size_t>(source)];
  if (is_position(made.reduce)) return collapse_position(stmt, made);
  if (to.lanes > 1) {
    for (int u = 0; u < copies_of(stmt.dst); ++u) assign(stmt.dst, u, reg(source, u));
    return;
  }
  std::vector<std::string> parts;
  for (int u = 0; u < made.copies; ++u) parts.push_back(reg(source, u));
  while (parts.size() > 1) {  // a tree, for the chains to stay short
    std::vector<std::string> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(combine_text(made.reduce, parts[i], parts[i + 1], from));
    if (parts.size() % 2 != 0) next.push_back(parts.back());
    parts = std::move(next);
  }
  std::string text = parts[0];
  if (from.lanes > 1) {
    switch (made.reduce) {
      case ReduceKind::sum:
        text = fmt::format("hcv::reduce_sum({})", text);
        break;
      case ReduceKind::prod:
        text = fmt::format("hcv::reduce_prod({})", text);
        break;
      case ReduceKind::amax:
        text = fmt::format("hcv::{}({})", from.dtype == DType::boolean ? "any" : "reduce_max", text);
        break;
      case ReduceKind::amin:
        text = fmt::format("hcv::{}({})", from.dtype == DType::boolean ? "all" : "reduce_min", text);
        break;
      case ReduceKind::any:
        text = fmt::format("hcv::any({})", text);
        break;
      default:
        text = fmt::format("hcv::all({})", text);
        break;
    }
  }
  assign(stmt.dst, 0, convert_text(text, {from.dtype, 1}, to));
}

void LaunchPrinter::collapse_position(const Stmt& stmt, const Stmt& made) {
  const RegId source = stmt.args[0];
  if (type(stmt.dst).lanes > 1 || type(source).lanes == 1) {
    for (int u = 0; u < copies_of(stmt.dst); ++u) assign(stmt.dst, u, reg(source, u) + "_at");
    return;
  }
  const std::string best = fmt::format("best{}", source);
  line(fmt::format("{} {} = {}[0];", scalar_type(type(source).dtype), best, reg(source, 0)));
  line(fmt::format("int64_t {}_at = {}_at[0];", best, reg(source, 0)));
  for (int u = 0; u < made.copies; ++u) {
    line(fmt::format("hcv::merge_extreme<{0}>({1}, {1}_at, {2}, {2}_at);", made.reduce == ReduceKind::argmax, best,
                     reg(source, u)));
  }
  assign(stmt.dst, 0, best + "_at");
}

void LaunchPrinter::loop(const Stmt& stmt) {
  if (stmt.level == Level::vector) return vector_loop(stmt);
  const std::string var = scalar(stmt.dst);
  const std::string step = stmt.step == 1 ? "++" + var : fmt::format("{} += {}", var, stmt.step);
  line(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", var, affine(stmt.begin), affine(stmt.end), step));
  ++indent_;
  body(stmt.body);
  --indent_;
  line("}");
}

/// One round of a vector loop; `count` is the C++ number of valid lanes, empty when all are.
void LaunchPrinter::vector_body(const Stmt& stmt, int copies, const std::string& count) {
  const Mode outer = mode_;
  mode_.loop = &stmt;
  mode_.copies = copies;
  mode_.partial = !count.empty();
  mode_.count = fmt::format("n{}", stmt.dst);
  ++indent_;
  if (mode_.partial) line(fmt::format("[[maybe_unused]] const int64_t {} = {};", mode_.count, count));
  body(stmt.body);
  --indent_;
  mode_ = outer;
}

/// Vectors side by side while they fit, then one at a time, then what is left with its invalid lanes switched off.
void LaunchPrinter::vector_loop(const Stmt& stmt) {
  const std::string var = scalar(stmt.dst), valid = affine(stmt.valid);
  const int64_t lanes = stmt.step;
  line("{");
  ++indent_;
  line(fmt::format("int64_t {} = {};", var, affine(stmt.begin)));
  const Mode outer = mode_;
  const bool peeled = open_streams(stmt);
  const bool known = !peeled && stmt.begin.is_constant() && stmt.valid.is_constant();
  const int64_t count = known ? stmt.valid.constant - stmt.begin.constant : -1;
  int64_t left = count;
  for (int copies : {stmt.unroll, 1}) {
    const int64_t width = lanes * copies;
    if (copies == 1 && stmt.unroll == 1 && left != count) continue;
    if (known && left < width) continue;
    line(fmt::format("for (; {0} + {1} <= {2}; {0} += {1}) {{", var, width, valid));
    vector_body(stmt, copies, "");
    line("}");
    if (known) left %= width;
    if (stmt.unroll == 1) break;
  }
  const bool more = !(stmt.end == stmt.valid);
  if (!known || left != 0 || more) {
    const std::string end = affine(stmt.end);
    line(more ? fmt::format("for (; {0} < {1}; {0} += {2}) {{", var, end, lanes)
              : fmt::format("if ({} < {}) {{", var, end));
    vector_body(stmt, 1, fmt::format("{} - {}", valid, var));
    line("}");
  }
  mode_ = outer;
  --indent_;
  line("}");
}

void LaunchPrinter::branch(const Stmt& stmt) {
  line(fmt::format("if ({}) {{", scalar(stmt.args[0])));
  ++indent_;
  body(stmt.body);
  --indent_;
  if (!stmt.otherwise.empty()) {
    line("} else {");
    ++indent_;
    body(stmt.otherwise);
    --indent_;
  }
  line("}");
}

}  // namespace hc::backend::cpu
