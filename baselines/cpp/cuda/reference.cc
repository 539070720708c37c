// The operations in float64, a row at a time.
#include "cuda/reference.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"

namespace hc::baselines {
namespace {

constexpr int64_t kRowsMost = 48;
constexpr int64_t kColumnsMost = 256;  // of a product's row: each costs a dot product

/// Wanted values of a row with the size that errors are relative to.
struct Row {
  std::vector<int64_t> columns;
  std::vector<double> values;
  std::vector<double> scales;
};

/// Half an ulp and what float32 arithmetic over long rows may add; a product of f32 matrices may round its operands to
/// tf32.
double tolerance_of(const Call& call) {
  const DType type = call.outputs[0].dtype;
  if (type == DType::bf16) return 0x1p-7;
  if (type == DType::f16) return 0x1p-9;
  return call.operation.starts_with("gemm") ? 0x1p-9 : 0x1p-16;
}

class Source {
 public:
  Source(const Call& call, const std::vector<const void*>& inputs) : call_(call), inputs_(inputs) {}
  double at(size_t argument, int64_t index) const {
    return load_double(inputs_[argument], call_.tensor(argument).dtype, index);
  }

  Row row(int64_t r) const {
    if (call_.operation == "softmax") return softmax(r);
    if (call_.operation == "sum") return sum(r);
    if (call_.operation.starts_with("gemm")) return product(r);
    return pointwise(r);
  }

 private:
  Row pointwise(int64_t r) const {
    const int64_t n = matrix_of(call_.tensor(0)).columns;
    Row out;
    const int64_t step = std::max<int64_t>(1, n / 4096);  // a vector may have a billion columns
    for (int64_t c = 0; c < n; c += step) add_pointwise(&out, r * n, c);
    add_pointwise(&out, r * n, n - 1);
    return out;
  }

  void add_pointwise(Row* out, int64_t begin, int64_t c) const {
    const bool add = call_.operation == "add";
    const double x = at(0, begin + c), y = add ? at(1, begin + c) : 0;
    out->columns.push_back(c);
    out->values.push_back(x + y);
    out->scales.push_back(std::max({std::abs(x), std::abs(y), 1e-30}));
  }

  Row sum(int64_t r) const {
    const int64_t n = matrix_of(call_.tensor(0)).columns;
    double total = 0, squares = 0;
    for (int64_t c = 0; c < n; ++c) {
      const double x = at(0, r * n + c);
      total += x;
      squares += x * x;
    }
    return {{0}, {total}, {std::max({std::abs(total), std::sqrt(squares), 1e-30})}};
  }

  Row softmax(int64_t r) const {
    const int64_t n = matrix_of(call_.tensor(0)).columns;
    double highest = -HUGE_VAL, total = 0, most = 0;
    for (int64_t c = 0; c < n; ++c) highest = std::max(highest, at(0, r * n + c));
    for (int64_t c = 0; c < n; ++c) total += std::exp(at(0, r * n + c) - highest);
    Row out;
    for (int64_t c = 0; c < n; ++c) {
      out.columns.push_back(c);
      out.values.push_back(std::exp(at(0, r * n + c) - highest) / total);
      most = std::max(most, out.values.back());
    }
    out.scales.assign(out.values.size(), most);
    return out;
  }

  Row product(int64_t r) const {
    const int64_t k = call_.tensor(0).shape[1], n = call_.outputs[0].shape[1];
    const bool transposed = call_.operation == "gemm_nt";
    Row out;
    const int64_t step = std::max<int64_t>(1, n / kColumnsMost);
    for (int64_t c = r % step; c < n; c += step) {
      double total = 0, squares = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double term = at(0, r * k + i) * at(1, transposed ? c * k + i : i * n + c);
        total += term;
        squares += term * term;
      }
      out.columns.push_back(c);
      out.values.push_back(total);
      out.scales.push_back(std::max({std::abs(total), std::sqrt(squares), 1e-30}));
    }
    return out;
  }

  const Call& call_;
  const std::vector<const void*>& inputs_;
};

}  // namespace

Json to_json(const Verdict& verdict) {
  return {{"reference", "float64"},
          {"rows", verdict.rows},
          {"worst_error", verdict.worst_error},
          {"wrong", verdict.wrong},
          {"nonfinite", verdict.nonfinite}};
}

Verdict compare(const Call& call, const std::vector<const void*>& inputs, const void* output) {
  const TensorSpec& out = call.outputs[0];
  const bool reduced = call.operation == "sum";
  const Matrix shape = reduced ? Matrix{out.numel(), 1} : matrix_of(out);
  const double tolerance = tolerance_of(call);
  const Source source(call, inputs);
  const int64_t wide = matrix_of(call.tensor(0)).columns;
  const int64_t most = std::clamp<int64_t>((int64_t{1} << 26) / std::max<int64_t>(wide, 1), 2, kRowsMost);
  const int64_t step = std::max<int64_t>(1, (shape.rows - 1) / (most - 1));
  Verdict verdict;
  const auto look = [&](int64_t r) {
    const Row row = source.row(r);
    for (size_t i = 0; i < row.values.size(); ++i) {
      const double have = load_double(output, out.dtype, r * shape.columns + row.columns[i]);
      const double error = std::abs(have - row.values[i]) / row.scales[i];
      verdict.nonfinite += !std::isfinite(have);
      verdict.wrong += !(error <= tolerance);
      verdict.worst_error = std::isfinite(error) ? std::max(verdict.worst_error, error) : HUGE_VAL;
    }
    ++verdict.rows;
  };
  for (int64_t r = 0; r < shape.rows - 1; r += step) look(r);
  look(shape.rows - 1);
  return verdict;
}

}  // namespace hc::baselines
