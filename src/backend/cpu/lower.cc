// Tile IR and a config to kernel IR.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/cpu/cpu.h"
#include "backend/cpu/emit.h"
#include "backend/cpu/knobs.h"
#include "pass/simplify.h"

namespace hc::backend::cpu {
namespace {

bool contiguous(const ir::Tensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// A fill: of a range where the tensor is one, else a launch that stores the value row by row.
Result<ir::KernelStep> lower_fill(const ir::Program& program, const ir::Step& step) {
  const ir::Tensor& tensor = program.tensor(step.fill_tensor);
  ir::KernelStep out;
  if (contiguous(tensor)) {
    out.kind = ir::KernelStep::Kind::fill;
    out.fill_storage = tensor.storage;
    out.fill_begin = tensor.offset;
    out.fill_end = tensor.offset + tensor.numel();
    out.fill_value = step.fill_value;
    return out;
  }
  ir::KernelLaunch& launch = out.launch;
  launch.name = "fill_" + tensor.name;
  std::vector<ir::Stmt>* body = &launch.body;
  ir::Address address;
  address.memory = tensor.storage;
  address.offset.constant = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    launch.regs.push_back({DType::i64, 1});
    ir::Stmt loop;
    loop.op = ir::KernelOp::loop;
    loop.level = i == 0 ? ir::Level::grid : ir::Level::serial;
    loop.dst = static_cast<ir::RegId>(i);
    loop.end.constant = loop.valid.constant = tensor.shape[i];
    address.offset.terms.push_back({loop.dst, tensor.strides[i]});
    body->push_back(std::move(loop));
    body = &body->back().body;
  }
  const auto value = static_cast<ir::RegId>(launch.regs.size());
  launch.regs.push_back({tensor.dtype, 1});
  ir::Stmt constant, store;
  constant.op = ir::KernelOp::constant;
  constant.dst = value;
  constant.literal = step.fill_value;
  store.op = ir::KernelOp::store;
  store.args = {value};
  store.address = std::move(address);
  body->push_back(std::move(constant));
  body->push_back(std::move(store));
  return out;
}

Result<ir::KernelLaunch> lower_launch(const ir::Program& program, const ir::Launch& launch, const Knobs& knobs,
                                      int64_t l1d_bytes) {
  Graph graph = HC_TRY(build_graph(program, launch));
  LoopOptions options;
  options.vector_bytes = knobs.vector_bytes;
  options.unroll = knobs.unroll;
  options.reduction_chunk = knobs.reduction_chunk(launch);
  options.recompute = knobs.recompute;
  hoist_axes(graph, options);
  LoopTree tree = build_loops(graph, options);
  settle_values(graph, tree, options);
  return emit_launch(program, launch, graph, tree, {knobs.order(launch), knobs.streamed, knobs.prefetch, l1d_bytes});
}

}  // namespace

Result<ir::KernelProgram> lower(const ir::Program& source, const knob::Config& config, const target::Target& target) {
  const Knobs knobs = HC_TRY(read_knobs(source, config, target));
  const ir::Program program = pass::simplify(source);
  ir::KernelProgram out;
  out.name = program.name;
  out.threads = knobs.threads;
  out.schedule = knobs.schedule;
  out.chunk = knobs.chunk;
  out.storages = program.storages;
  for (const ir::Step& step : program.steps) {
    if (step.kind == ir::Step::Kind::fill) {
      out.steps.push_back(HC_TRY(lower_fill(program, step)));
      continue;
    }
    ir::KernelStep lowered;
    lowered.launch = HC_TRY(lower_launch(program, step.launch, knobs, target.l1d_bytes));
    out.steps.push_back(std::move(lowered));
  }
  HC_TRY(ir::verify(out));
  return out;
}

}  // namespace hc::backend::cpu
