// Subscripts: views of host tensors on the host, loads and stores on the device, dimension changes of device values.
#pragma once

#include <optional>
#include <vector>

#include "lang/value.h"

namespace hc::lang {

class Tracer;

/// Index items of a host tensor on the device, resolved: one index operand per tensor dimension over result dims.
struct Access {
  std::vector<ir::Operand> indices;
  std::vector<ir::Dim> dims;   ///< of the result, constants 1 from None included
  std::vector<bool> inserted;  ///< which dims come from None
};

/// x[items] of any value.
Result<Value> subscript(Tracer& tracer, const Value& base, const Values& items, const Span& span);
/// target[items] = value.
Status store_subscript(Tracer& tracer, const Value& target, const Values& items, const Value& value, const Span& span);

Result<Access> resolve_access(Tracer& tracer, HostTensor tensor, const Values& items, const Span& span);
/// A load; `mask` (or null) is broadcast over the result.
Result<Value> load(Tracer& tracer, HostTensor tensor, const Access& access, const Value* mask, const Span& span);
Status store(Tracer& tracer, HostTensor tensor, const Access& access, const Value& value, const Value* mask,
             const Span& span);

/// Bounds of a slice on a dimension of this size, as Python clamps them: start, count, step.
struct SliceRange {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
};
Result<SliceRange> slice_range(const Slice& slice, int64_t size, const Span& span);

}  // namespace hc::lang
