// Statements that mean the same on host and device: assignments, asserts, static branches, returns.
#include <fmt/format.h>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/index.h"
#include "lang/tracer.h"

namespace hc::lang {

Result<Flow> Tracer::exec(const std::vector<StmtPtr>& body) {
  for (const StmtPtr& stmt : body) {
    const Flow flow = HC_TRY(exec_statement(*stmt));
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Result<Flow> Tracer::exec_statement(const Stmt& stmt) {
  const auto done = [](Status status) -> Result<Flow> {
    if (!status.ok()) return std::move(status).error();
    return Flow::next;
  };
  switch (stmt.kind) {
    case StmtKind::expression: {
      Result<Value> value = eval(*stmt.value);
      if (!value.ok()) return std::move(value).error();
      return Flow::next;
    }
    case StmtKind::assign:
    case StmtKind::annotated:
      return done(exec_assign(stmt));
    case StmtKind::augmented:
      return done(exec_augmented(stmt));
    case StmtKind::if_:
      return exec_if(stmt);
    case StmtKind::for_:
      return exec_for(stmt);
    case StmtKind::return_:
      return exec_return(stmt);
    case StmtKind::assert_:
      return done(exec_assert(stmt));
    case StmtKind::pass:
      return Flow::next;
    case StmtKind::import: {
      for (const auto& [name, path] : stmt.imports) frame().host[name] = Value(Symbol{path});
      return Flow::next;
    }
    case StmtKind::break_:
    case StmtKind::continue_: {
      const bool breaks = stmt.kind == StmtKind::break_;
      if (on_device()) {
        return Diagnostic{Code::not_allowed_on_device,
                          fmt::format("{} cannot stand in a device loop", breaks ? "break" : "continue")}
            .at(stmt.span);
      }
      return breaks ? Flow::broke : Flow::continued;
    }
    case StmtKind::while_:
      if (on_device()) {
        return Diagnostic{Code::unsupported_feature, "while loops are not supported on the device yet"}.at(stmt.span);
      }
      return Diagnostic{Code::statement_not_supported, "while loops cannot stand in a kernel's host part"}.at(
          stmt.span);
    case StmtKind::function:
      return Diagnostic{Code::statement_not_supported, "a function cannot be defined in a kernel"}.at(stmt.span).fix(
          "define it at the top level of the file");
    case StmtKind::unsupported:
      break;
  }
  return Diagnostic{Code::statement_not_supported,
                    fmt::format("this statement ({}) cannot stand in a kernel", stmt.text)}
      .at(stmt.span);
}

Status Tracer::exec_assign(const Stmt& stmt) {
  if (!stmt.value) return success();
  if (stmt.targets.size() > 1 && on_device()) {
    return Diagnostic{Code::not_allowed_on_device, "several targets of one assignment cannot stand in a device loop"}
        .at(stmt.span);
  }
  const Value value = HC_TRY(eval_assigned(*stmt.targets[0], *stmt.value));
  for (const ExprPtr& target : stmt.targets) HC_TRY(assign(*target, value));
  return success();
}

/// Evaluates the right side of an assignment; a block size that it registers is named after its target.
Result<Value> Tracer::eval_assigned(const Expr& target, const Expr& expr) {
  if (target.kind == ExprKind::tuple && expr.kind == ExprKind::tuple &&
      target.children.size() == expr.children.size()) {
    Values items;
    for (size_t i = 0; i < expr.children.size(); ++i) {
      if (expr.children[i]->kind == ExprKind::starred) return eval(expr);
      items.push_back(HC_TRY(eval_assigned(*target.children[i], *expr.children[i])));
    }
    return make_tuple(std::move(items));
  }
  const bool registers = expr.kind == ExprKind::call && target.kind == ExprKind::name &&
                         library_path(*expr.children[0]) == "helion.language.register_block_size";
  if (!registers) return eval(expr);
  // The call itself cannot see the name that it is assigned to.
  frame().block_name = target.text;
  Result<Value> result = eval(expr);
  frame().block_name.clear();
  return result;
}

Status Tracer::assign(const Expr& target, const Value& value) {
  switch (target.kind) {
    case ExprKind::name:
      return assign_name(target.text, value, target.span);
    case ExprKind::tuple:
    case ExprKind::list:
      return assign_unpacked(target, value);
    case ExprKind::subscript:
      return assign_subscript(target, value);
    default:
      break;
  }
  const Code code = on_device() ? Code::not_allowed_on_device : Code::statement_not_supported;
  return Diagnostic{code, "this cannot be assigned in a kernel"}
      .at(target.span)
      .fix("assign a name, names separated by commas, or a subscript of a host tensor");
}

Status Tracer::assign_name(const std::string& name, const Value& value, const Span& span) {
  Frame& here = frame();
  if (!on_device()) {
    here.host[name] = value;
    here.born_on_device.erase(name);
    if (const auto* tensor = value.get<HostTensor>()) {
      ir::Tensor& known = program_.tensors[static_cast<size_t>(tensor->id)];
      ir::Storage& storage = program_.storages[static_cast<size_t>(known.storage)];
      if (known.name.empty()) known.name = name;
      if (storage.name.empty()) storage.name = name;
    }
    return success();
  }
  if (here.host.contains(name)) {
    return Diagnostic{Code::modify_host_variable,
                      fmt::format("the host variable {} is assigned in a device loop", name)}
        .at(span)
        .fix(here.host[name].is<HostTensor>() ? fmt::format("store to a part of it: {}[...] = ...", name)
                                              : "use another name in the loop");
  }
  if (here.kernel) here.born_on_device.insert(name);
  here.device[name] = value;
  if (const auto* device = value.get<Device>()) emit().name(*device, name);
  return success();
}

Status Tracer::assign_unpacked(const Expr& target, const Value& value) {
  for (const ExprPtr& child : target.children) {
    if (child->kind != ExprKind::starred) continue;
    const Code code = on_device() ? Code::not_allowed_on_device : Code::unsupported_feature;
    return Diagnostic{code, "a starred target cannot be assigned in a kernel"}.at(child->span);
  }
  const Values items = HC_TRY(iterate(value, target.span));
  if (items.size() != target.children.size()) {
    return Diagnostic{Code::type_error,
                      fmt::format("{} values cannot be unpacked into {} names", items.size(), target.children.size())}
        .at(target.span);
  }
  for (size_t i = 0; i < items.size(); ++i) HC_TRY(assign(*target.children[i], items[i]));
  return success();
}

Status Tracer::assign_subscript(const Expr& target, const Value& value) {
  const Value base = HC_TRY(eval(*target.children[0]));
  Values items;
  for (size_t i = 1; i < target.children.size(); ++i) {
    const Expr& item = *target.children[i];
    if (item.kind == ExprKind::starred) {
      const Values more = HC_TRY(iterate(HC_TRY(eval(*item.children[0])), item.span));
      items.insert(items.end(), more.begin(), more.end());
    } else {
      items.push_back(HC_TRY(eval(item)));
    }
  }
  return store_subscript(*this, base, items, value, target.span);
}

/// `x op= y` is x = x op y; on a subscript it reads, computes and stores.
Status Tracer::exec_augmented(const Stmt& stmt) {
  const Expr& target = *stmt.targets[0];
  if (target.kind == ExprKind::name && on_device() && frame().host.contains(target.text)) {
    return assign_name(target.text, Value(), target.span);
  }
  const Value old = HC_TRY(eval(target));
  const Value operand = HC_TRY(eval(*stmt.value));
  const Value result = HC_TRY(binary(*this, stmt.text, old, operand, stmt.span));
  if (old.is<HostTensor>() && !on_device() && target.kind == ExprKind::name) {
    // On the host an augmented assignment of a tensor changes it in place.
    return store_subscript(*this, old, {Value(Ellipsis{})}, result, stmt.span);
  }
  return assign(target, result);
}

Status Tracer::exec_assert(const Stmt& stmt) {
  if (on_device()) {
    return Diagnostic{Code::not_allowed_on_device, "assert cannot stand in a device loop"}.at(stmt.span).fix(
        "assert before the loop");
  }
  if (HC_TRY(truth(HC_TRY(eval(*stmt.value)), stmt.value->span))) return success();
  std::string message = "this assertion of the kernel does not hold";
  if (!stmt.targets.empty()) message += ": " + text_of(HC_TRY(eval(*stmt.targets[0])));
  return Diagnostic{Code::assertion_failed, message}.at(stmt.value->span);
}

Result<Flow> Tracer::exec_if(const Stmt& stmt) {
  const Value condition = HC_TRY(eval(*stmt.value));
  if (const auto* device = condition.get<Device>()) return exec_device_if(stmt, *device);
  // The other branch is not looked at: it may not even make sense for these arguments.
  return exec(HC_TRY(truth(condition, stmt.value->span)) ? stmt.body : stmt.orelse);
}

Result<Flow> Tracer::exec_return(const Stmt& stmt) {
  if (on_device() && frame().kernel) {
    return Diagnostic{Code::not_allowed_on_device, "return cannot stand in a device loop"}.at(stmt.span).fix(
        "store the result to a host tensor and return that after the loop");
  }
  if (on_device() && device_->depth > 0) {
    return Diagnostic{Code::not_allowed_on_device, "return cannot stand in a loop or branch on the device"}.at(
        stmt.span);
  }
  if (stmt.value) frame().result = HC_TRY(eval(*stmt.value));
  return Flow::returned;
}

}  // namespace hc::lang
