// Appends ops to the open region of a launch and infers the types that follow from the operands.
#include "ir/builder.h"

#include <utility>

namespace hc::ir {
namespace {

DType result_dtype(const Launch& launch, OpKind kind, const std::vector<ValueId>& operands) {
  switch (op_rule(kind)) {
    case TypeRule::compare:
    case TypeRule::logical:
      return DType::boolean;
    case TypeRule::select:
      return launch.type(operands[1]).dtype;
    default:
      return launch.type(operands[0]).dtype;
  }
}

/// Dimensions of the operand of the highest rank, where a constant 1 gives way to what the others have there.
std::vector<Dim> result_dims(const Launch& launch, const std::vector<ValueId>& operands) {
  std::vector<Dim> dims;
  for (ValueId v : operands) {
    const std::vector<Dim>& other = launch.type(v).dims;
    if (other.size() > dims.size()) {
      dims = other;
      continue;
    }
    if (other.size() < dims.size()) continue;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == Dim{}) dims[i] = other[i];
    }
  }
  return dims;
}

}  // namespace

ValueId Builder::add_value(Type type, std::string name) {
  launch_.values.push_back({std::move(type), std::move(name)});
  return static_cast<ValueId>(launch_.values.size() - 1);
}

std::vector<ValueId> Builder::append(Op op, std::vector<Type> result_types) {
  for (Type& type : result_types) op.results.push_back(add_value(std::move(type)));
  std::vector<ValueId> results = op.results;
  open_.back()->ops.push_back(std::move(op));
  return results;
}

ValueId Builder::constant(DType dtype, Literal literal, Span span) {
  Op op;
  op.kind = OpKind::constant;
  op.literal = literal;
  op.span = std::move(span);
  return append(std::move(op), {{dtype, {}}})[0];
}

ValueId Builder::constant_int(DType dtype, int64_t value, Span span) {
  Literal literal;
  literal.i = value;
  literal.f = static_cast<double>(value);
  return constant(dtype, literal, std::move(span));
}

ValueId Builder::constant_float(DType dtype, double value, Span span) {
  Literal literal;
  literal.f = value;
  return constant(dtype, literal, std::move(span));
}

ValueId Builder::elementwise(OpKind kind, std::vector<Operand> operands, Type result, Span span) {
  Op op;
  op.kind = kind;
  op.operands = std::move(operands);
  op.span = std::move(span);
  return append(std::move(op), {std::move(result)})[0];
}

ValueId Builder::elementwise(OpKind kind, std::vector<ValueId> operands, Span span) {
  Type result{result_dtype(launch_, kind, operands), result_dims(launch_, operands)};
  return elementwise(kind, use(operands), std::move(result), std::move(span));
}

ValueId Builder::cast(ValueId value, DType dtype, Span span) {
  return elementwise(OpKind::cast, {{value, {}}}, {dtype, type(value).dims}, std::move(span));
}

ValueId Builder::arange(DType dtype, Dim dim, Span span) {
  Op op;
  op.kind = OpKind::arange;
  op.span = std::move(span);
  return append(std::move(op), {{dtype, {dim}}})[0];
}

ValueId Builder::tile_index(ValueId begin, DType dtype, BlockId block, int64_t size, Span span) {
  Op op;
  op.kind = OpKind::tile_index;
  op.operands = {{begin, {}}};
  op.block = block;
  op.span = std::move(span);
  return append(std::move(op), {{dtype, {{block, size}}}})[0];
}

ValueId Builder::load(TensorId tensor, std::vector<Operand> indices, Type result, Span span) {
  Op op;
  op.kind = OpKind::load;
  op.operands = std::move(indices);
  op.tensor = tensor;
  op.span = std::move(span);
  return append(std::move(op), {std::move(result)})[0];
}

void Builder::store(TensorId tensor, ValueId value, std::vector<Operand> indices, Span span) {
  Op op;
  op.kind = OpKind::store;
  op.operands = std::move(indices);
  op.operands.insert(op.operands.begin(), Operand{value, {}});
  op.tensor = tensor;
  op.span = std::move(span);
  append(std::move(op), {});
}

ValueId Builder::reduce(ReduceKind kind, ValueId value, int32_t axis, Span span) {
  Op op;
  op.kind = OpKind::reduce;
  op.operands = {{value, {}}};
  op.reduce = kind;
  op.axis = axis;
  op.span = std::move(span);
  Type result = type(value);
  result.dims.erase(result.dims.begin() + axis);
  result.dtype = reduce_dtype(kind, result.dtype);
  return append(std::move(op), {std::move(result)})[0];
}

void Builder::yield(const std::vector<ValueId>& values, Span span) {
  Op op;
  op.kind = OpKind::yield;
  op.operands = use(values);
  op.span = std::move(span);
  append(std::move(op), {});
}

std::vector<Operand> use(const std::vector<ValueId>& values) {
  std::vector<Operand> operands;
  for (ValueId v : values) operands.push_back({v, {}});
  return operands;
}

}  // namespace hc::ir
