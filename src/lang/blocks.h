// The block sizes of a kernel: their names, bounds, and the sizes chosen for this program.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/tile_ir.h"
#include "lang/lang.h"
#include "lang/syntax.h"

namespace hc::lang {

/// What is known of a block before its size is chosen.
struct BlockRequest {
  std::string name;
  int64_t min = 1;
  int64_t max = 1;         ///< rounded up to a power of two
  int64_t extent = -1;     ///< -1: not known to the host
  int64_t fixed_size = 0;  ///< > 0: given by the source
  int64_t default_size = 32;
  int64_t cap = 0;  ///< > 0: a tile inside a parent's tile is never larger than the parent; a larger choice means this
};

class Blocks {
 public:
  Blocks(ir::Program& program, const Choices& choices) : program_(program), choices_(choices) {}

  /// Finds names that stand for blocks in several places of the kernel; these get "@LINE".
  void scan(const std::vector<StmtPtr>& body);
  /// Name of a block whose loop variable or assigned name is `base`, at this place.
  std::string name_of(const std::string& base, const Span& span) const;
  /// Makes the block of this site (a statement and a position in it), or returns it when the site was traced before.
  Result<ir::BlockId> make(const void* site, int position, const BlockRequest& request, const Span& span);

 private:
  void count(const std::vector<StmtPtr>& body, std::map<std::string, std::set<int>>& lines);

  ir::Program& program_;
  const Choices& choices_;
  std::set<std::string> repeated_;
  std::map<std::pair<const void*, int>, ir::BlockId> sites_;
};

int64_t next_power_of_two(int64_t n);

}  // namespace hc::lang
