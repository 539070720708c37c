// Host tensors of the traced kernel, the launches that are open over them, and who reads and writes what.
#include <fmt/format.h>

#include <algorithm>

#include "lang/cleanup.h"
#include "lang/tracer.h"

namespace hc::lang {

HostTensor Tracer::allocate(DType dtype, const std::vector<int64_t>& shape, const std::string& name) {
  ir::Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = contiguous_strides(shape);
  tensor.storage = static_cast<ir::StorageId>(program_.storages.size());
  ir::Storage storage;
  storage.name = name;
  storage.dtype = dtype;
  storage.numel = tensor.numel();
  program_.storages.push_back(storage);
  program_.tensors.push_back(tensor);
  return {static_cast<ir::TensorId>(program_.tensors.size() - 1)};
}

HostTensor Tracer::view(HostTensor base, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset) {
  ir::Tensor view = tensor(base);
  view.shape = std::move(shape);
  view.strides = std::move(strides);
  view.offset = offset;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const ir::Tensor& known = program_.tensors[i];
    if (known.storage == view.storage && known.shape == view.shape && known.strides == view.strides &&
        known.offset == view.offset && known.dtype == view.dtype) {
      return {static_cast<ir::TensorId>(i)};
    }
  }
  view.name.clear();
  program_.tensors.push_back(view);
  return {static_cast<ir::TensorId>(program_.tensors.size() - 1)};
}

void Tracer::fill(HostTensor target, const Value& number) {
  ir::Step step;
  step.kind = ir::Step::Kind::fill;
  step.fill_tensor = target.id;
  const DType dtype = tensor(target).dtype;
  const double value = *number_of(number);
  if (is_floating(dtype)) {
    step.fill_value.f = value;
  } else if (dtype == DType::boolean) {
    step.fill_value.i = value != 0;
  } else {
    step.fill_value.i = int_of(number).value_or(static_cast<int64_t>(value));
  }
  note_access(target.id, true);
  program_.steps.push_back(std::move(step));
}

void Tracer::note_access(ir::TensorId id, bool write) {
  const ir::StorageId storage = program_.tensor(id).storage;
  (write ? writes_ : reads_).insert(storage);
  if (!write || program_.storage(storage).role != ir::StorageRole::param) return;
  auto& mutated = program_.mutated;
  if (std::find(mutated.begin(), mutated.end(), storage) == mutated.end()) mutated.push_back(storage);
}

void Tracer::open_launch(const std::string& name) {
  device_ = std::make_unique<DeviceContext>(program_, name);
  reads_.clear();
  writes_.clear();
  frame().device.clear();
}

std::shared_ptr<const Tile> Tracer::add_tile_axis(ir::BlockId block, const std::string& name, int64_t begin,
                                                  int64_t end) {
  ir::Launch& launch = device_->launch;
  const int64_t size = program_.block(block).size;
  launch.axes.push_back({name, block, begin, end, size});
  const ir::ValueId place = emit().builder().add_value({DType::i64, {}}, name);
  launch.body.args.push_back(place);
  auto tile = std::make_shared<Tile>();
  tile->block = block;
  tile->size = size;
  tile->begin = emit().whole(place, Strength::python_number);
  tile->loop_begin = emit().constant_int(DType::i64, begin);
  tile->loop_end = emit().constant_int(DType::i64, end);
  tile->first = begin;
  tile->last = end;
  device_->active.push_back(block);
  device_->active_tiles.push_back(tile);
  return tile;
}

Status Tracer::close_launch(const Span& span) {
  ir::Step step;
  step.launch = std::move(device_->launch);
  device_.reset();
  frame().device.clear();
  if (!clean_launch(step.launch)) {
    return Diagnostic{Code::empty_device_loop, "the device loop stores nothing"}.at(span).fix(
        "store a result to a host tensor in the loop");
  }
  program_.steps.push_back(std::move(step));
  return success();
}

void Tracer::barrier() {
  phase_reads_.clear();
  phase_writes_.clear();
}

/// Two loops of the kernel without a barrier between them run at once, so one must not read what the other writes.
Status Tracer::check_dependency(const Span& span) {
  for (ir::StorageId storage : reads_) {
    if (!phase_writes_.contains(storage)) continue;
    return Diagnostic{Code::loop_dependency,
                      fmt::format("the loop reads {}, which an earlier loop writes", program_.storage(storage).name)}
        .at(span)
        .fix("put hl.barrier() between the loops");
  }
  for (ir::StorageId storage : writes_) {
    if (!phase_reads_.contains(storage)) continue;
    return Diagnostic{Code::loop_dependency,
                      fmt::format("the loop writes {}, which an earlier loop reads", program_.storage(storage).name)}
        .at(span)
        .fix("put hl.barrier() between the loops");
  }
  phase_reads_.insert(reads_.begin(), reads_.end());
  phase_writes_.insert(writes_.begin(), writes_.end());
  return success();
}

}  // namespace hc::lang
