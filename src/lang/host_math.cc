// Launches generated for tensor maths on the host.
#include "lang/host_math.h"

#include <fmt/format.h>

#include <algorithm>

#include "lang/arith.h"
#include "lang/index.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// Right-aligned broadcast of host shapes, as PyTorch does it.
Result<std::vector<int64_t>> broadcast_shapes(Tracer& tracer, const Values& operands, const Span& span) {
  std::vector<int64_t> out;
  for (const Value& operand : operands) {
    const auto* host = operand.get<HostTensor>();
    if (!host) continue;
    const std::vector<int64_t>& shape = tracer.tensor(*host).shape;
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = out[out.size() - shape.size() + i];
      if (size == 1) size = shape[i];
      if (shape[i] != 1 && shape[i] != size) {
        return Diagnostic{Code::shape_mismatch, fmt::format("the shapes {} and {} cannot be broadcast together",
                                                            shape_text(out), shape_text(shape))}
            .at(span);
      }
    }
  }
  return out;
}

/// The generated launch: tiles over some dimensions of a shape, `:` over the others.
class Lift {
 public:
  Lift(Tracer& tracer, const std::string& name, const Span& span) : tracer_(tracer), span_(span) {
    site_ = fmt::format("{}@{}", name, span.source ? span.source->line_of(span.begin) : 0);
    tracer_.open_launch(site_);
  }

  /// Adds the dimension i of the iteration space: tiled, or whole.
  Status add_dim(size_t i, int64_t size, bool tiled) {
    if (!tiled || size == 1) {
      items_.emplace_back(Slice{std::make_shared<const std::array<Value, 3>>()});
      return success();
    }
    BlockRequest request;
    request.name = fmt::format("{}.{}", site_, i);
    int repeat = 1;
    while (taken(request.name)) request.name = fmt::format("{}.{}.{}", site_, ++repeat, i);
    request.extent = size;
    request.max = size;
    const ir::BlockId block = HC_TRY(tracer_.blocks().make(nullptr, static_cast<int>(i), request, span_));
    items_.emplace_back(tracer_.add_tile_axis(block, request.name, 0, size));
    sizes_[block] = size;
    return success();
  }

  /// A grid needs an axis even when there is nothing to tile.
  void finish_axes() {
    ir::Launch& launch = tracer_.device().launch;
    if (!launch.axes.empty()) return;
    launch.axes.push_back({"once", ir::kNone, 0, 1, 1});
    launch.body.args.push_back(tracer_.emit().builder().add_value({DType::i64, {}}, "once"));
  }

  /// The operand over the trailing dimensions of the iteration space that it has.
  Result<Value> read(HostTensor tensor) {
    const size_t rank = tracer_.tensor(tensor).shape.size();
    const Values items(items_.end() - static_cast<std::ptrdiff_t>(rank), items_.end());
    const std::vector<int64_t> shape = tracer_.tensor(tensor).shape;
    Values own = items;
    for (size_t i = 0; i < rank; ++i) {
      if (shape[i] == 1) own[i] = Value(Slice{std::make_shared<const std::array<Value, 3>>()});
    }
    const Access access = HC_TRY(resolve_access(tracer_, tensor, own, span_));
    return load(tracer_, tensor, access, nullptr, span_);
  }

  /// Stores a result into a new tensor of the shape that its dims stand for.
  Result<Value> write_new(const Value& result) {
    const Device device = HC_TRY(to_device(tracer_, result, span_));
    std::vector<int64_t> shape;
    for (const ir::Dim& dim : device.dims) shape.push_back(dim.block == ir::kNone ? dim.size : sizes_[dim.block]);
    const HostTensor target = tracer_.allocate(device.dtype, shape);
    HC_TRY(write(target, Value(device)));
    return Value(target);
  }

  Status write(HostTensor target, const Value& result) {
    const Device device = HC_TRY(to_device(tracer_, result, span_));
    Values items;
    for (const ir::Dim& dim : device.dims) {
      const auto it = std::find_if(items_.begin(), items_.end(),
                                   [&](const Value& v) { return v.tile() && v.tile()->block == dim.block; });
      items.push_back(dim.block == ir::kNone || it == items_.end()
                          ? Value(Slice{std::make_shared<const std::array<Value, 3>>()})
                          : *it);
    }
    if (items.empty() && !items_.empty() && !tracer_.tensor(target).shape.empty()) items = items_;
    const Access access = HC_TRY(resolve_access(tracer_, target, items, span_));
    return store(tracer_, target, access, result, nullptr, span_);
  }

  const Values& items() const { return items_; }
  Status close() { return tracer_.close_launch(span_); }

 private:
  bool taken(const std::string& name) const {
    const auto& blocks = tracer_.program().blocks;
    return std::any_of(blocks.begin(), blocks.end(), [&](const ir::Block& block) { return block.name == name; });
  }

  Tracer& tracer_;
  Span span_;
  std::string site_;
  Values items_;
  std::map<ir::BlockId, int64_t> sizes_;
};

Result<Value> run(Tracer& tracer, Lift& lift, const Values& operands, const Body& body) {
  lift.finish_axes();
  Values devices = operands;
  for (Value& operand : devices) {
    if (const auto* host = operand.get<HostTensor>()) operand = HC_TRY(lift.read(*host));
  }
  const Value result = HC_TRY(body(devices));
  const Values* several = items_of(result);
  if (!several) {
    Value out = HC_TRY(lift.write_new(result));
    HC_TRY(lift.close());
    return out;
  }
  Values outs;
  for (const Value& part : *several) outs.push_back(HC_TRY(lift.write_new(part)));
  HC_TRY(lift.close());
  (void)tracer;
  return make_tuple(std::move(outs));
}

}  // namespace

Result<Value> lift_pointwise(Tracer& tracer, const std::string& name, const Values& operands, const Span& span,
                             const Body& body) {
  const std::vector<int64_t> shape = HC_TRY(broadcast_shapes(tracer, operands, span));
  Lift lift(tracer, name, span);
  for (size_t i = 0; i < shape.size(); ++i) HC_TRY(lift.add_dim(i, shape[i], true));
  return run(tracer, lift, operands, body);
}

Result<Value> lift_rows(Tracer& tracer, const std::string& name, const Value& operand, int axis, const Span& span,
                        const Body& body) {
  HostTensor source = *operand.get<HostTensor>();
  std::vector<int64_t> shape = tracer.tensor(source).shape;
  if (axis < 0 && shape.size() > 1) {
    // A full reduction runs over the tensor as one row.
    if (tracer.tensor(source).strides != contiguous_strides(shape)) {
      return Diagnostic{Code::unsupported_feature,
                        fmt::format("{} over all of a non-contiguous tensor is not supported yet", name)}
          .at(span);
    }
    source = tracer.view(source, {tracer.tensor(source).numel()}, {1}, tracer.tensor(source).offset);
    shape = tracer.tensor(source).shape;
  }
  const size_t whole = axis < 0 ? 0 : static_cast<size_t>(axis);
  Lift lift(tracer, name, span);
  for (size_t i = 0; i < shape.size(); ++i) HC_TRY(lift.add_dim(i, shape[i], i != whole));
  return run(tracer, lift, {Value(source)}, body);
}

Status copy_into(Tracer& tracer, HostTensor target, HostTensor source, const Span& span) {
  const std::vector<int64_t> shape = tracer.tensor(target).shape;
  if (HC_TRY(broadcast_shapes(tracer, {Value(target), Value(source)}, span)) != shape) {
    return Diagnostic{Code::shape_mismatch, fmt::format("a tensor of shape {} does not fit a place of shape {}",
                                                        shape_text(tracer.tensor(source).shape), shape_text(shape))}
        .at(span);
  }
  Lift lift(tracer, "copy", span);
  for (size_t i = 0; i < shape.size(); ++i) HC_TRY(lift.add_dim(i, shape[i], true));
  lift.finish_axes();
  const Value value = HC_TRY(lift.read(source));
  const Access access = HC_TRY(resolve_access(tracer, target, lift.items(), span));
  HC_TRY(store(tracer, target, access, value, nullptr, span));
  return lift.close();
}

}  // namespace hc::lang
