// PyTorch's pointwise functions: one op each, or a short expression of ops.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numbers>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

using ir::OpKind;

/// Ops that a function is by itself, by the last word of its name.
const std::map<std::string_view, OpKind>& direct_ops() {
  static const std::map<std::string_view, OpKind> kOps = {{"neg", OpKind::neg},
                                                          {"negative", OpKind::neg},
                                                          {"abs", OpKind::abs},
                                                          {"absolute", OpKind::abs},
                                                          {"sign", OpKind::sign},
                                                          {"floor", OpKind::floor},
                                                          {"ceil", OpKind::ceil},
                                                          {"trunc", OpKind::trunc},
                                                          {"round", OpKind::round},
                                                          {"sqrt", OpKind::sqrt},
                                                          {"rsqrt", OpKind::rsqrt},
                                                          {"reciprocal", OpKind::reciprocal},
                                                          {"exp", OpKind::exp},
                                                          {"exp2", OpKind::exp2},
                                                          {"expm1", OpKind::expm1},
                                                          {"log", OpKind::log},
                                                          {"log2", OpKind::log2},
                                                          {"log10", OpKind::log10},
                                                          {"log1p", OpKind::log1p},
                                                          {"sin", OpKind::sin},
                                                          {"cos", OpKind::cos},
                                                          {"tan", OpKind::tan},
                                                          {"tanh", OpKind::tanh},
                                                          {"sigmoid", OpKind::sigmoid},
                                                          {"erf", OpKind::erf},
                                                          {"isnan", OpKind::isnan},
                                                          {"isinf", OpKind::isinf},
                                                          {"logical_not", OpKind::logical_not},
                                                          {"bitwise_not", OpKind::bitwise_not},
                                                          {"mul", OpKind::mul},
                                                          {"multiply", OpKind::mul},
                                                          {"div", OpKind::div},
                                                          {"divide", OpKind::div},
                                                          {"true_divide", OpKind::div},
                                                          {"floor_divide", OpKind::floor_divide},
                                                          {"remainder", OpKind::remainder},
                                                          {"fmod", OpKind::fmod},
                                                          {"maximum", OpKind::maximum},
                                                          {"minimum", OpKind::minimum},
                                                          {"atan2", OpKind::atan2},
                                                          {"bitwise_and", OpKind::bitwise_and},
                                                          {"bitwise_or", OpKind::bitwise_or},
                                                          {"bitwise_xor", OpKind::bitwise_xor},
                                                          {"eq", OpKind::eq},
                                                          {"ne", OpKind::ne},
                                                          {"lt", OpKind::lt},
                                                          {"le", OpKind::le},
                                                          {"gt", OpKind::gt},
                                                          {"ge", OpKind::ge},
                                                          {"bitwise_left_shift", OpKind::shift_left},
                                                          {"bitwise_right_shift", OpKind::shift_right}};
  return kOps;
}

/// A function that is one op; floor and its like leave integers as they are.
Result<Value> direct(Tracer& tracer, const Call& call) {
  const OpKind kind = direct_ops().at(last_word(call.name));
  const bool rounds = kind == OpKind::floor || kind == OpKind::ceil || kind == OpKind::trunc || kind == OpKind::round;
  if (rounds && call[0].is<Device>() && !is_floating(call[0].get<Device>()->dtype)) return call[0];
  return apply(tracer, kind, call.args, call.span);
}

Result<Value> pow_(Tracer& tracer, const Call& call) { return binary(tracer, "**", call[0], call[1], call.span); }

Result<Value> logical(Tracer& tracer, const Call& call) {
  const Value a = HC_TRY(apply(tracer, OpKind::ne, {call[0], make_int(0)}, call.span));
  const Value b = HC_TRY(apply(tracer, OpKind::ne, {call[1], make_int(0)}, call.span));
  const std::string_view word = last_word(call.name);
  const OpKind kind = word == "logical_and"  ? OpKind::bitwise_and
                      : word == "logical_or" ? OpKind::bitwise_or
                                             : OpKind::bitwise_xor;
  return apply(tracer, kind, {a, b}, call.span);
}

/// a + alpha b, a - alpha b.
Result<Value> scaled_sum(Tracer& tracer, const Call& call) {
  Value other = call[1];
  if (int_of(call[2]) != 1) other = HC_TRY(apply(tracer, OpKind::mul, {other, call[2]}, call.span));
  return apply(tracer, last_word(call.name) == "add" ? OpKind::add : OpKind::sub, {call[0], other}, call.span);
}

Result<Value> where(Tracer& tracer, const Call& call) { return apply(tracer, OpKind::where, call.args, call.span); }

Result<Value> clamp(Tracer& tracer, const Call& call) {
  Value out = call[0];
  if (!call[1].is<None>()) out = HC_TRY(apply(tracer, OpKind::maximum, {out, call[1]}, call.span));
  if (!call[2].is<None>()) out = HC_TRY(apply(tracer, OpKind::minimum, {out, call[2]}, call.span));
  return out;
}

Result<Value> clamp_min(Tracer& tracer, const Call& call) {
  return apply(tracer, OpKind::maximum, call.args, call.span);
}
Result<Value> clamp_max(Tracer& tracer, const Call& call) {
  return apply(tracer, OpKind::minimum, call.args, call.span);
}
Result<Value> relu(Tracer& tracer, const Call& call) {
  return apply(tracer, OpKind::maximum, {call[0], make_int(0)}, call.span);
}
Result<Value> square(Tracer& tracer, const Call& call) {
  return apply(tracer, OpKind::mul, {call[0], call[0]}, call.span);
}

/// Short for apply in the composed functions below.
class Composer {
 public:
  Composer(Tracer& tracer, const Call& call) : tracer_(tracer), span_(call.span) {}
  Result<Value> operator()(OpKind kind, Values operands) const { return apply(tracer_, kind, operands, span_); }

 private:
  Tracer& tracer_;
  Span span_;
};

Result<Value> silu(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  return op(OpKind::mul, {call[0], HC_TRY(op(OpKind::sigmoid, {call[0]}))});
}

/// 0.5 x (1 + erf(x / sqrt 2)), or with tanh 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Result<Value> gelu(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  const Value& x = call[0];
  const std::string* approximate = call[1].get<std::string>();
  Value inner;
  if (approximate && *approximate == "tanh") {
    const Value square_x = HC_TRY(op(OpKind::mul, {x, x}));
    const Value cube = HC_TRY(op(OpKind::mul, {square_x, x}));
    const Value sum = HC_TRY(op(OpKind::add, {x, HC_TRY(op(OpKind::mul, {cube, Value(0.044715)}))}));
    inner = HC_TRY(op(OpKind::tanh, {HC_TRY(op(OpKind::mul, {sum, Value(std::sqrt(2.0 / std::numbers::pi))}))}));
  } else {
    inner = HC_TRY(op(OpKind::erf, {HC_TRY(op(OpKind::mul, {x, Value(std::numbers::sqrt2 / 2)}))}));
  }
  const Value factor = HC_TRY(op(OpKind::add, {inner, Value(1.0)}));
  return op(OpKind::mul, {HC_TRY(op(OpKind::mul, {x, Value(0.5)})), factor});
}

/// log(1 + e^(beta x)) / beta, and x itself where beta x exceeds the threshold.
Result<Value> softplus(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  const Value scaled = HC_TRY(op(OpKind::mul, {call[0], call[1]}));
  const Value soft = HC_TRY(op(OpKind::log1p, {HC_TRY(op(OpKind::exp, {scaled}))}));
  const Value over = HC_TRY(op(OpKind::gt, {scaled, call[2]}));
  return op(OpKind::where, {over, call[0], HC_TRY(op(OpKind::div, {soft, call[1]}))});
}

Result<Value> lerp(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  const Value difference = HC_TRY(op(OpKind::sub, {call[1], call[0]}));
  return op(OpKind::add, {call[0], HC_TRY(op(OpKind::mul, {call[2], difference}))});
}

Result<Value> leaky_relu(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  const Value positive = HC_TRY(op(OpKind::gt, {call[0], make_int(0)}));
  return op(OpKind::where, {positive, call[0], HC_TRY(op(OpKind::mul, {call[0], call[1]}))});
}

Result<Value> addcmul(Tracer& tracer, const Call& call) {
  const Composer op(tracer, call);
  const Value product = HC_TRY(op(OpKind::mul, {HC_TRY(op(OpKind::mul, {call[1], call[2]})), call[3]}));
  return op(OpKind::add, {call[0], product});
}

Result<Value> masked_fill(Tracer& tracer, const Call& call) {
  const Device self = HC_TRY(to_device(tracer, call[0], call.span));
  const Device value = HC_TRY(to_device(tracer, call[2], self.dtype, call.span));
  return apply(tracer, OpKind::where, {call[1], Value(value), call[0]}, call.span);
}

Result<Value> to_(Tracer& tracer, const Call& call) {
  for (size_t i = 1; i < 3; ++i) {
    if (const auto* dtype = call[i].get<DType>()) return cast(tracer, call[0], *dtype, call.span);
    if (const auto* model = call[i].get<HostTensor>())
      return cast(tracer, call[0], tracer.tensor(*model).dtype, call.span);
    if (const auto* model = call[i].get<Device>()) return cast(tracer, call[0], model->dtype, call.span);
  }
  return call[0];
}

Result<Value> named_cast(Tracer& tracer, const Call& call) {
  static const std::map<std::string_view, DType> kTypes = {
      {"float", DType::f32}, {"half", DType::f16}, {"bfloat16", DType::bf16}, {"double", DType::f64},
      {"int", DType::i32},   {"long", DType::i64}, {"short", DType::i16},     {"bool", DType::boolean}};
  return cast(tracer, call[0], kTypes.at(last_word(call.name)), call.span);
}

/// "torch.exp|.exp|torch.special.exp" for each single-op function; storage lives as long as the program.
void add_direct_rows(std::vector<FunctionRow>& rows) {
  static const std::vector<std::string>* names = [] {
    auto* out = new std::vector<std::string>();
    for (const auto& [word, kind] : direct_ops()) {
      out->push_back(fmt::format("torch.{0}|.{0}|torch.nn.functional.{0}|torch.special.{0}", word));
    }
    return out;
  }();
  size_t i = 0;
  for (const auto& [word, kind] : direct_ops()) {
    const std::string_view signature = ir::op_arity(kind) == 1 ? "input" : "input, other";
    rows.push_back({(*names)[i++], signature, Where::pointwise, direct});
  }
}

}  // namespace

std::vector<FunctionRow> pointwise_rows() {
  std::vector<FunctionRow> rows = {
      {"torch.pow|.pow", "input, exponent", Where::pointwise, pow_},
      {"torch.logical_and|.logical_and", "input, other", Where::pointwise, logical},
      {"torch.logical_or|.logical_or", "input, other", Where::pointwise, logical},
      {"torch.logical_xor|.logical_xor", "input, other", Where::pointwise, logical},
      {"torch.add|.add", "input, other, alpha=1", Where::pointwise, scaled_sum},
      {"torch.sub|.sub|torch.subtract|.subtract", "input, other, alpha=1", Where::pointwise, scaled_sum},
      {"torch.where", "condition, input, other", Where::pointwise, where},
      {"torch.clamp|.clamp|torch.clip|.clip", "input, min=None, max=None", Where::pointwise, clamp},
      {"torch.clamp_min|.clamp_min", "input, min", Where::pointwise, clamp_min},
      {"torch.clamp_max|.clamp_max", "input, max", Where::pointwise, clamp_max},
      {"torch.relu|.relu|torch.nn.functional.relu", "input, inplace=False", Where::pointwise, relu},
      {"torch.square|.square", "input", Where::pointwise, square},
      {"torch.nn.functional.silu|torch.silu", "input, inplace=False", Where::pointwise, silu},
      {"torch.nn.functional.gelu|torch.gelu", "input, approximate=None", Where::pointwise, gelu},
      {"torch.nn.functional.softplus", "input, beta=1, threshold=20", Where::pointwise, softplus},
      {"torch.nn.functional.leaky_relu", "input, negative_slope=0.01, inplace=False", Where::pointwise, leaky_relu},
      {"torch.lerp|.lerp", "input, end, weight", Where::pointwise, lerp},
      {"torch.addcmul|.addcmul", "input, tensor1, tensor2, value=1", Where::pointwise, addcmul},
      {"torch.masked_fill|.masked_fill", "input, mask, value", Where::pointwise, masked_fill},
      {".to|.type", "self, dtype=None, other=None, device=None, non_blocking=False, copy=False", Where::any, to_},
      {".type_as", "self, other=None, dtype=None", Where::any, to_},
  };
  for (std::string_view name : {".float", ".half", ".bfloat16", ".double", ".int", ".long", ".short", ".bool"}) {
    rows.push_back({name, "self", Where::any, named_cast});
  }
  add_direct_rows(rows);
  return rows;
}

}  // namespace hc::lang
