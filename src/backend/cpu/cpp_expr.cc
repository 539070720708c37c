// Spells elementwise operations.
#include "backend/cpu/cpp_expr.h"

#include <fmt/format.h>

#include <cmath>

#include "backend/cpu/buffers.h"
#include "backend/cpu/emitter.h"

namespace hc::backend::cpu {

using ir::OpKind;
using ir::Reg;

std::string scalar_type(DType dtype) {
  switch (register_dtype(dtype)) {
    case DType::boolean:
      return "bool";
    case DType::u8:
      return "uint8_t";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::f64:
      return "double";
    default:
      return "float";
  }
}

std::string memory_type(DType dtype) {
  if (dtype == DType::boolean) return "uint8_t";
  if (is_floating(dtype) && dtype_bytes(dtype) < 4) return dtype_bytes(dtype) == 2 ? "uint16_t" : "uint8_t";
  return scalar_type(dtype);
}

std::string register_type(Reg reg) {
  if (reg.lanes == 1) return scalar_type(reg.dtype);
  return fmt::format("{}x{}", dtype_name(register_dtype(reg.dtype)), reg.lanes);
}

std::string vector_definition(Reg reg, int mask_bytes) {
  const std::string element =
      reg.dtype == DType::boolean ? fmt::format("int{}_t", mask_bytes * 8) : scalar_type(reg.dtype);
  return fmt::format("hcv::vec<{}, {}>", element, reg.lanes);
}

std::string literal_text(DType dtype, ir::Literal literal) {
  if (dtype == DType::boolean) return literal.i != 0 ? "true" : "false";
  if (dtype == DType::i64) return literal.i == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", literal.i);
  if (!is_floating(dtype)) return fmt::format("{}({})", scalar_type(dtype), literal.i);
  const bool wide = dtype == DType::f64;
  if (std::isnan(literal.f)) return wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(literal.f)) {
    return fmt::format("{}__builtin_inf{}()", literal.f < 0 ? "-" : "", wide ? "" : "f");
  }
  std::string text = wide ? fmt::format("{}", literal.f) : fmt::format("{}", static_cast<float>(literal.f));
  if (text.find("inf") != std::string::npos) return literal.f < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return wide ? text : text + "f";
}

std::string splat_text(const std::string& text, Reg from, Reg to) {
  if (to.lanes == 1 || from.lanes > 1) return text;
  const std::string type = register_type({from.dtype, to.lanes});
  return from.dtype == DType::boolean ? fmt::format("{}(-({}))", type, text) : fmt::format("{}({})", type, text);
}

std::string convert_text(const std::string& text, Reg from, Reg to) {
  const std::string wide = splat_text(text, from, to);
  const std::string type = register_type(to);
  if (register_dtype(from.dtype) == register_dtype(to.dtype)) return wide;
  if (to.dtype == DType::boolean) {
    if (to.lanes == 1) return fmt::format("({} != 0)", wide);
    return fmt::format("hcv::mask_cast<{}::element>({} != {}(0))", type, wide, register_type({from.dtype, to.lanes}));
  }
  if (from.dtype == DType::boolean) {
    if (to.lanes == 1) return fmt::format("{}({})", type, wide);
    return fmt::format("hcv::select({}, {}(1), {}(0))", wide, type, type);
  }
  return fmt::format("hcv::convert<{}>({})", scalar_type(to.dtype), wide);
}

namespace {

/// Rounds a float register to the values of a narrow floating type.
std::string narrow_text(const std::string& text, DType dtype) {
  const std::string_view name = dtype_name(dtype);
  return fmt::format("hcv::{0}_to_f32(hcv::f32_to_{0}({1}))", name, text);
}

std::string cast_text(const std::string& arg, Reg from, Reg to, bool round) {
  std::string text = convert_text(arg, from, to);
  const bool narrow = is_floating(to.dtype) && dtype_bytes(to.dtype) < 4;
  return round && narrow ? narrow_text(text, to.dtype) : text;
}

std::string_view infix(OpKind op) {
  switch (op) {
    case OpKind::add:
      return "+";
    case OpKind::sub:
      return "-";
    case OpKind::mul:
      return "*";
    case OpKind::div:
      return "/";
    case OpKind::bitwise_and:
      return "&";
    case OpKind::bitwise_or:
      return "|";
    case OpKind::bitwise_xor:
      return "^";
    case OpKind::eq:
      return "==";
    case OpKind::ne:
      return "!=";
    case OpKind::lt:
      return "<";
    case OpKind::le:
      return "<=";
    case OpKind::gt:
      return ">";
    case OpKind::ge:
      return ">=";
    default:
      return "";
  }
}

/// Operations on bools: scalars are C++ bools, vectors masks of 0 and -1.
std::string boolean_text(OpKind op, const std::vector<std::string>& a, int lanes) {
  const std::string_view no = lanes == 1 ? "!" : "~";
  switch (op) {
    case OpKind::logical_not:
    case OpKind::bitwise_not:
      return fmt::format("{}({})", no, a[0]);
    case OpKind::bitwise_and:
    case OpKind::mul:
    case OpKind::minimum:
      return fmt::format("({} & {})", a[0], a[1]);
    case OpKind::bitwise_or:
    case OpKind::add:
    case OpKind::maximum:
      return fmt::format("({} | {})", a[0], a[1]);
    case OpKind::bitwise_xor:
    case OpKind::ne:
    case OpKind::sub:
      return fmt::format("({} ^ {})", a[0], a[1]);
    case OpKind::eq:
      return fmt::format("({}({} ^ {}))", no, a[0], a[1]);
    case OpKind::lt:
      return fmt::format("({}{} & {})", no, a[0], a[1]);
    case OpKind::le:
      return fmt::format("({}{} | {})", no, a[0], a[1]);
    case OpKind::gt:
      return fmt::format("({} & {}{})", a[0], no, a[1]);
    case OpKind::ge:
      return fmt::format("({} | {}{})", a[0], no, a[1]);
    default:
      return a[0];
  }
}

/// Wrapping scalar arithmetic: signed overflow is undefined in C++.
std::string wrapping_text(OpKind op, const std::vector<std::string>& a, const std::string& type) {
  const std::string u = type == "int64_t" ? "uint64_t" : "uint32_t";
  if (op == OpKind::neg) return fmt::format("{}(-{}({}))", type, u, a[0]);
  return fmt::format("{0}({1}({2}) {3} {1}({4}))", type, u, a[0], infix(op), a[1]);
}

bool wraps(OpKind op) { return op == OpKind::add || op == OpKind::sub || op == OpKind::mul || op == OpKind::neg; }

std::string call(std::string_view name, const std::vector<std::string>& args) {
  return fmt::format("hcv::{}({})", name, fmt::join(args, ", "));
}

std::string select_text(const std::vector<std::string>& a, Reg result) {
  if (result.lanes == 1) return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
  if (result.dtype == DType::boolean) return fmt::format("(({0} & {1}) | (~{0} & {2}))", a[0], a[1], a[2]);
  return call("select", a);
}

/// Results of compares and predicates: masks get the launch's mask type.
std::string logical_text(OpKind op, const std::vector<std::string>& a, Reg from, Reg result) {
  std::string text;
  if (op == OpKind::logical_not) {
    text = fmt::format("({} == {}(0))", a[0], register_type({from.dtype, result.lanes}));
  } else if (op == OpKind::isnan || op == OpKind::isinf) {
    if (!is_floating(from.dtype)) return splat_text("false", {DType::boolean, 1}, result);
    text = call(ir::op_name(op), a);
  } else {
    text = fmt::format("({} {} {})", a[0], infix(op), a[1]);
  }
  if (result.lanes == 1) return text;
  return fmt::format("hcv::mask_cast<{}::element>({})", register_type(result), text);
}

}  // namespace

std::string elementwise_text(OpKind op, const std::vector<std::string>& args, const std::vector<Reg>& types,
                             Reg result) {
  if (op == OpKind::cast || op == OpKind::promote) return cast_text(args[0], types[0], result, op == OpKind::cast);
  if (op == OpKind::rand) {
    const std::string offset = convert_text(args[1], types[1], {DType::i64, result.lanes});
    return fmt::format("hcv::rand_f32({}, {})", args[0], offset);
  }
  std::vector<std::string> a;
  for (size_t i = 0; i < args.size(); ++i) a.push_back(splat_text(args[i], types[i], result));
  if (op == OpKind::copy) return a[0];
  if (op == OpKind::where) return select_text(a, result);
  const Reg from = types.back();
  if (from.dtype == DType::boolean) return boolean_text(op, a, result.lanes);
  if (result.dtype == DType::boolean) return logical_text(op, a, from, result);
  if (op == OpKind::bitwise_not) return fmt::format("{}(~{})", register_type(result), a[0]);
  const std::string type = scalar_type(result.dtype);
  if (result.lanes == 1 && !is_floating(result.dtype) && wraps(op)) return wrapping_text(op, a, type);
  if (op == OpKind::neg) return fmt::format("(-{})", a[0]);
  if (!infix(op).empty()) {
    const std::string text = fmt::format("({} {} {})", a[0], infix(op), a[1]);
    return result.lanes == 1 && !is_floating(result.dtype) ? fmt::format("{}{}", type, text) : text;
  }
  return call(ir::op_name(op), a);
}

std::string combine_text(ir::ReduceKind kind, const std::string& a, const std::string& b, Reg type) {
  return elementwise_text(combiner(kind), {a, b}, {type, type}, type);
}

}  // namespace hc::backend::cpu
