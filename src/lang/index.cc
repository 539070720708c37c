// Index items of host tensors on the device: which dimension each one gives, and the loads and stores made from them.
#include "lang/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

/// Collects the index operands of one access. Dimensions are found by tile identity: an index that has a dimension
/// which an earlier one has already brought in runs along with it lane by lane, so x[tile, labels] with labels over the
/// same tile picks x[i, labels[i]]; vectors over different dimensions span their Cartesian product.
class AccessBuilder {
 public:
  AccessBuilder(Tracer& tracer, HostTensor tensor, const Span& span)
      : tracer_(tracer), tensor_(tracer.tensor(tensor)), span_(span) {}

  Result<Access> build(Values items) {
    HC_TRY(expand(items));
    size_t dim = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].is<None>()) {
        add_dim({}, true);
        continue;
      }
      if (i == 0 || !is_vector(items[i - 1])) HC_TRY(broadcast_run(items, i));
      HC_TRY(add(items[i], tensor_.shape[dim]));
      ++dim;
    }
    return std::move(access_);
  }

 private:
  /// Spreads N-d tiles, fills an ellipsis and the missing trailing dims with `:`.
  Status expand(Values& items) {
    if (items.size() == 1) {
      if (const Values* tiles = items_of(items[0])) items = Values(*tiles);
    }
    const auto count = [&] {
      return static_cast<size_t>(
          std::count_if(items.begin(), items.end(), [](const Value& v) { return !v.is<None>() && !v.is<Ellipsis>(); }));
    };
    for (const Value& item : items) {
      const Values* inner = items_of(item);
      if (inner && !inner->empty() && inner->front().tile()) {
        return Diagnostic{Code::overpacked_tile, "an N-d tile cannot be mixed with other indices"}.at(span_).fix(
            "unpack the tile in the for statement");
      }
    }
    const size_t rank = tensor_.shape.size();
    if (count() > rank) {
      return Diagnostic{
          Code::rank_mismatch,
          fmt::format("{} for a tensor of {}", count_text(count(), "index", "indices"), count_text(rank, "dimension"))}
          .at(span_);
    }
    const auto dots = std::find_if(items.begin(), items.end(), [](const Value& v) { return v.is<Ellipsis>(); });
    const size_t missing = rank - count();
    const Values whole(missing, Value(Slice{std::make_shared<const std::array<Value, 3>>()}));
    if (dots == items.end()) {
      items.insert(items.end(), whole.begin(), whole.end());
    } else {
      const auto at = items.erase(dots);
      items.insert(at, whole.begin(), whole.end());
    }
    return success();
  }

  static bool is_vector(const Value& item) { return item.is<Device>() && !item.get<Device>()->dims.empty(); }

  /// Neighbouring index tensors broadcast together when one of them has several dimensions; vectors alone do not.
  Status broadcast_run(Values& items, size_t begin) {
    std::vector<Device> run;
    bool several = false;
    for (size_t i = begin; i < items.size() && is_vector(items[i]); ++i) {
      run.push_back(*items[i].get<Device>());
      several = several || run.back().rank() > 1;
    }
    run_places_.clear();
    if (!several || run.size() < 2) return success();
    std::vector<std::vector<int8_t>> maps;
    const std::vector<ir::Dim> dims = HC_TRY(tracer_.emit().broadcast(run, maps, span_));
    for (size_t i = 0; i < run.size(); ++i) {
      run[i].dims = dims;
      run[i].map = maps[i];
      items[begin + i] = Value(run[i]);
    }
    for (const ir::Dim& dim : dims) run_places_.push_back(place_of(dim));
    return success();
  }

  int8_t add_dim(const ir::Dim& dim, bool inserted = false) {
    access_.dims.push_back(dim);
    access_.inserted.push_back(inserted);
    return static_cast<int8_t>(access_.dims.size() - 1);
  }

  /// The place of a dimension among the result's: where its tile already is, or a new one.
  int8_t place_of(const ir::Dim& dim) {
    if (dim.block != ir::kNone) {
      const auto it = std::find(access_.dims.begin(), access_.dims.end(), dim);
      if (it != access_.dims.end()) return static_cast<int8_t>(it - access_.dims.begin());
    }
    return add_dim(dim);
  }

  void push_scalar(int64_t value) {
    access_.indices.push_back({tracer_.emit().constant_int(tracer_.index_dtype(), value).value, {}});
  }

  Status add(const Value& item, int64_t size) {
    if (const Tile* tile = item.tile()) return add_tile(*tile, size);
    if (const Slice* slice = item.get<Slice>()) return add_slice(*slice, size);
    if (item.is<bool>()) return invalid(item);
    if (const std::optional<int64_t> index = int_of(item)) return add_constant(*index, size);
    if (const auto* device = item.get<Device>()) return add_device(*device, size);
    if (const auto* host = item.get<HostTensor>()) {
      if (tracer_.tensor(*host).dtype == DType::boolean) return data_dependent();
      return Diagnostic{Code::host_tensor_direct_usage, "a host tensor is used as an index without a subscript"}
          .at(span_)
          .fix("load the indices first, for example x[indices[tile]]");
    }
    return invalid(item);
  }

  Diagnostic invalid(const Value& item) const {
    return Diagnostic{Code::invalid_indexing, fmt::format("{} cannot be an index", describe(item))}.at(span_);
  }
  Diagnostic data_dependent() const {
    return Diagnostic{Code::data_dependent_shape, "indexing by a bool mask gives a shape that depends on data"}
        .at(span_)
        .fix("use torch.where, or hl.load with extra_mask");
  }

  Status add_tile(const Tile& tile, int64_t size) {
    if (std::find(tiles_.begin(), tiles_.end(), &tile) != tiles_.end()) {
      return Diagnostic{Code::incorrect_tile_usage,
                        "one tile indexes two dimensions, which may mean its diagonal or its square"}
          .at(span_)
          .fix("use two tiles, or a mask on tile.index");
    }
    tiles_.push_back(&tile);
    const int8_t place = place_of({tile.block, tile.size});
    if (size == 1) {
      push_scalar(0);
    } else {
      access_.indices.push_back({tracer_.emit().tile_index(tile, tracer_.index_dtype(), span_).value, {place}});
    }
    return success();
  }

  Status add_slice(const Slice& slice, int64_t size) {
    for (const Value& part : *slice.parts) {
      if (part.is<Device>() || part.tile()) {
        return Diagnostic{Code::unsupported_feature,
                          "slices with bounds known only on the device are not supported yet"}
            .at(span_);
      }
    }
    const SliceRange range = HC_TRY(slice_range(slice, size, span_));
    if (range.count == 1) {
      add_dim({});
      push_scalar(range.start);
      return success();
    }
    Emitter& emit = tracer_.emit();
    Value index(emit.arange({ir::kNone, range.count}, tracer_.index_dtype(), span_));
    if (range.step != 1) index = HC_TRY(apply(tracer_, ir::OpKind::mul, {index, make_int(range.step)}, span_));
    if (range.start != 0) index = HC_TRY(apply(tracer_, ir::OpKind::add, {index, make_int(range.start)}, span_));
    const int8_t place = add_dim({ir::kNone, range.count});
    access_.indices.push_back({index.get<Device>()->value, {place}});
    return success();
  }

  Status add_constant(int64_t index, int64_t size) {
    const int64_t wrapped = index < 0 ? index + size : index;
    if (wrapped < 0 || wrapped >= size) {
      return Diagnostic{Code::rank_mismatch, fmt::format("index {} is outside a dimension of size {}", index, size)}.at(
          span_);
    }
    push_scalar(wrapped);
    return success();
  }

  Status add_device(const Device& index, int64_t size) {
    if (index.dtype == DType::boolean) return data_dependent();
    if (is_floating(index.dtype)) {
      return Diagnostic{Code::invalid_indexing, "an index must be of integers, not floats"}.at(span_);
    }
    ir::Operand operand{index.value, {}};
    std::vector<int8_t> places = run_places_;
    if (places.empty()) {
      for (const ir::Dim& dim : index.dims) places.push_back(place_of(dim));
    }
    for (int8_t under : index.map) operand.map.push_back(places[static_cast<size_t>(under)]);
    if (size == 1 && index.dims.empty()) {
      push_scalar(0);
    } else {
      access_.indices.push_back(std::move(operand));
    }
    return success();
  }

  Tracer& tracer_;
  const ir::Tensor tensor_;
  Span span_;
  Access access_;
  std::vector<int8_t> run_places_;  ///< of the dims that neighbouring index tensors share
  std::vector<const Tile*> tiles_;
};

}  // namespace

Result<SliceRange> slice_range(const Slice& slice, int64_t size, const Span& span) {
  const auto& [start, stop, step] = *slice.parts;
  for (const Value* part : {&start, &stop, &step}) {
    if (!part->is<None>() && !int_of(*part)) {
      return Diagnostic{Code::invalid_indexing, fmt::format("{} cannot bound a slice", describe(*part))}.at(span);
    }
  }
  const int64_t by = int_of(step).value_or(1);
  if (by <= 0) return Diagnostic{Code::invalid_indexing, "the step of a slice must be positive"}.at(span);
  const auto clamp = [&](const Value& bound, int64_t fallback) {
    int64_t at = int_of(bound).value_or(fallback);
    if (at < 0) at += size;
    return std::clamp<int64_t>(at, 0, size);
  };
  const int64_t first = clamp(start, 0);
  const int64_t last = std::max(clamp(stop, size), first);
  return SliceRange{first, (last - first + by - 1) / by, by};
}

Result<Access> resolve_access(Tracer& tracer, HostTensor tensor, const Values& items, const Span& span) {
  return AccessBuilder(tracer, tensor, span).build(items);
}

Result<Value> load(Tracer& tracer, HostTensor tensor, const Access& access, const Value* mask, const Span& span) {
  // Dims from None are not loaded; the view puts them in.
  std::vector<int8_t> compact(access.dims.size());
  Device view;
  std::vector<ir::Dim> dims;
  for (size_t i = 0; i < access.dims.size(); ++i) {
    compact[i] = static_cast<int8_t>(dims.size());
    if (access.inserted[i]) continue;
    dims.push_back(access.dims[i]);
    view.map.push_back(static_cast<int8_t>(i));
  }
  ir::Op op;
  op.kind = ir::OpKind::load;
  op.tensor = tensor.id;
  op.span = span;
  op.operands = access.indices;
  for (ir::Operand& operand : op.operands) {
    for (int8_t& place : operand.map) place = compact[static_cast<size_t>(place)];
  }
  if (mask) {
    Device flag = HC_TRY(to_device(tracer, *mask, span));
    if (flag.dtype != DType::boolean) {
      return Diagnostic{Code::type_error, "extra_mask must be a bool tensor"}.at(span);
    }
    const Device fitted = HC_TRY(tracer.emit().broadcast_to(flag, dims, span));
    op.operands.push_back({fitted.value, fitted.map});
    op.masked = true;
  }
  view.dtype = tracer.tensor(tensor).dtype;
  view.dims = access.dims;
  view.strength = access.dims.empty() ? Strength::zero_dim : Strength::tensor;
  view.value = tracer.emit().builder().append(std::move(op), {{view.dtype, dims}})[0];
  tracer.note_access(tensor.id, false);
  return Value(view);
}

Status store(Tracer& tracer, HostTensor tensor, const Access& access, const Value& value, const Value* mask,
             const Span& span) {
  const DType dtype = tracer.tensor(tensor).dtype;
  if (value.is<Device>() && !value.get<Device>()->dims.empty() &&
      value.get<Device>()->dims.size() < access.dims.size()) {
    return Diagnostic{Code::rank_mismatch, fmt::format("a value of shape {} does not fit a place of shape {}",
                                                       dims_text(tracer.program(), value.get<Device>()->dims),
                                                       dims_text(tracer.program(), access.dims))}
        .at(span)
        .fix("index the value with None where a dimension is missing");
  }
  Device device = HC_TRY(value.is<Device>() ? to_device(tracer, value, span) : to_device(tracer, value, dtype, span));
  device = HC_TRY(tracer.emit().broadcast_to(device, access.dims, span));
  ir::Op op;
  op.kind = ir::OpKind::store;
  op.tensor = tensor.id;
  op.span = span;
  op.operands.push_back({tracer.emit().materialize(device, span), {}});
  op.operands.insert(op.operands.end(), access.indices.begin(), access.indices.end());
  if (mask) {
    const Device flag = HC_TRY(tracer.emit().broadcast_to(HC_TRY(to_device(tracer, *mask, span)), access.dims, span));
    op.operands.push_back({flag.value, flag.map});
    op.masked = true;
  }
  tracer.emit().append(std::move(op), {});
  tracer.note_access(tensor.id, true);
  return success();
}

}  // namespace hc::lang
