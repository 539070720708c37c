// Creation of tensors: allocations on the host, values without storage on the device.
#include <fmt/format.h>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/shapes.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

/// What the elements are set to: nothing for "empty".
std::optional<Value> fill_of(std::string_view word, const Value& given) {
  if (word.find("empty") != std::string_view::npos) return std::nullopt;
  if (word.find("zeros") != std::string_view::npos) return make_int(0);
  if (word.find("ones") != std::string_view::npos) return make_int(1);
  return given;
}

Result<Value> create_on_host(Tracer& tracer, const Values& shape, DType dtype, const std::optional<Value>& fill,
                             const Span& span) {
  if (fill && !is_number(*fill)) {
    return Diagnostic{Code::unsupported_feature, "filling a host tensor with a tensor's value is not supported"}.at(
        span);
  }
  const HostTensor out = tracer.allocate(dtype, HC_TRY(host_shape(shape, -1, span)));
  if (fill) tracer.fill(out, *fill);
  return Value(out);
}

Result<Value> create_on_device(Tracer& tracer, const Values& shape, DType dtype, const std::optional<Value>& fill,
                               const Span& span) {
  const std::vector<ir::Dim> dims = HC_TRY(device_shape(tracer, shape, -1, span));
  Value value = fill ? *fill : make_int(0);
  if (value.is<Device>()) value = HC_TRY(cast(tracer, value, dtype, span));
  const Device scalar = HC_TRY(to_device(tracer, value, dtype, span));
  if (!scalar.dims.empty()) return Diagnostic{Code::type_error, "a fill value must be a scalar"}.at(span);
  return Value(tracer.emit().fill(scalar, dims));
}

Result<Value> create(Tracer& tracer, const Values& shape, DType dtype, const std::optional<Value>& fill,
                     const Span& span) {
  return tracer.on_device() ? create_on_device(tracer, shape, dtype, fill, span)
                            : create_on_host(tracer, shape, dtype, fill, span);
}

DType dtype_or(const Value& dtype, DType fallback) { return dtype.get<DType>() ? *dtype.get<DType>() : fallback; }

/// PyTorch's default for a fill value: float32, int64 or bool by its kind.
DType dtype_of_number(const Value& value) {
  return value.is<bool>() ? DType::boolean : value.is<Int>() ? DType::i64 : DType::f32;
}

/// torch.empty(*shape, dtype): star form or one sequence.
Result<Value> torch_shape(Tracer& tracer, const Call& call) {
  return create(tracer, shape_items(call[0]), dtype_or(call[1], DType::f32), fill_of(last_word(call.name), Value()),
                call.span);
}

Result<Value> torch_full(Tracer& tracer, const Call& call) {
  const DType dtype = dtype_or(call[2], call[1].is<Device>() ? call[1].get<Device>()->dtype : dtype_of_number(call[1]));
  return create(tracer, shape_items(call[0]), dtype, call[1], call.span);
}

struct Model {
  Values shape;
  DType dtype = DType::f32;
};

Result<Model> model_of(Tracer& tracer, const Value& value, const Span& span) {
  Model out;
  if (const auto* host = value.get<HostTensor>()) {
    out.dtype = tracer.tensor(*host).dtype;
    for (int64_t size : tracer.tensor(*host).shape) out.shape.push_back(make_int(size));
  } else if (const auto* device = value.get<Device>()) {
    out.dtype = device->dtype;
    for (const ir::Dim& dim : device->dims) out.shape.emplace_back(Int{dim.size, dim.block});
  } else {
    return Diagnostic{Code::type_error, fmt::format("{} is not a tensor", describe(value))}.at(span);
  }
  return out;
}

Result<Value> like(Tracer& tracer, const Call& call) {
  const Model model = HC_TRY(model_of(tracer, call[0], call.span));
  return create(tracer, model.shape, dtype_or(call[1], model.dtype), fill_of(last_word(call.name), Value()), call.span);
}

Result<Value> full_like(Tracer& tracer, const Call& call) {
  const Model model = HC_TRY(model_of(tracer, call[0], call.span));
  return create(tracer, model.shape, dtype_or(call[2], model.dtype), call[1], call.span);
}

Result<Value> new_shape(Tracer& tracer, const Call& call) {
  const Model model = HC_TRY(model_of(tracer, call[0], call.span));
  return create(tracer, shape_items(call[1]), dtype_or(call[2], model.dtype), fill_of(last_word(call.name), Value()),
                call.span);
}

Result<Value> new_full(Tracer& tracer, const Call& call) {
  const Model model = HC_TRY(model_of(tracer, call[0], call.span));
  return create(tracer, shape_items(call[1]), dtype_or(call[3], model.dtype), call[2], call.span);
}

/// hl.zeros and hl.full default to float32 whatever the fill value.
Result<Value> hl_zeros(Tracer& tracer, const Call& call) {
  return create_on_device(tracer, shape_items(call[0]), dtype_or(call[1], DType::f32), make_int(0), call.span);
}
Result<Value> hl_full(Tracer& tracer, const Call& call) {
  return create_on_device(tracer, shape_items(call[0]), dtype_or(call[2], DType::f32), call[1], call.span);
}

/// The number of steps from start to the end; a registered size keeps its block.
Result<Value> arange_length(const Values& given, const Value& start, const Value& step, const Span& span) {
  if (given.size() == 1 && int_of(step) == 1) return given[0];
  const std::optional<int64_t> first = int_of(start), last = int_of(given.size() == 1 ? given[0] : given[1]),
                               by = int_of(step);
  if (!first || !last || !by || *by == 0) {
    return Diagnostic{Code::data_dependent_shape, "the length of arange must be known when the kernel is compiled"}.at(
        span);
  }
  return make_int(std::max<int64_t>(0, (*last - *first + *by - (*by > 0 ? 1 : -1)) / *by));
}

/// arange(end), arange(start, end), arange(start, end, step) with bounds known at trace time.
Result<Value> arange(Tracer& tracer, const Call& call) {
  const Values& given = *items_of(call[0]);
  if (given.empty() || given.size() > 3)
    return Diagnostic{Code::api_usage, "arange takes one to three numbers"}.at(call.span);
  if (!tracer.on_device())
    return Diagnostic{Code::unsupported_feature, "torch.arange on the host is not supported yet"}.at(call.span);
  const Value start = given.size() > 1 ? given[0] : make_int(0);
  const Value step = given.size() > 2 ? given[2] : !call[3].is<None>() ? call[3] : make_int(1);
  const Values shape{HC_TRY(arange_length(given, start, step, call.span))};
  const std::vector<ir::Dim> dims = HC_TRY(device_shape(tracer, shape, -1, call.span));
  const DType fallback =
      last_word(call.name) == "arange" && call.name.starts_with("torch") ? DType::i64 : tracer.index_dtype();
  Value out(tracer.emit().arange(dims[0], fallback, call.span));
  if (int_of(step).value_or(1) != 1) out = HC_TRY(binary(tracer, "*", out, step, call.span));
  if (int_of(start).value_or(0) != 0) out = HC_TRY(binary(tracer, "+", out, start, call.span));
  if (const auto* dtype = call[1].get<DType>()) out = HC_TRY(cast(tracer, out, *dtype, call.span));
  return out;
}

Result<Value> scalar_tensor(Tracer& tracer, const Call& call) {
  if (!tracer.on_device() || !is_number(call[0])) {
    return Diagnostic{Code::unsupported_feature, "torch.tensor of lists and on the host is not supported yet"}.at(
        call.span);
  }
  return create_on_device(tracer, {}, dtype_or(call[1], dtype_of_number(call[0])), call[0], call.span);
}

}  // namespace

std::vector<FunctionRow> creation_rows() {
  constexpr std::string_view kShape =
      "*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False";
  constexpr std::string_view kLike = "input, dtype=None, device=None, requires_grad=False, memory_format=None";
  constexpr std::string_view kNew = "self, *size, dtype=None, device=None, requires_grad=False";
  return {
      {"torch.empty", kShape, Where::any, torch_shape},
      {"torch.zeros", kShape, Where::any, torch_shape},
      {"torch.ones", kShape, Where::any, torch_shape},
      {"torch.full", "size, fill_value, dtype=None, device=None, requires_grad=False", Where::any, torch_full},
      {"torch.empty_like", kLike, Where::any, like},
      {"torch.zeros_like", kLike, Where::any, like},
      {"torch.ones_like", kLike, Where::any, like},
      {"torch.full_like", "input, fill_value, dtype=None, device=None", Where::any, full_like},
      {".new_empty", kNew, Where::any, new_shape},
      {".new_zeros", kNew, Where::any, new_shape},
      {".new_ones", kNew, Where::any, new_shape},
      {".new_full", "self, size, fill_value, dtype=None, device=None", Where::any, new_full},
      {"helion.language.zeros", "shape, dtype=None, device=None", Where::device, hl_zeros},
      {"helion.language.full", "shape, value, dtype=None, device=None", Where::device, hl_full},
      {"helion.language.arange", "*bounds, dtype=None, device=None, step=None", Where::device, arange},
      {"torch.arange", "*bounds, dtype=None, device=None, step=None", Where::any, arange},
      {"torch.tensor|torch.scalar_tensor", "data, dtype=None, device=None", Where::any, scalar_tensor},
  };
}

}  // namespace hc::lang
