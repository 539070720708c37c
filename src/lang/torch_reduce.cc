// PyTorch's reductions and the functions along one dimension that are made of them.
#include <fmt/format.h>

#include <map>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

using ir::OpKind;
using ir::ReduceKind;

/// The dimension to reduce: `dim` in range, or the only dimension when `dim` is None.
Result<int> axis_of(Tracer& tracer, const Device& value, const Value& dim, const Span& span) {
  const Values* list = items_of(dim);
  if (list && list->size() > 1) {
    return Diagnostic{Code::multiple_reduction_dims, "one reduction reduces one dimension"}.at(span).fix(
        "reduce one dimension after the other");
  }
  const Value& one = list && list->size() == 1 ? (*list)[0] : dim;
  if (one.is<None>()) {
    if (value.rank() > 1) {
      return Diagnostic{Code::multiple_reduction_dims,
                        fmt::format("a reduction without dim reduces one dimension, but the value has shape {}",
                                    dims_text(tracer.program(), value.dims))}
          .at(span)
          .fix("name the dimension, for example dim=-1");
    }
    return 0;
  }
  const std::optional<int64_t> index = int_of(one);
  const int64_t rank = value.rank();
  if (!index || one.is<bool>() || *index < -rank || *index >= rank) {
    return Diagnostic{Code::invalid_reduction_dim, fmt::format("{} is not a dimension of a value of {}", text_of(one),
                                                               count_text(static_cast<size_t>(rank), "dimension"))}
        .at(span);
  }
  return static_cast<int>(*index < 0 ? *index + rank : *index);
}

Result<Device> tensor_of(Tracer& tracer, const Value& value, const Span& span) {
  if (value.tile())
    return Diagnostic{Code::reduction_on_non_tile, "a tile cannot be reduced"}.at(span).fix("reduce tile.index");
  return to_device(tracer, value, span);
}

bool flag(const Value& value) { return value.get<bool>() && *value.get<bool>(); }

/// Sums and products of integers are taken in int64; a dtype argument converts first.
Result<Device> accumulator(Tracer& tracer, Device value, const Value& dtype, const Span& span) {
  if (const auto* wanted = dtype.get<DType>()) return tracer.emit().convert(value, *wanted, true, span);
  if (!is_floating(value.dtype)) return tracer.emit().convert(value, DType::i64, false, span);
  return value;
}

Result<Value> combine(Tracer& tracer, const Call& call, ReduceKind kind, const Device& value, const Value& dim,
                      bool keepdim) {
  const int axis = HC_TRY(axis_of(tracer, value, dim, call.span));
  if (value.dims.empty()) return Value(value);
  return Value(tracer.emit().reduce(kind, value, axis, keepdim, call.span));
}

Result<Value> sum(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(accumulator(tracer, HC_TRY(tensor_of(tracer, call[0], call.span)), call[3], call.span));
  return combine(tracer, call, last_word(call.name) == "prod" ? ReduceKind::prod : ReduceKind::sum, value, call[1],
                 flag(call[2]));
}

/// The mean divides by the dimension's lanes: the true size of `:`, the block's size of a tile.
Result<Value> mean(Tracer& tracer, const Call& call) {
  Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  if (const auto* wanted = call[3].get<DType>()) value = tracer.emit().convert(value, *wanted, true, call.span);
  if (!is_floating(value.dtype)) {
    return Diagnostic{Code::type_error,
                      fmt::format("the mean of {} values is not defined", dtype_torch_name(value.dtype))}
        .at(call.span)
        .fix("convert with .to(torch.float32) first");
  }
  const int axis = HC_TRY(axis_of(tracer, value, call[1], call.span));
  if (value.dims.empty()) return Value(value);
  const int64_t count = value.dims[static_cast<size_t>(axis)].size;
  const Device total = tracer.emit().reduce(ReduceKind::sum, value, axis, flag(call[2]), call.span);
  Value out = HC_TRY(apply(tracer, OpKind::div, {Value(total), make_int(count)}, call.span));
  if (Device result = *out.get<Device>(); total.reduced) {
    result.reduced = true;
    out = Value(result);
  }
  return out;
}

Result<Value> extremum(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  const std::string_view word = last_word(call.name);
  if ((word == "max" || word == "min") && !call[1].is<None>()) {
    if (call[1].is<Device>()) {
      return apply(tracer, word == "max" ? OpKind::maximum : OpKind::minimum, {call[0], call[1]}, call.span);
    }
    return Diagnostic{Code::unsupported_feature,
                      fmt::format("torch.{} with a dim gives values and indices, which is not supported yet", word)}
        .at(call.span)
        .fix(fmt::format("use torch.a{0} and torch.arg{0}", word));
  }
  return combine(tracer, call, word.ends_with("max") ? ReduceKind::amax : ReduceKind::amin, value, call[1],
                 flag(call[2]));
}

Result<Value> arg_extremum(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  return combine(tracer, call, last_word(call.name) == "argmax" ? ReduceKind::argmax : ReduceKind::argmin, value,
                 call[1], flag(call[2]));
}

Result<Value> any_all(Tracer& tracer, const Call& call) {
  Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  if (value.dtype != DType::boolean)
    value = *HC_TRY(apply(tracer, OpKind::ne, {Value(value), make_int(0)}, call.span)).get<Device>();
  return combine(tracer, call, last_word(call.name) == "any" ? ReduceKind::any : ReduceKind::all, value, call[1],
                 flag(call[2]));
}

struct Moments {
  Value mean;
  Value variance;
};

/// Two passes: the mean, then the mean square deviation with the correction in the divisor.
Result<Moments> moments(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  if (!is_floating(value.dtype))
    return Diagnostic{Code::type_error, "the variance of integers is not defined"}.at(call.span);
  const int axis = HC_TRY(axis_of(tracer, value, call[1], call.span));
  const int64_t count = value.dims.empty() ? 1 : value.dims[static_cast<size_t>(axis)].size;
  const double correction = call[3].is<bool>() ? (flag(call[3]) ? 1 : 0) : number_of(call[3]).value_or(1);
  const Call inner{"mean", {call[0], make_int(axis), Value(true), Value()}, call.span};
  const Value center = HC_TRY(mean(tracer, inner));
  const Value deviation = HC_TRY(apply(tracer, OpKind::sub, {call[0], center}, call.span));
  const Value squares = HC_TRY(apply(tracer, OpKind::mul, {deviation, deviation}, call.span));
  const Device total = tracer.emit().reduce(ReduceKind::sum, *squares.get<Device>(), axis, flag(call[2]), call.span);
  const double divisor = std::max(static_cast<double>(count) - correction, 0.0);
  Moments out;
  out.variance = HC_TRY(apply(tracer, OpKind::div, {Value(total), Value(divisor)}, call.span));
  const Call again{"mean", {call[0], make_int(axis), call[2], Value()}, call.span};
  out.mean = HC_TRY(mean(tracer, again));
  return out;
}

Result<Value> var(Tracer& tracer, const Call& call) { return HC_TRY(moments(tracer, call)).variance; }
Result<Value> std_(Tracer& tracer, const Call& call) {
  return apply(tracer, OpKind::sqrt, {HC_TRY(moments(tracer, call)).variance}, call.span);
}
Result<Value> var_mean(Tracer& tracer, const Call& call) {
  const Moments both = HC_TRY(moments(tracer, call));
  return make_tuple({both.variance, both.mean});
}

/// e^(x - max) with its sum, both along one dimension; the shifted values as well.
struct Exponentials {
  Value shifted;
  Value powers;
  Value sum;
};

Result<Exponentials> exponentials(Tracer& tracer, const Call& call, const Value& dtype) {
  Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  if (const auto* wanted = dtype.get<DType>()) value = tracer.emit().convert(value, *wanted, true, call.span);
  if (!is_floating(value.dtype)) return Diagnostic{Code::type_error, "softmax needs floats"}.at(call.span);
  if (call[1].is<None>()) return Diagnostic{Code::invalid_reduction_dim, "softmax needs its dim"}.at(call.span);
  const int axis = HC_TRY(axis_of(tracer, value, call[1], call.span));
  const Device peak = tracer.emit().reduce(ReduceKind::amax, value, axis, true, call.span);
  Exponentials out;
  out.shifted = HC_TRY(apply(tracer, OpKind::sub, {Value(value), Value(peak)}, call.span));
  out.powers = HC_TRY(apply(tracer, OpKind::exp, {out.shifted}, call.span));
  out.sum = Value(tracer.emit().reduce(ReduceKind::sum, *out.powers.get<Device>(), axis, true, call.span));
  return out;
}

Result<Value> softmax(Tracer& tracer, const Call& call) {
  const Exponentials e = HC_TRY(exponentials(tracer, call, call[2]));
  return apply(tracer, OpKind::div, {e.powers, e.sum}, call.span);
}

Result<Value> log_softmax(Tracer& tracer, const Call& call) {
  const Exponentials e = HC_TRY(exponentials(tracer, call, call[2]));
  return apply(tracer, OpKind::sub, {e.shifted, HC_TRY(apply(tracer, OpKind::log, {e.sum}, call.span))}, call.span);
}

/// The maximum along a dimension, or 0 where that is infinite: inf - inf would be no number.
Result<Value> finite_peak(Tracer& tracer, const Device& value, int axis, bool keepdim, const Span& span) {
  const Value peak(tracer.emit().reduce(ReduceKind::amax, value, axis, keepdim, span));
  const Value infinite = HC_TRY(apply(tracer, OpKind::isinf, {peak}, span));
  return apply(tracer, OpKind::where, {infinite, Value(0.0), peak}, span);
}

/// max + log(sum e^(x - max)).
Result<Value> logsumexp(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(tensor_of(tracer, call[0], call.span));
  if (!is_floating(value.dtype)) return Diagnostic{Code::type_error, "logsumexp needs floats"}.at(call.span);
  if (call[1].is<None>()) return Diagnostic{Code::invalid_reduction_dim, "logsumexp needs its dim"}.at(call.span);
  const int axis = HC_TRY(axis_of(tracer, value, call[1], call.span));
  const bool keepdim = flag(call[2]);
  const Value peak = HC_TRY(finite_peak(tracer, value, axis, true, call.span));
  const Value shifted = HC_TRY(apply(tracer, OpKind::sub, {Value(value), peak}, call.span));
  const Value powers = HC_TRY(apply(tracer, OpKind::exp, {shifted}, call.span));
  const Device sum_powers = tracer.emit().reduce(ReduceKind::sum, *powers.get<Device>(), axis, keepdim, call.span);
  const Value log_sum = HC_TRY(apply(tracer, OpKind::log, {Value(sum_powers)}, call.span));
  const Value last = keepdim ? peak : HC_TRY(finite_peak(tracer, value, axis, false, call.span));
  return apply(tracer, OpKind::add, {last, log_sum}, call.span);
}

}  // namespace

std::vector<FunctionRow> reduction_rows() {
  constexpr std::string_view kPlain = "input, dim=None, keepdim=False";
  constexpr std::string_view kTyped = "input, dim=None, keepdim=False, dtype=None";
  constexpr std::string_view kMoments = "input, dim=None, keepdim=False, correction=1";
  constexpr std::string_view kSoftmax = "input, dim=None, dtype=None, _stacklevel=3";
  return {
      {"torch.sum|.sum", kTyped, Where::rows, sum},
      {"torch.prod|.prod", kTyped, Where::rows, sum},
      {"torch.mean|.mean", kTyped, Where::rows, mean},
      {"torch.amax|.amax", kPlain, Where::rows, extremum},
      {"torch.amin|.amin", kPlain, Where::rows, extremum},
      {"torch.max|.max", kPlain, Where::rows, extremum},
      {"torch.min|.min", kPlain, Where::rows, extremum},
      {"torch.argmax|.argmax", kPlain, Where::rows, arg_extremum},
      {"torch.argmin|.argmin", kPlain, Where::rows, arg_extremum},
      {"torch.any|.any", kPlain, Where::rows, any_all},
      {"torch.all|.all", kPlain, Where::rows, any_all},
      {"torch.var|.var", kMoments, Where::rows, var},
      {"torch.std|.std", kMoments, Where::rows, std_},
      {"torch.var_mean", kMoments, Where::rows, var_mean},
      {"torch.softmax|.softmax|torch.nn.functional.softmax", kSoftmax, Where::rows, softmax},
      {"torch.log_softmax|.log_softmax|torch.nn.functional.log_softmax", kSoftmax, Where::rows, log_softmax},
      {"torch.logsumexp|.logsumexp", kPlain, Where::rows, logsumexp},
  };
}

}  // namespace hc::lang
