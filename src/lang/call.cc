// Calls: library functions through the table, methods, and the file's own functions inlined.
#include <fmt/format.h>

#include "lang/calls.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

constexpr int kMaxInlineDepth = 32;

}  // namespace

Result<Value> Tracer::eval_call(const Expr& expr) {
  const Value callee = HC_TRY(eval(*expr.children[0]));
  Values args;
  std::vector<std::string> names;
  for (size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& child = *expr.children[i];
    if (child.kind == ExprKind::starred) {
      const Values items = HC_TRY(iterate(HC_TRY(eval(*child.children[0])), child.span));
      args.insert(args.end(), items.begin(), items.end());
      names.resize(args.size());
      continue;
    }
    args.push_back(HC_TRY(eval(child)));
    names.push_back(expr.names[i - 1]);
  }
  return call(callee, std::move(args), std::move(names), expr.span);
}

Result<Value> Tracer::call(const Value& callee, Values args, std::vector<std::string> names, const Span& span) {
  if (const auto* function = callee.get<UserFunction>()) {
    if (function->kernel) {
      return Diagnostic{Code::nested_kernel_call,
                        fmt::format("the kernel {} is called from a kernel", function->function->name)}
          .at(span)
          .fix("call a plain function instead");
    }
    return inline_function(*function, std::move(args), names, span);
  }
  if (const auto* lambda = callee.get<LambdaFunction>()) return inline_lambda(*lambda, std::move(args), span);
  std::string path;
  if (const auto* method = callee.get<Method>()) {
    path = "." + method->name;
    args.insert(args.begin(), *method->self);
    names.insert(names.begin(), "");
  } else if (const auto* symbol = callee.get<Symbol>()) {
    path = symbol->path;
  } else {
    return Diagnostic{Code::type_error, fmt::format("{} cannot be called", describe(callee))}.at(span);
  }
  const FunctionRow* row = find_function_row(path);
  if (!row) return refuse_call(*this, path, span);
  return call_row(*this, *row, std::move(args), names, span);
}

Result<Value> Tracer::inline_function(const UserFunction& callee, Values args, const std::vector<std::string>& names,
                                      const Span& span) {
  const Function& function = *callee.function;
  if (inline_depth_ >= kMaxInlineDepth) {
    return Diagnostic{Code::unsupported_feature, fmt::format("{} calls itself too deeply", function.name)}.at(span);
  }
  auto inner = std::make_unique<Frame>();
  size_t position = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string name = names[i];
    if (name.empty() && position < function.params.size()) name = function.params[position++].name;
    if (name.empty()) {
      return Diagnostic{Code::type_error, fmt::format("{} takes {} arguments", function.name, function.params.size())}
          .at(span);
    }
    inner->host[name] = std::move(args[i]);
  }
  for (const FunctionParam& param : function.params) {
    if (!param.plain) {
      return Diagnostic{Code::statement_not_supported, "functions inlined into kernels take plain parameters"}.at(
          param.span);
    }
    if (inner->host.contains(param.name)) continue;
    if (!param.value) {
      return Diagnostic{Code::type_error, fmt::format("{} needs its argument {}", function.name, param.name)}.at(span);
    }
    inner->host[param.name] = HC_TRY(eval(*param.value));
  }
  // Parameters and locals of a helper are ordinary names: on the device they may be assigned again.
  if (on_device()) std::swap(inner->host, inner->device);
  frames_.push_back(std::move(inner));
  ++inline_depth_;
  const int depth = device_ ? device_->depth : 0;
  if (device_) device_->depth = 0;
  Result<Flow> flow = exec(function.body);
  if (device_) device_->depth = depth;
  --inline_depth_;
  const Value result = frames_.back()->result;
  frames_.pop_back();
  if (!flow.ok()) return std::move(flow).error();
  return result;
}

Result<Value> Tracer::inline_lambda(const LambdaFunction& callee, Values args, const Span& span) {
  const Expr& expr = *callee.expr;
  if (args.size() > expr.names.size()) {
    return Diagnostic{Code::type_error, fmt::format("the lambda takes {} arguments", expr.names.size())}.at(span);
  }
  auto inner = std::make_unique<Frame>();
  for (size_t i = 0; i < expr.names.size(); ++i) {
    if (i < args.size()) {
      inner->device[expr.names[i]] = args[i];
    } else if (expr.children[i + 1]) {
      inner->device[expr.names[i]] = HC_TRY(eval(*expr.children[i + 1]));
    } else {
      return Diagnostic{Code::type_error, fmt::format("the lambda needs its argument {}", expr.names[i])}.at(span);
    }
  }
  frames_.push_back(std::move(inner));
  Result<Value> result = eval(*expr.children[0]);
  frames_.pop_back();
  return result;
}

}  // namespace hc::lang
