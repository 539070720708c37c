// Kernel IR to C++: addresses, loads and stores.
#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/buffers.h"
#include "backend/cpu/cpp_printer.h"

namespace hc::backend::cpu {

using ir::Reg;
using ir::RegId;
using ir::Stmt;

namespace {

bool is_narrow(DType dtype) { return is_floating(dtype) && dtype_bytes(dtype) < 4; }

/// Memory bits as a register: narrow floats widen, bool bytes become masks.
std::string widen(const std::string& bits, DType dtype, int lanes) {
  if (is_narrow(dtype)) return fmt::format("hcv::{}_to_f32({})", dtype_name(dtype), bits);
  if (dtype != DType::boolean) return bits;
  if (lanes == 1) return fmt::format("({} != 0)", bits);
  return fmt::format("hcv::from_bool<{}::element>({})", register_type({dtype, lanes}), bits);
}

std::string narrow(const std::string& value, DType dtype) {
  if (is_narrow(dtype)) return fmt::format("hcv::f32_to_{}({})", dtype_name(dtype), value);
  return dtype == DType::boolean ? fmt::format("hcv::to_bool({})", value) : value;
}

}  // namespace

DType LaunchPrinter::memory_dtype(const ir::Address& address) const {
  const auto i = static_cast<size_t>(address.memory);
  return address.space == ir::Space::storage ? program_.storages[i].dtype : launch_.locals[i].dtype;
}

std::string LaunchPrinter::pointer(const ir::Address& address, int copy, int64_t lanes) const {
  const std::string offset = affine(address.offset, copy * lanes * address.stride);
  const std::string base = fmt::format("{}{}", address.space == ir::Space::storage ? 's' : 'l', address.memory);
  return offset == "0" ? base : fmt::format("{} + {}", base, offset);
}

/// Lanes that take part, as a C++ mask or bool, or empty for all. `bounded`: those beyond the loop's valid bound do
/// not.
std::string LaunchPrinter::mask(const Stmt& stmt, int copy, bool bounded) {
  const int lanes = stmt.op == ir::KernelOp::load ? type(stmt.dst).lanes : type(stmt.args.back()).lanes;
  std::string out;
  if (stmt.mask != kNone) {
    out = reg(stmt.mask, copy);
    if (lanes > 1 && type(stmt.mask).lanes == 1) out = splat_text(out, {DType::boolean, 1}, {DType::boolean, lanes});
  }
  if (!bounded || !mode_.partial) return out;
  const int64_t step = mode_.loop->step;
  const std::string first = fmt::format("hcv::first_lanes<{}::element, {}>({})",
                                        register_type({DType::boolean, static_cast<int>(step)}), step, mode_.count);
  return out.empty() ? first : fmt::format("({} & {})", out, first);
}

std::string LaunchPrinter::gather_index(const ir::Address& address, int copy, int lanes) const {
  std::string out;
  if (address.gather != kNone) out = reg(address.gather, copy);
  if (address.stride != 0 || out.empty()) {
    std::string count = fmt::format("hcv::iota<int64_t, {}>()", lanes);
    if (address.stride != 1) count += fmt::format(" * hcv::vec<int64_t, {}>({})", lanes, address.stride);
    out += out.empty() ? count : " + " + count;
  }
  return out;
}

void LaunchPrinter::load(const Stmt& stmt) {
  for (int u = 0; u < copies_of(stmt.dst); ++u) assign(stmt.dst, u, load_text(stmt, u));
}

std::string LaunchPrinter::load_text(const Stmt& stmt, int copy) {
  const Reg to = type(stmt.dst);
  const DType dtype = memory_dtype(stmt.address);
  const std::string p = pointer(stmt.address, copy, to.lanes);
  if (to.lanes == 1) {
    const std::string value = widen(fmt::format("*({})", p), dtype, 1);
    if (stmt.mask == kNone) return value;
    return fmt::format("({} ? {} : {})", scalar(stmt.mask), value, literal_text(to.dtype, {}));
  }
  return widen(vector_load(stmt, p, copy), dtype, to.lanes);
}

std::string LaunchPrinter::vector_load(const Stmt& stmt, const std::string& p, int copy) {
  const int lanes = type(stmt.dst).lanes;
  const bool bounded = stmt.address.space == ir::Space::storage;
  if (stmt.address.gather != kNone || stmt.address.stride != 1) {
    const std::string index = gather_index(stmt.address, copy, lanes);
    const std::string on = mask(stmt, copy, bounded);
    return on.empty() ? fmt::format("hcv::gather({}, {})", p, index)
                      : fmt::format("hcv::gather({}, {}, {})", p, index, on);
  }
  if (stmt.mask != kNone) return fmt::format("hcv::load_where<{}>({}, {})", lanes, p, mask(stmt, copy, bounded));
  if (bounded && mode_.partial) return fmt::format("hcv::load_n<{}>({}, {})", lanes, p, mode_.count);
  return fmt::format("hcv::load<{}>({})", lanes, p);
}

void LaunchPrinter::store(const Stmt& stmt) {
  const RegId value = stmt.args[0];
  const bool vector = stmt.address.stride != 0 || stmt.address.gather != kNone || type(value).lanes > 1;
  const int copies = vector && mode_.loop != nullptr ? mode_.copies : 1;
  for (int u = 0; u < copies; ++u) line(store_text(stmt, u));
}

std::string LaunchPrinter::store_text(const Stmt& stmt, int copy) {
  const RegId value = stmt.args[0];
  const DType dtype = memory_dtype(stmt.address);
  const bool vector =
      mode_.loop != nullptr && (stmt.address.stride != 0 || stmt.address.gather != kNone || type(value).lanes > 1);
  const int lanes = vector ? static_cast<int>(mode_.loop->step) : 1;
  const std::string p = pointer(stmt.address, copy, lanes);
  const std::string bits = narrow(convert_text(reg(value, copy), type(value), {register_dtype(dtype), lanes}), dtype);
  if (!vector) {
    const std::string text = fmt::format("*({}) = {};", p, bits);
    return stmt.mask == kNone ? text : fmt::format("if ({}) {}", scalar(stmt.mask), text);
  }
  const bool bounded = stmt.address.space == ir::Space::storage || stmt.exact;
  if (stmt.address.gather != kNone || stmt.address.stride != 1) {
    std::string on = mask(stmt, copy, bounded);
    if (on.empty()) on = fmt::format("{}(-1)", register_type({DType::boolean, lanes}));
    return fmt::format("hcv::scatter({}, {}, {}, {});", p, gather_index(stmt.address, copy, lanes), bits, on);
  }
  if (stmt.mask != kNone) return fmt::format("hcv::store_where({}, {}, {});", p, bits, mask(stmt, copy, bounded));
  if (bounded && mode_.partial) return fmt::format("hcv::store_n({}, {}, {});", p, bits, mode_.count);
  const std::string plain = fmt::format("hcv::store({}, {});", p, bits);
  if (std::find(mode_.streams.begin(), mode_.streams.end(), &stmt) == mode_.streams.end()) return plain;
  return fmt::format("if ({}) hcv::stream({}, {}); else {}", mode_.aligned, p, bits, plain);
}

}  // namespace hc::backend::cpu
