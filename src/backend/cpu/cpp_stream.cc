// Kernel IR to C++: streaming stores, whose addresses must be aligned.
#include <fmt/format.h>

#include <set>

#include "backend/cpu/cpp_printer.h"

namespace hc::backend::cpu {

using ir::Affine;
using ir::KernelOp;
using ir::Space;
using ir::Stmt;

namespace {

/// Whether a round that takes fewer lanes may be followed by one that takes some of the rest again: not where a local
/// memory is changed in place.
bool may_peel(const Stmt& loop) {
  std::set<int32_t> read, written;
  for (const Stmt& stmt : loop.body) {
    if (!stmt.body.empty()) return false;
    if (stmt.op == KernelOp::load && stmt.address.space == Space::local) read.insert(stmt.address.memory);
    if (stmt.op == KernelOp::store && stmt.address.space == Space::local) written.insert(stmt.address.memory);
  }
  for (int32_t memory : written) {
    if (read.count(memory) != 0) return false;
  }
  return true;
}

}  // namespace

/// Finds the loop's own streaming stores; a C++ bool says at run time whether all their addresses are aligned. True
/// when a first round of unknown length has been written.
bool LaunchPrinter::open_streams(const Stmt& loop) {
  std::vector<const Stmt*> streams;
  for (const Stmt& stmt : loop.body) {
    if (stmt.streaming && stmt.mask == ir::kNone) streams.push_back(&stmt);
  }
  mode_.streams.clear();
  if (streams.empty()) return false;
  const bool peeled = may_peel(loop) && peel(loop, *streams[0]);
  std::string all;
  for (const Stmt* store : streams) {
    const int64_t bytes = loop.step * dtype_bytes(memory_dtype(store->address));
    all += fmt::format("{}hcv::is_aligned({}, {})", all.empty() ? "" : " && ", pointer(store->address, 0, 0), bytes);
  }
  mode_.aligned = fmt::format("aligned{}", loop.dst);
  mode_.streams = std::move(streams);
  line(fmt::format("const bool {} = {};", mode_.aligned, all));
  return peeled;
}

/// A first round with just the lanes up to an aligned address, where the address is not known to be aligned.
bool LaunchPrinter::peel(const Stmt& loop, const Stmt& store) {
  const int64_t bytes = loop.step * dtype_bytes(memory_dtype(store.address));
  const int64_t unit = std::min<int64_t>(bytes, 64) / dtype_bytes(memory_dtype(store.address));
  bool known = store.address.offset.constant % unit == 0 && loop.begin.constant % unit == 0;
  for (const Affine::Term& term : store.address.offset.terms) {
    const auto steps = steps_.find(term.reg);
    const int64_t step = steps == steps_.end() ? 1 : steps->second;
    known = known && (term.reg == loop.dst || term.scale * step % unit == 0);
  }
  if (known) return false;
  const std::string var = scalar(loop.dst), head = fmt::format("head{}", loop.dst);
  line(fmt::format("int64_t {} = hcv::lanes_to_alignment({}, {});", head, pointer(store.address, 0, 0), bytes));
  line(fmt::format("if ({0} > {1} - {2}) {0} = {1} - {2};", head, affine(loop.valid), var));
  line(fmt::format("if ({} > 0) {{", head));
  vector_body(loop, 1, head);
  ++indent_;
  line(fmt::format("{} += {};", var, head));
  --indent_;
  line("}");
  return true;
}

}  // namespace hc::backend::cpu
