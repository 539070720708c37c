// Outputs of every oneDNN library found, against formulas; skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>

#include "base/numeric.h"
#include "bench/subject.h"

namespace hc::bench {
namespace {

constexpr int64_t kRows = 5;
constexpr int64_t kColumns = 67;
constexpr uint64_t kSeed = 11;

std::vector<double> draw(const std::string& text, uint32_t stream) {
  std::string why;
  TensorBuffer buffer(*tensor_spec_from_text(text, &why));
  buffer.fill_random(kSeed, stream);
  std::vector<double> values;
  for (int64_t i = 0; i < buffer.spec().span(); ++i) {
    values.push_back(load_double(buffer.data(), buffer.spec().dtype, i));
  }
  return values;
}

class OneDnnOutputs : public testing::Test {
 protected:
  std::vector<Offer> offers_ = onednn_offers({});
  InputCache inputs_;

  void SetUp() override {
    if (offers_.empty()) GTEST_SKIP() << "no libdnnl on this machine";
  }
  /// Outputs of one launch on poisoned memory as doubles; nothing when this version does not implement it.
  std::vector<std::vector<double>> run(const Offer& offer, const std::string& operation,
                                       const std::vector<std::string>& args, bool* implemented) {
    const auto made = make_subject({.implementation = "onednn",
                                    .operation = operation,
                                    .args = args,
                                    .library = offer.library,
                                    .seed = kSeed,
                                    .threads = 2},
                                   inputs_);
    *implemented = made.ok();
    if (!made.ok()) {
      EXPECT_EQ(made.error().code, Code::not_available) << made.error().message;
      return {};
    }
    made.value()->reset();
    EXPECT_EQ(made.value()->launch(), 0);
    std::vector<std::vector<double>> results;
    for (const Output& output : made.value()->outputs()) {
      results.emplace_back();
      for (int64_t i = 0; i < output.numel; ++i) results.back().push_back(load_double(output.data, output.dtype, i));
    }
    return results;
  }
  void expect(const std::string& operation, const std::vector<std::string>& args,
              const std::vector<std::vector<double>>& wanted, bool must_exist = true, double tolerance = 1e-5) {
    for (const Offer& offer : offers_) {
      SCOPED_TRACE(operation + " with oneDNN " + offer.version);
      bool implemented = false;
      const auto got = run(offer, operation, args, &implemented);
      if (!implemented) {
        EXPECT_FALSE(must_exist);
        continue;
      }
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t k = 0; k < wanted.size(); ++k) {
        ASSERT_EQ(got[k].size(), wanted[k].size());
        for (size_t i = 0; i < wanted[k].size(); ++i) {
          ASSERT_NEAR(got[k][i], wanted[k][i], tolerance * (1 + std::abs(wanted[k][i]))) << k << " " << i;
        }
      }
    }
  }
};

std::vector<double> softmax(const std::vector<double>& x, bool log) {
  std::vector<double> y(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < kColumns; ++c) sum += std::exp(x[r * kColumns + c]);
    for (int64_t c = 0; c < kColumns; ++c) {
      const double value = x[r * kColumns + c];
      y[r * kColumns + c] = log ? value - std::log(sum) : std::exp(value) / sum;
    }
  }
  return y;
}

TEST_F(OneDnnOutputs, Softmax) {
  const std::string text = "f32[5,67]";
  const std::vector<double> x = draw(text, 0);
  expect("softmax", {text}, {softmax(x, false)});
  expect("log_softmax", {text, "1"}, {softmax(x, true)});
  expect("softmax", {"bf16[5,67]"}, {softmax(draw("bf16[5,67]", 0), false)}, false, 1e-2);
}

TEST_F(OneDnnOutputs, SoftmaxBackward) {
  const std::string grad = "f32[5,67]";
  const std::string out = "f32[5,67]=softmax_like";
  const std::vector<double> g = draw(grad, 0);
  const std::vector<double> y = draw(out, 1);
  std::vector<double> wanted(g.size());
  for (int64_t r = 0; r < kRows; ++r) {
    double dot = 0;
    for (int64_t c = 0; c < kColumns; ++c) dot += g[r * kColumns + c] * y[r * kColumns + c];
    for (int64_t c = 0; c < kColumns; ++c) wanted[r * kColumns + c] = y[r * kColumns + c] * (g[r * kColumns + c] - dot);
  }
  expect("softmax_backward", {grad, out}, {wanted});
}

struct Norm {
  std::vector<double> mean, variance, normal;
};

Norm normalize(const std::vector<double>& x, double epsilon) {
  Norm norm;
  for (int64_t r = 0; r < kRows; ++r) {
    double mean = 0;
    double square = 0;
    for (int64_t c = 0; c < kColumns; ++c) mean += x[r * kColumns + c] / kColumns;
    for (int64_t c = 0; c < kColumns; ++c) square += std::pow(x[r * kColumns + c] - mean, 2) / kColumns;
    norm.mean.push_back(mean);
    norm.variance.push_back(square);
    for (int64_t c = 0; c < kColumns; ++c) {
      norm.normal.push_back((x[r * kColumns + c] - mean) / std::sqrt(square + epsilon));
    }
  }
  return norm;
}

TEST_F(OneDnnOutputs, LayerNorm) {
  // The weights stand at the positions of the candidate's arguments, scalars between: those are the streams.
  const std::vector<std::string> args = {"f32[5,67]", "[67]", "f32[67]", "f32[67]=uniform(-1,1)", "0.01"};
  const Norm norm = normalize(draw(args[0], 0), 0.01);
  const std::vector<double> weight = draw(args[2], 2);
  const std::vector<double> bias = draw(args[3], 3);
  std::vector<double> wanted = norm.normal;
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * weight[i % kColumns] + bias[i % kColumns];
  expect("layer_norm", args, {wanted});
  expect("layer_norm_training", args, {wanted, norm.mean, norm.variance});
  expect("layer_norm", {"f32[5,67]"}, {normalize(draw("f32[5,67]", 0), 1e-5).normal}, true, 1e-4);
}

TEST_F(OneDnnOutputs, LayerNormBackward) {
  const std::vector<std::string> args = {"f32[5,67]", "f32[5,67]", "f32[5]=uniform(-0.1,0.1)",
                                         "f32[5]=uniform(0.8,1.2)", "f32[67]"};
  const std::vector<double> g = draw(args[0], 0);
  const std::vector<double> x = draw(args[1], 1);
  const std::vector<double> mean = draw(args[2], 2);
  const std::vector<double> rstd = draw(args[3], 3);
  const std::vector<double> weight = draw(args[4], 4);
  std::vector<double> dx(g.size());
  std::vector<double> dweight(kColumns);
  std::vector<double> dbias(kColumns);
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    double dot = 0;
    const auto at = [&](int64_t c) { return static_cast<size_t>(r * kColumns + c); };
    const auto hat = [&](int64_t c) { return (x[at(c)] - mean[r]) * rstd[r]; };
    for (int64_t c = 0; c < kColumns; ++c) {
      sum += g[at(c)] * weight[c];
      dot += g[at(c)] * weight[c] * hat(c);
      dweight[c] += g[at(c)] * hat(c);
      dbias[c] += g[at(c)];
    }
    for (int64_t c = 0; c < kColumns; ++c) {
      dx[at(c)] = rstd[r] * (g[at(c)] * weight[c] - sum / kColumns - hat(c) * dot / kColumns);
    }
  }
  expect("layer_norm_backward", args, {dx, dweight, dbias}, true, 1e-4);
}

TEST_F(OneDnnOutputs, RmsNormWhereThereIsOne) {
  const std::vector<double> x = draw("f32[5,67]", 0);
  const std::vector<double> weight = draw("f32[67]", 1);
  std::vector<double> wanted(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    double square = 0;
    for (int64_t c = 0; c < kColumns; ++c) square += x[r * kColumns + c] * x[r * kColumns + c] / kColumns;
    for (int64_t c = 0; c < kColumns; ++c) {
      wanted[r * kColumns + c] = x[r * kColumns + c] / std::sqrt(square + 1e-5) * weight[c];
    }
  }
  expect("rms_norm", {"f32[5,67]", "f32[67]"}, {wanted}, false);
}

TEST_F(OneDnnOutputs, Pointwise) {
  const std::vector<double> x = draw("f32[5,67]", 0);
  const std::vector<double> z = draw("f32[5,67]", 1);
  const auto map = [&](auto f) {
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = f(x[i], z[i]);
    return std::vector<std::vector<double>>{y};
  };
  const std::vector<std::string> one = {"f32[5,67]"};
  expect("eltwise_exp", one, map([](double a, double) { return std::exp(a); }));
  expect("eltwise_relu", one, map([](double a, double) { return std::max(a, 0.0); }));
  expect("eltwise_tanh", one, map([](double a, double) { return std::tanh(a); }));
  expect("eltwise_logistic", one, map([](double a, double) { return 1 / (1 + std::exp(-a)); }));
  expect("eltwise_swish", one, map([](double a, double) { return a / (1 + std::exp(-a)); }));
  expect("eltwise_gelu_erf", one, map([](double a, double) { return a / 2 * (1 + std::erf(a / std::sqrt(2.0))); }));
  expect("binary_add", {"f32[5,67]", "f32[5,67]"}, map([](double a, double b) { return a + b; }));
  expect("binary_mul", {"f32[5,67]", "f32[5,67]"}, map([](double a, double b) { return a * b; }));
}

TEST_F(OneDnnOutputs, Reductions) {
  const std::vector<double> x = draw("f32[5,67]", 0);
  std::vector<double> sums;
  std::vector<double> most;
  std::vector<double> means;
  for (int64_t r = 0; r < kRows; ++r) {
    sums.push_back(0);
    most.push_back(-1e30);
    for (int64_t c = 0; c < kColumns; ++c) {
      sums.back() += x[r * kColumns + c];
      most.back() = std::max(most.back(), x[r * kColumns + c]);
    }
    means.push_back(sums.back() / kColumns);
  }
  expect("reduction_sum", {"f32[5,67]"}, {sums});
  expect("reduction_max", {"f32[5,67]"}, {most});
  expect("reduction_mean", {"f32[5,67]"}, {means});
}

TEST_F(OneDnnOutputs, SaysWhatItDoesNotHave) {
  bool implemented = true;
  run(offers_[0], "softmax", {"f64[5,67]"}, &implemented);
  EXPECT_FALSE(implemented);
  const auto few = make_subject({.implementation = "onednn", .operation = "binary_add", .args = {"f32[4]"}}, inputs_);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.error().message.find("needs 2 tensor arguments, but has 1"), std::string::npos);
}

}  // namespace
}  // namespace hc::bench
