// Evaluation of expressions.
#include <fmt/format.h>

#include <charconv>

#include "lang/arith.h"
#include "lang/index.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

Result<Value> integer_literal(const Expr& expr) {
  std::string digits;
  for (char c : expr.text) {
    if (c != '_') digits += c;
  }
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  }
  const char* begin = digits.data() + (base == 10 ? 0 : 2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Diagnostic{Code::unsupported_feature, fmt::format("the number {} does not fit 64 bits", expr.text)}.at(
        expr.span);
  }
  return make_int(value);
}

Result<Value> float_literal(const Expr& expr) {
  std::string digits;
  for (char c : expr.text) {
    if (c != '_') digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Diagnostic{Code::unsupported_feature, fmt::format("the number {} is not supported", expr.text)}.at(
        expr.span);
  }
  return Value(value);
}

Result<Value> unpack_starred(Values& out, Result<Values> items) {
  if (!items.ok()) return std::move(items).error();
  out.insert(out.end(), items.value().begin(), items.value().end());
  return Value();
}

}  // namespace

Result<Value> Tracer::eval(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::name:
      return eval_name(expr);
    case ExprKind::integer:
      return integer_literal(expr);
    case ExprKind::floating:
      return float_literal(expr);
    case ExprKind::string:
      return Value(expr.text);
    case ExprKind::fstring:
      return Value(HC_TRY(eval_text(expr)));
    case ExprKind::boolean:
      return Value(expr.text == "True");
    case ExprKind::none:
      return Value(None{});
    case ExprKind::ellipsis:
      return Value(Ellipsis{});
    case ExprKind::attribute:
      return attribute(HC_TRY(eval(*expr.children[0])), expr.text, expr.span);
    case ExprKind::subscript:
      return eval_subscript(expr);
    case ExprKind::call:
      return eval_call(expr);
    case ExprKind::unary:
      return unary(*this, expr.text, HC_TRY(eval(*expr.children[0])), expr.span);
    case ExprKind::binary:
      return eval_operator(expr);
    case ExprKind::boolean_op:
      return eval_boolean(expr);
    case ExprKind::compare:
      return eval_compare(expr);
    case ExprKind::conditional: {
      const bool chosen = HC_TRY(truth(HC_TRY(eval(*expr.children[1])), expr.children[1]->span));
      return eval(*expr.children[chosen ? 0 : 2]);
    }
    case ExprKind::lambda:
      return Value(LambdaFunction{std::make_shared<Expr>(expr)});
    case ExprKind::comprehension:
      return eval_comprehension(expr);
    case ExprKind::walrus: {
      Value value = HC_TRY(eval(*expr.children[0]));
      HC_TRY(assign_name(expr.text, value, expr.span));
      return value;
    }
    case ExprKind::slice:
    case ExprKind::tuple:
    case ExprKind::list:
    case ExprKind::dict:
      return eval_display(expr);
    case ExprKind::starred:
      return Diagnostic{Code::statement_not_supported, "a starred expression cannot stand here"}.at(expr.span);
    case ExprKind::unsupported:
      break;
  }
  return Diagnostic{Code::statement_not_supported,
                    fmt::format("this Python syntax ({}) cannot stand in a kernel", expr.text)}
      .at(expr.span);
}

Result<Value> Tracer::eval_operator(const Expr& expr) {
  const Value left = HC_TRY(eval(*expr.children[0]));
  const Value right = HC_TRY(eval(*expr.children[1]));
  return binary(*this, expr.text, left, right, expr.span);
}

/// `and` and `or` stop early on host values; device scalars combine by logical ops.
Result<Value> Tracer::eval_boolean(const Expr& expr) {
  const bool conjunction = expr.text == "and";
  const Value left = HC_TRY(eval(*expr.children[0]));
  if (!left.is<Device>()) {
    const bool known = HC_TRY(truth(left, expr.children[0]->span));
    return known == conjunction ? eval(*expr.children[1]) : Result<Value>(left);
  }
  const Value right = HC_TRY(eval(*expr.children[1]));
  for (const Value* side : {&left, &right}) {
    if (side->is<Device>() && !side->get<Device>()->dims.empty()) {
      return Diagnostic{Code::type_error, fmt::format("'{}' needs scalars", expr.text)}.at(expr.span).fix(
          "use & and | on bool tensors");
    }
  }
  const Value a = HC_TRY(apply(*this, ir::OpKind::ne, {left, make_int(0)}, expr.span));
  if (!right.is<Device>()) {
    if (HC_TRY(truth(right, expr.children[1]->span)) == conjunction) return a;
    return Value(!conjunction);
  }
  const Value b = HC_TRY(apply(*this, ir::OpKind::ne, {right, make_int(0)}, expr.span));
  return apply(*this, conjunction ? ir::OpKind::bitwise_and : ir::OpKind::bitwise_or, {a, b}, expr.span);
}

Result<Value> Tracer::eval_compare(const Expr& expr) {
  Value result(true);
  Value left = HC_TRY(eval(*expr.children[0]));
  for (size_t i = 0; i < expr.names.size(); ++i) {
    Value right = HC_TRY(eval(*expr.children[i + 1]));
    const Value part = HC_TRY(compare(*this, expr.names[i], left, right, expr.span));
    if (i == 0) {
      result = part;
    } else {
      result = HC_TRY(binary(*this, "&", result, part, expr.span));
    }
    if (const bool* known = result.get<bool>(); known && !*known) return Value(false);
    left = std::move(right);
  }
  return result;
}

Result<Value> Tracer::eval_subscript(const Expr& expr) {
  const Value base = HC_TRY(eval(*expr.children[0]));
  Values items;
  for (size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& item = *expr.children[i];
    if (item.kind == ExprKind::starred) {
      HC_TRY(unpack_starred(items, iterate(HC_TRY(eval(*item.children[0])), item.span)));
    } else {
      items.push_back(HC_TRY(eval(item)));
    }
  }
  return subscript(*this, base, items, expr.span);
}

Result<Value> Tracer::eval_display(const Expr& expr) {
  if (expr.kind == ExprKind::slice) {
    std::array<Value, 3> parts;
    for (size_t i = 0; i < 3; ++i) {
      if (expr.children[i]) parts[i] = HC_TRY(eval(*expr.children[i]));
    }
    return Value(Slice{std::make_shared<const std::array<Value, 3>>(std::move(parts))});
  }
  if (expr.kind == ExprKind::dict) {
    std::vector<std::pair<Value, Value>> items;
    for (size_t i = 0; i + 1 < expr.children.size(); i += 2) {
      Value key = HC_TRY(eval(*expr.children[i]));
      items.emplace_back(std::move(key), HC_TRY(eval(*expr.children[i + 1])));
    }
    return Value(Dict{std::make_shared<const std::vector<std::pair<Value, Value>>>(std::move(items))});
  }
  Values items;
  for (const ExprPtr& child : expr.children) {
    if (child->kind == ExprKind::starred) {
      HC_TRY(unpack_starred(items, iterate(HC_TRY(eval(*child->children[0])), child->span)));
    } else {
      items.push_back(HC_TRY(eval(*child)));
    }
  }
  return make_tuple(std::move(items), expr.kind == ExprKind::list);
}

Result<Value> Tracer::eval_comprehension(const Expr& expr) {
  Values out;
  const Values items = HC_TRY(iterate(HC_TRY(eval(*expr.children[2])), expr.children[2]->span));
  const std::map<std::string, Value> saved_host = frame().host, saved_device = frame().device;
  for (const Value& item : items) {
    HC_TRY(assign(*expr.children[1], item));
    bool kept = true;
    for (size_t i = 3; i < expr.children.size() && kept; ++i) {
      kept = HC_TRY(truth(HC_TRY(eval(*expr.children[i])), expr.children[i]->span));
    }
    if (kept) out.push_back(HC_TRY(eval(*expr.children[0])));
  }
  frame().host = saved_host;
  frame().device = saved_device;
  return make_tuple(std::move(out), true);
}

Result<std::string> Tracer::eval_text(const Expr& expr) {
  std::string out;
  for (const ExprPtr& part : expr.children) {
    if (part->kind == ExprKind::fstring) {
      out += HC_TRY(eval_text(*part));
    } else {
      out += text_of(HC_TRY(eval(*part)));
    }
  }
  return out;
}

Result<bool> Tracer::truth(const Value& value, const Span& span) {
  if (const std::optional<double> number = number_of(value)) return *number != 0;
  if (value.is<None>()) return false;
  if (const auto* text = value.get<std::string>()) return !text->empty();
  if (const Values* items = items_of(value)) return !items->empty();
  if (value.is<Device>()) {
    return Diagnostic{Code::type_error, "the truth of a device value is not known when the kernel is compiled"}
        .at(span)
        .fix("use it in an if statement, or torch.where");
  }
  if (value.is<HostTensor>()) {
    return Diagnostic{Code::unsupported_feature, "the truth of a host tensor depends on its data"}.at(span);
  }
  return true;
}

Result<Values> Tracer::iterate(const Value& value, const Span& span) {
  if (const Values* items = items_of(value)) return *items;
  if (const Opaque* range = value.get<Opaque>(); range && range->what == "a range") {
    const int64_t start = *int_of((*range->data)[0]), stop = *int_of((*range->data)[1]),
                  step = *int_of((*range->data)[2]);
    Values out;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) out.push_back(make_int(i));
    return out;
  }
  return Diagnostic{Code::type_error, fmt::format("{} cannot be iterated", describe(value))}.at(span);
}

std::string Tracer::library_path(const Expr& expr) const {
  const std::string path = dotted_text(expr);
  if (path.empty()) return "";
  const size_t dot = path.find('.');
  const std::string root = path.substr(0, dot);
  for (const auto& frame : {frames_.back().get()}) {
    if (frame->host.contains(root) || frame->device.contains(root)) return "";
  }
  const Global* global = module_.find(root);
  if (!global || global->kind != Global::Kind::import) return "";
  return dot == std::string::npos ? global->path : global->path + path.substr(dot);
}

Result<Value> Tracer::eval_name(const Expr& expr) {
  const std::string& name = expr.text;
  if (const auto it = frame().device.find(name); it != frame().device.end()) return it->second;
  if (const auto it = frame().host.find(name); it != frame().host.end()) return it->second;
  if (frame().born_on_device.contains(name)) {
    if (!on_device()) {
      return Diagnostic{Code::read_device_variable,
                        fmt::format("{} was assigned in a device loop and is read on the host", name)}
          .at(expr.span)
          .fix("store it to a host tensor in the loop and read that");
    }
    return Diagnostic{Code::undefined_variable,
                      fmt::format("{} was assigned in another loop or branch and is not defined here", name)}
        .at(expr.span)
        .fix("assign it before the loop so that the loop carries it");
  }
  return eval_global(name, expr.span);
}

Result<Value> Tracer::eval_global(const std::string& name, const Span& span) {
  const Global* global = module_.find(name);
  if (!global) {
    static const std::set<std::string> kBuiltins = {
        "len",      "min",       "max",  "abs",   "int",   "float",      "bool",    "str",   "range",
        "zip",      "enumerate", "list", "tuple", "slice", "print",      "sum",     "round", "isinstance",
        "reversed", "sorted",    "all",  "any",   "type",  "breakpoint", "getattr", "pow",   "map"};
    if (kBuiltins.contains(name)) return Value(Symbol{"builtins." + name});
    return Diagnostic{Code::undefined_variable, fmt::format("the name {} is not defined", name)}.at(span);
  }
  switch (global->kind) {
    case Global::Kind::function:
      return Value(UserFunction{global->function, false});
    case Global::Kind::kernel:
      return Value(UserFunction{global->function, true});
    case Global::Kind::import:
      return Value(Symbol{global->path});
    case Global::Kind::expression:
      break;
  }
  if (!evaluating_.insert(name).second) {
    return Diagnostic{Code::undefined_variable, fmt::format("the constant {} is defined by itself", name)}.at(span);
  }
  frames_.push_back(std::make_unique<Frame>());
  Result<Value> value = eval(*global->value);
  frames_.pop_back();
  evaluating_.erase(name);
  return value;
}

}  // namespace hc::lang
