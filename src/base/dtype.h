// Element types: their sizes, text, PyTorch names and PyTorch's promotion rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hc {

enum class DTypeKind : uint8_t { boolean, unsigned_int, signed_int, floating };

enum class DType : uint8_t {
#define HC_DTYPE(name, ...) name,
#include "base/dtype.def"
#undef HC_DTYPE
};

inline constexpr int kDTypeCount = 12;

/// Bytes of one element.
int64_t dtype_bytes(DType type);
DTypeKind dtype_kind(DType type);
/// Text form in IR, arguments and task files: "f32", "bf16", "bool", ...
std::string_view dtype_name(DType type);
/// PyTorch's name without the "torch." prefix, such as "float32".
std::string_view dtype_torch_name(DType type);
/// Bits of the significand with the hidden bit, so that half an ulp of v is |v| * 2^-bits; value bits of an integer
/// type.
int dtype_significand_bits(DType type);
inline bool is_floating(DType type) { return dtype_kind(type) == DTypeKind::floating; }
inline bool is_integer(DType type) {
  return dtype_kind(type) == DTypeKind::signed_int || dtype_kind(type) == DTypeKind::unsigned_int;
}
/// Reads the text form; "boolean" is written "bool".
std::optional<DType> dtype_from_name(std::string_view name);
/// Reads PyTorch's names and their aliases (half, float, double, long, int, short, bool).
std::optional<DType> dtype_from_torch_name(std::string_view name);

/// PyTorch's result type of two tensors of these types (torch.promote_types). fp8 mixes with nothing but itself.
std::optional<DType> promote_types(DType a, DType b);

/// How strongly an operand's type counts in promotion (torch.result_type), weakest first.
enum class Strength : uint8_t { python_number, zero_dim, tensor };

/// PyTorch's result type where operands differ in strength: a weaker operand counts only if its kind is of a higher
/// category (bool < integer < floating). A Python bool, int, float is boolean, i64, f32 here (default dtype float32).
std::optional<DType> result_type(DType a, Strength sa, DType b, Strength sb);

}  // namespace hc
