// The canonical text of kernel IR; kernel_parse.cc reads it back and docs/kernel-ir.md has the grammar.
#include <fmt/format.h>

#include <cmath>

#include "ir/kernel_ir.h"
#include "ir/quoted.h"

namespace hc::ir {

std::string_view kernel_op_name(KernelOp op) {
  static constexpr std::string_view kNames[] = {
#define HC_KERNEL_OP(name, ...) #name,
#include "ir/kernel_ops.def"
  };
  return kNames[static_cast<size_t>(op)];
}

bool Stmt::operator==(const Stmt& o) const {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return op == o.op && dst == o.dst && args == o.args && elementwise == o.elementwise && reduce == o.reduce &&
         literal.i == o.literal.i && same(literal.f, o.literal.f) && affine == o.affine && stride == o.stride &&
         address == o.address && mask == o.mask && streaming == o.streaming && exact == o.exact && copies == o.copies &&
         level == o.level && begin == o.begin && end == o.end && valid == o.valid && step == o.step &&
         unroll == o.unroll && body == o.body && otherwise == o.otherwise;
}

namespace {

std::string_view level_name(Level level) {
  switch (level) {
    case Level::grid:
      return "grid";
    case Level::serial:
      return "serial";
    case Level::vector:
      return "vector";
  }
  return "";
}

/// Prints the statements of one launch.
class StmtPrinter {
 public:
  StmtPrinter(const KernelProgram& program, const KernelLaunch& launch, std::string& out)
      : program_(program), launch_(launch), out_(out) {}

  void body(const std::vector<Stmt>& stmts, int indent) {
    for (const Stmt& stmt : stmts) print(stmt, indent);
  }

 private:
  static std::string use(RegId r) { return fmt::format("%{}", r); }

  std::string definition(RegId r) const {
    const Reg& reg = launch_.reg(r);
    return fmt::format("%{}: {}{} = ", r, dtype_name(reg.dtype), reg.lanes == 1 ? "" : fmt::format("[{}]", reg.lanes));
  }

  static std::string affine(const Affine& affine) {
    std::string out;
    for (const Affine::Term& term : affine.terms) {
      out += fmt::format("{}%{} * {}", out.empty() ? "" : " + ", term.reg, term.scale);
    }
    if (affine.constant != 0 || out.empty()) out += fmt::format("{}{}", out.empty() ? "" : " + ", affine.constant);
    return out;
  }

  static std::string address(const Address& address) {
    std::string out =
        fmt::format("{}{}[{}]", address.space == Space::storage ? 's' : 'l', address.memory, affine(address.offset));
    if (address.stride != 0) out += fmt::format(" stride {}", address.stride);
    if (address.gather != kNone) out += " gather " + use(address.gather);
    return out;
  }

  static std::string mask(const Stmt& stmt) { return stmt.mask == kNone ? "" : " mask " + use(stmt.mask); }

  DType local_dtype(const Stmt& stmt) const {
    const auto i = static_cast<size_t>(stmt.address.memory);
    return stmt.address.space == Space::local ? launch_.locals[i].dtype : program_.storages[i].dtype;
  }

  std::string uses(const std::vector<RegId>& regs) const {
    std::string out;
    for (RegId r : regs) out += (out.empty() ? "" : ", ") + use(r);
    return out;
  }

  std::string text(const Stmt& stmt) const {
    switch (stmt.op) {
      case KernelOp::elementwise:
        return fmt::format("{} {}", op_name(stmt.elementwise), uses(stmt.args));
      case KernelOp::constant:
        return "constant " + literal_text(launch_.reg(stmt.dst).dtype, stmt.literal);
      case KernelOp::index:
        return "index " + affine(stmt.affine);
      case KernelOp::lanes:
        return fmt::format("lanes {} stride {}", affine(stmt.affine), stmt.stride);
      case KernelOp::load:
        return fmt::format("load {}{}", address(stmt.address), mask(stmt));
      case KernelOp::store:
        return fmt::format("store {}, {}{}{}{}", address(stmt.address), use(stmt.args[0]), mask(stmt),
                           stmt.streaming ? " streaming" : "", stmt.exact ? " exact" : "");
      case KernelOp::var:
        return "var " + use(stmt.args[0]);
      case KernelOp::accumulator:
        return fmt::format("accumulator {} {} copies {}", reduce_name(stmt.reduce),
                           literal_text(launch_.reg(stmt.dst).dtype, stmt.literal), stmt.copies);
      case KernelOp::accumulate:
        return fmt::format("accumulate {}{} at {} stride {}", uses(stmt.args), mask(stmt), affine(stmt.affine),
                           stmt.stride);
      case KernelOp::fill:
        return fmt::format("fill {}, {}", address(stmt.address), literal_text(local_dtype(stmt), stmt.literal));
      case KernelOp::prefetch:
        return fmt::format("prefetch {} level {}{}", address(stmt.address), stmt.stride,
                           stmt.copies == 1 ? "" : fmt::format(" part {} of {}", stmt.step, stmt.copies));
      default:
        return fmt::format("{} {}", kernel_op_name(stmt.op), uses(stmt.args));
    }
  }

  void print(const Stmt& stmt, int indent) {
    const std::string pad(static_cast<size_t>(indent), ' ');
    if (stmt.op == KernelOp::loop) {
      out_ += fmt::format("{}loop {} %{} = {} to {}", pad, level_name(stmt.level), stmt.dst, affine(stmt.begin),
                          affine(stmt.end));
      if (!(stmt.valid == stmt.end)) out_ += " valid " + affine(stmt.valid);
      if (stmt.step != 1) out_ += fmt::format(" step {}", stmt.step);
      if (stmt.unroll != 1) out_ += fmt::format(" unroll {}", stmt.unroll);
    } else {
      out_ += pad + (stmt.dst == kNone ? "" : definition(stmt.dst)) + text(stmt);
    }
    if (stmt.op == KernelOp::loop || stmt.op == KernelOp::branch) {
      out_ += " {\n";
      body(stmt.body, indent + 2);
      if (!stmt.otherwise.empty()) {
        out_ += pad + "} else {\n";
        body(stmt.otherwise, indent + 2);
      }
      out_ += pad + '}';
    }
    out_ += '\n';
  }

  const KernelProgram& program_;
  const KernelLaunch& launch_;
  std::string& out_;
};

}  // namespace

std::string print(const KernelProgram& program) {
  std::string out = fmt::format("kernel {} threads={} schedule={} chunk={}\n", in_quotes(program.name), program.threads,
                                program.schedule == Schedule::statically ? "static" : "dynamic", program.chunk);
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    out += fmt::format("storage s{} {} {} {}", i, in_quotes(storage.name), dtype_name(storage.dtype), storage.numel);
    out += storage.role == StorageRole::alloc ? " alloc\n" : fmt::format(" param {}\n", storage.param_index);
  }
  for (const KernelStep& step : program.steps) {
    if (step.kind == KernelStep::Kind::fill) {
      const DType dtype = program.storages[static_cast<size_t>(step.fill_storage)].dtype;
      out += fmt::format("fill s{}[{}..{}] {}\n", step.fill_storage, step.fill_begin, step.fill_end,
                         literal_text(dtype, step.fill_value));
      continue;
    }
    out += fmt::format("launch {} {{\n", in_quotes(step.launch.name));
    for (size_t i = 0; i < step.launch.locals.size(); ++i) {
      const Local& local = step.launch.locals[i];
      out += fmt::format("  local l{} {} {} {}\n", i, in_quotes(local.name), dtype_name(local.dtype), local.numel);
    }
    StmtPrinter(program, step.launch, out).body(step.launch.body, 2);
    out += "}\n";
  }
  return out;
}

}  // namespace hc::ir
