// Emission of device ops and the alignment of their operands.
#include "lang/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace hc::lang {
namespace {

std::vector<int8_t> identity_map(size_t rank) {
  std::vector<int8_t> map(rank);
  std::iota(map.begin(), map.end(), int8_t{0});
  return map;
}

Strength strength_of(size_t rank, Strength wanted) {
  return rank > 0 ? Strength::tensor : wanted == Strength::tensor ? Strength::zero_dim : wanted;
}

Diagnostic mismatch(const ir::Program& program, const std::vector<Device>& operands, const Span& span) {
  std::string text;
  for (const Device& operand : operands) {
    if (!operand.dims.empty()) text += (text.empty() ? "" : " and ") + dims_text(program, operand.dims);
  }
  return Diagnostic{Code::shape_mismatch, "the shapes " + text + " cannot be broadcast together"}.at(span);
}

}  // namespace

std::string dims_text(const ir::Program& program, const std::vector<ir::Dim>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    out += i == 0 ? "" : ", ";
    out += dims[i].block == ir::kNone ? std::to_string(dims[i].size) : program.block(dims[i].block).name;
  }
  return out + "]";
}

bool is_unit(const ir::Program& program, const ir::Dim& dim) {
  if (dim.block == ir::kNone) return dim.size == 1;
  return dim.size == 1 && program.block(dim.block).fixed;
}

const ir::ValueId* Emitter::find(const Key& key) const {
  for (auto scope = seen_.rbegin(); scope != seen_.rend(); ++scope) {
    if (const auto it = scope->find(key); it != scope->end()) return &it->second;
  }
  return nullptr;
}

Device Emitter::constant(DType dtype, double f, int64_t i, Strength strength) {
  const Key key{ir::OpKind::constant, dtype, is_floating(dtype) ? std::bit_cast<int64_t>(f) : i, 0};
  const ir::ValueId* known = find(key);
  ir::ValueId value = known ? *known : ir::kNone;
  if (!known) {
    // An integer literal counts only as `i`, a floating one only as `f`.
    ir::Literal literal;
    if (is_floating(dtype)) {
      literal.f = f;
    } else {
      literal.i = i;
    }
    value = builder_.constant(dtype, literal);
    seen_.back()[key] = value;
  }
  return {value, dtype, strength, {}, {}};
}

Device Emitter::constant_int(DType dtype, int64_t value, Strength strength) {
  return constant(dtype, static_cast<double>(value), value, strength);
}

Device Emitter::fill(const Device& scalar, std::vector<ir::Dim> dims) const {
  Device out = scalar;
  const int8_t shift = static_cast<int8_t>(dims.size() - scalar.dims.size());
  for (int8_t& position : out.map) position = static_cast<int8_t>(position + shift);
  out.strength = strength_of(dims.size(), Strength::zero_dim);
  out.dims = std::move(dims);
  out.reduced = false;
  return out;
}

Device Emitter::whole(ir::ValueId value, Strength strength) const {
  const ir::Type& type = builder_.type(value);
  return {value, type.dtype, strength_of(type.dims.size(), strength), type.dims, identity_map(type.dims.size())};
}

ir::ValueId Emitter::materialize(const Device& view, const Span& span) {
  if (builder_.type(view.value).dims == view.dims) return view.value;
  return builder_.elementwise(ir::OpKind::copy, {{view.value, view.map}}, {view.dtype, view.dims}, span);
}

template <typename Make>
ir::ValueId Emitter::at_depth(size_t depth, Make make) {
  for (size_t i = regions_.size(); i > depth; --i) builder_.close();
  const ir::ValueId value = make();
  for (size_t i = depth; i < regions_.size(); ++i) builder_.open(*regions_[i]);
  return value;
}

Device Emitter::arange(const ir::Dim& dim, DType dtype, const Span& span) {
  const Key key{ir::OpKind::arange, dtype, dim.size, dim.block};
  if (const ir::ValueId* known = find(key)) return whole(*known);
  const ir::ValueId value = at_depth(0, [&] { return builder_.arange(dtype, dim, span); });
  seen_.front()[key] = value;
  return whole(value);
}

Device Emitter::tile_index(const Tile& tile, DType dtype, const Span& span) {
  const Key key{ir::OpKind::tile_index, dtype, tile.block, tile.begin.value};
  if (const ir::ValueId* known = find(key)) return whole(*known);
  const ir::ValueId value =
      at_depth(tile.depth, [&] { return builder_.tile_index(tile.begin.value, dtype, tile.block, tile.size, span); });
  seen_[tile.depth][key] = value;
  return whole(value);
}

/// Places of an operand's dims among the target's: each tile goes to the same tile, a constant to one of its size, the
/// rest to the right. Nothing when that does not keep their order.
std::optional<std::vector<int8_t>> Emitter::positions(const std::vector<ir::Dim>& dims,
                                                      const std::vector<ir::Dim>& target) const {
  std::vector<int8_t> out(dims.size());
  if (dims.size() == target.size()) return identity_map(dims.size());
  int next = static_cast<int>(target.size()) - 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    const ir::Dim& dim = dims[static_cast<size_t>(i)];
    int place = -1;
    const bool matches = dim.block != ir::kNone || dim.size != 1;
    for (int p = next; matches && p >= i && place < 0; --p) {
      if (target[static_cast<size_t>(p)] == dim) place = p;
    }
    if (place < 0) place = next;
    if (place < i) return std::nullopt;
    out[static_cast<size_t>(i)] = static_cast<int8_t>(place);
    next = place - 1;
  }
  return out;
}

/// A reduction that dropped its dimension must not meet another dimension at that (right-aligned) place: it is nearly
/// always a forgotten keepdim, so it is refused although tile identity would give it a meaning.
Status Emitter::check_reduced(const std::vector<Device>& operands, const Span& span) const {
  const bool any = std::any_of(operands.begin(), operands.end(), [](const Device& d) { return d.reduced; });
  if (!any) return success();
  size_t rank = 0;
  for (const Device& operand : operands) rank = std::max(rank, operand.dims.size());
  for (size_t from_right = 1; from_right <= rank; ++from_right) {
    const ir::Dim* first = nullptr;
    for (const Device& operand : operands) {
      if (operand.dims.size() < from_right) continue;
      const ir::Dim& dim = operand.dims[operand.dims.size() - from_right];
      if (is_unit(program_, dim)) continue;
      if (first && !(*first == dim)) {
        return Diagnostic(mismatch(program_, operands, span))
            .fix("the reduction drops its dimension; write keepdim=True or index the result with [:, None]");
      }
      first = &dim;
    }
  }
  return success();
}

Device Emitter::drop_dim(const Device& value, size_t logical, const Span& span) {
  Device out = value;
  const auto it = std::find(value.map.begin(), value.map.end(), static_cast<int8_t>(logical));
  if (it != value.map.end()) {
    const auto under = static_cast<size_t>(it - value.map.begin());
    std::vector<ir::Dim> dims = builder_.type(value.value).dims;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(under));
    ir::Op op;
    op.kind = ir::OpKind::reshape;
    op.operands = {{value.value, {}}};
    op.span = span;
    out.value = builder_.append(std::move(op), {{value.dtype, std::move(dims)}})[0];
    out.map.erase(out.map.begin() + static_cast<std::ptrdiff_t>(under));
  }
  out.dims[logical] = {ir::kNone, 1};
  return out;
}

Status Emitter::unify(Device& operand, const std::vector<int8_t>& places, std::vector<ir::Dim>& target,
                      const Span& span) {
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    const ir::Dim dim = operand.dims[i];
    ir::Dim& wanted = target[static_cast<size_t>(places[i])];
    if (dim == wanted || dim == ir::Dim{}) continue;
    if (wanted == ir::Dim{}) {
      wanted = dim;
    } else if (is_unit(program_, dim)) {
      operand = drop_dim(operand, i, span);
    } else {
      return Diagnostic{Code::shape_mismatch, ""};
    }
  }
  return success();
}

Result<std::vector<ir::Dim>> Emitter::broadcast(std::vector<Device>& operands, std::vector<std::vector<int8_t>>& maps,
                                                const Span& span) {
  HC_TRY(check_reduced(operands, span));
  // A block fixed to 1 gives way to whatever the others have at its place, so the other dims must come first.
  const auto units = [&](const Device& d) {
    return std::count_if(d.dims.begin(), d.dims.end(), [&](const ir::Dim& dim) { return is_unit(program_, dim); });
  };
  std::vector<size_t> order(operands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (operands[a].dims.size() != operands[b].dims.size()) return operands[a].dims.size() > operands[b].dims.size();
    return units(operands[a]) < units(operands[b]);
  });
  std::vector<ir::Dim> target = operands.empty() ? std::vector<ir::Dim>{} : operands[order[0]].dims;
  maps.assign(operands.size(), {});
  for (size_t i : order) {
    const std::optional<std::vector<int8_t>> places = positions(operands[i].dims, target);
    if (!places || !unify(operands[i], *places, target, span).ok()) return mismatch(program_, operands, span);
    for (int8_t under : operands[i].map) maps[i].push_back((*places)[static_cast<size_t>(under)]);
  }
  return target;
}

Result<Device> Emitter::broadcast_to(Device value, const std::vector<ir::Dim>& dims, const Span& span) {
  const auto misfit = [&](Code code) {
    return Diagnostic{code, fmt::format("a value of shape {} does not fit a place of shape {}",
                                        dims_text(program_, value.dims), dims_text(program_, dims))}
        .at(span);
  };
  while (value.dims.size() > dims.size() && value.dims[0] == ir::Dim{} && (value.map.empty() || value.map[0] != 0)) {
    value.dims.erase(value.dims.begin());
    for (int8_t& place : value.map) --place;
  }
  if (value.dims.size() > dims.size()) return misfit(Code::rank_mismatch);
  value.reduced = false;
  std::vector<Device> both{value, fill(constant_int(DType::i32, 0), dims)};
  std::vector<std::vector<int8_t>> maps;
  const Result<std::vector<ir::Dim>> common = broadcast(both, maps, span);
  if (!common.ok() || common.value() != dims) return misfit(Code::shape_mismatch);
  Device out = both[0];
  out.dims = dims;
  out.map = maps[0];
  out.strength = strength_of(dims.size(), value.strength);
  return out;
}

Result<Device> Emitter::elementwise(ir::OpKind kind, DType dtype, std::vector<Device> operands, const Span& span) {
  Strength strength = Strength::python_number;
  for (const Device& operand : operands) strength = std::max(strength, operand.strength);
  std::vector<std::vector<int8_t>> maps;
  std::vector<ir::Dim> dims = HC_TRY(broadcast(operands, maps, span));
  // Dims that every operand only repeats stay out of the op; the result's view repeats them instead.
  std::vector<int8_t> place(dims.size(), -1);
  for (const std::vector<int8_t>& map : maps) {
    for (int8_t dim : map) place[static_cast<size_t>(dim)] = 0;
  }
  Device out{ir::kNone, dtype, strength_of(dims.size(), strength), dims, {}};
  std::vector<ir::Dim> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<int8_t>(kept.size());
    kept.push_back(dims[i]);
    out.map.push_back(static_cast<int8_t>(i));
  }
  std::vector<ir::Operand> uses;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (int8_t& dim : maps[i]) dim = place[static_cast<size_t>(dim)];
    uses.push_back({operands[i].value, maps[i]});
  }
  out.value = builder_.elementwise(kind, std::move(uses), {dtype, std::move(kept)}, span);
  return out;
}

Device Emitter::convert(const Device& value, DType dtype, bool is_explicit, const Span& span) {
  if (value.dtype == dtype) return value;
  const std::optional<DType> common = promote_types(value.dtype, dtype);
  const ir::OpKind kind = !is_explicit && common == dtype ? ir::OpKind::promote : ir::OpKind::cast;
  Device out = value;
  const std::vector<ir::Dim> under = builder_.type(value.value).dims;
  out.value = builder_.elementwise(kind, {{value.value, identity_map(under.size())}}, {dtype, under}, span);
  out.dtype = dtype;
  return out;
}

Device Emitter::reduce(ir::ReduceKind kind, const Device& value, int axis, bool keepdim, const Span& span) {
  const ir::ValueId operand = materialize(value, span);
  const ir::ValueId result = builder_.reduce(kind, operand, axis, span);
  Device out = whole(result);
  out.reduced = !keepdim;
  if (keepdim) {
    out.dims.insert(out.dims.begin() + axis, ir::Dim{});
    for (int8_t& place : out.map) place = static_cast<int8_t>(place >= axis ? place + 1 : place);
    out.strength = Strength::tensor;
  }
  return out;
}

Device Emitter::permute(const Device& value, const std::vector<int>& order, const Span& span) {
  ir::Op op;
  op.kind = ir::OpKind::permute;
  op.operands = {{materialize(value, span), {}}};
  op.ints.assign(order.begin(), order.end());
  op.span = span;
  std::vector<ir::Dim> dims;
  for (int i : order) dims.push_back(value.dims[static_cast<size_t>(i)]);
  return whole(builder_.append(std::move(op), {{value.dtype, std::move(dims)}})[0], value.strength);
}

Device Emitter::reshape(const Device& value, std::vector<ir::Dim> dims, const Span& span) {
  ir::Op op;
  op.kind = ir::OpKind::reshape;
  op.operands = {{materialize(value, span), {}}};
  op.span = span;
  return whole(builder_.append(std::move(op), {{value.dtype, std::move(dims)}})[0], value.strength);
}

std::pair<Device, Device> Emitter::split(const Device& value, const Span& span) {
  ir::Op op;
  op.kind = ir::OpKind::split;
  op.operands = {{materialize(value, span), {}}};
  op.span = span;
  const ir::Type type{value.dtype, {value.dims.begin(), value.dims.end() - 1}};
  const std::vector<ir::ValueId> halves = builder_.append(std::move(op), {type, type});
  return {whole(halves[0]), whole(halves[1])};
}

Result<Device> Emitter::join(const Device& a, const Device& b, const Span& span) {
  std::vector<Device> both{a, b};
  std::vector<std::vector<int8_t>> maps;
  const std::vector<ir::Dim> dims = HC_TRY(broadcast(both, maps, span));
  ir::Op op;
  op.kind = ir::OpKind::join;
  for (size_t i = 0; i < 2; ++i) {
    Device view = both[i];
    view.map = maps[i];
    view.dims = dims;
    op.operands.push_back({materialize(view, span), {}});
  }
  op.span = span;
  std::vector<ir::Dim> joined = dims;
  joined.push_back({ir::kNone, 2});
  return whole(builder_.append(std::move(op), {{a.dtype, std::move(joined)}})[0]);
}

void Emitter::open(ir::Region& region) {
  builder_.open(region);
  regions_.push_back(&region);
  seen_.emplace_back();
}

void Emitter::close() {
  builder_.close();
  regions_.pop_back();
  seen_.pop_back();
}

void Emitter::name(const Device& value, const std::string& text) {
  std::string& name = builder_.launch().values[static_cast<size_t>(value.value)].name;
  if (name.empty()) name = text;
}

}  // namespace hc::lang
