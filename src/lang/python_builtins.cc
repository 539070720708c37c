// Python's builtins and math module on host values, with min, max and abs on device values too.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

Diagnostic wrong_type(std::string message, const Span& span) {
  return Diagnostic{Code::type_error, std::move(message)}.at(span);
}

Result<Value> len(Tracer& tracer, const Call& call) {
  if (const auto* text = call[0].get<std::string>()) return make_int(static_cast<int64_t>(text->size()));
  if (const Dict* dict = call[0].get<Dict>()) return make_int(static_cast<int64_t>(dict->items->size()));
  if (call[0].is<HostTensor>()) {
    const Value shape = HC_TRY(tracer.attribute(call[0], "shape", call.span));
    if (!items_of(shape)->empty()) return (*items_of(shape))[0];
  }
  if (const Values* items = items_of(call[0])) return make_int(static_cast<int64_t>(items->size()));
  return wrong_type(fmt::format("{} has no length", describe(call[0])), call.span);
}

Result<Value> min_max(Tracer& tracer, const Call& call) {
  Values items = *items_of(call[0]);
  if (items.size() == 1 && items_of(items[0])) items = Values(*items_of(items[0]));
  if (items.empty()) return wrong_type("min and max need at least one value", call.span);
  const bool smaller = call.name == "min";
  Value best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    if (best.is<Device>() || items[i].is<Device>()) {
      best = HC_TRY(apply(tracer, smaller ? ir::OpKind::minimum : ir::OpKind::maximum, {best, items[i]}, call.span));
    } else if (HC_TRY(
                   tracer.truth(HC_TRY(compare(tracer, smaller ? "<" : ">", items[i], best, call.span)), call.span))) {
      best = items[i];
    }
  }
  return best;
}

Result<Value> abs_(Tracer& tracer, const Call& call) {
  if (call[0].is<Device>()) return apply(tracer, ir::OpKind::abs, {call[0]}, call.span);
  if (const auto* number = call[0].get<double>()) return Value(std::abs(*number));
  if (const std::optional<int64_t> whole = int_of(call[0])) return make_int(std::abs(*whole));
  return wrong_type(fmt::format("abs of {}", describe(call[0])), call.span);
}

Result<Value> refuse_device(const Call& call) {
  return Diagnostic{Code::unsupported_feature,
                    fmt::format("{} of {} reads a device value on the host, which is not supported yet", call.name,
                                describe(call[0]))}
      .at(call.span);
}

Result<Value> int_(Tracer&, const Call& call) {
  if (call[0].is<Device>() || call[0].is<HostTensor>()) return refuse_device(call);
  if (const auto* number = call[0].get<double>()) return make_int(static_cast<int64_t>(*number));
  if (call[0].get<Int>()) return call[0];
  if (const std::optional<int64_t> whole = int_of(call[0])) return make_int(*whole);
  return wrong_type(fmt::format("int of {}", describe(call[0])), call.span);
}

Result<Value> float_(Tracer&, const Call& call) {
  if (call[0].is<Device>() || call[0].is<HostTensor>()) return refuse_device(call);
  if (const std::optional<double> number = number_of(call[0])) return Value(*number);
  if (const auto* text = call[0].get<std::string>()) {
    static const std::map<std::string, double> kWords = {{"inf", INFINITY},        {"+inf", INFINITY},
                                                         {"-inf", -INFINITY},      {"infinity", INFINITY},
                                                         {"-infinity", -INFINITY}, {"nan", NAN}};
    if (const auto it = kWords.find(*text); it != kWords.end()) return Value(it->second);
    const Result<Arg> arg = arg_from_text(*text);
    if (arg.ok() && std::holds_alternative<double>(arg.value())) return Value(std::get<double>(arg.value()));
    if (arg.ok() && std::holds_alternative<int64_t>(arg.value()))
      return Value(static_cast<double>(std::get<int64_t>(arg.value())));
  }
  return wrong_type(fmt::format("float of {}", describe(call[0])), call.span);
}

Result<Value> bool_(Tracer& tracer, const Call& call) { return Value(HC_TRY(tracer.truth(call[0], call.span))); }
Result<Value> str_(Tracer&, const Call& call) { return Value(text_of(call[0])); }

Result<Value> range(Tracer&, const Call& call) {
  const Values& given = *items_of(call[0]);
  Values parts{make_int(0), make_int(0), make_int(1)};
  for (const Value& item : given) {
    if (!int_of(item)) {
      return Diagnostic{Code::api_usage, fmt::format("{} cannot bound a range that is unrolled", describe(item))}.at(
          call.span);
    }
  }
  const bool step_named = !call[1].is<None>();
  if (given.empty() || given.size() > 3)
    return Diagnostic{Code::api_usage, "range takes one to three ints"}.at(call.span);
  if (given.size() == 1) {
    parts[1] = make_int(*int_of(given[0]));
  } else {
    for (size_t i = 0; i < given.size(); ++i) parts[i] = make_int(*int_of(given[i]));
  }
  if (step_named) parts[2] = make_int(int_of(call[1]).value_or(0));
  if (*int_of(parts[2]) == 0) return Diagnostic{Code::api_usage, "the step of a range must not be zero"}.at(call.span);
  return Value(Opaque{"a range", std::make_shared<const Values>(std::move(parts))});
}

Result<Value> sequence(Tracer& tracer, const Call& call) {
  Values items;
  if (!call[0].is<None>()) items = HC_TRY(tracer.iterate(call[0], call.span));
  if (call.name == "reversed") std::reverse(items.begin(), items.end());
  return make_tuple(std::move(items), call.name == "list");
}

Result<Value> zip(Tracer& tracer, const Call& call) {
  std::vector<Values> columns;
  for (const Value& item : *items_of(call[0])) columns.push_back(HC_TRY(tracer.iterate(item, call.span)));
  Values out;
  for (size_t i = 0; !columns.empty(); ++i) {
    Values row;
    for (const Values& column : columns) {
      if (i < column.size()) row.push_back(column[i]);
    }
    if (row.size() < columns.size()) break;
    out.push_back(make_tuple(std::move(row)));
  }
  return make_tuple(std::move(out));
}

Result<Value> enumerate(Tracer& tracer, const Call& call) {
  const Values items = HC_TRY(tracer.iterate(call[0], call.span));
  Values out;
  for (size_t i = 0; i < items.size(); ++i) {
    out.push_back(make_tuple({make_int(static_cast<int64_t>(i) + int_of(call[1]).value_or(0)), items[i]}));
  }
  return make_tuple(std::move(out));
}

Result<Value> python_sum(Tracer& tracer, const Call& call) {
  Value total = call[1];
  for (const Value& item : HC_TRY(tracer.iterate(call[0], call.span)))
    total = HC_TRY(binary(tracer, "+", total, item, call.span));
  return total;
}

Result<Value> slice(Tracer&, const Call& call) {
  const Values& given = *items_of(call[0]);
  std::array<Value, 3> parts;
  if (given.empty() || given.size() > 3)
    return Diagnostic{Code::api_usage, "slice takes one to three values"}.at(call.span);
  for (size_t i = 0; i < given.size(); ++i) parts[given.size() == 1 ? 1 : i] = given[i];
  return Value(Slice{std::make_shared<const std::array<Value, 3>>(std::move(parts))});
}

Result<Value> print(Tracer& tracer, const Call& call) {
  if (tracer.on_device())
    return Diagnostic{Code::unsupported_feature, "printing from the device is not supported yet"}.at(call.span);
  return Value();
}

Result<Value> math_function(Tracer&, const Call& call) {
  static const std::map<std::string_view, double (*)(double)> kFunctions = {
      {"sqrt", std::sqrt}, {"exp", std::exp}, {"log", std::log},   {"log2", std::log2}, {"log10", std::log10},
      {"sin", std::sin},   {"cos", std::cos}, {"tanh", std::tanh}, {"erf", std::erf},   {"fabs", std::fabs}};
  const std::optional<double> x = number_of(call[0]);
  if (!x) return wrong_type(fmt::format("{} needs a number, not {}", call.name, describe(call[0])), call.span);
  return Value(kFunctions.at(last_word(call.name))(*x));
}

Result<Value> math_round(Tracer&, const Call& call) {
  const std::optional<double> x = number_of(call[0]);
  if (!x) return wrong_type(fmt::format("{} needs a number, not {}", call.name, describe(call[0])), call.span);
  const std::string_view word = last_word(call.name);
  return make_int(static_cast<int64_t>(word == "ceil"    ? std::ceil(*x)
                                       : word == "floor" ? std::floor(*x)
                                                         : std::nearbyint(*x)));
}

Result<Value> math_pow(Tracer& tracer, const Call& call) {
  if (call.name == "pow") return binary(tracer, "**", call[0], call[1], call.span);
  const std::optional<double> a = number_of(call[0]), b = number_of(call[1]);
  if (!a || !b) return wrong_type("math.pow needs two numbers", call.span);
  return Value(std::pow(*a, *b));
}

Result<Value> math_prod(Tracer& tracer, const Call& call) {
  Value out = make_int(1);
  for (const Value& item : HC_TRY(tracer.iterate(call[0], call.span)))
    out = HC_TRY(binary(tracer, "*", out, item, call.span));
  return out;
}

Result<Value> bit_length(Tracer&, const Call& call) {
  const std::optional<int64_t> whole = int_of(call[0]);
  if (!whole) return wrong_type("bit_length needs an int", call.span);
  return make_int(std::bit_width(static_cast<uint64_t>(std::abs(*whole))));
}

}  // namespace

std::vector<FunctionRow> python_rows() {
  std::vector<FunctionRow> rows = {
      {"builtins.len", "value", Where::any, len},
      {"builtins.min", "*values", Where::any, min_max},
      {"builtins.max", "*values", Where::any, min_max},
      {"builtins.abs", "value", Where::any, abs_},
      {"builtins.int", "value", Where::any, int_},
      {"builtins.float", "value", Where::any, float_},
      {"builtins.bool", "value", Where::any, bool_},
      {"builtins.str", "value", Where::any, str_},
      {"builtins.range|helion.language.static_range", "*bounds, step=None", Where::any, range},
      {"builtins.list", "value=None", Where::any, sequence},
      {"builtins.tuple", "value=None", Where::any, sequence},
      {"builtins.reversed", "value", Where::any, sequence},
      {"builtins.zip", "*values, strict=False", Where::any, zip},
      {"builtins.enumerate", "value, start=0", Where::any, enumerate},
      {"builtins.sum", "value, start=0", Where::any, python_sum},
      {"builtins.slice", "*bounds", Where::any, slice},
      {"builtins.print|helion.language.device_print", "*values", Where::any, print},
      {"builtins.round", "value", Where::any, math_round},
      {"math.floor", "value", Where::any, math_round},
      {"math.ceil", "value", Where::any, math_round},
      {"builtins.pow", "a, b", Where::any, math_pow},
      {"math.pow", "a, b", Where::any, math_pow},
      {"math.prod", "values", Where::any, math_prod},
      {".bit_length", "self", Where::any, bit_length},
  };
  for (std::string_view name : {"math.sqrt", "math.exp", "math.log", "math.log2", "math.log10", "math.sin", "math.cos",
                                "math.tanh", "math.erf", "math.fabs"}) {
    rows.push_back({name, "x", Where::any, math_function});
  }
  return rows;
}

}  // namespace hc::lang
