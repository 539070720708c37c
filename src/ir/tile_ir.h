// Tile IR: what a kernel means. A program is a list of steps over host tensors; a launch is a grid of independent
// tiles.
//
// Semantics, before syntax:
// * A value has a dtype and dimensions. A dimension is a block (a tile dimension, as many lanes as the block's size) or
// a
//   constant (from `:`, hl.arange, a device allocation). Two dimensions are the same when both name one block, or both
//   are constants of one size. A value without dimensions is a scalar.
// * All lanes exist. While a tile of block b is active (its loop or launch axis encloses the op), lane i of a dimension
// b
//   is *valid* when begin + i < end. Loads give 0 in lanes that are not valid, reductions count them as the identity,
//   stores skip them; elementwise ops let them flow. With no active tile of b, every lane of b is valid.
// * An op's operand may have fewer dimensions than its result: Operand::map gives, for each operand dimension, the
// result
//   dimension that it follows; an operand dimension of constant size 1 is stretched. Only elementwise ops, loads and
//   stores map their operands; an empty map on an operand with dimensions means the identity (ranks are then equal). A
//   store has no result: its index and mask operands follow the dimensions of the value stored, which is not mapped
//   itself.
// * Floating arithmetic is meant in real numbers: `cast` and `store` round to their dtype, nothing else does. What an
//   implementation may differ by is the oracle's bound (docs/ir.md).
// * Integer arithmetic wraps in the op's dtype. tile_index has the program's index dtype (i32, or i64 when a tensor
// needs it).
// * Tiles of a launch run in any order and at once. Steps run one after another.
// * Reading or writing outside a tensor is an error (the oracle reports it), not a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "diag/diag.h"

namespace hc::ir {

enum class OpKind : uint8_t {
#define HC_ELEMENTWISE(name, ...) name,
#define HC_STRUCTURED(name, ...) name,
#include "ir/ops.def"
};

enum class TypeRule : uint8_t { same, integral, floating, compare, logical, select, convert };

std::string_view op_name(OpKind kind);
std::string_view op_sentence(OpKind kind);
bool is_elementwise(OpKind kind);
/// Operand count of an elementwise op.
int op_arity(OpKind kind);
/// Type rule of an elementwise op.
TypeRule op_rule(OpKind kind);

using ValueId = int32_t;
using BlockId = int32_t;    ///< index into Program::blocks
using TensorId = int32_t;   ///< index into Program::tensors
using StorageId = int32_t;  ///< index into Program::storages
inline constexpr int32_t kNone = -1;

/// One dimension: a block with its size, or a constant (block == kNone).
struct Dim {
  BlockId block = kNone;
  int64_t size = 1;
  bool operator==(const Dim&) const = default;
};

struct Type {
  DType dtype = DType::f32;
  std::vector<Dim> dims;
  bool operator==(const Type&) const = default;
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t numel() const;
};

/// A use of a value; `map[i]` is the result dimension that operand dimension i follows.
struct Operand {
  ValueId value = kNone;
  std::vector<int8_t> map;
  bool operator==(const Operand&) const = default;
};

enum class ReduceKind : uint8_t { sum, prod, amax, amin, argmax, argmin, any, all };
std::string_view reduce_name(ReduceKind kind);
/// Result dtype of a reduction: i64 for sum and prod of integers and bools and for positions, bool for any and all.
DType reduce_dtype(ReduceKind kind, DType operand);
std::optional<OpKind> op_from_name(std::string_view name);
std::optional<ReduceKind> reduce_from_name(std::string_view name);
/// The table of all ops in Markdown, as docs/ir.md holds it.
std::string op_reference();

/// A scalar literal: `i` for bool and integers, `f` for floats.
struct Literal {
  double f = 0;
  int64_t i = 0;
};

struct Op;

/// A list of ops with arguments; regions of loops and branches end with `yield`.
struct Region {
  std::vector<ValueId> args;
  std::vector<Op> ops;
};

/// One operation; the fields after `results` are used by the kinds named beside them.
struct Op {
  OpKind kind = OpKind::constant;
  std::vector<Operand> operands;
  std::vector<ValueId> results;
  Literal literal{};                    // constant
  ReduceKind reduce = ReduceKind::sum;  // reduce
  int32_t axis = -1;                    // reduce
  std::vector<int32_t> ints;            // permute
  TensorId tensor = kNone;              // load, store
  bool masked = false;                  // load, store: the last operand is the mask
  BlockId block = kNone;                // tile_index, for_tile
  std::vector<Region> regions;          // for_tile, for_grid, if_else
  diag::Span span;
};

struct Value {
  Type type;
  std::string name;  ///< the source's name where there is one; only for reading
};

/// A tile dimension. Its size is fixed for this program; the other fields say what a tuner may choose instead.
struct Block {
  std::string name;  ///< knob site: the loop variable, with @line where that alone is not unique
  int64_t size = 1;
  int64_t min = 1;  ///< register_block_size bounds; sizes are powers of two
  int64_t max = 1;
  int64_t extent = -1;  ///< end - begin where that is known to the host
  bool fixed = false;   ///< given by the source (block_size=1), not a knob
};

enum class StorageRole : uint8_t { param, alloc };

/// Memory of one parameter or one allocation, in elements of one dtype.
struct Storage {
  std::string name;
  DType dtype = DType::f32;
  int64_t numel = 0;  ///< elements from the first to one past the last
  StorageRole role = StorageRole::alloc;
  int32_t param_index = -1;  ///< position among the kernel's parameters
};

/// A view of a storage. Offsets and strides are elements.
struct Tensor {
  std::string name;
  StorageId storage = kNone;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  int64_t numel() const;
};

/// One axis of a launch's grid. A tile axis steps by its block's size, which `step` repeats; a grid axis has block ==
/// kNone.
struct GridAxis {
  std::string name;
  BlockId block = kNone;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t step = 1;
  int64_t count() const { return end <= begin ? 0 : (end - begin + step - 1) / step; }
};

/// Independent programs over a grid; the body's arguments are the axes' begins (i64 scalars).
struct Launch {
  std::string name;
  std::vector<GridAxis> axes;
  Region body;  ///< no yield
  std::vector<Value> values;
  const Type& type(ValueId v) const { return values[static_cast<size_t>(v)].type; }
};

/// A step: a launch, or (launch.axes and body empty) a fill of `fill_tensor` with `fill_value`.
struct Step {
  enum class Kind : uint8_t { launch, fill } kind = Kind::launch;
  Launch launch;
  TensorId fill_tensor = kNone;
  Literal fill_value{};
};

/// What the kernel returns, in order; None and numbers may stand between tensors.
struct Returned {
  enum class Kind : uint8_t { tensor, none, number } kind = Kind::tensor;
  TensorId tensor = kNone;
  double number = 0;
};

/// A user tunable (hl.register_tunable) with its chosen and possible values as text.
struct Tunable {
  std::string name;
  std::string value;
  std::vector<std::string> values;
};

/// A kernel for one set of arguments and one choice of block sizes.
struct Program {
  std::string name;
  DType index_dtype = DType::i32;
  std::vector<Block> blocks;
  std::vector<Tunable> tunables;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::vector<Returned> returned;
  /// Storages of parameters that some step writes.
  std::vector<StorageId> mutated;
  const Block& block(BlockId b) const { return blocks[static_cast<size_t>(b)]; }
  const Tensor& tensor(TensorId t) const { return tensors[static_cast<size_t>(t)]; }
  const Storage& storage(StorageId s) const { return storages[static_cast<size_t>(s)]; }
};

/// Text of a type: "f32[b0, 2560]".
std::string to_text(const Type& type);
/// Canonical text: the same program, the same text. docs/ir.md has the grammar.
std::string print(const Program& program);
/// Inverse of print; spans are not part of the text.
Result<Program> parse(diag::SourcePtr source);
/// Every rule of the table and of this header, or the first one broken.
Status verify(const Program& program);

}  // namespace hc::ir
