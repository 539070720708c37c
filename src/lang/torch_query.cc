// Questions about tensors and dtypes: sizes, ranks, promotion.
#include <fmt/format.h>

#include "lang/calls.h"
#include "lang/shapes.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

Result<Value> size(Tracer& tracer, const Call& call) {
  const Value shape = HC_TRY(tracer.attribute(call[0], "shape", call.span));
  const Values* items = items_of(shape);
  if (!items) return Diagnostic{Code::type_error, fmt::format("{} has no size", describe(call[0]))}.at(call.span);
  if (call[1].is<None>()) return shape;
  return (*items)[static_cast<size_t>(HC_TRY(dimension(call[1], static_cast<int>(items->size()), call.span)))];
}

Result<Value> dim(Tracer& tracer, const Call& call) { return tracer.attribute(call[0], "ndim", call.span); }

Result<Value> numel(Tracer& tracer, const Call& call) {
  const Value shape = HC_TRY(tracer.attribute(call[0], "shape", call.span));
  const Values* items = items_of(shape);
  if (!items) return Diagnostic{Code::type_error, fmt::format("{} has no numel", describe(call[0]))}.at(call.span);
  int64_t count = 1;
  for (const Value& item : *items) count *= *int_of(item);
  return make_int(count);
}

Result<Value> stride(Tracer& tracer, const Call& call) {
  const auto* host = call[0].get<HostTensor>();
  if (!host) return Diagnostic{Code::unsupported_feature, "only host tensors have strides"}.at(call.span);
  const std::vector<int64_t>& strides = tracer.tensor(*host).strides;
  Values items;
  for (int64_t s : strides) items.push_back(make_int(s));
  if (call[1].is<None>()) return make_tuple(std::move(items));
  return items[static_cast<size_t>(HC_TRY(dimension(call[1], static_cast<int>(items.size()), call.span)))];
}

Result<Value> element_size(Tracer& tracer, const Call& call) {
  const Value dtype = HC_TRY(tracer.attribute(call[0], "dtype", call.span));
  if (!dtype.is<DType>()) return Diagnostic{Code::type_error, "element_size needs a tensor"}.at(call.span);
  return make_int(dtype_bytes(*dtype.get<DType>()));
}

Result<Value> is_contiguous(Tracer& tracer, const Call& call) {
  const auto* host = call[0].get<HostTensor>();
  return Value(!host || tracer.tensor(*host).strides == contiguous_strides(tracer.tensor(*host).shape));
}

Result<Value> is_floating_point(Tracer& tracer, const Call& call) {
  const Value dtype = HC_TRY(tracer.attribute(call[0], "dtype", call.span));
  return Value(dtype.is<DType>() && is_floating(*dtype.get<DType>()));
}

Result<Value> promote(Tracer&, const Call& call) {
  const auto *a = call[0].get<DType>(), *b = call[1].get<DType>();
  if (!a || !b) return Diagnostic{Code::type_error, "torch.promote_types takes two dtypes"}.at(call.span);
  const std::optional<DType> common = promote_types(*a, *b);
  if (!common) {
    return Diagnostic{Code::type_error,
                      fmt::format("{} and {} have no common type", dtype_torch_name(*a), dtype_torch_name(*b))}
        .at(call.span);
  }
  return Value(*common);
}

Result<Value> item(Tracer& tracer, const Call& call) {
  if (tracer.on_device())
    return Diagnostic{Code::not_allowed_on_device, "item() cannot be called in a device loop"}.at(call.span);
  return Diagnostic{Code::unsupported_feature, "item() reads a device value on the host, which is not supported yet"}
      .at(call.span)
      .fix("pass the number as an argument");
}

Result<Value> finfo(Tracer&, const Call& call) {
  if (!call[0].is<DType>()) return Diagnostic{Code::type_error, "torch.finfo takes a dtype"}.at(call.span);
  return Diagnostic{Code::unsupported_feature, "torch.finfo is not supported yet"}.at(call.span);
}

}  // namespace

std::vector<FunctionRow> query_rows() {
  return {
      {".size", "self, dim=None", Where::any, size},
      {".dim|.ndimension", "self", Where::any, dim},
      {".numel|.nelement|torch.numel", "self", Where::any, numel},
      {".stride", "self, dim=None", Where::any, stride},
      {".element_size", "self", Where::any, element_size},
      {".is_contiguous", "self", Where::any, is_contiguous},
      {".is_floating_point|torch.is_floating_point", "self", Where::any, is_floating_point},
      {"torch.promote_types", "a, b", Where::any, promote},
      {".item|.tolist", "self", Where::any, item},
      {"torch.finfo", "dtype", Where::any, finfo},
  };
}

}  // namespace hc::lang
