// helion.language and helion functions, apart from the loops.
#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"
#include "lang/calls.h"
#include "lang/index.h"
#include "lang/shapes.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

/// register_block_size(max) or (min, max); the block is named after the assigned variable.
Result<Value> register_block_size(Tracer& tracer, const Call& call) {
  const std::optional<int64_t> first = int_of(call[0]), second = int_of(call[1]);
  if (!first || (!second && !call[1].is<None>())) {
    return Diagnostic{Code::api_usage, "hl.register_block_size takes one or two ints"}.at(call.span);
  }
  BlockRequest request;
  const std::string base = tracer.frame().block_name.empty() ? "block" : tracer.frame().block_name;
  request.name = tracer.blocks().name_of(base, call.span);
  request.min = second ? *first : 1;
  request.max = second ? *second : *first;
  if (request.max < request.min) {
    return Diagnostic{Code::api_usage, fmt::format("the block size's bounds are {}..{}", request.min, request.max)}.at(
        call.span);
  }
  const ir::BlockId block = HC_TRY(tracer.blocks().make(nullptr, 0, request, call.span));
  return Value(Int{tracer.program().block(block).size, block});
}

Result<Value> specialize(Tracer&, const Call& call) {
  const Values* items = items_of(call[0]);
  const bool sizes = items && std::all_of(items->begin(), items->end(), [](const Value& v) { return is_number(v); });
  if (is_number(call[0]) || sizes) return call[0];
  return Diagnostic{Code::specialize_arg,
                    fmt::format("hl.specialize takes sizes, strides and scalars, not {}", describe(call[0]))}
      .at(call.span);
}

Result<Value> constexpr_(Tracer&, const Call& call) { return call[0]; }

/// The chosen value of a tunable as a Python value of the kind of its default.
Result<Value> tunable_value(const std::string& text, const Value& model, const Span& span) {
  if (model.is<std::string>()) return Value(text);
  const Result<Arg> arg = arg_from_text(text);
  if (arg.ok()) {
    if (const auto* flag = std::get_if<bool>(&arg.value())) return Value(*flag);
    if (const auto* whole = std::get_if<int64_t>(&arg.value())) return make_int(*whole);
    if (const auto* number = std::get_if<double>(&arg.value())) return Value(*number);
  }
  return Diagnostic{Code::invalid_config, fmt::format("the tunable cannot have the value {}", text)}.at(span);
}

/// Values that a fragment offers, the default first.
Result<Values> fragment_values(const Opaque& fragment, const Span& span) {
  const Values& args = *fragment.data;
  Values out;
  if (fragment.what.ends_with("EnumFragment")) {
    if (const Values* choices = args.empty() ? nullptr : items_of(args[0])) return *choices;
  } else if (fragment.what.ends_with("BooleanFragment")) {
    return Values{Value(false), Value(true)};
  } else if (args.size() >= 2 && int_of(args[0]) && int_of(args[1])) {
    const int64_t low = *int_of(args[0]), high = *int_of(args[1]);
    const int64_t first = args.size() > 2 && int_of(args[2]) ? *int_of(args[2]) : low;
    const bool powers = fragment.what.ends_with("PowerOfTwoFragment");
    out.push_back(make_int(first));
    for (int64_t v = low; v <= high && out.size() < 256; v = powers ? v * 2 : v + 1) {
      if (v != first) out.push_back(make_int(v));
      if (powers && v <= 0) break;
    }
    return out;
  }
  return Diagnostic{Code::unsupported_feature,
                    fmt::format("the tunable fragment {} is not supported yet", fragment.what)}
      .at(span);
}

Result<Value> register_tunable(Tracer& tracer, const Call& call) {
  const auto* name = call[0].get<std::string>();
  const auto* fragment = call[1].get<Opaque>();
  if (!name || !fragment || !fragment->data) {
    return Diagnostic{Code::api_usage, "hl.register_tunable takes a name and a fragment"}.at(call.span);
  }
  const Values values = HC_TRY(fragment_values(*fragment, call.span));
  if (values.empty()) return Diagnostic{Code::api_usage, "the tunable has no values"}.at(call.span);
  ir::Tunable tunable{*name, text_of(values[0]), {}};
  for (const Value& value : values) tunable.values.push_back(text_of(value));
  Value chosen = values[0];
  if (const auto it = tracer.choices().tunables.find(*name); it != tracer.choices().tunables.end()) {
    tunable.value = it->second;
    if (std::find(tunable.values.begin(), tunable.values.end(), it->second) == tunable.values.end()) {
      return Diagnostic{Code::invalid_config, fmt::format("the tunable {} cannot be {}", *name, it->second)}.at(
          call.span);
    }
    chosen = HC_TRY(tunable_value(it->second, values[0], call.span));
  }
  tracer.program().tunables.push_back(std::move(tunable));
  return chosen;
}

Result<Value> fragment(Tracer&, const Call& call) {
  return Value(Opaque{std::string(call.name), std::make_shared<const Values>(*items_of(call[0]))});
}

Result<HostTensor> host_tensor(const Call& call) {
  if (const auto* host = call[0].get<HostTensor>()) return *host;
  if (call[0].is<Device>()) {
    return Diagnostic{Code::unsupported_feature, fmt::format("{} of a device value is not supported", call.name)}.at(
        call.span);
  }
  return Diagnostic{Code::type_error, fmt::format("{} needs a host tensor, not {}", call.name, describe(call[0]))}.at(
      call.span);
}

Values index_items(const Value& value) { return items_of(value) ? *items_of(value) : Values{value}; }

Result<Value> load_(Tracer& tracer, const Call& call) {
  const HostTensor tensor = HC_TRY(host_tensor(call));
  const Access access = HC_TRY(resolve_access(tracer, tensor, index_items(call[1]), call.span));
  return load(tracer, tensor, access, call[2].is<None>() ? nullptr : &call[2], call.span);
}

Result<Value> store_(Tracer& tracer, const Call& call) {
  const HostTensor tensor = HC_TRY(host_tensor(call));
  const Access access = HC_TRY(resolve_access(tracer, tensor, index_items(call[1]), call.span));
  HC_TRY(store(tracer, tensor, access, call[2], call[3].is<None>() ? nullptr : &call[3], call.span));
  return Value();
}

Result<Device> device_value(const Call& call, size_t i) {
  if (const auto* device = call[i].get<Device>()) return *device;
  return Diagnostic{Code::type_error, fmt::format("{} needs a device value, not {}", call.name, describe(call[i]))}.at(
      call.span);
}

Result<Value> split(Tracer& tracer, const Call& call) {
  const Device value = HC_TRY(device_value(call, 0));
  if (value.dims.empty() || !(value.dims.back() == ir::Dim{ir::kNone, 2})) {
    return Diagnostic{Code::unsupported_split, fmt::format("hl.split needs a last dimension of size 2, not shape {}",
                                                           dims_text(tracer.program(), value.dims))}
        .at(call.span);
  }
  const auto [first, second] = tracer.emit().split(value, call.span);
  return make_tuple({Value(first), Value(second)});
}

Result<Value> join(Tracer& tracer, const Call& call) {
  const DType dtype = HC_TRY(common_dtype(tracer, call.args, call.span));
  const Device a = HC_TRY(to_device(tracer, call[0], dtype, call.span));
  const Device b = HC_TRY(to_device(tracer, call[1], dtype, call.span));
  return Value(HC_TRY(tracer.emit().join(a, b, call.span)));
}

/// The element's linear offset in the whole space: index times the extents of the dimensions to its right, so that the
/// draw depends on the element and not on how it was tiled.
Result<Value> logical_offset(Tracer& tracer, const std::vector<ir::Dim>& dims, const Values& items, const Span& span) {
  Value offset;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const Tile* tile = items[i].tile();
    const int64_t extent = dims[i].block == ir::kNone ? dims[i].size : tracer.program().block(dims[i].block).extent;
    if ((dims[i].block != ir::kNone && !tile) || extent < 0) {
      return Diagnostic{Code::unsupported_feature, "hl.rand needs tiles of loops whose extent the host knows"}.at(span);
    }
    Device index = tile ? tracer.emit().tile_index(*tile, tracer.index_dtype(), span)
                        : tracer.emit().arange(dims[i], tracer.index_dtype(), span);
    index = tracer.emit().convert(index, DType::i64, true, span);
    for (size_t j = i + 1; j < dims.size(); ++j) {
      index.dims.push_back({});
      index.strength = Strength::tensor;
    }
    Value term(index);
    if (stride != 1) term = HC_TRY(apply(tracer, ir::OpKind::mul, {term, make_int(stride)}, span));
    offset = offset.is<None>() ? term : HC_TRY(apply(tracer, ir::OpKind::add, {offset, term}, span));
    stride *= extent;
  }
  return offset.is<None>() ? make_int(0) : offset;
}

Result<Value> rand(Tracer& tracer, const Call& call) {
  const Values items = shape_items(call[0]);
  const std::vector<ir::Dim> dims = HC_TRY(device_shape(tracer, items, -1, call.span));
  Value offset = call[3];
  if (offset.is<None>()) offset = HC_TRY(logical_offset(tracer, dims, items, call.span));
  Device seed = HC_TRY(to_device(tracer, call[1], DType::i64, call.span));
  const Device place = HC_TRY(to_device(tracer, offset, DType::i64, call.span));
  return Value(HC_TRY(tracer.emit().elementwise(ir::OpKind::rand, DType::f32, {seed, place}, call.span)));
}

Result<Value> tile_property(Tracer& tracer, const Call& call) {
  const std::string word(call.name.substr(call.name.find("tile_") + 5));
  if (!call[0].tile())
    return Diagnostic{Code::api_usage, fmt::format("{} needs a tile, not {}", call.name, describe(call[0]))}.at(
        call.span);
  return tracer.attribute(call[0], word, call.span);
}

Result<Value> subscript_(Tracer& tracer, const Call& call) {
  return subscript(tracer, call[0], index_items(call[1]), call.span);
}

Result<Value> barrier(Tracer& tracer, const Call&) {
  tracer.barrier();
  return Value();
}

Result<Value> loop_function(Tracer&, const Call& call) {
  return Diagnostic{Code::api_usage, fmt::format("{} can only stand in a for statement", call.name)}.at(call.span);
}

Result<Value> cdiv(Tracer& tracer, const Call& call) {
  const Value sum =
      HC_TRY(binary(tracer, "+", call[0], HC_TRY(binary(tracer, "-", call[1], make_int(1), call.span)), call.span));
  return binary(tracer, "//", sum, call[1], call.span);
}

Result<Value> power_of_two(Tracer&, const Call& call) {
  const std::optional<int64_t> n = int_of(call[0]);
  if (!n) return Diagnostic{Code::type_error, "next_power_of_2 needs an int"}.at(call.span);
  return make_int(next_power_of_two(*n));
}

}  // namespace

std::vector<FunctionRow> helion_rows() {
  constexpr std::string_view kLoad = "tensor, index, extra_mask=None, eviction_policy=None, cache_modifier=None";
  return {
      {"helion.language.register_block_size", "min_or_max, max_or_none=None", Where::host, register_block_size},
      {"helion.language.specialize", "value", Where::host, specialize},
      {"helion.language.constexpr", "value", Where::any, constexpr_},
      {"helion.language.register_tunable", "name, fragment", Where::host, register_tunable},
      {"helion.autotuner.PowerOfTwoFragment|helion.autotuner.config_fragment.PowerOfTwoFragment", "*args", Where::host,
       fragment},
      {"helion.autotuner.EnumFragment|helion.autotuner.config_fragment.EnumFragment", "*choices", Where::host,
       fragment},
      {"helion.autotuner.IntegerFragment|helion.autotuner.config_fragment.IntegerFragment", "*args", Where::host,
       fragment},
      {"helion.autotuner.BooleanFragment|helion.autotuner.config_fragment.BooleanFragment", "*args", Where::host,
       fragment},
      {"helion.language.load", kLoad, Where::device, load_},
      {"helion.language.store", "tensor, index, value, extra_mask=None", Where::device, store_},
      {"helion.language.split", "tensor", Where::device, split},
      {"helion.language.join", "tensor0, tensor1", Where::device, join},
      {"helion.language.rand", "shape, seed, device=None, offsets=None", Where::device, rand},
      {"helion.language.tile_index", "tile", Where::device, tile_property},
      {"helion.language.tile_begin", "tile", Where::device, tile_property},
      {"helion.language.tile_end", "tile", Where::device, tile_property},
      {"helion.language.tile_id", "tile", Where::device, tile_property},
      {"helion.language.tile_block_size", "tile", Where::device, tile_property},
      {"helion.language.subscript", "tensor, index", Where::device, subscript_},
      {"helion.language.barrier", "", Where::host, barrier},
      {"helion.language.tile", "*args, block_size=None", Where::any, loop_function},
      {"helion.language.grid", "*args, step=None", Where::any, loop_function},
      {"helion.cdiv", "a, b", Where::any, cdiv},
      {"helion.next_power_of_2", "n", Where::any, power_of_two},
  };
}

}  // namespace hc::lang
