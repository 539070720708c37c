// Tensor maths in the host part: each operation becomes a launch of its own over fresh storage.
#pragma once

#include <functional>
#include <string>

#include "lang/value.h"

namespace hc::lang {

class Tracer;

/// What a lifted operation does with device values in place of the host tensors.
using Body = std::function<Result<Value>(const Values&)>;

/// Applies `body` elementwise to host tensors (broadcast as PyTorch does) and numbers; returns new host tensors.
Result<Value> lift_pointwise(Tracer& tracer, const std::string& name, const Values& operands, const Span& span,
                             const Body& body);
/// Applies `body` to one host tensor of which dimension `axis` is whole and the others are tiled.
Result<Value> lift_rows(Tracer& tracer, const std::string& name, const Value& operand, int axis, const Span& span,
                        const Body& body);
/// Copies a host tensor (broadcast) into another of the same device.
Status copy_into(Tracer& tracer, HostTensor target, HostTensor source, const Span& span);

}  // namespace hc::lang
