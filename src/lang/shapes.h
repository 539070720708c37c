// Shapes as arguments: host sizes, device dims with their blocks, -1 and PyTorch's star forms.
#pragma once

#include <vector>

#include "lang/value.h"

namespace hc::lang {

class Tracer;

/// The items of a shape argument: one int, a tuple or list, or the star arguments themselves.
Values shape_items(const Value& value);
/// Sizes of a host shape; `numel` replaces one -1 when it is >= 0.
Result<std::vector<int64_t>> host_shape(const Values& items, int64_t numel, const Span& span);
/// Dims of a device shape: tiles and registered sizes are block dims. One -1 is replaced so that `numel` lanes result.
Result<std::vector<ir::Dim>> device_shape(Tracer& tracer, const Values& items, int64_t numel, const Span& span);
/// A dimension argument in 0..rank-1, counted from the end when negative.
Result<int> dimension(const Value& value, int rank, const Span& span);

}  // namespace hc::lang
