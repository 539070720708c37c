// x[...] and x[...] = v by the kind of x: sequences, dicts, host tensors on either side, device values.
#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"
#include "lang/host_math.h"
#include "lang/index.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

Result<Value> sequence_item(const Values& items, bool is_list, const Value& index, const Span& span) {
  const auto size = static_cast<int64_t>(items.size());
  if (const Slice* slice = index.get<Slice>()) {
    const SliceRange range = HC_TRY(slice_range(*slice, size, span));
    Values out;
    for (int64_t i = 0; i < range.count; ++i) out.push_back(items[static_cast<size_t>(range.start + i * range.step)]);
    return make_tuple(std::move(out), is_list);
  }
  const std::optional<int64_t> at = int_of(index);
  if (!at) {
    return Diagnostic{Code::invalid_indexing, fmt::format("{} cannot index a tuple or list", describe(index))}
        .at(span)
        .fix("loop with hl.static_range so that the index is known when the kernel is compiled");
  }
  const int64_t wrapped = *at < 0 ? *at + size : *at;
  if (wrapped < 0 || wrapped >= size) {
    return Diagnostic{Code::invalid_indexing, fmt::format("index {} is outside {} items", *at, size)}.at(span);
  }
  return items[static_cast<size_t>(wrapped)];
}

/// A view of a host tensor by ints, slices, None and an ellipsis.
Result<HostTensor> host_view(Tracer& tracer, HostTensor base, const Values& items, const Span& span) {
  const ir::Tensor tensor = tracer.tensor(base);
  const size_t rank = tensor.shape.size();
  const auto used = static_cast<size_t>(
      std::count_if(items.begin(), items.end(), [](const Value& v) { return !v.is<None>() && !v.is<Ellipsis>(); }));
  if (used > rank) {
    return Diagnostic{Code::rank_mismatch, fmt::format("{} for a tensor of {}", count_text(used, "index", "indices"),
                                                       count_text(rank, "dimension"))}
        .at(span);
  }
  std::vector<int64_t> shape, strides;
  int64_t offset = tensor.offset;
  size_t dim = 0;
  const auto keep = [&](size_t count) {
    for (; count > 0; --count, ++dim) {
      shape.push_back(tensor.shape[dim]);
      strides.push_back(tensor.strides[dim]);
    }
  };
  for (const Value& item : items) {
    if (item.is<None>()) {
      shape.push_back(1);
      strides.push_back(0);
    } else if (item.is<Ellipsis>()) {
      keep(rank - used);
    } else if (const Slice* slice = item.get<Slice>()) {
      const SliceRange range = HC_TRY(slice_range(*slice, tensor.shape[dim], span));
      shape.push_back(range.count);
      strides.push_back(tensor.strides[dim] * range.step);
      offset += range.start * tensor.strides[dim++];
    } else if (const std::optional<int64_t> index = int_of(item); index && !item.is<bool>()) {
      const int64_t wrapped = *index < 0 ? *index + tensor.shape[dim] : *index;
      if (wrapped < 0 || wrapped >= tensor.shape[dim]) {
        return Diagnostic{Code::invalid_indexing,
                          fmt::format("index {} is outside a dimension of size {}", *index, tensor.shape[dim])}
            .at(span);
      }
      offset += wrapped * tensor.strides[dim++];
    } else if (item.is<HostTensor>()) {
      return Diagnostic{Code::unsupported_feature, "indexing a tensor by a tensor on the host is not supported yet"}.at(
          span);
    } else {
      return Diagnostic{Code::invalid_indexing, fmt::format("{} cannot index a host tensor", describe(item))}.at(span);
    }
  }
  keep(rank - dim);
  return tracer.view(base, std::move(shape), std::move(strides), offset);
}

/// Device values take `:`, None, an ellipsis and constant indices of dimensions of size 1.
Result<Value> device_view(const Device& base, const Values& items, const Span& span) {
  const auto used = static_cast<size_t>(
      std::count_if(items.begin(), items.end(), [](const Value& v) { return !v.is<None>() && !v.is<Ellipsis>(); }));
  if (used > base.dims.size()) {
    return Diagnostic{Code::rank_mismatch, fmt::format("{} for a value of {}", count_text(used, "index", "indices"),
                                                       count_text(base.dims.size(), "dimension"))}
        .at(span);
  }
  Device out = base;
  out.dims.clear();
  out.reduced = false;
  std::vector<int8_t> places;  // new place of each old dimension
  const auto keep = [&](size_t count) {
    for (; count > 0; --count) {
      out.dims.push_back(base.dims[places.size()]);
      places.push_back(static_cast<int8_t>(out.dims.size() - 1));
    }
  };
  for (const Value& item : items) {
    if (item.is<None>()) {
      out.dims.push_back({});
    } else if (item.is<Ellipsis>()) {
      keep(base.dims.size() - used);
    } else if (const Slice* slice = item.get<Slice>()) {
      const int64_t size = base.dims[places.size()].size;
      const SliceRange range = HC_TRY(slice_range(*slice, size, span));
      if (range.count != size || range.start != 0) {
        return Diagnostic{Code::unsupported_feature, "a bounded slice of a device value is not supported yet"}
            .at(span)
            .fix("slice the host tensor in the load instead");
      }
      keep(1);
    } else if (item.tile() || item.is<Device>()) {
      return Diagnostic{Code::invalid_indexing, fmt::format("{} cannot index a device value", describe(item))}
          .at(span)
          .fix("index the host tensor; device values take `:` and None");
    } else {
      return Diagnostic{Code::unsupported_feature, "a constant index into a device value is not supported yet"}
          .at(span)
          .fix("index the host tensor in the load instead");
    }
  }
  keep(base.dims.size() - places.size());
  for (int8_t& place : out.map) place = places[static_cast<size_t>(place)];
  if (!out.dims.empty()) out.strength = Strength::tensor;
  return Value(out);
}

}  // namespace

Result<Value> subscript(Tracer& tracer, const Value& base, const Values& items, const Span& span) {
  if (const Values* sequence = items_of(base); sequence && items.size() == 1) {
    return sequence_item(*sequence, base.get<Sequence>()->is_list, items[0], span);
  }
  if (const Dict* dict = base.get<Dict>(); dict && items.size() == 1) {
    for (const auto& [key, value] : *dict->items) {
      if (equal(key, items[0]).value_or(false)) return value;
    }
    return Diagnostic{Code::invalid_indexing, fmt::format("the dict has no key {}", text_of(items[0]))}.at(span);
  }
  if (const auto* tensor = base.get<HostTensor>()) {
    if (!tracer.on_device()) return Value(HC_TRY(host_view(tracer, *tensor, items, span)));
    const Access access = HC_TRY(resolve_access(tracer, *tensor, items, span));
    return load(tracer, *tensor, access, nullptr, span);
  }
  if (const auto* device = base.get<Device>()) return device_view(*device, items, span);
  return Diagnostic{Code::type_error, fmt::format("{} has no items", describe(base))}.at(span);
}

Status store_subscript(Tracer& tracer, const Value& target, const Values& items, const Value& value, const Span& span) {
  if (target.is<Device>()) {
    return Diagnostic{Code::device_tensor_assignment, "a part of a device value cannot be assigned"}.at(span).fix(
        "compute a new value with torch.where, or store to a host tensor");
  }
  const auto* tensor = target.get<HostTensor>();
  if (!tensor)
    return Diagnostic{Code::type_error, fmt::format("items of {} cannot be assigned", describe(target))}.at(span);
  if (tracer.on_device()) {
    const Access access = HC_TRY(resolve_access(tracer, *tensor, items, span));
    if (const auto* source = value.get<HostTensor>()) {
      // A whole host tensor on the right is loaded whole.
      const Access whole = HC_TRY(resolve_access(tracer, *source, {Value(Ellipsis{})}, span));
      return store(tracer, *tensor, access, HC_TRY(load(tracer, *source, whole, nullptr, span)), nullptr, span);
    }
    return store(tracer, *tensor, access, value, nullptr, span);
  }
  const HostTensor part = HC_TRY(host_view(tracer, *tensor, items, span));
  if (is_number(value)) {
    tracer.fill(part, value);
    return success();
  }
  if (const auto* source = value.get<HostTensor>()) return copy_into(tracer, part, *source, span);
  return Diagnostic{Code::type_error, fmt::format("{} cannot be stored in a host tensor", describe(value))}.at(span);
}

}  // namespace hc::lang
