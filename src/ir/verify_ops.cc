// The verifier's rules of single ops: counts, maps, dtypes and dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/verify.h"

namespace hc::ir {
namespace {

const Type& operand_type(const OpContext& c, const Op& op, size_t i) { return c.launch.type(op.operands[i].value); }
const Type& result_type_of(const OpContext& c, const Op& op, size_t i = 0) { return c.launch.type(op.results[i]); }

std::string operand_text(const OpContext& c, const Op& op, size_t i) {
  return fmt::format("operand {} is {}", value_text(c.launch, op.operands[i].value), to_text(operand_type(c, op, i)));
}

bool is_int_or_bool(DType type) { return !is_floating(type); }

/// Operands and results that an op has; -1: any number.
struct Counts {
  int operands = -1;
  int results = 1;
  int regions = 0;
};

Counts counts_of(const OpContext& c, const Op& op) {
  const auto extra = static_cast<int>(op.results.size());
  switch (op.kind) {
    case OpKind::constant:
    case OpKind::arange:
      return {0};
    case OpKind::tile_index:
    case OpKind::reduce:
    case OpKind::permute:
    case OpKind::reshape:
      return {1};
    case OpKind::join:
      return {2};
    case OpKind::split:
      return {1, 2};
    case OpKind::for_tile:
      return {2 + extra, -1, 1};
    case OpKind::for_grid:
      return {3 + extra, -1, 1};
    case OpKind::if_else:
      return {1, -1, 2};
    case OpKind::yield:
      return {-1, 0};
    case OpKind::load:
    case OpKind::store: {
      const bool known = op.tensor >= 0 && op.tensor < static_cast<TensorId>(c.program.tensors.size());
      const auto rank = known ? static_cast<int>(c.program.tensor(op.tensor).shape.size()) : 0;
      const int value = op.kind == OpKind::store ? 1 : 0;
      return {rank + value + (op.masked ? 1 : 0), 1 - value};
    }
    default:
      return {op_arity(op.kind)};
  }
}

Status same_dtypes(const OpContext& c, const Op& op, size_t first) {
  const DType want = operand_type(c, op, first).dtype;
  for (size_t i = first + 1; i < op.operands.size(); ++i) {
    if (operand_type(c, op, i).dtype != want) {
      return broken(c.launch, op,
                    fmt::format("{}, but the one before has dtype {}", operand_text(c, op, i), dtype_name(want)));
    }
  }
  return success();
}

Status result_dtype_is(const OpContext& c, const Op& op, DType want) {
  const DType got = result_type_of(c, op).dtype;
  if (got == want) return success();
  return broken(c.launch, op, fmt::format("the result's dtype is {}, not {}", dtype_name(got), dtype_name(want)));
}

/// The ops that choose their result's dtype themselves.
Status verify_convert(const OpContext& c, const Op& op) {
  const DType from = operand_type(c, op, 0).dtype;
  const DType to = result_type_of(c, op).dtype;
  if (op.kind == OpKind::rand) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (!is_integer(operand_type(c, op, i).dtype)) {
        return broken(c.launch, op, operand_text(c, op, i) + ", not an integer");
      }
    }
    return result_dtype_is(c, op, DType::f32);
  }
  // Between floating dtypes nothing is rounded, so that either direction is a change of name alone.
  const bool wider = (is_floating(from) && is_floating(to)) || promote_types(from, to) == to;
  if (op.kind == OpKind::promote && !wider) {
    return broken(c.launch, op, fmt::format("{} does not promote to {}", dtype_name(from), dtype_name(to)));
  }
  return success();
}

Status verify_rule(const OpContext& c, const Op& op) {
  const DType first = operand_type(c, op, 0).dtype;
  switch (op_rule(op.kind)) {
    case TypeRule::integral:
      if (!is_int_or_bool(first)) return broken(c.launch, op, operand_text(c, op, 0) + ", not integer or bool");
      break;
    case TypeRule::floating:
      if (!is_floating(first)) return broken(c.launch, op, operand_text(c, op, 0) + ", not floating");
      break;
    case TypeRule::compare:
      HC_TRY(same_dtypes(c, op, 0));
      return result_dtype_is(c, op, DType::boolean);
    case TypeRule::logical:
      return result_dtype_is(c, op, DType::boolean);
    case TypeRule::select:
      if (first != DType::boolean) return broken(c.launch, op, operand_text(c, op, 0) + ", not bool");
      HC_TRY(same_dtypes(c, op, 1));
      return result_dtype_is(c, op, operand_type(c, op, 1).dtype);
    case TypeRule::convert:
      return verify_convert(c, op);
    case TypeRule::same:
      break;
  }
  HC_TRY(same_dtypes(c, op, 0));
  return result_dtype_is(c, op, first);
}

Status verify_constant(const OpContext& c, const Op& op) {
  const Type& type = result_type_of(c, op);
  if (type.rank() != 0) return broken(c.launch, op, fmt::format("the result is {}, not a scalar", to_text(type)));
  if (is_floating(type.dtype)) return success();
  const int bits = static_cast<int>(dtype_bytes(type.dtype)) * 8;
  int64_t low = std::numeric_limits<int64_t>::min() >> (64 - bits);
  int64_t high = std::numeric_limits<int64_t>::max() >> (64 - bits);
  if (type.dtype == DType::u8) low = 0, high = 255;
  if (type.dtype == DType::boolean) low = 0, high = 1;
  if (op.literal.i >= low && op.literal.i <= high) return success();
  return broken(c.launch, op, fmt::format("{} does not fit {}", op.literal.i, dtype_name(type.dtype)));
}

Status verify_arange(const OpContext& c, const Op& op) {
  const Type& type = result_type_of(c, op);
  if (type.rank() == 1 && is_integer(type.dtype)) return success();
  return broken(c.launch, op, fmt::format("the result is {}, not integers of one dimension", to_text(type)));
}

Status verify_tile_index(const OpContext& c, const Op& op) {
  const auto tile = std::find_if(c.active.begin(), c.active.end(),
                                 [&](const ActiveTile& active) { return active.block == op.block; });
  if (tile == c.active.end()) return broken(c.launch, op, fmt::format("no tile of block b{} is active", op.block));
  if (tile->begin != op.operands[0].value) {
    return broken(c.launch, op,
                  fmt::format("operand {} is not the begin {} of the tile of block b{}",
                              value_text(c.launch, op.operands[0].value), value_text(c.launch, tile->begin), op.block));
  }
  const Type want{c.program.index_dtype, {{op.block, c.program.block(op.block).size}}};
  if (result_type_of(c, op) == want) return success();
  return broken(c.launch, op, fmt::format("the result is {}, not {}", to_text(result_type_of(c, op)), to_text(want)));
}

/// Index operands [first, last) and a mask behind them, mapped into `dims`.
Status verify_indices(const OpContext& c, const Op& op, size_t first, const std::vector<Dim>& dims) {
  const size_t last = op.operands.size() - (op.masked ? 1 : 0);
  for (size_t i = first; i < op.operands.size(); ++i) {
    const DType dtype = operand_type(c, op, i).dtype;
    if (i < last && !is_integer(dtype))
      return broken(c.launch, op, "index " + operand_text(c, op, i) + ", not integer");
    if (i == last && dtype != DType::boolean)
      return broken(c.launch, op, "mask " + operand_text(c, op, i) + ", not bool");
    HC_TRY(verify_map(c, op, op.operands[i], dims));
  }
  return success();
}

Status verify_load(const OpContext& c, const Op& op) {
  HC_TRY(result_dtype_is(c, op, c.program.tensor(op.tensor).dtype));
  return verify_indices(c, op, 0, result_type_of(c, op).dims);
}

Status verify_store(const OpContext& c, const Op& op) {
  if (!op.operands[0].map.empty()) {
    return broken(c.launch, op, fmt::format("the value {} has a map", value_text(c.launch, op.operands[0].value)));
  }
  return verify_indices(c, op, 1, operand_type(c, op, 0).dims);
}

Status result_is(const OpContext& c, const Op& op, size_t i, const Type& want) {
  const Type& got = result_type_of(c, op, i);
  if (got == want) return success();
  return broken(
      c.launch, op,
      fmt::format("result {} is {}, not {}", value_text(c.launch, op.results[i]), to_text(got), to_text(want)));
}

Status verify_reduce(const OpContext& c, const Op& op) {
  Type want = operand_type(c, op, 0);
  if (op.axis < 0 || op.axis >= want.rank()) {
    return broken(c.launch, op, fmt::format("axis {} is not in {}", op.axis, operand_text(c, op, 0)));
  }
  want.dims.erase(want.dims.begin() + op.axis);
  want.dtype = reduce_dtype(op.reduce, want.dtype);
  return result_is(c, op, 0, want);
}

Status verify_permute(const OpContext& c, const Op& op) {
  const Type& from = operand_type(c, op, 0);
  std::vector<int32_t> sorted = op.ints;
  std::sort(sorted.begin(), sorted.end());
  bool all = sorted.size() == from.dims.size();
  for (size_t i = 0; i < sorted.size(); ++i) all = all && sorted[i] == static_cast<int32_t>(i);
  if (!all) {
    return broken(
        c.launch, op,
        fmt::format("[{}] is no permutation of the dimensions, {}", fmt::join(op.ints, ", "), operand_text(c, op, 0)));
  }
  Type want{from.dtype, {}};
  for (int32_t dim : op.ints) want.dims.push_back(from.dims[static_cast<size_t>(dim)]);
  return result_is(c, op, 0, want);
}

/// Elements of a type, kept within 64 bits so that sizes nobody means do not overflow.
__int128 elements(const Type& type) {
  constexpr __int128 kLimit = static_cast<__int128>(1) << 63;
  __int128 n = 1;
  for (const Dim& dim : type.dims) n = std::clamp(n * dim.size, -kLimit, kLimit);
  return n;
}

Status verify_reshape(const OpContext& c, const Op& op) {
  const Type& to = result_type_of(c, op);
  HC_TRY(result_dtype_is(c, op, operand_type(c, op, 0).dtype));
  if (elements(to) == elements(operand_type(c, op, 0))) return success();
  return broken(c.launch, op,
                fmt::format("{}, which has not as many elements as {}", operand_text(c, op, 0), to_text(to)));
}

Status verify_split(const OpContext& c, const Op& op) {
  Type half = operand_type(c, op, 0);
  if (half.dims.empty() || half.dims.back() != Dim{kNone, 2}) {
    return broken(c.launch, op, operand_text(c, op, 0) + ", whose last dimension is not of size 2");
  }
  half.dims.pop_back();
  HC_TRY(result_is(c, op, 0, half));
  return result_is(c, op, 1, half);
}

Status verify_join(const OpContext& c, const Op& op) {
  Type want = operand_type(c, op, 0);
  if (operand_type(c, op, 1) != want) {
    return broken(c.launch, op, fmt::format("{}, but the other one is {}", operand_text(c, op, 1), to_text(want)));
  }
  want.dims.push_back({kNone, 2});
  return result_is(c, op, 0, want);
}

}  // namespace

Status verify_counts(const OpContext& c, const Op& op) {
  if ((op.kind == OpKind::load || op.kind == OpKind::store) &&
      (op.tensor < 0 || op.tensor >= static_cast<TensorId>(c.program.tensors.size()))) {
    return broken(c.launch, op, fmt::format("there is no tensor t{}", op.tensor));
  }
  const Counts want = counts_of(c, op);
  const auto check = [&](std::string_view what, int wanted, size_t found) -> Status {
    if (wanted < 0 || found == static_cast<size_t>(wanted)) return success();
    return broken(c.launch, op, fmt::format("{} {} found, {} needed", found, what, wanted));
  };
  HC_TRY(check("results", want.results, op.results.size()));
  HC_TRY(check("operands", want.operands, op.operands.size()));
  return check("regions", want.regions, op.regions.size());
}

Status verify_map(const OpContext& c, const Op& op, const Operand& operand, const std::vector<Dim>& dims) {
  const Type& type = c.launch.type(operand.value);
  const std::string who = fmt::format("operand {} is {}", value_text(c.launch, operand.value), to_text(type));
  const bool identity = operand.map.empty();
  const size_t mapped = identity && type.rank() != 0 ? dims.size() : operand.map.size();
  if (mapped != type.dims.size()) {
    return broken(c.launch, op, fmt::format("{}, but its map is for {} dimensions", who, mapped));
  }
  std::vector<bool> taken(dims.size(), false);
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const int to = identity ? static_cast<int>(i) : operand.map[i];
    if (to < 0 || static_cast<size_t>(to) >= dims.size()) {
      return broken(c.launch, op, fmt::format("{}, but its map leads to dimension {} of {}", who, to, dims.size()));
    }
    const auto target = static_cast<size_t>(to);
    if (taken[target]) return broken(c.launch, op, fmt::format("{}, but its map leads to dimension {} twice", who, to));
    taken[target] = true;
    if (type.dims[i] != dims[target] && type.dims[i] != Dim{kNone, 1}) {
      return broken(c.launch, op,
                    fmt::format("{}, whose dimension {} does not fit dimension {} of {}", who, i, to,
                                to_text(Type{type.dtype, dims})));
    }
  }
  return success();
}

Status verify_elementwise(const OpContext& c, const Op& op) {
  HC_TRY(verify_rule(c, op));
  for (const Operand& operand : op.operands) HC_TRY(verify_map(c, op, operand, result_type_of(c, op).dims));
  return success();
}

Status verify_structured(const OpContext& c, const Op& op) {
  if (op.kind == OpKind::load) return verify_load(c, op);
  if (op.kind == OpKind::store) return verify_store(c, op);
  for (const Operand& operand : op.operands) {
    if (operand.map.empty()) continue;
    return broken(c.launch, op, fmt::format("operand {} has a map", value_text(c.launch, operand.value)));
  }
  switch (op.kind) {
    case OpKind::constant:
      return verify_constant(c, op);
    case OpKind::arange:
      return verify_arange(c, op);
    case OpKind::tile_index:
      return verify_tile_index(c, op);
    case OpKind::reduce:
      return verify_reduce(c, op);
    case OpKind::permute:
      return verify_permute(c, op);
    case OpKind::reshape:
      return verify_reshape(c, op);
    case OpKind::split:
      return verify_split(c, op);
    case OpKind::join:
      return verify_join(c, op);
    default:
      return success();
  }
}

}  // namespace hc::ir
