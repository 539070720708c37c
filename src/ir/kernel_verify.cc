// The rules of kernel IR.
#include <fmt/format.h>

#include <set>

#include "ir/kernel_ir.h"

namespace hc::ir {
namespace {

Diagnostic invalid_kernel(std::string message) { return Diagnostic{Code::ir_invalid, std::move(message)}; }

/// Walks one launch in order with the registers in scope.
class KernelVerifier {
 public:
  KernelVerifier(const KernelProgram& program, const KernelLaunch& launch)
      : program_(program), launch_(launch), visible_(launch.regs.size(), false) {}

  Status verify() { return body(launch_.body, true); }

 private:
  Diagnostic broken(const Stmt& stmt, std::string why) const {
    return invalid_kernel(fmt::format("launch \"{}\": `{}`: {}", launch_.name, kernel_op_name(stmt.op), why));
  }

  Status use(const Stmt& stmt, RegId r) const {
    if (r < 0 || static_cast<size_t>(r) >= launch_.regs.size()) {
      return broken(stmt, fmt::format("there is no register %{}", r));
    }
    if (!visible_[static_cast<size_t>(r)]) return broken(stmt, fmt::format("%{} is used where it is not defined", r));
    return success();
  }

  Status scalar(const Stmt& stmt, const Affine& affine) const {
    for (const Affine::Term& term : affine.terms) {
      HC_TRY(use(stmt, term.reg));
      if (launch_.reg(term.reg).lanes != 1 || is_floating(launch_.reg(term.reg).dtype)) {
        return broken(stmt, fmt::format("%{} stands in an index, but is no scalar integer", term.reg));
      }
    }
    return success();
  }

  Status define(const Stmt& stmt, std::vector<RegId>& scope) {
    if (stmt.dst < 0 || static_cast<size_t>(stmt.dst) >= launch_.regs.size()) {
      return broken(stmt, fmt::format("there is no register %{}", stmt.dst));
    }
    const auto r = static_cast<size_t>(stmt.dst);
    if (!defined_.insert(stmt.dst).second) return broken(stmt, fmt::format("%{} is defined a second time", stmt.dst));
    if (launch_.regs[r].lanes != 1 && launch_.regs[r].lanes != lanes_ && stmt.op != KernelOp::accumulator) {
      return broken(stmt, fmt::format("%{} has {} lanes, but the loop takes {}", r, launch_.regs[r].lanes, lanes_));
    }
    visible_[r] = true;
    scope.push_back(stmt.dst);
    return success();
  }

  Status address(const Stmt& stmt) const {
    const auto memories = stmt.address.space == Space::storage ? program_.storages.size() : launch_.locals.size();
    if (stmt.address.memory < 0 || static_cast<size_t>(stmt.address.memory) >= memories) {
      return broken(stmt, fmt::format("there is no memory {}", stmt.address.memory));
    }
    HC_TRY(scalar(stmt, stmt.address.offset));
    if (stmt.address.gather == kNone) return success();
    HC_TRY(use(stmt, stmt.address.gather));
    if (launch_.reg(stmt.address.gather).dtype == DType::i64) return success();
    return broken(stmt, fmt::format("%{} gathers, but is not i64", stmt.address.gather));
  }

  /// Dtypes of what is combined; conversions go through `cast` and `promote`.
  Status types(const Stmt& stmt) const {
    if (stmt.op == KernelOp::elementwise) {
      if (static_cast<int>(stmt.args.size()) != op_arity(stmt.elementwise)) {
        return broken(stmt, fmt::format("{} operands of `{}`", stmt.args.size(), op_name(stmt.elementwise)));
      }
      for (RegId arg : stmt.args) {
        if (launch_.reg(arg).lanes > launch_.reg(stmt.dst).lanes) {
          return broken(stmt, fmt::format("%{} has lanes, but the result %{} has none", arg, stmt.dst));
        }
      }
      const TypeRule rule = op_rule(stmt.elementwise);
      if (rule == TypeRule::convert || rule == TypeRule::logical) return success();
      const size_t first = rule == TypeRule::select ? 1 : 0;
      const DType want = launch_.reg(stmt.args[first]).dtype;
      for (size_t i = first; i < stmt.args.size(); ++i) {
        if (launch_.reg(stmt.args[i]).dtype != want) return broken(stmt, "the operands' dtypes differ");
      }
      const DType result = rule == TypeRule::compare ? DType::boolean : want;
      if (launch_.reg(stmt.dst).dtype != result) return broken(stmt, "the result's dtype is not the operation's");
    }
    if (stmt.mask != kNone && launch_.reg(stmt.mask).dtype != DType::boolean)
      return broken(stmt, "the mask is no bool");
    return success();
  }

  Status loop(const Stmt& stmt, bool grid_allowed) {
    HC_TRY(scalar(stmt, stmt.begin));
    HC_TRY(scalar(stmt, stmt.end));
    HC_TRY(scalar(stmt, stmt.valid));
    if (stmt.step < 1 || stmt.unroll < 1) return broken(stmt, "step and unroll are at least 1");
    if (stmt.level == Level::grid && !grid_allowed)
      return broken(stmt, "a grid loop stands inside of other statements");
    if (stmt.level == Level::grid && !(stmt.begin.is_constant() && stmt.end.is_constant())) {
      return broken(stmt, "the bounds of a grid loop are not constant");
    }
    const int outer = lanes_;
    if (stmt.level == Level::vector) {
      if (lanes_ != 1) return broken(stmt, "a vector loop stands inside of another one");
      lanes_ = static_cast<int>(stmt.step);
    }
    std::vector<RegId> scope;
    HC_TRY(define(stmt, scope));
    HC_TRY(body(stmt.body, stmt.level == Level::grid));
    visible_[static_cast<size_t>(stmt.dst)] = false;
    lanes_ = outer;
    return success();
  }

  Status statement(const Stmt& stmt, std::vector<RegId>& scope, bool grid_allowed) {
    for (RegId r : stmt.args) HC_TRY(use(stmt, r));
    if (stmt.mask != kNone) HC_TRY(use(stmt, stmt.mask));
    HC_TRY(scalar(stmt, stmt.affine));
    switch (stmt.op) {
      case KernelOp::load:
      case KernelOp::store:
      case KernelOp::fill:
      case KernelOp::prefetch:
        HC_TRY(address(stmt));
        break;
      case KernelOp::loop:
        return loop(stmt, grid_allowed);
      case KernelOp::branch:
        HC_TRY(body(stmt.body, false));
        return body(stmt.otherwise, false);
      default:
        break;
    }
    if (stmt.dst != kNone) HC_TRY(define(stmt, scope));
    return types(stmt);
  }

  Status body(const std::vector<Stmt>& stmts, bool grid_allowed) {
    std::vector<RegId> scope;
    for (const Stmt& stmt : stmts) HC_TRY(statement(stmt, scope, grid_allowed && stmts.size() == 1));
    for (RegId r : scope) visible_[static_cast<size_t>(r)] = false;
    return success();
  }

  const KernelProgram& program_;
  const KernelLaunch& launch_;
  std::vector<bool> visible_;
  std::set<RegId> defined_;
  int lanes_ = 1;
};

}  // namespace

Status verify(const KernelProgram& program) {
  if (program.threads < 1) return invalid_kernel("a kernel needs a thread");
  for (const KernelStep& step : program.steps) {
    if (step.kind == KernelStep::Kind::launch) {
      HC_TRY(KernelVerifier(program, step.launch).verify());
      continue;
    }
    if (step.fill_storage < 0 || static_cast<size_t>(step.fill_storage) >= program.storages.size()) {
      return invalid_kernel(fmt::format("fill: there is no storage s{}", step.fill_storage));
    }
  }
  return success();
}

}  // namespace hc::ir
