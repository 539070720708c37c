// What of a launch matters to the stores of one storage: live ops, dimensions that can run a part of their lanes,
// indices.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/tile_ir.h"

namespace hc::interp {

using ClassId = int32_t;

/// One index of a store in the form: begin of an axis (or an entry of a table over its positions) + lane + constant, or
/// an index of the tile of an inner loop + constant.
struct IndexForm {
  bool known = false;
  int axis = -1;            ///< axis whose begin counts, or -1
  ClassId lane_class = -1;  ///< dimension whose lane number counts, or -1
  int64_t add = 0;
  std::vector<int64_t> table;    ///< not empty: the index is table[position of the axis], and nothing is added
  const ir::Op* loop = nullptr;  ///< inner loop whose tile's index counts; `axis` then decides its bounds alone
  std::vector<int64_t> low;  ///< the loop's bounds by position of `axis`, or one entry where no axis decides; or empty
  std::vector<int64_t> high;
  bool ordered = false;  ///< both bounds grow with the position
};

struct StoreSite {
  const ir::Op* op = nullptr;
  std::vector<IndexForm> indices;  ///< one per dimension of the tensor
};

/// Lanes that belong together across values are one class; a class that is reduced or reshaped always runs whole.
struct LaneClass {
  bool whole = false;
  int64_t size = 1;
  const ir::Op* loop = nullptr;  ///< a loop that may choose the lanes anew in each iteration: all values are inside
};

class Slice {
 public:
  /// The slice of `launch` that stores to `storage`.
  Slice(const ir::Program& program, const ir::Launch& launch, ir::StorageId storage);

  bool live(const ir::Op& op) const { return live_ops_.contains(&op); }
  bool live_value(ir::ValueId v) const { return live_values_[static_cast<size_t>(v)]; }
  ClassId lane_class(ir::ValueId v, int dim) const;
  const std::vector<LaneClass>& classes() const { return classes_; }
  const std::vector<StoreSite>& stores() const { return stores_; }
  /// Whether iterations of a loop can be left out: nothing is carried, and every store inside is at the tile's index.
  const std::unordered_set<const ir::Op*>& independent_loops() const { return independent_; }
  bool independent(const ir::Op& loop) const { return independent_.contains(&loop); }
  const std::vector<const ir::Op*>& live_loads() const { return live_loads_; }
  /// Storages whose stores of this launch a later load of the same program reads.
  bool reads_own_stores(ir::StorageId s) const { return own_.contains(s); }
  bool any_own() const { return !own_.empty(); }
  /// Whether a value is used for the last time (at its own level) by this op.
  const std::vector<ir::ValueId>& last_uses(const ir::Op& op) const;

 private:
  struct Definition {
    const ir::Op* op = nullptr;  ///< op that gives the value as a result, or loop whose region has it as an argument
    int result = -1;             ///< result number, or -1
    int argument = -1;           ///< region argument number, or -1
    const ir::Op* parent = nullptr;  ///< op whose region holds the definition
  };

  void index_region(const ir::Region& region, const ir::Op* parent);
  void mark_op(const ir::Op& op);
  void mark_value(ir::ValueId v);
  void mark_stores(ir::StorageId storage);
  void drain();
  void find_own_stores();
  void make_classes();
  void unite_op(const ir::Op& op);
  void unite(ir::ValueId a, size_t i, ir::ValueId b, size_t j);
  void unite_all(ir::ValueId a, ir::ValueId b);
  void unite_mapped(const ir::Operand& operand, ir::ValueId result);
  void unite_reshape(ir::ValueId from, ir::ValueId to);
  void hold_whole(ir::ValueId v, size_t dim);
  size_t slot(ir::ValueId v, size_t dim) const { return first_slot_[static_cast<size_t>(v)] + dim; }
  size_t root(size_t slot);
  void find_last_uses();
  bool inside(const ir::Op* op, const ir::Op& loop) const;
  void find_loop_classes();
  void find_sites(ir::StorageId storage);
  void find_independent();
  IndexForm loop_form(const ir::Op& loop) const;
  IndexForm form_of(ir::ValueId v) const;
  IndexForm sum_of(const IndexForm& a, const IndexForm& b, int sign) const;
  IndexForm tabulated(ir::ValueId v) const;
  bool only_axis(ir::ValueId v, int* axis) const;
  std::optional<int64_t> evaluate(ir::ValueId v, int64_t begin) const;

  const ir::Program& program_;
  const ir::Launch& launch_;
  std::vector<Definition> definitions_;
  std::vector<const ir::Op*> order_;                          ///< every op, in program order
  std::unordered_map<const ir::Op*, const ir::Op*> parents_;  ///< op whose region holds it, or null
  std::unordered_set<const ir::Op*> live_ops_;
  std::vector<char> live_values_;
  std::vector<ir::ValueId> pending_;
  std::unordered_set<ir::StorageId> own_;
  std::vector<size_t> first_slot_;
  std::vector<size_t> union_;
  std::vector<char> slot_whole_;
  std::vector<ClassId> class_of_root_;
  std::vector<LaneClass> classes_;
  std::vector<StoreSite> stores_;
  std::unordered_set<const ir::Op*> independent_;
  std::vector<const ir::Op*> live_loads_;
  std::unordered_map<const ir::Op*, std::vector<ir::ValueId>> last_uses_;
};

}  // namespace hc::interp
