// Arithmetic on values.
#include "lang/arith.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "lang/host_math.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

struct Operator {
  std::string_view text;
  ir::OpKind kind;
};

constexpr Operator kBinary[] = {{"+", ir::OpKind::add},
                                {"-", ir::OpKind::sub},
                                {"*", ir::OpKind::mul},
                                {"/", ir::OpKind::div},
                                {"//", ir::OpKind::floor_divide},
                                {"%", ir::OpKind::remainder},
                                {"**", ir::OpKind::pow},
                                {"&", ir::OpKind::bitwise_and},
                                {"|", ir::OpKind::bitwise_or},
                                {"^", ir::OpKind::bitwise_xor},
                                {"<<", ir::OpKind::shift_left},
                                {">>", ir::OpKind::shift_right},
                                {"==", ir::OpKind::eq},
                                {"!=", ir::OpKind::ne},
                                {"<", ir::OpKind::lt},
                                {"<=", ir::OpKind::le},
                                {">", ir::OpKind::gt},
                                {">=", ir::OpKind::ge}};

std::optional<ir::OpKind> op_kind(std::string_view op) {
  for (const Operator& row : kBinary) {
    if (row.text == op) return row.kind;
  }
  return std::nullopt;
}

Diagnostic type_error(std::string message, const Span& span) {
  return Diagnostic{Code::type_error, std::move(message)}.at(span);
}

int64_t wrap(__int128 value) { return static_cast<int64_t>(value); }

Result<Value> int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  int64_t out = 1;
  for (int64_t i = 0; i < exponent; ++i) out = wrap(static_cast<__int128>(out) * base);
  return make_int(out);
}

Result<Value> int_binary(std::string_view op, int64_t a, int64_t b, const Span& span) {
  const bool divides = op == "//" || op == "%" || op == "/";
  if (divides && b == 0) return type_error("division by zero", span);
  if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  if (op == "//" || op == "%") {
    const int64_t quotient = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
    return make_int(op == "//" ? quotient : a - quotient * b);
  }
  if (op == "**") return int_power(a, b);
  if (op == "<<" || op == ">>") {
    if (b < 0 || b > 62) return type_error(fmt::format("a shift by {} is out of range", b), span);
    return make_int(op == "<<" ? wrap(static_cast<__int128>(a) << b) : a >> b);
  }
  if (op == "+") return make_int(wrap(static_cast<__int128>(a) + b));
  if (op == "-") return make_int(wrap(static_cast<__int128>(a) - b));
  if (op == "*") return make_int(wrap(static_cast<__int128>(a) * b));
  if (op == "&") return make_int(a & b);
  if (op == "|") return make_int(a | b);
  if (op == "^") return make_int(a ^ b);
  return type_error(fmt::format("ints have no operator {}", op), span);
}

Result<Value> float_binary(std::string_view op, double a, double b, const Span& span) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return Value(std::pow(a, b));
  if (b == 0 && (op == "/" || op == "//" || op == "%")) return type_error("division by zero", span);
  if (op == "/") return Value(a / b);
  if (op == "//") return Value(std::floor(a / b));
  if (op == "%") return Value(a - b * std::floor(a / b));
  return type_error(fmt::format("floats have no operator {}", op), span);
}

Result<Value> host_binary(std::string_view op, const Value& a, const Value& b, const Span& span) {
  if (is_number(a) && is_number(b)) {
    const bool bools = a.is<bool>() && b.is<bool>();
    if (bools && op == "&") return Value(*a.get<bool>() && *b.get<bool>());
    if (bools && op == "|") return Value(*a.get<bool>() || *b.get<bool>());
    if (a.is<double>() || b.is<double>()) return float_binary(op, *number_of(a), *number_of(b), span);
    return int_binary(op, *int_of(a), *int_of(b), span);
  }
  const auto *sa = a.get<std::string>(), *sb = b.get<std::string>();
  if (sa && sb && op == "+") return Value(*sa + *sb);
  const Values *ia = items_of(a), *ib = items_of(b);
  if (ia && ib && op == "+") {
    Values all = *ia;
    all.insert(all.end(), ib->begin(), ib->end());
    return make_tuple(std::move(all), a.get<Sequence>()->is_list);
  }
  if (ia && op == "*" && int_of(b)) {
    Values all;
    for (int64_t i = 0; i < *int_of(b); ++i) all.insert(all.end(), ia->begin(), ia->end());
    return make_tuple(std::move(all), a.get<Sequence>()->is_list);
  }
  return type_error(fmt::format("{} cannot be combined with {} by {}", describe(a), describe(b), op), span);
}

template <typename T>
bool ordered(std::string_view op, const T& a, const T& b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

Result<Value> host_compare(std::string_view op, const Value& a, const Value& b, const Span& span) {
  if (op == "==" || op == "!=") return Value(equal(a, b).value_or(false) == (op == "=="));
  if (is_number(a) && is_number(b)) {
    if (a.is<double>() || b.is<double>()) return Value(ordered(op, *number_of(a), *number_of(b)));
    return Value(ordered(op, *int_of(a), *int_of(b)));
  }
  if (a.is<std::string>() && b.is<std::string>())
    return Value(ordered(op, *a.get<std::string>(), *b.get<std::string>()));
  return type_error(fmt::format("{} and {} cannot be compared by {}", describe(a), describe(b), op), span);
}

Result<Value> contains(std::string_view op, const Value& item, const Value& container, const Span& span) {
  bool found = false;
  if (const Values* items = items_of(container)) {
    for (const Value& candidate : *items) found = found || equal(item, candidate).value_or(false);
  } else if (const Dict* dict = container.get<Dict>()) {
    for (const auto& [key, value] : *dict->items) found = found || equal(item, key).value_or(false);
  } else if (container.is<std::string>() && item.is<std::string>()) {
    found = container.get<std::string>()->find(*item.get<std::string>()) != std::string::npos;
  } else {
    return type_error(fmt::format("'in' needs a tuple, list, dict or string, not {}", describe(container)), span);
  }
  return Value(found == (op == "in"));
}

/// A tile in arithmetic: only `tile + k` has a meaning, that of tile.index + k.
Result<Value> tile_binary(Tracer& tracer, std::string_view op, const Value& a, const Value& b, const Span& span) {
  const Tile* tile = a.tile();
  if (tile && op == "+" && !b.tile()) {
    const Device index = tracer.emit().tile_index(*tile, tracer.index_dtype(), span);
    return apply(tracer, ir::OpKind::add, {Value(index), b}, span);
  }
  return Diagnostic{Code::incorrect_tile_usage, fmt::format("a tile cannot be used with the operator {}", op)}
      .at(span)
      .fix("use tile.index, tile.begin or tile.end");
}

Diagnostic direct_usage(const Span& span) {
  return Diagnostic{Code::host_tensor_direct_usage, "a host tensor is used in a device loop without a subscript"}
      .at(span)
      .fix("load from it, for example x[tile] or x[()] for a 0-d tensor");
}

/// torch squares and cubes by multiplication; other exponents go through the pow op.
Result<Value> power(Tracer& tracer, const Values& operands, const Span& span) {
  const std::optional<double> exponent = number_of(operands[1]);
  if (operands[0].is<Device>() && exponent) {
    const DType dtype = operands[0].get<Device>()->dtype;
    if (*exponent == 1.0) return operands[0];
    if (*exponent == 2.0 || *exponent == 3.0) {
      const Value square = HC_TRY(apply(tracer, ir::OpKind::mul, {operands[0], operands[0]}, span));
      return *exponent == 2.0 ? Result<Value>(square) : apply(tracer, ir::OpKind::mul, {square, operands[0]}, span);
    }
    if (*exponent == 0.5 && is_floating(dtype)) return apply(tracer, ir::OpKind::sqrt, {operands[0]}, span);
    if (*exponent == -0.5 && is_floating(dtype)) return apply(tracer, ir::OpKind::rsqrt, {operands[0]}, span);
    if (*exponent == -1.0 && is_floating(dtype)) return apply(tracer, ir::OpKind::reciprocal, {operands[0]}, span);
    if (*exponent < 0 && !is_floating(dtype) && operands[1].is<Int>()) {
      return type_error("integers to negative integer powers are not allowed", span);
    }
  }
  return apply(tracer, ir::OpKind::pow, operands, span);
}

}  // namespace

Result<DType> common_dtype(Tracer& tracer, const Values& operands, const Span& span) {
  std::optional<DType> type;
  Strength strength = Strength::python_number;
  for (const Value& operand : operands) {
    DType other = DType::f32;
    Strength other_strength = Strength::python_number;
    if (const auto* device = operand.get<Device>()) {
      other = device->dtype;
      other_strength = device->strength;
    } else if (operand.is<bool>()) {
      other = DType::boolean;
    } else if (operand.is<Int>()) {
      other = DType::i64;
    } else if (!operand.is<double>()) {
      if (operand.is<HostTensor>() && tracer.on_device()) return direct_usage(span);
      return type_error(fmt::format("{} cannot be an operand on the device", describe(operand)), span);
    }
    const std::optional<DType> next = type ? result_type(*type, strength, other, other_strength) : other;
    if (!next) {
      return type_error(fmt::format("{} and {} have no common type", dtype_torch_name(*type), dtype_torch_name(other)),
                        span)
          .fix("convert one of them with .to(dtype)");
    }
    type = next;
    strength = std::max(strength, other_strength);
  }
  return *type;
}

Result<Device> to_device(Tracer& tracer, const Value& value, DType dtype, const Span& span) {
  Emitter& emit = tracer.emit();
  if (const auto* device = value.get<Device>()) return emit.convert(*device, dtype, false, span);
  if (const std::optional<int64_t> whole = int_of(value)) {
    const bool narrow = dtype == DType::i32;
    if (narrow && (*whole > std::numeric_limits<int32_t>::max() || *whole < std::numeric_limits<int32_t>::min())) {
      return Diagnostic{Code::index_overflow, fmt::format("{} does not fit int32", *whole)}.at(span).fix(
          "convert the other operand with .to(torch.int64)");
    }
    return emit.constant_int(dtype, dtype == DType::boolean ? *whole != 0 : *whole);
  }
  if (const auto* number = value.get<double>()) {
    const double magnitude = std::abs(*number);
    const int64_t whole = std::isfinite(*number) && magnitude < 9.2e18 ? static_cast<int64_t>(*number) : 0;
    return emit.constant(dtype, *number, dtype == DType::boolean ? *number != 0 : whole);
  }
  if (value.is<HostTensor>()) return direct_usage(span);
  if (value.tile()) {
    return Diagnostic{Code::incorrect_tile_usage, "a tile is used where a value is needed"}.at(span).fix(
        "use tile.index, tile.begin or tile.end");
  }
  return type_error(fmt::format("{} cannot be a value on the device", describe(value)), span);
}

Result<Device> to_device(Tracer& tracer, const Value& value, const Span& span) {
  if (const auto* device = value.get<Device>()) return *device;
  const DType dtype = value.is<bool>() ? DType::boolean : value.is<Int>() ? DType::i64 : DType::f32;
  return to_device(tracer, value, dtype, span);
}

Result<Value> apply(Tracer& tracer, ir::OpKind kind, const Values& operands, const Span& span) {
  const ir::TypeRule rule = ir::op_rule(kind);
  const bool select = rule == ir::TypeRule::select;
  DType type = HC_TRY(common_dtype(tracer, select ? Values(operands.begin() + 1, operands.end()) : operands, span));
  if (rule == ir::TypeRule::floating && !is_floating(type)) type = DType::f32;
  if (rule == ir::TypeRule::integral && is_floating(type)) {
    return type_error(fmt::format("{} needs integers, not {}", ir::op_name(kind), dtype_torch_name(type)), span);
  }
  std::vector<Device> devices;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (select && i == 0) {
      devices.push_back(HC_TRY(to_device(tracer, operands[0], span)));
      if (devices[0].dtype != DType::boolean) return type_error("the condition must be a bool tensor", span);
    } else {
      devices.push_back(HC_TRY(to_device(tracer, operands[i], type, span)));
    }
  }
  // Of bools, PyTorch's + and * are "or" and "and".
  if (type == DType::boolean && kind == ir::OpKind::add) kind = ir::OpKind::bitwise_or;
  if (type == DType::boolean && kind == ir::OpKind::mul) kind = ir::OpKind::bitwise_and;
  if (type == DType::boolean && (kind == ir::OpKind::sub || kind == ir::OpKind::neg)) {
    return type_error("bool tensors have no subtraction", span).fix("use ^ or convert with .to(torch.int32)");
  }
  const bool to_bool = rule == ir::TypeRule::compare || rule == ir::TypeRule::logical;
  return Value(HC_TRY(tracer.emit().elementwise(kind, to_bool ? DType::boolean : type, std::move(devices), span)));
}

Result<Value> binary(Tracer& tracer, std::string_view op, const Value& a, const Value& b, const Span& span) {
  if (op == "@") return Diagnostic{Code::unsupported_feature, "matrix products (@) are not supported yet"}.at(span);
  if (a.tile() || b.tile()) return tile_binary(tracer, op, a, b, span);
  if (a.is<HostTensor>() || b.is<HostTensor>()) {
    if (tracer.on_device()) return direct_usage(span);
    return lift_pointwise(tracer, "arith", {a, b}, span,
                          [&](const Values& v) { return binary(tracer, op, v[0], v[1], span); });
  }
  if (!a.is<Device>() && !b.is<Device>()) return host_binary(op, a, b, span);
  const std::optional<ir::OpKind> kind = op_kind(op);
  if (!kind) return type_error(fmt::format("device values have no operator {}", op), span);
  if (*kind == ir::OpKind::pow) return power(tracer, {a, b}, span);
  return apply(tracer, *kind, {a, b}, span);
}

Result<Value> unary(Tracer& tracer, std::string_view op, const Value& a, const Span& span) {
  if (a.is<HostTensor>() && op != "not") {
    if (tracer.on_device()) return direct_usage(span);
    return lift_pointwise(tracer, "arith", {a}, span, [&](const Values& v) { return unary(tracer, op, v[0], span); });
  }
  if (a.is<Device>()) {
    if (op == "+") return a;
    if (op == "-") return apply(tracer, ir::OpKind::neg, {a}, span);
    if (op == "~") return apply(tracer, ir::OpKind::bitwise_not, {a}, span);
    if (!a.get<Device>()->dims.empty()) return type_error("'not' needs a scalar", span).fix("use ~ on a bool tensor");
    return apply(tracer, ir::OpKind::logical_not, {a}, span);
  }
  if (op == "not") return Value(!HC_TRY(tracer.truth(a, span)));
  if (a.is<double>() && op != "~") return Value(op == "-" ? -*a.get<double>() : *a.get<double>());
  if (const std::optional<int64_t> whole = int_of(a))
    return make_int(op == "-" ? -*whole : op == "~" ? ~*whole : *whole);
  return type_error(fmt::format("{} has no operator {}", describe(a), op), span);
}

Result<Value> compare(Tracer& tracer, std::string_view op, const Value& a, const Value& b, const Span& span) {
  if (op == "is" || op == "is not") {
    const bool same = a.is<None>() || b.is<None>() ? a.is<None>() && b.is<None>() : equal(a, b).value_or(false);
    return Value(same == (op == "is"));
  }
  if (op == "in" || op == "not in") return contains(op, a, b, span);
  if (a.is<None>() || b.is<None>() || a.is<std::string>() || b.is<std::string>()) return host_compare(op, a, b, span);
  return a.is<Device>() || b.is<Device>() || a.is<HostTensor>() || b.is<HostTensor>() ? binary(tracer, op, a, b, span)
                                                                                      : host_compare(op, a, b, span);
}

Result<Value> cast(Tracer& tracer, const Value& value, DType dtype, const Span& span) {
  if (const auto* tensor = value.get<HostTensor>()) {
    if (tracer.on_device()) return direct_usage(span);
    if (tracer.tensor(*tensor).dtype == dtype) return value;
    return lift_pointwise(tracer, "to", {value}, span,
                          [&](const Values& v) { return cast(tracer, v[0], dtype, span); });
  }
  Device device = HC_TRY(to_device(tracer, value, span));
  if (device.strength == Strength::python_number) device.strength = Strength::zero_dim;
  return Value(tracer.emit().convert(device, dtype, true, span));
}

}  // namespace hc::lang
