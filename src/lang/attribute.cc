// Attributes: library paths, properties of tensors and tiles, and methods waiting for their call.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

/// Constants of libraries that are values rather than functions.
std::optional<Value> library_constant(const std::string& path) {
  static const std::map<std::string, double> kNumbers = {
      {"math.pi", M_PI},       {"math.e", M_E},    {"math.tau", 2 * M_PI}, {"math.inf", INFINITY}, {"math.nan", NAN},
      {"torch.inf", INFINITY}, {"torch.pi", M_PI}, {"torch.nan", NAN},     {"torch.e", M_E}};
  if (const auto it = kNumbers.find(path); it != kNumbers.end()) return Value(it->second);
  if (path.starts_with("torch.")) {
    if (const std::optional<DType> dtype = dtype_from_torch_name(path.substr(6))) return Value(*dtype);
  }
  return std::nullopt;
}

Values shape_values(const std::vector<int64_t>& shape) {
  Values out;
  for (int64_t size : shape) out.push_back(make_int(size));
  return out;
}

Values shape_values(const std::vector<ir::Dim>& dims) {
  Values out;
  for (const ir::Dim& dim : dims) out.emplace_back(Int{dim.size, dim.block});
  return out;
}

Result<Value> tile_attribute(Tracer& tracer, const Tile& tile, const std::string& name, const Span& span) {
  if (name == "block_size") return Value(Int{tile.size, tile.block});
  if (name == "begin") return Value(tile.begin);
  if (name == "index") return Value(tracer.emit().tile_index(tile, tracer.index_dtype(), span));
  if (name == "id") {
    if (tile.size == 1) return Value(tile.begin);
    return binary(tracer, "//", Value(tile.begin), make_int(tile.size), span);
  }
  if (name == "end") {
    const Value full = HC_TRY(binary(tracer, "+", Value(tile.begin), make_int(tile.size), span));
    const bool whole = tile.first && tile.last && (*tile.last - *tile.first) % tile.size == 0;
    if (whole) return full;
    return apply(tracer, ir::OpKind::minimum, {full, Value(tile.loop_end)}, span);
  }
  if (name == "count") {
    if (tile.first && tile.last) return make_int((*tile.last - *tile.first + tile.size - 1) / tile.size);
    Value extent = HC_TRY(binary(tracer, "-", Value(tile.loop_end), Value(tile.loop_begin), span));
    extent = HC_TRY(binary(tracer, "+", extent, make_int(tile.size - 1), span));
    return binary(tracer, "//", extent, make_int(tile.size), span);
  }
  return Diagnostic{Code::incorrect_tile_usage, fmt::format("a tile has no attribute {}", name)}.at(span).fix(
      "it has index, begin, end, id, count and block_size");
}

}  // namespace

Result<Value> Tracer::attribute(const Value& base, const std::string& name, const Span& span) {
  if (const auto* symbol = base.get<Symbol>()) {
    std::string path = symbol->path + "." + name;
    if (std::optional<Value> constant = library_constant(path)) return std::move(*constant);
    return Value(Symbol{std::move(path)});
  }
  if (const Tile* tile = base.tile()) return tile_attribute(*this, *tile, name, span);
  const auto* host = base.get<HostTensor>();
  const auto* dev = base.get<Device>();
  if (host || dev) {
    if (name == "dtype") return Value(host ? tensor(*host).dtype : dev->dtype);
    if (name == "shape") return make_tuple(host ? shape_values(tensor(*host).shape) : shape_values(dev->dims));
    if (name == "device") return Value(Opaque{"a device", nullptr});
    if (name == "ndim") return make_int(host ? static_cast<int64_t>(tensor(*host).shape.size()) : dev->rank());
    if (name == "requires_grad" || name == "is_cuda") return Value(false);
    if (name == "T" || name == "mT")
      return call(Value(Method{std::make_shared<const Value>(base), name}), {}, {}, span);
  }
  if (const auto* dtype = base.get<DType>()) {
    if (name == "itemsize") return make_int(dtype_bytes(*dtype));
    if (name == "is_floating_point") return Value(is_floating(*dtype));
  }
  if (const Dict* dict = base.get<Dict>(); dict == nullptr && base.is<None>()) {
    return Diagnostic{Code::type_error, fmt::format("None has no attribute {}", name)}.at(span);
  }
  return Value(Method{std::make_shared<const Value>(base), name});
}

}  // namespace hc::lang
