// Small operations on graphs.
#include "backend/cpu/graph.h"

#include <algorithm>

namespace hc::backend::cpu {
namespace {

template <typename Key>
void add_term(std::vector<std::pair<Key, int64_t>>& terms, Key key, int64_t scale) {
  const auto it = std::lower_bound(terms.begin(), terms.end(), key, [](const auto& t, Key k) { return t.first < k; });
  if (it != terms.end() && it->first == key) {
    it->second += scale;
    if (it->second == 0) terms.erase(it);
  } else if (scale != 0) {
    terms.insert(it, {key, scale});
  }
}

}  // namespace

void Index::add(const Index& other, int64_t scale) {
  constant += other.constant * scale;
  for (const auto& [axis, s] : other.lanes) add_term(lanes, axis, s * scale);
  for (const auto& [value, s] : other.values) add_term(values, value, s * scale);
}

int64_t Index::lane_scale(AxisId axis) const {
  for (const auto& [a, scale] : lanes) {
    if (a == axis) return scale;
  }
  return 0;
}

ValId Graph::add_val(DType dtype, std::vector<AxisId> value_axes, NodeId def) {
  vals.push_back({dtype, std::move(value_axes), def});
  return static_cast<ValId>(vals.size() - 1);
}

NodeId Graph::add_node(Node new_node) {
  nodes.push_back(std::move(new_node));
  return static_cast<NodeId>(nodes.size() - 1);
}

std::vector<ValId> Graph::reads(NodeId n) const {
  const Node& source = node(n);
  std::vector<ValId> out = source.args;
  if (source.mask != kNone) out.push_back(source.mask);
  for (const auto& [value, scale] : source.index.values) out.push_back(value);
  for (const auto& [value, scale] : source.end.values) out.push_back(value);
  return out;
}

bool has_axis(const std::vector<AxisId>& axes, AxisId axis) {
  return std::binary_search(axes.begin(), axes.end(), axis);
}

std::vector<AxisId> join_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  std::vector<AxisId> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace hc::backend::cpu
