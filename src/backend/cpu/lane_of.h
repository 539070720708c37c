// One lane of an axis: values with the axis taken out.
#pragma once

#include <map>
#include <optional>

#include "backend/cpu/graph.h"

namespace hc::backend::cpu {

/// Remakes values at lane `number` of `axis` in one body of a graph.
class LaneOf {
 public:
  LaneOf(Graph& graph, BodyId body, const std::vector<bool>& written, AxisId axis, int64_t number)
      : graph_(graph), body_(body), written_(written), axis_(axis), number_(number) {}

  /// The value at that lane, with the nodes that make it appended to the body; nothing where it cannot be made anew (it
  /// is carried, rearranged, or read from a storage that the launch writes).
  std::optional<ValId> value(ValId v);
  Index index(const Index& source) const;
  /// The index with its values at that lane; nothing where one of them cannot be made.
  std::optional<Index> with_values(const Index& source);

 private:
  bool possible(ValId v) const;
  ValId make(ValId v);
  std::optional<bool> truth(ValId v) const;

  Graph& graph_;
  BodyId body_;
  const std::vector<bool>& written_;
  AxisId axis_;
  int64_t number_;
  std::map<ValId, ValId> made_;
};

}  // namespace hc::backend::cpu
