// Elements asked for, seen from the stores that can reach them: coordinates in a view and the tiles they come from.
#pragma once

#include <vector>

#include "interp/slice.h"

namespace hc::interp {

inline constexpr int64_t kAny = -1;  ///< a coordinate that may be any

/// An element asked for, at one of the stores that can reach it.
struct Target {
  int64_t offset;
  size_t site;
  std::vector<int64_t> at;  ///< coordinates
};

/// Positions along each axis; an empty list means any.
using AxisChoice = std::vector<std::vector<int64_t>>;

/// Coordinates of a memory offset in a view; kAny along a dimension of stride 0. False when the view has no such
/// element.
bool coordinates(const ir::Tensor& tensor, int64_t offset, std::vector<int64_t>* out);

/// The positions from which a store can reach these coordinates; false when it cannot.
bool choose_axes(const ir::Launch& launch, const Slice& slice, const StoreSite& site, const std::vector<int64_t>& at,
                 AxisChoice* choice);

/// Every combination of one entry of each list, last list fastest.
std::vector<std::vector<int64_t>> combinations(const AxisChoice& lists);

}  // namespace hc::interp
