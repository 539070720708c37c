// One operation with its arguments: what a baseline is asked to do, on which tensors, into which outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/tensor.h"
#include "diag/diag.h"

namespace hc::baselines {

/// A tensor, or anything else as its text.
struct Argument {
  std::string text;
  std::optional<TensorSpec> tensor;
};

/// What is to be computed. Operations: copy(x), add(x, y), sum(x, -1), softmax(x), gemm_nn(a[m,k], b[k,n]),
/// gemm_nt(a[m,k], b[n,k]); all on contiguous tensors.
struct Call {
  std::string operation;
  std::vector<Argument> args;
  std::vector<TensorSpec> outputs;
  /// The tensor at argument `i`.
  const TensorSpec& tensor(size_t i) const { return *args[i].tensor; }
  /// Inputs read once and outputs written once, in bytes.
  int64_t bytes() const;
};

/// Reads the texts and derives the outputs. not_available when there is no such operation or these tensors do not fit
/// it.
Result<Call> make_call(const std::string& operation, const std::vector<std::string>& texts);

/// Rows and columns of a tensor seen as a matrix whose columns are the last dimension.
struct Matrix {
  int64_t rows = 1, columns = 1;
};
Matrix matrix_of(const TensorSpec& spec);

}  // namespace hc::baselines
