// Loads and stores of one tile: addresses, bounds, masks, and what stands in memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/numeric.h"
#include "interp/machine.h"

namespace hc::interp {
namespace {

using ir::Op;
using ir::ValueId;

template <typename Stored, typename Convert>
void gather(const void* bytes, const LaneVector<int64_t>& offsets, const std::vector<uint8_t>& valid, Convert convert) {
  const auto* data = static_cast<const Stored*>(bytes);
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (valid.empty() || valid[k]) convert(k, data[offsets[k]]);
  }
}

void gather_any(const void* bytes, const LaneVector<int64_t>& offsets, const std::vector<uint8_t>& valid, Lanes* out) {
  const DType dtype = out->dtype;
  LaneVector<double>& v = out->v;
  switch (dtype) {
    case DType::f32:
      return gather<float>(bytes, offsets, valid, [&](size_t k, float x) { v[k] = x; });
    case DType::f64:
      return gather<double>(bytes, offsets, valid, [&](size_t k, double x) { v[k] = x; });
    case DType::bf16:
      return gather<uint16_t>(bytes, offsets, valid, [&](size_t k, uint16_t x) { v[k] = bf16_to_f32(x); });
    case DType::f16:
      return gather<uint16_t>(bytes, offsets, valid, [&](size_t k, uint16_t x) { v[k] = f16_to_f32(x); });
    default:
      break;
  }
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (!valid.empty() && !valid[k]) continue;
    if (out->floating()) {
      v[k] = load_double(bytes, dtype, offsets[k]);
    } else {
      out->i[k] = load_int(bytes, dtype, offsets[k]);
    }
  }
}

void put(Lanes* out, size_t lane, const Element& element) {
  if (out->floating()) {
    out->v[lane] = element.value;
  } else {
    out->i[lane] = element.exact;
  }
  if (element.bound == 0) return;
  if (out->e.empty()) out->e.resize(static_cast<size_t>(out->count()), 0.0);
  out->e[lane] = element.bound;
}

}  // namespace

void Machine::mask_tiles(ValueId shaped, const std::vector<int64_t>& sizes, Access* access) {
  std::vector<int64_t> steps(sizes.size(), 0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const std::vector<uint8_t> valid = validity(shaped, static_cast<int>(d));
    if (valid.empty()) continue;
    if (access->valid.empty()) access->valid.assign(access->offsets.size(), 1);
    steps[d] = 1;
    for_each_lane(sizes, steps, [&](size_t lane, size_t at) { access->valid[lane] &= valid[at]; });
    steps[d] = 0;
  }
}

Status Machine::add_index(const Op& op, size_t operand, size_t dim, const std::vector<int64_t>& sizes, Access* access) {
  const ir::Tensor& tensor = program_.tensor(op.tensor);
  const Lanes& index = *value(op.operands[operand].value);
  const int64_t size = tensor.shape[dim], stride = tensor.strides[dim];
  const std::vector<int64_t> steps = operand_steps(index, op.operands[operand].map, sizes);
  const bool inside = std::all_of(index.i.begin(), index.i.end(), [&](int64_t i) { return i >= 0 && i < size; });
  if (inside && index.e.empty()) {
    for_each_lane(sizes, steps, [&](size_t lane, size_t at) { access->offsets[lane] += index.i[at] * stride; });
    return success();
  }
  int64_t outside = -1;
  bool found = false;
  for_each_lane(sizes, steps, [&](size_t lane, size_t at) {
    const int64_t i = index.i[at];
    const bool open = index.bound(at) > 0;
    if (open) {
      if (access->open.empty()) access->open.assign(access->offsets.size(), 0);
      access->open[lane] = 1;
    }
    if (inside || (i >= 0 && i < size)) {
      access->offsets[lane] += i * stride;
    } else if (access->is_valid(lane) && !access->is_open(lane) && !found) {
      found = true;
      outside = i;
    }
  });
  if (!found) return success();
  return Diagnostic{Code::out_of_bounds,
                    fmt::format("index {} of dimension {} is outside of `{}`, which has size {} there", outside, dim,
                                tensor.name, size)}
      .at(op.span)
      .fix("mask the access, or let the tile end where the tensor does");
}

Result<Machine::Access> Machine::address(const Op& op, size_t first, ValueId shaped) {
  const ir::Tensor& tensor = program_.tensor(op.tensor);
  const std::vector<int64_t> sizes = sizes_of(shaped);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  Access access;
  access.offsets.assign(static_cast<size_t>(count), tensor.offset);
  mask_tiles(shaped, sizes, &access);
  if (op.masked) {
    const ir::Operand& operand = op.operands.back();
    const Lanes& mask = *value(operand.value);
    if (access.valid.empty()) access.valid.assign(access.offsets.size(), 1);
    if (!mask.e.empty()) access.open.assign(access.offsets.size(), 0);
    for_each_lane(sizes, operand_steps(mask, operand.map, sizes), [&](size_t lane, size_t at) {
      if (mask.i[at] == 0) access.valid[lane] = 0;
      if (mask.bound(at) > 0) access.open[lane] = 1;
    });
  }
  for (size_t d = 0; d < tensor.shape.size(); ++d) HC_TRY(add_index(op, first + d, d, sizes, &access));
  work_ += count;
  return access;
}

Status Machine::fetch(ir::StorageId storage, const Access& access, Lanes* out) {
  const bool own = slice_.reads_own_stores(storage);
  const void* bytes = port_.initial(storage);
  if (bytes != nullptr && !own) {
    gather_any(bytes, access.offsets, access.valid, out);
    return success();
  }
  std::vector<int64_t> offsets;
  std::vector<size_t> lanes;
  const auto& stored = own_[storage];
  for (size_t k = 0; k < access.offsets.size(); ++k) {
    if (!access.is_valid(k) || access.is_open(k)) continue;
    if (const auto it = stored.find(access.offsets[k]); it != stored.end()) {
      put(out, k, it->second);
      continue;
    }
    offsets.push_back(access.offsets[k]);
    lanes.push_back(k);
  }
  std::vector<Element> elements(offsets.size());
  HC_TRY(port_.read(storage, offsets, elements.data()));
  for (size_t k = 0; k < lanes.size(); ++k) put(out, lanes[k], elements[k]);
  return success();
}

Status Machine::run_load(const Op& op) {
  const ValueId result = op.results[0];
  Access access = HC_TRY(address(op, 0, result));
  auto out = make_lanes(launch_.type(result).dtype, sizes_of(result));
  // An uncertain address may lie outside; its lane can hold anything, so that nothing is read.
  if (!access.open.empty()) {
    if (access.valid.empty()) access.valid.assign(access.offsets.size(), 1);
    for (size_t k = 0; k < access.open.size(); ++k) {
      if (access.open[k]) access.valid[k] = 0;
    }
  }
  if (!access.valid.empty()) {
    std::fill(out->v.begin(), out->v.end(), 0.0);
    std::fill(out->i.begin(), out->i.end(), 0);
  }
  HC_TRY(fetch(program_.tensor(op.tensor).storage, access, out.get()));
  for (size_t k = 0; k < access.open.size(); ++k) {
    if (access.open[k]) put(out.get(), k, {0, kInfinite, 0, true});
  }
  set(result, std::move(out));
  return success();
}

Status Machine::run_store(const Op& op) {
  const ir::Tensor& tensor = program_.tensor(op.tensor);
  const ValueId stored = op.operands[0].value;
  const Access access = HC_TRY(address(op, 1, stored));
  const std::vector<int64_t> sizes = sizes_of(stored);
  const LanesPtr lanes = elementwise(ir::OpKind::cast, {broadcast(value(stored), {}, sizes)}, tensor.dtype, sizes);
  const bool own = slice_.reads_own_stores(tensor.storage);
  auto* overlay = own ? &own_[tensor.storage] : nullptr;
  for (size_t k = 0; k < access.offsets.size(); ++k) {
    // A lane whose address is uncertain writes somewhere, but no element can be blamed on it.
    if (!access.is_valid(k) || access.is_open(k)) continue;
    Element element{0, lanes->bound(k), 0, true};
    if (lanes->floating()) {
      element.value = lanes->v[k];
    } else {
      element.exact = lanes->i[k];
      element.value = static_cast<double>(element.exact);
    }
    if (uncertain_ > 0) element.bound = kInfinite;
    if (overlay != nullptr) (*overlay)[access.offsets[k]] = element;
    if (tensor.storage == target_) port_.write(access.offsets[k], element);
  }
  return success();
}

}  // namespace hc::interp
