// Writes kernel IR: loops over axes with their reductions, tile loops and branches with what they carry.
#include <algorithm>
#include <limits>

#include "backend/cpu/emitter.h"

namespace hc::backend::cpu {

using ir::Affine;
using ir::KernelOp;
using ir::OpKind;
using ir::ReduceKind;
using ir::RegId;
using ir::Stmt;

OpKind combiner(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return OpKind::add;
    case ReduceKind::prod:
      return OpKind::mul;
    case ReduceKind::amax:
    case ReduceKind::argmax:
      return OpKind::maximum;
    case ReduceKind::amin:
    case ReduceKind::argmin:
      return OpKind::minimum;
    case ReduceKind::any:
      return OpKind::bitwise_or;
    case ReduceKind::all:
      return OpKind::bitwise_and;
  }
  return OpKind::add;
}

template <typename Body>
void Emitter::emit_loop(Stmt loop, Body body) {
  std::vector<Stmt>* outer = current_;
  outer->push_back(std::move(loop));
  std::vector<Stmt> inside;  // apart, because `outer` may not move while a pointer into it is held
  current_ = &inside;
  body();
  current_ = outer;
  outer->back().body = std::move(inside);
}

ir::Literal Emitter::identity(const Node& node) const {
  const DType dtype = graph_.val(node.args[0]).dtype;
  ir::Literal out;
  const bool lowest = node.reduce == ReduceKind::amax || node.reduce == ReduceKind::argmax;
  const bool highest = node.reduce == ReduceKind::amin || node.reduce == ReduceKind::argmin;
  const int bits = static_cast<int>(dtype_bytes(dtype)) * 8;
  if (lowest) {
    out.f = -std::numeric_limits<double>::infinity();
    out.i = dtype_kind(dtype) == DTypeKind::signed_int ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  } else if (highest) {
    out.f = std::numeric_limits<double>::infinity();
    out.i = std::numeric_limits<int64_t>::max() >> (64 - bits);
    if (dtype == DType::u8) out.i = 255;
    if (dtype == DType::boolean) out.i = 1;
  } else if (node.reduce == ReduceKind::prod || node.reduce == ReduceKind::all) {
    out.f = 1;
    out.i = 1;
  }
  return out;
}

std::vector<Emitter::Reduction> Emitter::reductions_of(int32_t loop) const {
  std::vector<Reduction> out;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.kind != NodeKind::reduce || node.axis != tree_.at(loop).axis || tree_.node_container[i] == kNone) continue;
    Reduction reduction;
    reduction.node = static_cast<NodeId>(i);
    int32_t c = tree_.node_container[i];
    while (tree_.at(c).axis != node.axis) {
      if (tree_.at(c).axis != kNone) reduction.inner.push_back(tree_.at(c).axis);
      c = tree_.at(c).parent;
    }
    if (c == loop) out.push_back(std::move(reduction));
  }
  return out;
}

Status Emitter::begin_reduction(Reduction& reduction, int32_t loop) {
  const Node& node = graph_.node(reduction.node);
  const ValId result = node.results[0];
  const bool arg = node.reduce == ReduceKind::argmax || node.reduce == ReduceKind::argmin;
  const DType dtype = arg ? graph_.val(node.args[0]).dtype : graph_.val(result).dtype;
  if (!reduction.inner.empty()) {
    if (arg) {
      return Diagnostic{Code::backend_unsupported,
                        "the position of an extreme value is asked for along an outer dimension"}
          .at(node.span);
    }
    const Buffer& buffer = buffers_.of_val[static_cast<size_t>(result)];
    if (buffer.axes.size() == reduction.inner.size()) {
      Stmt& stmt = push(KernelOp::fill);
      stmt.address.space = ir::Space::local;
      stmt.address.memory = buffer.local;
      stmt.literal = identity(node);
      return success();
    }
    fill_lanes(buffer, reduction.inner, identity(node), dtype);
    return success();
  }
  const Container& c = tree_.at(loop);
  const int lanes = c.lanes > 1 ? c.lanes : lanes_of(graph_.val(result).axes);
  reduction.accumulator = add_reg(register_dtype(dtype), lanes);
  Stmt& stmt = push(KernelOp::accumulator);
  stmt.dst = reduction.accumulator;
  stmt.reduce = node.reduce;
  stmt.literal = identity(node);
  stmt.copies = c.lanes > 1 ? c.unroll : 1;
  return success();
}

/// Sets the part of a buffer along `axes` at the open lanes of its other axes.
void Emitter::fill_lanes(const Buffer& buffer, const std::vector<AxisId>& axes, ir::Literal literal, DType dtype) {
  const RegId value = emit_constant(register_dtype(dtype), literal);
  std::vector<AxisId> left = axes;
  const auto nest = [&](auto& self) -> void {
    if (left.empty()) return store_buffer(buffer, value);
    const AxisId a = left.back();
    left.pop_back();
    Stmt loop;
    loop.op = KernelOp::loop;
    loop.dst = add_reg(DType::i64, 1);
    loop.end = loop.valid = extent(a).end;
    loops_.push_back({a, loop.dst, 1, kNone});
    emit_loop(std::move(loop), [&] { self(self); });
    loops_.pop_back();
  };
  nest(nest);
}

/// The operand as the accumulator takes it.
RegId Emitter::prepare(const Node& node, RegId value) {
  const ir::Reg from = out_.reg(value);
  const DType to = graph_.val(node.results[0]).dtype;
  switch (node.reduce) {
    case ReduceKind::any:
    case ReduceKind::all: {
      if (from.dtype == DType::boolean) return value;
      const RegId zero = emit_constant(from.dtype, {});
      return emit_elementwise(OpKind::ne, {value, zero}, DType::boolean, from.lanes);
    }
    case ReduceKind::sum:
    case ReduceKind::prod:
      return from.dtype == to ? value : emit_elementwise(OpKind::promote, {value}, to, from.lanes);
    default:
      return value;
  }
}

void Emitter::accumulate(const Node& node) {
  const ValId result = node.results[0];
  const auto it = std::find_if(reductions_.rbegin(), reductions_.rend(),
                               [&](const Reduction& r) { return graph_.node(r.node).results[0] == result; });
  if (it == reductions_.rend()) return refuse(node.span, "a reduction stands outside of its loop");
  const RegId value = prepare(node, use(node.args[0]));
  const OpenLoop* loop = open_loop(node.axis);
  if (!it->inner.empty()) {
    const Buffer& buffer = buffers_.of_val[static_cast<size_t>(result)];
    const DType dtype = graph_.val(result).dtype;
    RegId add = value;
    const int lanes = std::max(out_.reg(value).lanes, lanes_of(graph_.val(result).axes));
    if (loop->inside != kNone) {
      add = emit_elementwise(OpKind::where, {loop->inside, value, emit_constant(out_.reg(value).dtype, identity(node))},
                             out_.reg(value).dtype, lanes);
    }
    const RegId old = load_buffer(buffer, dtype, graph_.val(result).axes);
    store_buffer(buffer, emit_elementwise(combiner(node.reduce), {old, add}, dtype, lanes));
    return;
  }
  Stmt& stmt = push(KernelOp::accumulate);
  stmt.args = {it->accumulator, value};
  stmt.mask = loop->inside;
  if (node.reduce == ReduceKind::argmax || node.reduce == ReduceKind::argmin) {
    stmt.affine.terms = {{loop->var, 1}};
    stmt.stride = loop->lanes > 1 ? 1 : 0;
  }
}

void Emitter::finish_reduction(const Reduction& reduction) {
  if (reduction.accumulator == kNone) return;  // its result is in memory already
  const Node& node = graph_.node(reduction.node);
  const ValId result = node.results[0];
  const RegId reg = add_reg(graph_.val(result).dtype, lanes_of(graph_.val(result).axes));
  Stmt& stmt = push(KernelOp::collapse);
  stmt.dst = reg;
  stmt.args = {reduction.accumulator};
  define(result, reg);
}

Status Emitter::emit_axis_loop(int32_t c) {
  const Container& container = tree_.at(c);
  std::vector<Reduction> own = reductions_of(c);
  for (Reduction& reduction : own) HC_TRY(begin_reduction(reduction, c));
  const size_t outer = reductions_.size();
  reductions_.insert(reductions_.end(), own.begin(), own.end());
  const Extent e = extent(container.axis);
  Stmt loop;
  loop.op = KernelOp::loop;
  loop.dst = add_reg(DType::i64, 1);
  loop.end = e.end;
  loop.valid = e.valid;
  if (container.lanes > 1) {
    loop.level = ir::Level::vector;
    loop.step = container.lanes;
    loop.unroll = container.unroll;
  }
  const bool partial = container.lanes == 1 && !(e.end == e.valid);
  if (container.lanes == 1) loop.valid = loop.end;
  loops_.push_back({container.axis, loop.dst, container.lanes, kNone});
  Status status = success();
  emit_loop(std::move(loop), [&] {
    if (partial) {
      loops_.back().inside = emit_elementwise(OpKind::lt, {loops_.back().var, emit_index(e.valid)}, DType::boolean, 1);
    }
    emit_prefetches(c);
    status = emit_container(c);
  });
  HC_TRY(std::move(status));
  loops_.pop_back();
  reductions_.resize(outer);
  for (const Reduction& reduction : own) finish_reduction(reduction);
  return success();
}

Status Emitter::emit_region(NodeId n) {
  return graph_.node(n).kind == NodeKind::loop ? emit_tile_loop(n) : emit_branch(n);
}

Status Emitter::emit_tile_loop(NodeId n) {
  const Node& node = graph_.node(n);
  const auto container = [&](size_t i) { return tree_.body_container[static_cast<size_t>(node.bodies[i])]; };
  HC_TRY(emit_container(container(0)));
  Stmt loop;
  loop.op = KernelOp::loop;
  loop.dst = add_reg(DType::i64, 1);
  loop.begin = scalar_index(node.index);
  loop.end = loop.valid = scalar_index(node.end);
  loop.step = node.step;
  const Affine begin = loop.begin, end = loop.end;
  const RegId var = loop.dst;
  Status status = success();
  emit_loop(std::move(loop), [&] {
    const ValId first = graph_.body(node.bodies[1]).begin;
    regs_[static_cast<size_t>(first)] = var;
    if (node.block != kNone) open_tile(node.block, begin, end, var);
    status = emit_container(container(1));
    if (node.block != kNone) tiles_.erase(node.block);
    regs_[static_cast<size_t>(first)] = kNone;
  });
  HC_TRY(std::move(status));
  close_slots(node);
  return success();
}

Status Emitter::emit_branch(NodeId n) {
  const Node& node = graph_.node(n);
  const RegId condition = use(node.args[0]);
  for (SlotId s : node.slots) {
    if (buffers_.of_slot[static_cast<size_t>(s)].used) continue;
    const Slot& slot = graph_.slot(s);
    open_slot(s, emit_constant(slot.dtype, {}));
  }
  Stmt branch;
  branch.op = KernelOp::branch;
  branch.args = {condition};
  Status status = success();
  emit_loop(std::move(branch),
            [&] { status = emit_container(tree_.body_container[static_cast<size_t>(node.bodies[0])]); });
  HC_TRY(std::move(status));
  std::vector<Stmt>* outer = current_;
  std::vector<Stmt> otherwise;
  current_ = &otherwise;
  HC_TRY(emit_container(tree_.body_container[static_cast<size_t>(node.bodies[1])]));
  current_ = outer;
  for (size_t i = outer->size(); i-- > 0;) {
    if ((*outer)[i].op != KernelOp::branch) continue;
    (*outer)[i].otherwise = std::move(otherwise);
    break;
  }
  close_slots(node);
  return success();
}

/// Makes the register of a slot that has no lanes in memory.
void Emitter::open_slot(SlotId s, RegId first) {
  const Slot& slot = graph_.slot(s);
  const RegId reg = add_reg(slot.dtype, lanes_of(slot.axes));
  Stmt& stmt = push(KernelOp::var);
  stmt.dst = reg;
  stmt.args = {first};
  slot_vars_[static_cast<size_t>(s)] = reg;
}

/// The results of a loop or branch: its slots' registers, or what they left in memory.
void Emitter::close_slots(const Node& node) {
  for (size_t i = 0; i < node.slots.size(); ++i) {
    const auto s = static_cast<size_t>(node.slots[i]);
    if (buffers_.of_slot[s].used) continue;
    regs_[static_cast<size_t>(node.results[i])] = slot_vars_[s];
    defined_.push_back(node.results[i]);
  }
}

void Emitter::emit_slot_init(const Node& node) {
  const SlotId s = node.slots[0];
  const Buffer& buffer = buffers_.of_slot[static_cast<size_t>(s)];
  const RegId value = use(node.args[0]);
  if (buffer.used) {
    store_buffer(buffer, value);
  } else {
    open_slot(s, value);
  }
}

void Emitter::emit_slot_read(const Node& node) {
  const SlotId s = node.slots[0];
  const Buffer& buffer = buffers_.of_slot[static_cast<size_t>(s)];
  const Slot& slot = graph_.slot(s);
  const RegId reg = buffer.used ? load_buffer(buffer, slot.dtype, slot.axes)
                                : emit_elementwise(OpKind::copy, {slot_vars_[static_cast<size_t>(s)]}, slot.dtype,
                                                   lanes_of(slot.axes));
  define(node.results[0], reg);
}

void Emitter::emit_slot_write(const Node& node) {
  const SlotId s = node.slots[0];
  const Buffer& buffer = buffers_.of_slot[static_cast<size_t>(s)];
  const RegId value = use(node.args[0]);
  if (buffer.used) return store_buffer(buffer, value);
  Stmt& stmt = push(KernelOp::set);
  stmt.args = {slot_vars_[static_cast<size_t>(s)], value};
}

}  // namespace hc::backend::cpu
