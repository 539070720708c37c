// Runs one tile of a launch over the lanes that matter, in program order.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/lanes.h"
#include "interp/oracle.h"
#include "interp/slice.h"

namespace hc::interp {

/// What a tile reads from and writes to outside of itself.
class MemoryPort {
 public:
  virtual ~MemoryPort() = default;
  /// Bytes of a storage that nothing has written before this launch, or null.
  virtual const void* initial(ir::StorageId storage) = 0;
  /// Elements as earlier steps left them.
  virtual Status read(ir::StorageId storage, std::span<const int64_t> offsets, Element* out) = 0;
  /// An element stored to the storage that the run is about.
  virtual void write(int64_t offset, const Element& element) = 0;
};

/// One tile and the lanes of each class that run; null lanes run all.
struct TileRun {
  std::vector<int64_t> begins;              ///< one per axis of the launch
  std::vector<std::vector<int64_t>> lanes;  ///< by ClassId; used where `whole` is false
  std::vector<char> whole;
  /// Indices asked of independent loops; a loop that is not here runs all its iterations.
  std::map<const ir::Op*, std::vector<int64_t>> asked;
};

class Machine {
 public:
  Machine(const ir::Program& program, const ir::Launch& launch, const Slice& slice, ir::StorageId target,
          MemoryPort& port);
  Status run(const TileRun& tile);
  /// Lanes of all ops run so far.
  int64_t work() const { return work_; }

 private:
  struct ActiveTile {
    ir::BlockId block;
    int64_t begin;
    int64_t end;
  };
  /// Where the lanes of a load or store lead.
  struct Access {
    LaneVector<int64_t> offsets;
    std::vector<uint8_t> valid;  ///< empty: every lane is
    std::vector<uint8_t> open;   ///< lanes whose index or mask is uncertain; empty: none
    bool is_valid(size_t lane) const { return valid.empty() || valid[lane]; }
    bool is_open(size_t lane) const { return !open.empty() && open[lane]; }
  };

  Status run_region(const ir::Region& region);
  Status run_op(const ir::Op& op);
  Status run_structured(const ir::Op& op);
  Status run_loop(const ir::Op& op);
  /// Narrows the lanes of a loop's own classes to what is asked of this iteration; false when nothing is.
  bool narrow(const ir::Op& loop, int64_t begin, int64_t end);
  Status run_branch(const ir::Op& op);
  Status run_load(const ir::Op& op);
  Status run_store(const ir::Op& op);
  Result<Access> address(const ir::Op& op, size_t first, ir::ValueId shaped);
  Status add_index(const ir::Op& op, size_t operand, size_t dim, const std::vector<int64_t>& sizes, Access* access);
  void mask_tiles(ir::ValueId shaped, const std::vector<int64_t>& sizes, Access* access);
  Status fetch(ir::StorageId storage, const Access& access, Lanes* out);
  void carry(const ir::Region& region, const ir::Op& op, bool loop, bool uncertain);

  LanesPtr value(ir::ValueId v) const { return values_[static_cast<size_t>(v)]; }
  void set(ir::ValueId v, LanesPtr lanes);
  std::vector<int64_t> sizes_of(ir::ValueId v) const;
  /// Lane numbers of a dimension that run.
  std::vector<int64_t> lane_numbers(ir::ValueId v, int dim) const;
  /// Whether each running lane of a dimension lies within its active tile; empty when all do.
  std::vector<uint8_t> validity(ir::ValueId v, int dim) const;

  const ir::Program& program_;
  const ir::Launch& launch_;
  const Slice& slice_;
  ir::StorageId target_;
  MemoryPort& port_;
  const TileRun* tile_ = nullptr;
  std::vector<std::vector<int64_t>> lanes_;  ///< as in the tile; a loop narrows its own classes
  std::vector<char> whole_;
  std::vector<LanesPtr> values_;
  std::vector<ActiveTile> active_;
  std::unordered_map<ir::StorageId, std::unordered_map<int64_t, Element>> own_;
  int uncertain_ = 0;  ///< depth of branches whose condition, or loops whose bounds, are uncertain
  int64_t work_ = 0;
};

}  // namespace hc::interp
