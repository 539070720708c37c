// Maps elements back to the tiles whose stores reach them.
#include "interp/targets.h"

#include <algorithm>
#include <iterator>

namespace hc::interp {
namespace {

bool keep_common(std::vector<int64_t>* list, bool* limited, std::vector<int64_t> found) {
  std::sort(found.begin(), found.end());
  if (*limited) {
    std::vector<int64_t> both;
    std::set_intersection(list->begin(), list->end(), found.begin(), found.end(), std::back_inserter(both));
    found = std::move(both);
  }
  *list = std::move(found);
  *limited = true;
  return !list->empty();
}

std::vector<int64_t> positions_of(const ir::GridAxis& axis, const IndexForm& form, int64_t lanes, int64_t coordinate) {
  std::vector<int64_t> found;
  if (!form.table.empty()) {
    for (size_t k = 0; k < form.table.size(); ++k) {
      if (form.table[k] == coordinate) found.push_back(static_cast<int64_t>(k));
    }
    return found;
  }
  if (form.loop != nullptr) {
    const int64_t c = coordinate - form.add;
    size_t k = 0;
    if (form.ordered) {
      k = static_cast<size_t>(std::upper_bound(form.high.begin(), form.high.end(), c) - form.high.begin());
    }
    for (; k < form.low.size() && !(form.ordered && form.low[k] > c); ++k) {
      if (form.low[k] <= c && c < form.high[k]) found.push_back(static_cast<int64_t>(k));
    }
    return found;
  }
  const int64_t distance = coordinate - form.add - axis.begin;
  if (distance < 0) return found;
  const int64_t reach = form.lane_class >= 0 ? lanes : 1;
  for (int64_t k = std::min(distance / axis.step, axis.count() - 1); k >= 0 && distance - k * axis.step < reach; --k) {
    found.push_back(k);
  }
  return found;
}

}  // namespace

bool coordinates(const ir::Tensor& tensor, int64_t offset, std::vector<int64_t>* out) {
  const size_t rank = tensor.shape.size();
  out->assign(rank, 0);
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  int64_t rest = offset - tensor.offset;
  if (rest < 0 || tensor.numel() == 0) return false;
  for (size_t d : order) {
    if (tensor.shape[d] == 1) continue;
    if (tensor.strides[d] == 0) {
      (*out)[d] = kAny;
      continue;
    }
    const int64_t c = rest / tensor.strides[d];
    if (c >= tensor.shape[d]) return false;
    (*out)[d] = c;
    rest -= c * tensor.strides[d];
  }
  return rest == 0;
}

bool choose_axes(const ir::Launch& launch, const Slice& slice, const StoreSite& site, const std::vector<int64_t>& at,
                 AxisChoice* choice) {
  choice->assign(launch.axes.size(), {});
  std::vector<char> limited(launch.axes.size(), 0);
  for (size_t d = 0; d < at.size(); ++d) {
    const IndexForm& form = site.indices[d];
    if (!form.known || at[d] == kAny) continue;
    const int64_t lanes = form.lane_class < 0 ? 1 : slice.classes()[static_cast<size_t>(form.lane_class)].size;
    if (form.loop != nullptr && form.axis < 0) {
      const int64_t c = at[d] - form.add;
      if (!form.low.empty() && (c < form.low[0] || c >= form.high[0])) return false;
      continue;
    }
    if (form.axis < 0) {
      const int64_t lane = at[d] - form.add;
      if (lane < 0 || lane >= lanes) return false;
      continue;
    }
    const auto axis = static_cast<size_t>(form.axis);
    bool was = limited[axis] != 0;
    if (!keep_common(&(*choice)[axis], &was, positions_of(launch.axes[axis], form, lanes, at[d]))) return false;
    limited[axis] = 1;
  }
  return true;
}

std::vector<std::vector<int64_t>> combinations(const AxisChoice& lists) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (const std::vector<int64_t>& list : lists) {
    std::vector<std::vector<int64_t>> longer;
    longer.reserve(all.size() * list.size());
    for (const std::vector<int64_t>& begin : all) {
      for (int64_t entry : list) {
        longer.push_back(begin);
        longer.back().push_back(entry);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace hc::interp
