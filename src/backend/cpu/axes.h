// Which dimensions of a launch's values are one axis, and which values are mere index arithmetic.
#pragma once

#include <map>
#include <vector>

#include "backend/cpu/graph.h"

namespace hc::backend::cpu {

/// The axis of every (value, dimension) of one launch.
class AxisMap {
 public:
  AxisMap(const ir::Program& program, const ir::Launch& launch);
  /// Fails where two dimensions of a value are one axis.
  Status check() const;
  std::vector<Axis> axes() const { return axes_; }
  /// The axes of a dimension, outermost first: none where it has one lane, several where a reshape takes it apart.
  std::vector<AxisId> axes_of(ir::ValueId v, int dim) const;
  /// The lane's number along a dimension, from the lanes of its axes.
  Index lane(ir::ValueId v, int dim) const;
  /// Axes of all dimensions of a value, sorted, without kNone.
  std::vector<AxisId> axes_of(ir::ValueId v) const;
  /// One-dimensional integers made from arange, tile_index and scalars alone: made anew wherever they are used, so that
  /// they tie no dimensions together.
  bool is_index(ir::ValueId v) const { return index_[static_cast<size_t>(v)]; }
  /// The op that defines a value, or null for arguments of regions.
  const ir::Op* def(ir::ValueId v) const { return defs_[static_cast<size_t>(v)]; }

 private:
  int slot(ir::ValueId v, int dim) const { return first_[static_cast<size_t>(v)] + dim; }
  int root(int slot) const;
  void join(ir::ValueId a, int dim_a, ir::ValueId b, int dim_b);
  void join_all(ir::ValueId a, ir::ValueId b);
  void find_indices(const ir::Region& region);
  void visit(const ir::Region& region);
  void visit_op(const ir::Op& op);
  void visit_mapped(const ir::Op& op, ir::ValueId shape, size_t first);
  void visit_loop(const ir::Op& op, size_t bounds);
  void visit_reshape(const ir::Op& op);
  void divide_axes();
  bool inside(int part, int whole) const;
  void list_axes(int slot, std::vector<AxisId>& out) const;
  void mark_full(ir::ValueId v, ir::BlockId block);
  void number();

  const ir::Program& program_;
  const ir::Launch& launch_;
  std::vector<int> first_;            // first slot of a value
  mutable std::vector<int> parents_;  // by slot
  std::vector<bool> index_;
  std::vector<const ir::Op*> defs_;
  std::vector<std::pair<ir::ValueId, int>> full_;
  /// A dimension that a reshape takes apart, and the dimensions it becomes, all by slot.
  struct Division {
    int whole;
    std::vector<int> parts;
  };
  std::vector<Division> divisions_;
  std::vector<int> undivided_;             // slots whose lanes must have one number: positions are asked for
  std::map<int, std::vector<int>> parts_;  // by root
  std::vector<int64_t> sizes_;             // by slot
  std::map<int, AxisId> ids_;              // by root
  std::vector<Axis> axes_;
};

/// Dimensions that a reshape keeps at its two ends: `front` leading and `back` trailing ones.
struct KeptDims {
  int front = 0;
  int back = 0;
};
KeptDims kept_dims(const ir::Type& from, const ir::Type& to);

}  // namespace hc::backend::cpu
