// Writes kernel IR: launches, containers, values and addresses.
#include "backend/cpu/emit.h"

#include <algorithm>

#include "backend/cpu/emitter.h"

namespace hc::backend::cpu {

using ir::Address;
using ir::Affine;
using ir::KernelOp;
using ir::OpKind;
using ir::RegId;
using ir::Stmt;

Emitter::Emitter(const ir::Program& program, const ir::Launch& launch, const Graph& graph, const LoopTree& tree,
                 const EmitOptions& options)
    : program_(program), launch_(launch), graph_(graph), tree_(tree), options_(options) {
  out_.name = launch.name;
  buffers_ = assign_buffers(graph, tree, out_.locals);
  regs_.assign(graph.vals.size(), kNone);
  slot_vars_.assign(graph.slots.size(), kNone);
  if (options.prefetch != Prefetch::none) plan_prefetches();
}

void Emitter::refuse(const diag::Span& span, std::string why) {
  if (!refusal_) refusal_ = Diagnostic{Code::backend_unsupported, std::move(why)}.at(span);
}

diag::Span Emitter::span_of(ValId v) const {
  const NodeId def = graph_.val(v).def;
  return def == kNone ? diag::Span{} : graph_.node(def).span;
}

RegId Emitter::add_reg(DType dtype, int lanes) {
  out_.regs.push_back({dtype, lanes});
  return static_cast<RegId>(out_.regs.size() - 1);
}

RegId Emitter::emit_constant(DType dtype, ir::Literal literal) {
  const RegId reg = add_reg(dtype, 1);
  Stmt& stmt = push(KernelOp::constant);
  stmt.dst = reg;
  stmt.literal = literal;
  return reg;
}

RegId Emitter::emit_elementwise(OpKind op, std::vector<RegId> args, DType dtype, int lanes) {
  const RegId reg = add_reg(dtype, lanes);
  Stmt& stmt = push(KernelOp::elementwise);
  stmt.dst = reg;
  stmt.elementwise = op;
  stmt.args = std::move(args);
  return reg;
}

RegId Emitter::emit_index(const Affine& affine) {
  if (affine.constant == 0 && affine.terms.size() == 1 && affine.terms[0].scale == 1) return affine.terms[0].reg;
  const RegId reg = add_reg(DType::i64, 1);
  Stmt& stmt = push(KernelOp::index);
  stmt.dst = reg;
  stmt.affine = affine;
  return reg;
}

int Emitter::lanes_of(const std::vector<AxisId>& axes) const {
  for (const OpenLoop& loop : loops_) {
    if (loop.lanes > 1 && has_axis(axes, loop.axis)) return loop.lanes;
  }
  return 1;
}

const Emitter::OpenLoop* Emitter::open_loop(AxisId a) const {
  for (const OpenLoop& loop : loops_) {
    if (loop.axis == a) return &loop;
  }
  return nullptr;
}

const Buffer& Emitter::buffer_of(ValId v) const {
  const NodeId def = graph_.val(v).def;
  if (def != kNone && !graph_.node(def).bodies.empty()) {
    const Node& region = graph_.node(def);
    const auto i = std::find(region.results.begin(), region.results.end(), v) - region.results.begin();
    return buffers_.of_slot[static_cast<size_t>(region.slots[static_cast<size_t>(i)])];
  }
  return buffers_.of_val[static_cast<size_t>(v)];
}

RegId Emitter::use(ValId v) {
  RegId& reg = regs_[static_cast<size_t>(v)];
  if (reg != kNone) return reg;
  const NodeId def = graph_.val(v).def;
  defined_.push_back(v);
  if (def != kNone && graph_.node(def).kind == NodeKind::constant) {
    return reg = emit_constant(graph_.val(v).dtype, graph_.node(def).literal);
  }
  const Buffer& buffer = buffer_of(v);
  if (!buffer.used) {
    refuse(span_of(v), "a value is used where it is neither in a register nor in memory");
    return reg = emit_constant(graph_.val(v).dtype, {});
  }
  return reg = load_buffer(buffer, graph_.val(v).dtype, graph_.val(v).axes);
}

void Emitter::define(ValId v, RegId reg) {
  regs_[static_cast<size_t>(v)] = reg;
  defined_.push_back(v);
  const Buffer& buffer = buffers_.of_val[static_cast<size_t>(v)];
  if (buffer.used) store_buffer(buffer, reg);
}

Address Emitter::buffer_address(const Buffer& buffer) {
  Address address;
  address.space = ir::Space::local;
  address.memory = buffer.local;
  for (size_t i = 0; i < buffer.axes.size(); ++i) {
    const OpenLoop* loop = open_loop(buffer.axes[i]);
    if (!loop) {
      refuse({}, "a kept value is reached outside of the loops over its lanes");
      continue;
    }
    address.offset.terms.push_back({loop->var, buffer.strides[i]});
    if (loop->lanes > 1) address.stride += buffer.strides[i];
  }
  return address;
}

RegId Emitter::load_buffer(const Buffer& buffer, DType dtype, const std::vector<AxisId>& axes) {
  const RegId reg = add_reg(dtype, lanes_of(axes));
  Address address = buffer_address(buffer);
  Stmt& stmt = push(KernelOp::load);
  stmt.dst = reg;
  stmt.address = std::move(address);
  return reg;
}

void Emitter::store_buffer(const Buffer& buffer, RegId value) {
  Address address = buffer_address(buffer);
  Stmt& stmt = push(KernelOp::store);
  stmt.args = {value};
  stmt.address = std::move(address);
  stmt.exact = buffer.packed;
}

Affine Emitter::scalar_index(const Index& index) {
  Affine out;
  out.constant = index.constant;
  for (const auto& [axis, scale] : index.lanes) {
    const OpenLoop* loop = open_loop(axis);
    if (!loop) {
      refuse({}, "an index uses a lane outside of its loop");
      continue;
    }
    out.terms.push_back({loop->var, scale});
  }
  for (const auto& [v, scale] : index.values) {
    const RegId reg = use(v);
    if (out_.reg(reg).lanes == 1) out.terms.push_back({reg, scale});
  }
  return out;
}

Address Emitter::address_of(const Index& index, bool vector) {
  Address address;
  address.offset = scalar_index(index);
  if (!vector) return address;
  for (const auto& [axis, scale] : index.lanes) {
    if (const OpenLoop* loop = open_loop(axis); loop && loop->lanes > 1) address.stride += scale;
  }
  for (const auto& [v, scale] : index.values) {
    RegId reg = use(v);
    const int lanes = out_.reg(reg).lanes;
    if (lanes == 1) continue;
    if (out_.reg(reg).dtype != DType::i64) reg = emit_elementwise(OpKind::promote, {reg}, DType::i64, lanes);
    if (scale != 1) {
      ir::Literal literal;
      literal.i = scale;
      reg = emit_elementwise(OpKind::mul, {reg, emit_constant(DType::i64, literal)}, DType::i64, lanes);
    }
    address.gather =
        address.gather == kNone ? reg : emit_elementwise(OpKind::add, {address.gather, reg}, DType::i64, lanes);
  }
  return address;
}

/// The mask of an access and the bounds of tiles whose lanes beyond them are looped over one by one.
RegId Emitter::predicate(ValId mask, const std::vector<AxisId>& axes) {
  RegId out = mask == kNone ? kNone : use(mask);
  for (const OpenLoop& loop : loops_) {
    if (loop.inside == kNone || !has_axis(axes, loop.axis)) continue;
    if (out == kNone) {
      out = loop.inside;
    } else {
      out = emit_elementwise(OpKind::bitwise_and, {out, loop.inside}, DType::boolean, out_.reg(out).lanes);
    }
  }
  return out;
}

void Emitter::emit_value(const Node& node) {
  std::vector<RegId> args;
  for (ValId arg : node.args) args.push_back(use(arg));
  const ValId v = node.results[0];
  define(v, emit_elementwise(node.op, std::move(args), graph_.val(v).dtype, lanes_of(node.axes)));
}

void Emitter::emit_load(const Node& node) {
  const int lanes = lanes_of(node.axes);
  const RegId mask = predicate(node.mask, node.axes);
  Address address = address_of(node.index, lanes > 1);
  address.memory = node.storage;
  const ValId v = node.results[0];
  const RegId reg = add_reg(graph_.val(v).dtype, lanes);
  Stmt& stmt = push(KernelOp::load);
  stmt.dst = reg;
  stmt.address = std::move(address);
  stmt.mask = mask;
  define(v, reg);
}

void Emitter::emit_store(const Node& node) {
  const int lanes = lanes_of(node.axes);
  const RegId mask = predicate(node.mask, node.axes);
  RegId value = use(node.args[0]);
  if (lanes > 1 && out_.reg(value).lanes == 1) {
    value = emit_elementwise(OpKind::copy, {value}, out_.reg(value).dtype, lanes);
  }
  Address address = address_of(node.index, lanes > 1);
  address.memory = node.storage;
  Stmt& stmt = push(KernelOp::store);
  stmt.args = {value};
  stmt.address = std::move(address);
  stmt.mask = mask;
  stmt.streaming = lanes > 1 && stmt.address.stride == 1 && stmt.address.gather == kNone && mask == kNone &&
                   options_.streamed[static_cast<size_t>(node.tensor)];
}

/// Reads the operand's memory at an element number along the group, at the open lanes of its other axes.
void Emitter::emit_relayout(const Node& node) {
  const int lanes = lanes_of(node.axes);
  const Buffer& buffer = buffer_of(node.args[0]);
  Address address = address_of(node.index, lanes > 1);
  address.space = ir::Space::local;
  address.memory = buffer.local;
  const size_t kept = buffer.axes.size() - node.group.size();
  for (size_t i = 0; i < kept; ++i) {
    const OpenLoop* loop = open_loop(buffer.axes[i]);
    if (!loop) {
      refuse(node.span, "a reshaped value is read outside of the loops over its other dimensions");
      return;
    }
    address.offset.terms.push_back({loop->var, buffer.strides[i]});
    if (loop->lanes > 1) address.stride += buffer.strides[i];
  }
  const ValId v = node.results[0];
  const RegId reg = add_reg(graph_.val(v).dtype, lanes);
  Stmt& stmt = push(KernelOp::load);
  stmt.dst = reg;
  stmt.address = std::move(address);
  define(v, reg);
}

Status Emitter::emit_node(NodeId n) {
  const Node& node = graph_.node(n);
  switch (node.kind) {
    case NodeKind::constant:
      break;
    case NodeKind::index: {
      const ValId v = node.results[0];
      const int lanes = lanes_of(node.axes);
      const RegId reg = add_reg(graph_.val(v).dtype, lanes);
      Affine affine = scalar_index(node.index);
      Stmt& stmt = push(lanes > 1 ? KernelOp::lanes : KernelOp::index);
      stmt.dst = reg;
      stmt.affine = std::move(affine);
      for (const auto& [axis, scale] : node.index.lanes) {
        if (const OpenLoop* loop = open_loop(axis); loop && loop->lanes > 1) stmt.stride += scale;
      }
      define(v, reg);
      break;
    }
    case NodeKind::elementwise:
      emit_value(node);
      break;
    case NodeKind::load:
      emit_load(node);
      break;
    case NodeKind::store:
      emit_store(node);
      break;
    case NodeKind::reduce:
      accumulate(node);
      break;
    case NodeKind::relayout:
      emit_relayout(node);
      break;
    case NodeKind::loop:
    case NodeKind::branch:
      return emit_region(n);
    case NodeKind::slot_init:
      emit_slot_init(node);
      break;
    case NodeKind::slot_read:
      emit_slot_read(node);
      break;
    case NodeKind::slot_write:
      emit_slot_write(node);
      break;
  }
  return success();
}

Status Emitter::emit_container(int32_t c) {
  const size_t scope = defined_.size();
  for (const Item& item : tree_.at(c).items) HC_TRY(item.loop ? emit_axis_loop(item.id) : emit_node(item.id));
  while (defined_.size() > scope) {
    regs_[static_cast<size_t>(defined_.back())] = kNone;
    defined_.pop_back();
  }
  return success();
}

Emitter::Extent Emitter::extent(AxisId a) const {
  const Axis& axis = graph_.axis(a);
  Affine size;
  size.constant = axis.size;
  const auto tile = axis.block == kNone ? tiles_.end() : tiles_.find(axis.block);
  if (tile == tiles_.end()) return {size, size};
  return {axis.full ? size : tile->second, tile->second};
}

/// Makes the tile of `block` active; `var` is its begin.
void Emitter::open_tile(ir::BlockId block, const Affine& begin, const Affine& end, RegId var) {
  const int64_t size = program_.block(block).size;
  Affine valid;
  valid.constant = size;
  const bool whole = begin.is_constant() && end.is_constant() && (end.constant - begin.constant) % size == 0;
  if (!whole && size > 1) {
    Affine rest = end;
    rest.terms.push_back({var, -1});
    ir::Literal literal;
    literal.i = size;
    const RegId least =
        emit_elementwise(OpKind::minimum, {emit_index(rest), emit_constant(DType::i64, literal)}, DType::i64, 1);
    valid.constant = 0;
    valid.terms = {{least, 1}};
  }
  tiles_[block] = valid;
}

Result<ir::KernelLaunch> Emitter::run() {
  std::vector<Stmt>* body = &out_.body;
  for (int i : options_.order) {
    const ir::GridAxis& axis = launch_.axes[static_cast<size_t>(i)];
    Stmt loop;
    loop.op = KernelOp::loop;
    loop.level = ir::Level::grid;
    loop.dst = add_reg(DType::i64, 1);
    loop.begin.constant = axis.begin;
    loop.end.constant = loop.valid.constant = std::max(axis.begin, axis.end);
    loop.step = axis.step;
    regs_[static_cast<size_t>(graph_.begins[static_cast<size_t>(i)])] = loop.dst;
    body->push_back(std::move(loop));
    body = &body->back().body;
  }
  current_ = body;
  for (size_t i = 0; i < launch_.axes.size(); ++i) {
    const ir::GridAxis& axis = launch_.axes[i];
    if (axis.block == kNone) continue;
    Affine begin, end;
    begin.constant = axis.begin;
    end.constant = axis.end;
    open_tile(axis.block, begin, end, regs_[static_cast<size_t>(graph_.begins[i])]);
  }
  HC_TRY(emit_container(0));
  if (refusal_) return *refusal_;
  return std::move(out_);
}

Result<ir::KernelLaunch> emit_launch(const ir::Program& program, const ir::Launch& launch, const Graph& graph,
                                     const LoopTree& tree, const EmitOptions& options) {
  return Emitter(program, launch, graph, tree, options).run();
}

}  // namespace hc::backend::cpu
