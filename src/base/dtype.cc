// Element types: table look-ups and PyTorch's promotion lattice.
#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace hc {
namespace {

struct Row {
  std::string_view name;
  int64_t bytes;
  DTypeKind kind;
  std::string_view torch_name;
  int significand_bits;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
#define HC_DTYPE(name, bytes, kind, storage, torch_name, bits) {#name, bytes, DTypeKind::kind, torch_name, bits},
#include "base/dtype.def"
#undef HC_DTYPE
}};

const Row& row(DType type) { return kRows[static_cast<size_t>(type)]; }

int category(DType type) {
  if (type == DType::boolean) return 0;
  return is_floating(type) ? 2 : 1;
}

bool is_fp8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }

}  // namespace

int64_t dtype_bytes(DType type) { return row(type).bytes; }
DTypeKind dtype_kind(DType type) { return row(type).kind; }
std::string_view dtype_name(DType type) { return type == DType::boolean ? "bool" : row(type).name; }
std::string_view dtype_torch_name(DType type) { return row(type).torch_name; }
int dtype_significand_bits(DType type) { return row(type).significand_bits; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_torch_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kRows[i].torch_name == name) return static_cast<DType>(i);
  }
  constexpr std::pair<std::string_view, DType> kAliases[] = {
      {"half", DType::f16}, {"float", DType::f32}, {"double", DType::f64},
      {"long", DType::i64}, {"int", DType::i32},   {"short", DType::i16}};
  for (const auto& [alias, type] : kAliases) {
    if (alias == name) return type;
  }
  return std::nullopt;
}

std::optional<DType> promote_types(DType a, DType b) {
  if (a == b) return a;
  if (category(a) > category(b)) std::swap(a, b);
  if (is_fp8(a) || is_fp8(b)) {
    if (a == DType::boolean || (is_fp8(b) && is_integer(a))) return b;
    return std::nullopt;
  }
  if (category(a) < category(b)) return b;
  if (is_floating(a)) {
    // f16 and bf16 hold neither the other's range nor its precision, so the pair becomes f32.
    if (dtype_bytes(a) == 2 && dtype_bytes(b) == 2) return DType::f32;
    return dtype_bytes(a) > dtype_bytes(b) ? a : b;
  }
  if (a == DType::u8 || b == DType::u8) {
    const DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return dtype_bytes(a) > dtype_bytes(b) ? a : b;
}

std::optional<DType> result_type(DType a, Strength sa, DType b, Strength sb) {
  if (sa == sb) return promote_types(a, b);
  if (sa < sb) {
    std::swap(a, b);
    std::swap(sa, sb);
  }
  if (category(b) <= category(a)) return a;
  // A weak float met with integers is torch's default dtype, whatever its own width as a Python number.
  if (sb == Strength::python_number) return is_floating(b) ? DType::f32 : b;
  return promote_types(a, b) ? b : std::optional<DType>();
}

}  // namespace hc
