// Arithmetic on values: Python's on host numbers, PyTorch's promotion and tile IR ops on device values.
#pragma once

#include <string_view>

#include "lang/value.h"

namespace hc::lang {

class Tracer;

/// Python's binary operator ("+", "//", "&", ...) on any values.
Result<Value> binary(Tracer& tracer, std::string_view op, const Value& a, const Value& b, const Span& span);
/// "-", "+", "~" and "not".
Result<Value> unary(Tracer& tracer, std::string_view op, const Value& a, const Span& span);
/// "<", "==", "is", "in", ... on any values.
Result<Value> compare(Tracer& tracer, std::string_view op, const Value& a, const Value& b, const Span& span);

/// An elementwise op on device values and numbers, promoted as the op's rule asks.
Result<Value> apply(Tracer& tracer, ir::OpKind kind, const Values& operands, const Span& span);
/// The common dtype of values that meet in an op, by torch.result_type.
Result<DType> common_dtype(Tracer& tracer, const Values& operands, const Span& span);
/// A device value of this dtype: numbers become literals, device values are promoted.
Result<Device> to_device(Tracer& tracer, const Value& value, DType dtype, const Span& span);
/// A device value of its own dtype (bool, i64 and f32 for Python's numbers).
Result<Device> to_device(Tracer& tracer, const Value& value, const Span& span);
/// The explicit .to(dtype).
Result<Value> cast(Tracer& tracer, const Value& value, DType dtype, const Span& span);

}  // namespace hc::lang
