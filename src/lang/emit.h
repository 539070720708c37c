// Emits device ops: aligns operands by tile identity, reuses identical index ops and literals, keeps the open regions.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/builder.h"
#include "lang/value.h"

namespace hc::lang {

/// Dims as text with block names: "[tile_m, 64]".
std::string dims_text(const ir::Program& program, const std::vector<ir::Dim>& dims);

/// Whether the dimension broadcasts: a constant 1, or a block that the source fixed to 1.
bool is_unit(const ir::Program& program, const ir::Dim& dim);

class Emitter {
 public:
  Emitter(ir::Program& program, ir::Launch& launch) : program_(program), builder_(launch), seen_(1) {}

  ir::Program& program() { return program_; }
  ir::Builder& builder() { return builder_; }
  /// Regions open inside the launch's body.
  size_t depth() const { return regions_.size(); }

  Device constant(DType dtype, double f, int64_t i, Strength strength = Strength::python_number);
  Device constant_int(DType dtype, int64_t value, Strength strength = Strength::python_number);
  /// The scalar (or lower-rank view) seen with these dims; no op.
  Device fill(const Device& scalar, std::vector<ir::Dim> dims) const;
  /// A value as the kernel sees it, dims and all.
  Device whole(ir::ValueId value, Strength strength = Strength::tensor) const;
  /// The IR value with exactly the view's dims, copied when the view inserts or stretches some.
  ir::ValueId materialize(const Device& view, const Span& span);

  Device arange(const ir::Dim& dim, DType dtype, const Span& span);
  Device tile_index(const Tile& tile, DType dtype, const Span& span);

  /// Operands are already of the types that the op's rule asks for. Result dims by tile identity.
  Result<Device> elementwise(ir::OpKind kind, DType dtype, std::vector<Device> operands, const Span& span);
  /// Common dims of values that broadcast together, as elementwise() has them.
  Result<std::vector<ir::Dim>> broadcast(std::vector<Device>& operands, std::vector<std::vector<int8_t>>& maps,
                                         const Span& span);
  /// The value seen with exactly these dims: broadcast by tile identity, or with leading 1s squeezed away.
  Result<Device> broadcast_to(Device value, const std::vector<ir::Dim>& dims, const Span& span);
  /// The operand in another dtype: `promote` when implicit and widening, `cast` otherwise; the same value if it is that
  /// already.
  Device convert(const Device& value, DType dtype, bool is_explicit, const Span& span);

  /// One dimension combined; it stays as a constant 1 with keepdim.
  Device reduce(ir::ReduceKind kind, const Device& value, int axis, bool keepdim, const Span& span);
  Device permute(const Device& value, const std::vector<int>& order, const Span& span);
  Device reshape(const Device& value, std::vector<ir::Dim> dims, const Span& span);
  std::pair<Device, Device> split(const Device& value, const Span& span);
  Result<Device> join(const Device& a, const Device& b, const Span& span);

  /// Opens a region: index ops made in it are not reused after it closes.
  void open(ir::Region& region);
  void close();
  void append(ir::Op op, std::vector<ir::Type> types) { builder_.append(std::move(op), std::move(types)); }
  /// Gives the value the source's name if it has none.
  void name(const Device& value, const std::string& text);

 private:
  using Key = std::tuple<ir::OpKind, DType, int64_t, int64_t>;
  const ir::ValueId* find(const Key& key) const;
  /// Runs `make` in the region at this depth (0: the launch's body), which is still being built.
  template <typename Make>
  ir::ValueId at_depth(size_t depth, Make make);
  Status check_reduced(const std::vector<Device>& operands, const Span& span) const;
  Status unify(Device& operand, const std::vector<int8_t>& positions, std::vector<ir::Dim>& target, const Span& span);
  Device drop_dim(const Device& value, size_t logical, const Span& span);
  std::optional<std::vector<int8_t>> positions(const std::vector<ir::Dim>& dims,
                                               const std::vector<ir::Dim>& target) const;

  ir::Program& program_;
  ir::Builder builder_;
  std::vector<ir::Region*> regions_;  ///< opened here, outermost first
  std::vector<std::map<Key, ir::ValueId>> seen_;
};

}  // namespace hc::lang
