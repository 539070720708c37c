// Host tensors: their text `dtype[sizes]@(strides)=distribution`, aligned buffers, the input generator, .npy files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace hc {

/// How a tensor's elements are drawn; `kind` and two parameters.
struct Distribution {
  enum class Kind : uint8_t { normal, uniform, range, constant, softmax_like };
  Kind kind = Kind::normal;
  double a = 0;  ///< uniform, range: low; constant: the value
  double b = 0;  ///< uniform, range: high (not reached)
  bool operator==(const Distribution&) const = default;
};

/// A tensor argument without data. Empty strides mean contiguous (row-major). Units are elements.
struct TensorSpec {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  Distribution distribution;
  bool operator==(const TensorSpec&) const = default;
  int64_t numel() const;
  std::vector<int64_t> full_strides() const;
  /// Elements from the first to one past the last reached: 1 + sum (size-1)*stride, 0 when empty.
  int64_t span() const;
};

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

/// Text form: `bf16[4096,2560]`, `i64[4096]=range(0,32000)`, `f32[8,8]@(1,8)=uniform(-1,1)`, `f32[4]=const(0.5)`.
/// The default distribution (normal for floats, range(0,100) for integers, range(0,2) for bool) is not printed.
std::string to_text(const TensorSpec& spec);
/// Nothing when the text is not a tensor; `why` then says what was expected.
std::optional<TensorSpec> tensor_spec_from_text(std::string_view text, std::string* why);

/// Owns span() elements, 64-byte aligned (2 MiB and huge pages asked for when large).
class TensorBuffer {
 public:
  TensorBuffer() = default;
  explicit TensorBuffer(TensorSpec spec);
  const TensorSpec& spec() const { return spec_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }
  /// Draws every element of the span from the spec's distribution: element i uses word i % 4 of counter i / 4 with the
  /// seed as key; strided holes are filled as well. The same bits on every machine and in every language
  /// (docs/measurement.md gives the formula).
  void fill_random(uint64_t seed, uint32_t stream);
  /// Fills with a pattern that no kernel writes by chance: NaN for floats (0xFF bytes), the lowest value for integers.
  void poison();

 private:
  struct Free { void operator()(void* p) const; };
  TensorSpec spec_;
  std::unique_ptr<void, Free> data_;
  int64_t bytes_ = 0;
};

/// NumPy's .npy, version 1.0. bf16 and fp8 are stored as uint16/uint8 bits with a `.dtype` file beside.
std::string save_npy(const std::string& path, const TensorBuffer& tensor);
/// Loads into a contiguous buffer. Returns an empty string, or the reason.
std::string load_npy(const std::string& path, TensorBuffer* tensor);

}  // namespace hc
