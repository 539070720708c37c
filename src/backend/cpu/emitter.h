// Inside of emit: the state while kernel IR is written, shared by its files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/emit.h"

namespace hc::backend::cpu {

class Emitter {
 public:
  Emitter(const ir::Program& program, const ir::Launch& launch, const Graph& graph, const LoopTree& tree,
          const EmitOptions& options);
  Result<ir::KernelLaunch> run();

 private:
  /// An axis whose loop is open.
  struct OpenLoop {
    AxisId axis = kNone;
    ir::RegId var = kNone;
    int lanes = 1;
    ir::RegId inside = kNone;  ///< scalar bool: the lane is valid; kNone where all are
  };
  /// A share of the next row of a load: every `parts`-th vector from `part` on.
  struct RowPrefetch {
    NodeId load = kNone;
    int part = 0;
    int parts = 1;
  };
  /// A reduction whose loop is open.
  struct Reduction {
    NodeId node = kNone;
    ir::RegId accumulator = kNone;
    std::vector<AxisId>
        inner;  ///< axes looped over between the reduction's loop and its node: one element of a buffer each
  };

  // statements
  ir::Stmt& push(ir::KernelOp op) {
    ir::Stmt stmt;
    stmt.op = op;
    return current_->emplace_back(std::move(stmt));
  }
  ir::RegId add_reg(DType dtype, int lanes);
  ir::RegId emit_constant(DType dtype, ir::Literal literal);
  ir::RegId emit_elementwise(ir::OpKind op, std::vector<ir::RegId> args, DType dtype, int lanes);
  ir::RegId emit_index(const ir::Affine& affine);
  /// A loop around what `body` writes; returns the loop.
  template <typename Body>
  void emit_loop(ir::Stmt loop, Body body);

  /// Remembers why this launch cannot be written; run() returns the first reason.
  void refuse(const diag::Span& span, std::string why);
  diag::Span span_of(ValId v) const;

  // values
  int lanes_of(const std::vector<AxisId>& axes) const;
  ir::RegId use(ValId v);
  void define(ValId v, ir::RegId reg);
  const Buffer& buffer_of(ValId v) const;
  ir::Address buffer_address(const Buffer& buffer);
  ir::RegId load_buffer(const Buffer& buffer, DType dtype, const std::vector<AxisId>& axes);
  void store_buffer(const Buffer& buffer, ir::RegId value);
  ir::Address address_of(const Index& index, bool vector);
  ir::Affine scalar_index(const Index& index);
  void add_lane_terms(const Index& index, ir::Address& address) const;
  const OpenLoop* open_loop(AxisId a) const;
  ir::RegId predicate(ValId mask, const std::vector<AxisId>& axes);

  // items
  Status emit_container(int32_t c);
  Status emit_node(NodeId n);
  void emit_value(const Node& node);
  void emit_load(const Node& node);
  void emit_store(const Node& node);
  void emit_relayout(const Node& node);
  Status emit_axis_loop(int32_t c);
  Status emit_region(NodeId n);
  Status emit_tile_loop(NodeId n);
  Status emit_branch(NodeId n);
  void open_slot(SlotId s, ir::RegId first);
  void close_slots(const Node& node);
  void emit_slot_init(const Node& node);
  void emit_slot_write(const Node& node);
  void emit_slot_read(const Node& node);

  // prefetches
  void plan_prefetches();
  std::vector<int32_t> sweeps_of(int32_t rows, AxisId axis) const;
  void share_row(const std::vector<NodeId>& loads, const std::vector<int32_t>& sweeps);
  void emit_prefetches(int32_t loop);

  // reductions
  std::vector<Reduction> reductions_of(int32_t loop) const;
  Status begin_reduction(Reduction& reduction, int32_t loop);
  void fill_lanes(const Buffer& buffer, const std::vector<AxisId>& axes, ir::Literal literal, DType dtype);
  void accumulate(const Node& node);
  void finish_reduction(const Reduction& reduction);
  ir::RegId prepare(const Node& node, ir::RegId value);
  ir::Literal identity(const Node& node) const;

  struct Extent {
    ir::Affine end, valid;
  };
  Extent extent(AxisId a) const;
  void open_tile(ir::BlockId block, const ir::Affine& begin, const ir::Affine& end, ir::RegId var);

  const ir::Program& program_;
  const ir::Launch& launch_;
  const Graph& graph_;
  const LoopTree& tree_;
  const EmitOptions& options_;
  ir::KernelLaunch out_;
  std::vector<ir::Stmt>* current_ = nullptr;
  Buffers buffers_;
  std::optional<Diagnostic> refusal_;
  std::vector<ir::RegId> regs_;  // by ValId
  std::vector<ValId> defined_;   // in order, for scopes
  std::vector<OpenLoop> loops_;
  std::vector<Reduction> reductions_;
  std::vector<ir::RegId> slot_vars_;                        // by SlotId
  std::map<int32_t, std::vector<RowPrefetch>> prefetches_;  // by vector loop
  std::map<ir::BlockId, ir::Affine> tiles_;                 // valid lanes of active tiles
};

/// The operation that combines two values of a reduction.
ir::OpKind combiner(ir::ReduceKind kind);

}  // namespace hc::backend::cpu
