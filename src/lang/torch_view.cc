// Views: on the host new strides over the same storage, on the device a change of dims with an op only where lanes
// move.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lang/calls.h"
#include "lang/shapes.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

Diagnostic not_tensor(const Call& call) {
  return Diagnostic{Code::type_error, fmt::format("{} needs a tensor, not {}", call.name, describe(call[0]))}.at(
      call.span);
}

Diagnostic numel_mismatch(const Call& call, int64_t have, int64_t want) {
  return Diagnostic{Code::shape_mismatch, fmt::format("{} elements do not fit a shape of {}", have, want)}.at(
      call.span);
}

/// Strides of a view of the same elements in row-major order, or nothing when it needs a copy.
std::optional<std::vector<int64_t>> view_strides(const ir::Tensor& tensor, const std::vector<int64_t>& shape) {
  if (tensor.strides == contiguous_strides(tensor.shape) || tensor.numel() == 0) return contiguous_strides(shape);
  // Runs of dimensions that lie behind each other in memory are cut anew, from the right.
  std::vector<int64_t> strides(shape.size(), 0);
  auto target = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  for (auto i = static_cast<std::ptrdiff_t>(tensor.shape.size()) - 1; i >= 0; --i) {
    int64_t run = tensor.shape[static_cast<size_t>(i)];
    const int64_t base = tensor.strides[static_cast<size_t>(i)];
    if (run == 1) continue;
    while (i > 0 && (tensor.shape[static_cast<size_t>(i - 1)] == 1 ||
                     tensor.strides[static_cast<size_t>(i - 1)] == base * run)) {
      run *= tensor.shape[static_cast<size_t>(--i)];
    }
    int64_t done = 1;
    while (target >= 0 && (done < run || shape[static_cast<size_t>(target)] == 1)) {
      strides[static_cast<size_t>(target)] = base * done;
      done *= shape[static_cast<size_t>(target--)];
    }
    if (done != run) return std::nullopt;
  }
  return strides;
}

Result<Value> host_reshape(Tracer& tracer, const Call& call, HostTensor base, const Values& items) {
  const ir::Tensor tensor = tracer.tensor(base);
  std::vector<int64_t> shape = HC_TRY(host_shape(items, tensor.numel(), call.span));
  const int64_t wanted = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  if (wanted != tensor.numel()) return numel_mismatch(call, tensor.numel(), wanted);
  std::optional<std::vector<int64_t>> strides = view_strides(tensor, shape);
  if (!strides) {
    return Diagnostic{Code::unsupported_feature,
                      "this reshape of a strided host tensor needs a copy, which is not supported yet"}
        .at(call.span);
  }
  return Value(tracer.view(base, std::move(shape), std::move(*strides), tensor.offset));
}

Result<Value> device_reshape(Tracer& tracer, const Call& call, const Device& value, const Values& items) {
  int64_t lanes = 1;
  for (const ir::Dim& dim : value.dims) lanes *= dim.size;
  std::vector<ir::Dim> dims = HC_TRY(device_shape(tracer, items, lanes, call.span));
  int64_t wanted = 1;
  for (const ir::Dim& dim : dims) wanted *= dim.size;
  if (wanted != lanes) return numel_mismatch(call, lanes, wanted);
  if (dims == value.dims) return Value(value);
  return Value(tracer.emit().reshape(value, std::move(dims), call.span));
}

Result<Value> reshape_to(Tracer& tracer, const Call& call, const Values& items) {
  if (const auto* host = call[0].get<HostTensor>()) return host_reshape(tracer, call, *host, items);
  if (const auto* device = call[0].get<Device>()) return device_reshape(tracer, call, *device, items);
  return not_tensor(call);
}

Result<Value> reshape(Tracer& tracer, const Call& call) {
  if (const Values items = shape_items(call[1]); items.size() == 1 && items[0].is<DType>()) {
    return Diagnostic{Code::unsupported_feature, "viewing a tensor under another dtype is not supported yet"}.at(
        call.span);
  }
  return reshape_to(tracer, call, shape_items(call[1]));
}

Result<Values> shape_of(Tracer& tracer, const Value& value, const Call& call) {
  const Value shape = HC_TRY(tracer.attribute(value, "shape", call.span));
  const Values* items = items_of(shape);
  if (!items) return not_tensor(call);
  return *items;
}

Result<Value> view_as(Tracer& tracer, const Call& call) {
  return reshape_to(tracer, call, HC_TRY(shape_of(tracer, call[1], call)));
}

Result<int> rank_of(Tracer& tracer, const Call& call) {
  if (const auto* host = call[0].get<HostTensor>()) return static_cast<int>(tracer.tensor(*host).shape.size());
  if (const auto* device = call[0].get<Device>()) return device->rank();
  return not_tensor(call);
}

Result<Value> reorder(Tracer& tracer, const Call& call, const std::vector<int>& order) {
  if (const auto* device = call[0].get<Device>()) {
    if (std::is_sorted(order.begin(), order.end())) return call[0];
    return Value(tracer.emit().permute(*device, order, call.span));
  }
  const HostTensor base = *call[0].get<HostTensor>();
  const ir::Tensor tensor = tracer.tensor(base);
  std::vector<int64_t> shape, strides;
  for (int i : order) {
    shape.push_back(tensor.shape[static_cast<size_t>(i)]);
    strides.push_back(tensor.strides[static_cast<size_t>(i)]);
  }
  return Value(tracer.view(base, std::move(shape), std::move(strides), tensor.offset));
}

Result<Value> permute(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  std::vector<int> order;
  for (const Value& item : shape_items(call[1])) order.push_back(HC_TRY(dimension(item, rank, call.span)));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < static_cast<int>(sorted.size()); ++i) {
    if (sorted[static_cast<size_t>(i)] != i || static_cast<int>(sorted.size()) != rank) {
      return Diagnostic{Code::rank_mismatch, fmt::format("permute needs each of the {} dimensions once", rank)}.at(
          call.span);
    }
  }
  return reorder(tracer, call, order);
}

Result<Value> transpose(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  const int a = HC_TRY(dimension(call[1], rank, call.span)), b = HC_TRY(dimension(call[2], rank, call.span));
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return reorder(tracer, call, order);
}

/// .t(), .T and .mT: the last two dimensions swapped; less than two stay.
Result<Value> matrix_transpose(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  if (rank < 2) return call[0];
  if (rank > 2 && call.name != ".mT") {
    return Diagnostic{Code::rank_mismatch,
                      fmt::format("{} needs a matrix, not {} dimensions", call.name.substr(1), rank)}
        .at(call.span);
  }
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return reorder(tracer, call, order);
}

Result<Value> unsqueeze(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  const int at = HC_TRY(dimension(call[1], rank + 1, call.span));
  if (const auto* device = call[0].get<Device>()) {
    Device out = *device;
    out.dims.insert(out.dims.begin() + at, ir::Dim{});
    for (int8_t& place : out.map) place = static_cast<int8_t>(place >= at ? place + 1 : place);
    out.reduced = false;
    out.strength = Strength::tensor;
    return Value(out);
  }
  const HostTensor base = *call[0].get<HostTensor>();
  ir::Tensor tensor = tracer.tensor(base);
  tensor.shape.insert(tensor.shape.begin() + at, 1);
  tensor.strides.insert(tensor.strides.begin() + at, 0);
  return Value(tracer.view(base, tensor.shape, tensor.strides, tensor.offset));
}

/// Removes dimension `at` of size 1 from a device view; an op only when the IR value itself has it.
Device squeeze_device(Tracer& tracer, const Device& value, int at, const Span& span) {
  Device out = value;
  out.reduced = false;
  if (std::find(value.map.begin(), value.map.end(), static_cast<int8_t>(at)) != value.map.end()) {
    std::vector<ir::Dim> dims = value.dims;
    dims.erase(dims.begin() + at);
    return tracer.emit().reshape(value, std::move(dims), span);
  }
  out.dims.erase(out.dims.begin() + at);
  for (int8_t& place : out.map) place = static_cast<int8_t>(place > at ? place - 1 : place);
  if (out.dims.empty()) out.strength = Strength::zero_dim;
  return out;
}

Result<Value> squeeze(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  std::vector<bool> drop(static_cast<size_t>(rank), call[1].is<None>());
  if (!call[1].is<None>()) {
    for (const Value& item : shape_items(call[1]))
      drop[static_cast<size_t>(HC_TRY(dimension(item, rank, call.span)))] = true;
  }
  if (const auto* device = call[0].get<Device>()) {
    Device out = *device;
    for (int i = rank - 1; i >= 0; --i) {
      if (drop[static_cast<size_t>(i)] && out.dims[static_cast<size_t>(i)] == ir::Dim{})
        out = squeeze_device(tracer, out, i, call.span);
    }
    return Value(out);
  }
  const HostTensor base = *call[0].get<HostTensor>();
  const ir::Tensor tensor = tracer.tensor(base);
  std::vector<int64_t> shape, strides;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (drop[i] && tensor.shape[i] == 1) continue;
    shape.push_back(tensor.shape[i]);
    strides.push_back(tensor.strides[i]);
  }
  return Value(tracer.view(base, std::move(shape), std::move(strides), tensor.offset));
}

Result<Value> expand_host(Tracer& tracer, HostTensor base, const Values& items, const Span& span) {
  const ir::Tensor tensor = tracer.tensor(base);
  if (items.size() < tensor.shape.size())
    return Diagnostic{Code::rank_mismatch, "expand cannot drop dimensions"}.at(span);
  const size_t lead = items.size() - tensor.shape.size();
  std::vector<int64_t> shape, strides;
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t own = i < lead ? 1 : tensor.shape[i - lead];
    const int64_t wanted = int_of(items[i]).value_or(-2);
    const int64_t size = wanted == -1 ? own : wanted;
    if (size < 0 || (own != 1 && own != size)) {
      return Diagnostic{Code::shape_mismatch,
                        fmt::format("a dimension of size {} cannot be expanded to {}", own, text_of(items[i]))}
          .at(span);
    }
    shape.push_back(size);
    strides.push_back(i < lead || (own == 1 && size != 1) ? 0 : tensor.strides[i - lead]);
  }
  return Value(tracer.view(base, std::move(shape), std::move(strides), tensor.offset));
}

Result<Value> expand_to(Tracer& tracer, const Call& call, Values items) {
  if (const auto* host = call[0].get<HostTensor>()) return expand_host(tracer, *host, items, call.span);
  const auto* device = call[0].get<Device>();
  if (!device) return not_tensor(call);
  const size_t rank = device->dims.size();
  if (items.size() < rank) return Diagnostic{Code::rank_mismatch, "expand cannot drop dimensions"}.at(call.span);
  for (size_t i = 0; i < rank; ++i) {
    Value& item = items[items.size() - rank + i];
    if (int_of(item) == -1) item = Value(Int{device->dims[i].size, device->dims[i].block});
  }
  const std::vector<ir::Dim> dims = HC_TRY(device_shape(tracer, items, -1, call.span));
  return Value(HC_TRY(tracer.emit().broadcast_to(*device, dims, call.span)));
}

Result<Value> expand(Tracer& tracer, const Call& call) { return expand_to(tracer, call, shape_items(call[1])); }
Result<Value> expand_as(Tracer& tracer, const Call& call) {
  return expand_to(tracer, call, HC_TRY(shape_of(tracer, call[1], call)));
}

Result<Value> flatten(Tracer& tracer, const Call& call) {
  const int rank = HC_TRY(rank_of(tracer, call));
  if (rank == 0) return reshape_to(tracer, call, {make_int(1)});
  const int first = HC_TRY(dimension(call[1], rank, call.span)), last = HC_TRY(dimension(call[2], rank, call.span));
  Values items = HC_TRY(shape_of(tracer, call[0], call));
  if (first == last) return call[0];
  int64_t merged = 1;
  for (int i = first; i <= last; ++i) merged *= *int_of(items[static_cast<size_t>(i)]);
  items.erase(items.begin() + first, items.begin() + last + 1);
  items.insert(items.begin() + first, make_int(merged));
  return reshape_to(tracer, call, items);
}

Result<Value> contiguous(Tracer& tracer, const Call& call) {
  if (const auto* host = call[0].get<HostTensor>()) {
    const ir::Tensor& tensor = tracer.tensor(*host);
    if (tensor.strides != contiguous_strides(tensor.shape)) {
      return Diagnostic{Code::unsupported_feature,
                        "contiguous() of a strided host tensor needs a copy, which is not supported yet"}
          .at(call.span);
    }
  }
  return call[0];
}

Result<Value> broadcast_tensors(Tracer& tracer, const Call& call) {
  std::vector<int64_t> shape;
  const Values tensors = shape_items(call[0]);
  for (const Value& value : tensors) {
    const auto* host = value.get<HostTensor>();
    if (!host) return Diagnostic{Code::unsupported_feature, "torch.broadcast_tensors takes host tensors"}.at(call.span);
    const std::vector<int64_t>& own = tracer.tensor(*host).shape;
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
    for (size_t i = 0; i < own.size(); ++i) {
      int64_t& size = shape[shape.size() - own.size() + i];
      if (size == 1) size = own[i];
      if (own[i] != 1 && own[i] != size) {
        return Diagnostic{Code::shape_mismatch,
                          fmt::format("sizes {} and {} cannot be broadcast together", size, own[i])}
            .at(call.span);
      }
    }
  }
  Values items, out;
  for (int64_t size : shape) items.push_back(make_int(size));
  for (const Value& value : tensors)
    out.push_back(HC_TRY(expand_host(tracer, *value.get<HostTensor>(), items, call.span)));
  return make_tuple(std::move(out));
}

}  // namespace

std::vector<FunctionRow> view_rows() {
  return {
      {".reshape|.view|torch.reshape", "input, *shape", Where::any, reshape},
      {".view_as|.reshape_as", "input, other", Where::any, view_as},
      {".permute|torch.permute", "input, *dims", Where::any, permute},
      {".transpose|torch.transpose|.swapaxes", "input, dim0, dim1", Where::any, transpose},
      {".t|torch.t|.T", "input", Where::any, matrix_transpose},
      {".mT", "input", Where::any, matrix_transpose},
      {".unsqueeze|torch.unsqueeze", "input, dim", Where::any, unsqueeze},
      {".squeeze|torch.squeeze", "input, dim=None", Where::any, squeeze},
      {".expand|.broadcast_to|torch.broadcast_to", "input, *size", Where::any, expand},
      {".expand_as", "input, other", Where::any, expand_as},
      {".flatten|torch.flatten", "input, start_dim=0, end_dim=-1", Where::any, flatten},
      {".contiguous|.detach", "input, memory_format=None", Where::any, contiguous},
      {".clone", "input, memory_format=None", Where::device, contiguous},
      {"torch.broadcast_tensors", "*tensors", Where::host, broadcast_tensors},
  };
}

}  // namespace hc::lang
