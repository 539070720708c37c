// Device loops: the ranges of hl.tile, hl.grid and range, and what their bodies carry from one round to the next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lang/tracer.h"

namespace hc::lang {

enum class LoopKind : uint8_t { tile, grid };

/// One dimension of a loop.
struct LoopRange {
  std::string name;  ///< of the loop variable
  Value begin, end;
  Value step;        ///< grid: int or device scalar
  Value block_size;  ///< tile: None, a number, or a registered size
  ir::BlockId block = ir::kNone;
};

/// Traces one `for` statement over hl.tile or hl.grid (or device range) into the open launch, or as a launch of its
/// own.
class LoopTracer {
 public:
  LoopTracer(Tracer& tracer, const Stmt& stmt, LoopKind kind) : tracer_(tracer), stmt_(stmt), kind_(kind) {}

  Status read_ranges(const Values& args, const std::vector<std::string>& names);
  Result<Flow> trace_launch(const std::string& name);
  Result<Flow> trace_nested();

 private:
  Status check_bounds(LoopRange& range) const;
  Status check_targets() const;
  Status make_blocks();
  Result<ir::BlockId> make_block(size_t i);
  void bound_by_parent(const LoopRange& range, BlockRequest* request) const;
  Status bind_target(const Values& variables);
  Status nest(size_t i, Values& variables);
  Status one_loop(size_t i, Values& variables);
  Status finish_loop(ir::Op op, const std::map<std::string, Value>& before, const std::vector<std::string>& carried,
                     const std::vector<Device>& initial, std::vector<ir::Type> types);
  Diagnostic changed_type(const std::string& name, const Device& before, const Value& after) const;
  Status body();
  Result<Device> scalar(const Value& value) const;
  std::string base_name(size_t i) const;

  Tracer& tracer_;
  const Stmt& stmt_;
  LoopKind kind_;
  bool is_list_ = false;
  std::vector<LoopRange> ranges_;
};

}  // namespace hc::lang
