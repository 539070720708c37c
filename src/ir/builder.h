// Builds the ops of one launch: makes values, infers elementwise result types, keeps the stack of open regions.
#pragma once

#include <string>
#include <vector>

#include "ir/tile_ir.h"

namespace hc::ir {

/// Appends ops to the innermost open region of a launch. Callers give operands that fit; verify() is the judge.
class Builder {
 public:
  explicit Builder(Launch& launch) : launch_(launch) { open_.push_back(&launch.body); }

  ValueId add_value(Type type, std::string name = "");
  /// Appends `op` with fresh results of these types.
  std::vector<ValueId> append(Op op, std::vector<Type> result_types);
  ValueId constant(DType dtype, Literal literal, Span span = {});
  ValueId constant_int(DType dtype, int64_t value, Span span = {});
  ValueId constant_float(DType dtype, double value, Span span = {});
  ValueId elementwise(OpKind kind, std::vector<Operand> operands, Type result, Span span = {});
  /// Scalar or same-shape elementwise op: the result type follows from the operands and the rule (`convert` ops
  /// excluded).
  ValueId elementwise(OpKind kind, std::vector<ValueId> operands, Span span = {});
  /// The explicit .to(): the operand rounded to `dtype`.
  ValueId cast(ValueId value, DType dtype, Span span = {});
  /// 0, 1, ... along `dim`.
  ValueId arange(DType dtype, Dim dim, Span span = {});
  /// Indices of the active tile of `block` (of `size` lanes) that begins at `begin`.
  ValueId tile_index(ValueId begin, DType dtype, BlockId block, int64_t size, Span span = {});
  /// Unmasked load; one index operand for each dimension of the tensor.
  ValueId load(TensorId tensor, std::vector<Operand> indices, Type result, Span span = {});
  /// Unmasked store; index maps follow the dimensions of `value`.
  void store(TensorId tensor, ValueId value, std::vector<Operand> indices, Span span = {});
  ValueId reduce(ReduceKind kind, ValueId value, int32_t axis, Span span = {});
  void yield(const std::vector<ValueId>& values, Span span = {});
  const Type& type(ValueId v) const { return launch_.type(v); }
  Launch& launch() { return launch_; }

  /// Opens a region of an op under construction; ops go there until close().
  void open(Region& region) { open_.push_back(&region); }
  void close() { open_.pop_back(); }

 private:
  Launch& launch_;
  std::vector<Region*> open_;
};

/// Operands with empty maps.
std::vector<Operand> use(const std::vector<ValueId>& values);

}  // namespace hc::ir
