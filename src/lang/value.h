// What a Python expression of a kernel evaluates to: host numbers, host tensors, tiles, functions and device values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/tile_ir.h"
#include "lang/lang.h"
#include "lang/syntax.h"

namespace hc::lang {

struct Value;
using Values = std::vector<Value>;

/// A Python int; `block` says that it is the size of that block, so that a shape made from it has a block dimension.
struct Int {
  int64_t value = 0;
  ir::BlockId block = ir::kNone;
};

/// A tuple or a list; both are immutable here.
struct Sequence {
  std::shared_ptr<const Values> items;
  bool is_list = false;
};

struct Dict {
  std::shared_ptr<const std::vector<std::pair<Value, Value>>> items;
};

/// start, stop, step; None where left out.
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> parts;
};

struct Ellipsis {};

struct HostTensor {
  ir::TensorId id = ir::kNone;
};

/// A view of an IR value: `dims` are what the kernel sees; map[i] is the place of the IR value's dimension i among them
/// (increasing). The other dims are broadcast. Inserting, stretching and filling dimensions thus costs no op.
struct Device {
  ir::ValueId value = ir::kNone;
  DType dtype = DType::f32;
  Strength strength = Strength::tensor;
  std::vector<ir::Dim> dims;
  std::vector<int8_t> map;
  bool reduced = false;  ///< the direct result of a reduction that dropped its dimension
  int rank() const { return static_cast<int>(dims.size()); }
};

/// An active tile of a loop: its block and its bounds as i64 scalars.
struct Tile {
  ir::BlockId block = ir::kNone;
  int64_t size = 1;
  Device begin;
  Device loop_begin;
  Device loop_end;
  size_t depth = 0;  ///< regions open around the tile's body, where its index can be made once
  /// Bounds of the loop where the host knows them.
  std::optional<int64_t> first;
  std::optional<int64_t> last;
};

/// A name of a library: "torch.nn.functional.softmax", "helion.language.tile".
struct Symbol {
  std::string path;
};

/// A function of the file, inlined where it is called.
struct UserFunction {
  FunctionPtr function;
  bool kernel = false;
};

/// A lambda (a parameter's default).
struct LambdaFunction {
  ExprPtr expr;
};

/// A method of a value, not yet called.
struct Method {
  std::shared_ptr<const Value> self;
  std::string name;
};

/// A thing that is only passed around: a device, a tunable's fragment with its arguments.
struct Opaque {
  std::string what;
  std::shared_ptr<const Values> data;
};

struct Value {
  using Variant =
      std::variant<None, bool, Int, double, std::string, DType, Sequence, Dict, Slice, Ellipsis, HostTensor, Device,
                   std::shared_ptr<const Tile>, Symbol, UserFunction, LambdaFunction, Method, Opaque>;
  Variant data;

  Value() = default;
  template <typename T>
  requires std::is_constructible_v<Variant, T> &&
      (!std::is_same_v<std::decay_t<T>, Value>)&&(!std::is_same_v<std::decay_t<T>, const char*>)Value(T&& value)
      : data(std::forward<T>(value)) {}

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  const Tile* tile() const {
    const auto* pointer = get<std::shared_ptr<const Tile>>();
    return pointer ? pointer->get() : nullptr;
  }
};

Value make_int(int64_t value);
Value make_tuple(Values items, bool is_list = false);
/// The items of a tuple or list, or null.
const Values* items_of(const Value& value);

/// The value of a bool or int, and of bool, int or float.
std::optional<int64_t> int_of(const Value& value);
std::optional<double> number_of(const Value& value);
/// Whether it is a bool, int or float.
bool is_number(const Value& value);

/// The kind of the value in a user's words, such as "an int" or "a host tensor".
std::string describe(const Value& value);
/// "1 dimension", "2 dimensions"; `plural` when it is not the word with an s.
std::string count_text(size_t count, std::string_view word, std::string_view plural = "");
/// Python's str() of host values, for messages.
std::string text_of(const Value& value);
/// Equality of host values as Python has it; nothing for values that only a device knows.
std::optional<bool> equal(const Value& a, const Value& b);

}  // namespace hc::lang
