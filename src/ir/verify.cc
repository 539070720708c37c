// The verifier's walk: tables of the program, then every launch with its scopes and active tiles.
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace hc::ir {
namespace {

Diagnostic invalid(std::string message) { return Diagnostic{Code::ir_invalid, std::move(message)}; }

template <typename T>
bool in_range(int32_t id, const std::vector<T>& table) {
  return id >= 0 && static_cast<size_t>(id) < table.size();
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

Status verify_block(const Block& block, size_t id) {
  const std::string who = fmt::format("block b{} \"{}\"", id, block.name);
  if (block.size < 1) return invalid(fmt::format("{}: size {} is below 1", who, block.size));
  if (block.fixed) return success();
  if (!is_power_of_two(block.size)) return invalid(fmt::format("{}: size {} is no power of two", who, block.size));
  if (block.min > block.size || block.size > block.max) {
    return invalid(fmt::format("{}: size {} is not between min {} and max {}", who, block.size, block.min, block.max));
  }
  return success();
}

Status verify_storage(const Storage& storage, size_t id) {
  const std::string who = fmt::format("storage s{} \"{}\"", id, storage.name);
  if (storage.numel < 0) return invalid(fmt::format("{}: {} elements are below 0", who, storage.numel));
  const bool param = storage.role == StorageRole::param;
  if (param && storage.param_index < 0) return invalid(fmt::format("{}: a parameter needs its position", who));
  if (!param && storage.param_index != -1) return invalid(fmt::format("{}: an allocation has no position", who));
  return success();
}

Status verify_tensor(const Program& program, const Tensor& tensor, size_t id) {
  const std::string who = fmt::format("tensor t{} \"{}\"", id, tensor.name);
  if (!in_range(tensor.storage, program.storages)) {
    return invalid(fmt::format("{}: there is no storage s{}", who, tensor.storage));
  }
  const Storage& storage = program.storage(tensor.storage);
  if (tensor.dtype != storage.dtype) {
    return invalid(fmt::format("{}: dtype {} differs from {} of its storage s{}", who, dtype_name(tensor.dtype),
                               dtype_name(storage.dtype), tensor.storage));
  }
  if (tensor.shape.size() != tensor.strides.size()) {
    return invalid(fmt::format("{}: {} sizes but {} strides", who, tensor.shape.size(), tensor.strides.size()));
  }
  if (tensor.offset < 0) return invalid(fmt::format("{}: offset {} is below 0", who, tensor.offset));
  __int128 last = tensor.offset;
  bool empty = false;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0) return invalid(fmt::format("{}: size {} is below 0", who, tensor.shape[i]));
    if (tensor.strides[i] < 0) return invalid(fmt::format("{}: stride {} is below 0", who, tensor.strides[i]));
    empty = empty || tensor.shape[i] == 0;
    last += static_cast<__int128>(tensor.shape[i] - 1) * tensor.strides[i];
    // More than any storage; going on could leave even 128 bits.
    last = std::min(last, static_cast<__int128>(1) << 64);
  }
  if (!empty && last >= storage.numel) {
    return invalid(
        fmt::format("{}: the view reaches past the {} elements of storage s{}", who, storage.numel, tensor.storage));
  }
  return success();
}

/// Walks one launch in order, knowing which values are in scope and which tiles are active.
class LaunchVerifier {
 public:
  LaunchVerifier(const Program& program, const Launch& launch)
      : program_(program),
        launch_(launch),
        context_{program, launch, active_},
        visible_(launch.values.size(), false),
        defined_(launch.values.size(), false) {}

  Status verify() {
    if (launch_.axes.size() != launch_.body.args.size()) {
      return invalid(fmt::format("{}: {} axes but {} arguments of the body", who(), launch_.axes.size(),
                                 launch_.body.args.size()));
    }
    for (size_t i = 0; i < launch_.axes.size(); ++i) HC_TRY(verify_axis(launch_.axes[i], launch_.body.args[i]));
    for (const Op& op : launch_.body.ops) {
      if (op.kind == OpKind::yield) return broken(launch_, op, "the body of a launch yields nothing");
      HC_TRY(verify_op(op));
    }
    return success();
  }

 private:
  std::string who() const { return fmt::format("launch \"{}\"", launch_.name); }

  Status verify_axis(const GridAxis& axis, ValueId begin) {
    const std::string name = fmt::format("{}: axis \"{}\"", who(), axis.name);
    if (axis.step < 1) return invalid(fmt::format("{}: step {} is below 1", name, axis.step));
    HC_TRY(define(begin, name));
    if (launch_.type(begin) != Type{DType::i64, {}}) {
      return invalid(fmt::format("{}: its argument {} is {}, not i64", name, value_text(launch_, begin),
                                 to_text(launch_.type(begin))));
    }
    if (axis.block == kNone) return success();
    if (!in_range(axis.block, program_.blocks)) {
      return invalid(fmt::format("{}: there is no block b{}", name, axis.block));
    }
    if (is_active(axis.block)) return invalid(fmt::format("{}: two axes have block b{}", name, axis.block));
    if (axis.step != program_.block(axis.block).size) {
      return invalid(fmt::format("{}: step {} is not the size {} of block b{}", name, axis.step,
                                 program_.block(axis.block).size, axis.block));
    }
    active_.push_back({axis.block, begin});
    return success();
  }

  bool is_active(BlockId block) const {
    return std::any_of(active_.begin(), active_.end(), [&](const ActiveTile& tile) { return tile.block == block; });
  }

  /// Dimensions that the program has, whatever op gives them.
  Status verify_type(ValueId v, const std::string& where) const {
    for (const Dim& dim : launch_.type(v).dims) {
      const std::string value = fmt::format("{}: {}", where, value_text(launch_, v));
      if (dim.block == kNone) {
        if (dim.size < 0) return invalid(fmt::format("{} has a dimension of size {}", value, dim.size));
        continue;
      }
      if (!in_range(dim.block, program_.blocks)) {
        return invalid(fmt::format("{} has a dimension of block b{}, which is not there", value, dim.block));
      }
      if (dim.size != program_.block(dim.block).size) {
        return invalid(fmt::format("{} has {} lanes of block b{}, which has {}", value, dim.size, dim.block,
                                   program_.block(dim.block).size));
      }
    }
    return success();
  }

  /// Makes a value visible from here on; `where` begins the message.
  Status define(ValueId v, const std::string& where) {
    if (!in_range(v, launch_.values)) return invalid(fmt::format("{}: there is no value %{}", where, v));
    const auto index = static_cast<size_t>(v);
    if (defined_[index]) {
      return invalid(fmt::format("{}: {} is defined a second time", where, value_text(launch_, v)));
    }
    HC_TRY(verify_type(v, where));
    defined_[index] = visible_[index] = true;
    scope_.push_back(v);
    return success();
  }

  Status define_at(ValueId v, const Op& op) { return placed(define(v, fmt::format("`{}`", op_name(op.kind))), op); }

  static Status placed(Status status, const Op& op) {
    if (status.ok()) return status;
    return std::move(status).error().at(op.span);
  }

  Status verify_op(const Op& op) {
    for (const Operand& operand : op.operands) {
      if (!in_range(operand.value, launch_.values)) {
        return broken(launch_, op, fmt::format("there is no value %{}", operand.value));
      }
      if (!visible_[static_cast<size_t>(operand.value)]) {
        return broken(launch_, op,
                      fmt::format("operand {} is used where it is not defined", value_text(launch_, operand.value)));
      }
    }
    for (ValueId v : op.results) {
      if (!in_range(v, launch_.values)) return broken(launch_, op, fmt::format("there is no value %{}", v));
      HC_TRY(placed(verify_type(v, fmt::format("`{}`", op_name(op.kind))), op));
    }
    HC_TRY(verify_counts(context_, op));
    if (op.regions.empty()) {
      HC_TRY(is_elementwise(op.kind) ? verify_elementwise(context_, op) : verify_structured(context_, op));
    } else {
      HC_TRY(verify_regions(op));
    }
    for (ValueId v : op.results) HC_TRY(define_at(v, op));
    return success();
  }

  /// Each region in a scope of its own, under the tile that the op opens.
  Status verify_regions(const Op& op) {
    if (op.kind == OpKind::for_tile) {
      if (!in_range(op.block, program_.blocks)) {
        return broken(launch_, op, fmt::format("there is no block b{}", op.block));
      }
      if (is_active(op.block)) {
        return broken(launch_, op, fmt::format("a tile of block b{} is already active here", op.block));
      }
    }
    HC_TRY(verify_control(context_, op));
    if (op.kind == OpKind::for_tile) active_.push_back({op.block, op.regions[0].args[0]});
    for (const Region& region : op.regions) HC_TRY(verify_region(op, region));
    if (op.kind == OpKind::for_tile) active_.pop_back();
    return success();
  }

  Status verify_region(const Op& op, const Region& region) {
    const size_t outer = scope_.size();
    for (ValueId v : region.args) HC_TRY(define_at(v, op));
    for (size_t i = 0; i < region.ops.size(); ++i) {
      if (region.ops[i].kind == OpKind::yield && i + 1 != region.ops.size()) {
        return broken(launch_, region.ops[i], "stands before the end of its region");
      }
      HC_TRY(verify_op(region.ops[i]));
    }
    for (size_t i = outer; i < scope_.size(); ++i) visible_[static_cast<size_t>(scope_[i])] = false;
    scope_.resize(outer);
    return success();
  }

  const Program& program_;
  const Launch& launch_;
  std::vector<ActiveTile> active_;
  OpContext context_;
  std::vector<bool> visible_;
  std::vector<bool> defined_;
  std::vector<ValueId> scope_;
};

/// A write to a parameter must be announced.
Status verify_write(const Program& program, TensorId t, const std::string& who) {
  const StorageId s = program.tensor(t).storage;
  if (program.storage(s).role != StorageRole::param) return success();
  if (std::find(program.mutated.begin(), program.mutated.end(), s) != program.mutated.end()) return success();
  return invalid(fmt::format("{} writes tensor t{}, but its parameter s{} is not among the mutated ones", who, t, s));
}

Status verify_writes(const Program& program, const Launch& launch, const Region& region) {
  for (const Op& op : region.ops) {
    if (op.kind == OpKind::store) {
      Status status = verify_write(program, op.tensor, fmt::format("launch \"{}\"", launch.name));
      if (!status.ok()) return std::move(status).error().at(op.span);
    }
    for (const Region& inner : op.regions) HC_TRY(verify_writes(program, launch, inner));
  }
  return success();
}

Status verify_step(const Program& program, const Step& step) {
  if (step.kind == Step::Kind::launch) {
    HC_TRY(LaunchVerifier(program, step.launch).verify());
    return verify_writes(program, step.launch, step.launch.body);
  }
  if (!in_range(step.fill_tensor, program.tensors)) {
    return invalid(fmt::format("fill: there is no tensor t{}", step.fill_tensor));
  }
  return verify_write(program, step.fill_tensor, "fill");
}

Status verify_tables(const Program& program) {
  if (program.index_dtype != DType::i32 && program.index_dtype != DType::i64) {
    return invalid(fmt::format("the index dtype is {}, not i32 or i64", dtype_name(program.index_dtype)));
  }
  for (size_t i = 0; i < program.blocks.size(); ++i) HC_TRY(verify_block(program.blocks[i], i));
  for (size_t i = 0; i < program.storages.size(); ++i) HC_TRY(verify_storage(program.storages[i], i));
  for (size_t i = 0; i < program.tensors.size(); ++i) HC_TRY(verify_tensor(program, program.tensors[i], i));
  for (StorageId s : program.mutated) {
    if (!in_range(s, program.storages)) return invalid(fmt::format("mutated: there is no storage s{}", s));
    if (program.storage(s).role != StorageRole::param) {
      return invalid(fmt::format("mutated: storage s{} is no parameter", s));
    }
  }
  for (const Returned& returned : program.returned) {
    if (returned.kind == Returned::Kind::tensor && !in_range(returned.tensor, program.tensors)) {
      return invalid(fmt::format("return: there is no tensor t{}", returned.tensor));
    }
  }
  return success();
}

}  // namespace

std::string value_text(const Launch& launch, ValueId v) {
  const std::string name = in_range(v, launch.values) ? launch.values[static_cast<size_t>(v)].name : "";
  return name.empty() ? fmt::format("%{}", v) : fmt::format("%{} \"{}\"", v, name);
}

Diagnostic broken(const Launch& launch, const Op& op, std::string why) {
  std::string who = fmt::format("`{}`", op_name(op.kind));
  for (size_t i = 0; i < op.results.size(); ++i) who += (i == 0 ? " " : ", ") + value_text(launch, op.results[i]);
  return Diagnostic{Code::ir_invalid, fmt::format("{}: {}", who, why)}.at(op.span);
}

Status verify(const Program& program) {
  HC_TRY(verify_tables(program));
  for (const Step& step : program.steps) HC_TRY(verify_step(program, step));
  return success();
}

}  // namespace hc::ir
