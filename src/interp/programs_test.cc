// Traced kernels of test/programs against formulas written here, and asked piecemeal against asked at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/philox.h"
#include "interp/testing.h"

namespace hc::interp {
namespace {

std::string text_of(const std::string& name) {
  return read_file(fmt::format("{}/test/programs/{}.ir", HC_SOURCE_DIR, name)).value_or("");
}

const char* const kNames[] = {"softmax_two_pass", "softmax_bwd",       "layer_norm_fwd",
                              "layer_norm_bwd",   "rms_norm_bwd_bf16", "cross_entropy",
                              "longsum_manual",   "swiglu_bwd",        "geglu_bwd"};

/// Inputs of a kernel that mean something together: labels in range, positive scales.
void prepare(const std::string& name, Fixture& f) {
  if (name == "cross_entropy") {
    for (int64_t i = 0; i < 13; ++i) store_int(f.buffer(1).data(), DType::i64, i, (7 * i + 3) % 41);
  }
  if (name == "layer_norm_bwd" || name == "rms_norm_bwd_bf16") {
    const int64_t rows = name == "layer_norm_bwd" ? 22 : 21;
    for (int64_t i = 0; i < rows; ++i) f.set(3, i, 0.5 + 0.25 * std::fabs(f.at(3, i)));
  }
}

bool same(const Element& a, const Element& b) {
  return a.written == b.written && a.exact == b.exact &&
         (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value))) && a.bound == b.bound;
}

TEST(Programs, WhatIsAskedBesideDoesNotChangeAnElement) {
  for (const char* name : kNames) {
    Fixture f(text_of(name), 11);
    prepare(name, f);
    for (const ir::Returned& returned : f.program().returned) {
      const auto all = f.elements(returned.tensor);
      const auto count = static_cast<int64_t>(all.size());
      Oracle growing(f.program(), f.params());
      for (uint32_t k = 0; k < 40; ++k) {
        const auto words = philox4x32({k, 0, 0, 0}, {5, 0});
        std::vector<int64_t> some;
        for (size_t j = 0; j <= words[0] % 4; ++j) some.push_back(static_cast<int64_t>(words[j] / 8) % count);
        Oracle fresh(f.program(), f.params());
        for (Oracle* oracle : {&fresh, &growing}) {
          const auto got = oracle->elements(returned.tensor, some);
          ASSERT_TRUE(got.ok()) << diag::render(got.error());
          for (size_t j = 0; j < some.size(); ++j) {
            const Element& want = all[static_cast<size_t>(some[j])];
            EXPECT_TRUE(same(got.value()[j], want))
                << name << " t" << returned.tensor << " element " << some[j] << ": " << got.value()[j].value << " +- "
                << got.value()[j].bound << " and " << want.value << " +- " << want.bound;
          }
        }
      }
    }
  }
}

TEST(Programs, TheIdealRunAgreesWithItself) {
  for (const char* name : kNames) {
    Fixture f(text_of(name), 12);
    prepare(name, f);
    const auto run = f.ideal_run();
    const auto outcome = check(f.program(), f.params(), pointers(run), {});
    ASSERT_TRUE(outcome.ok()) << name;
    EXPECT_EQ(outcome.value().wrong, 0) << name;
    EXPECT_GT(outcome.value().checked, 0) << name;
  }
}

/// Compares every element of a tensor with a formula of its row-major number.
template <typename Formula>
void expect_formula(Fixture& f, ir::TensorId t, double scale, Formula formula) {
  const auto got = f.elements(t);
  const DType dtype = f.program().tensor(t).dtype;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = formula(static_cast<int64_t>(i));
    const double rounding = std::ldexp(std::fabs(want), -dtype_significand_bits(dtype));
    EXPECT_LE(std::fabs(got[i].value - want), 1.01 * rounding + 1e-6 * scale)
        << "t" << t << " element " << i << " want " << want;
    EXPECT_LE(got[i].bound, 4 * rounding + 1e-4 * scale) << "t" << t << " element " << i;
    EXPECT_TRUE(got[i].written);
  }
}

TEST(Programs, SoftmaxForwardAndBackward) {
  Fixture f(text_of("softmax_two_pass"), 3);
  expect_formula(f, 1, 1, [&](int64_t i) {
    double sum = 0;
    for (int64_t c = 0; c < 37; ++c) sum += std::exp(f.at(0, i / 37 * 37 + c));
    return std::exp(f.at(0, i)) / sum;
  });
  Fixture b(text_of("softmax_bwd"), 3);
  expect_formula(b, 2, 30, [&](int64_t i) {
    double dot = 0;
    for (int64_t c = 0; c < 33; ++c) dot += b.at(0, i / 33 * 33 + c) * b.at(1, i / 33 * 33 + c);
    return b.at(1, i) * (b.at(0, i) - dot);
  });
}

TEST(Programs, LayerNormForward) {
  const int64_t n = 29;
  Fixture f(text_of("layer_norm_fwd"), 4);
  const auto mean = [&](int64_t row) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += f.at(0, row * n + c);
    return sum / static_cast<double>(n);
  };
  const auto rstd = [&](int64_t row) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += std::pow(f.at(0, row * n + c) - mean(row), 2);
    return 1 / std::sqrt(sum / static_cast<double>(n) + 1e-5);
  };
  const auto& returned = f.program().returned;
  expect_formula(f, returned[0].tensor, 4,
                 [&](int64_t i) { return (f.at(0, i) - mean(i / n)) * rstd(i / n) * f.at(1, i % n) + f.at(2, i % n); });
  expect_formula(f, returned[1].tensor, 1, mean);
  expect_formula(f, returned[2].tensor, 1, rstd);
}

TEST(Programs, LayerNormBackward) {
  const int64_t m = 22, n = 19;
  Fixture f(text_of("layer_norm_bwd"), 5);
  prepare("layer_norm_bwd", f);
  const auto normal = [&](int64_t r, int64_t c) { return (f.at(1, r * n + c) - f.at(2, r)) * f.at(3, r); };
  expect_formula(f, 5, 20, [&](int64_t i) {
    const int64_t r = i / n;
    double along = 0, level = 0;
    for (int64_t c = 0; c < n; ++c) {
      const double weighted = f.at(0, r * n + c) * f.at(4, c);
      along += weighted * normal(r, c) / static_cast<double>(n);
      level += weighted / static_cast<double>(n);
    }
    return (f.at(0, i) * f.at(4, i % n) - normal(r, i % n) * along - level) * f.at(3, r);
  });
  expect_formula(f, 8, 50, [&](int64_t c) {
    double sum = 0;
    for (int64_t r = 0; r < m; ++r) sum += f.at(0, r * n + c) * normal(r, c);
    return sum;
  });
  expect_formula(f, 9, 50, [&](int64_t c) {
    double sum = 0;
    for (int64_t r = 0; r < m; ++r) sum += f.at(0, r * n + c);
    return sum;
  });
}

TEST(Programs, RmsNormBackwardOfBrainFloats) {
  const int64_t m = 21, n = 17;
  Fixture f(text_of("rms_norm_bwd_bf16"), 6);
  prepare("rms_norm_bwd_bf16", f);
  const auto normal = [&](int64_t r, int64_t c) { return f.at(1, r * n + c) * f.at(3, r); };
  const auto& returned = f.program().returned;
  expect_formula(f, returned[0].tensor, 20, [&](int64_t i) {
    const int64_t r = i / n;
    double dot = 0;
    for (int64_t c = 0; c < n; ++c) dot += f.at(0, r * n + c) * f.at(2, c) * normal(r, c) / static_cast<double>(n);
    return (f.at(0, i) * f.at(2, i % n) - normal(r, i % n) * dot) * f.at(3, r);
  });
  expect_formula(f, returned[1].tensor, 50, [&](int64_t c) {
    double sum = 0;
    for (int64_t r = 0; r < m; ++r) sum += f.at(0, r * n + c) * normal(r, c);
    return sum;
  });
}

TEST(Programs, CrossEntropyLongSumAndSwiglu) {
  Fixture f(text_of("cross_entropy"), 7);
  prepare("cross_entropy", f);
  expect_formula(f, 3, 10, [&](int64_t) {
    double loss = 0;
    for (int64_t r = 0; r < 13; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < 41; ++c) sum += std::exp(f.at(0, r * 41 + c));
      loss += (std::log(sum) - f.at(0, r * 41 + (7 * r + 3) % 41)) / 13;
    }
    return loss;
  });
  Fixture s(text_of("longsum_manual"), 8);
  expect_formula(s, 1, 200, [&](int64_t r) {
    double sum = 0;
    for (int64_t c = 0; c < 203; ++c) sum += s.at(0, r * 203 + c);
    return sum;
  });
  Fixture g(text_of("swiglu_bwd"), 9);
  expect_formula(g, 3, 10, [&](int64_t i) {
    const double gate = g.at(1, i), sigmoid = 1 / (1 + std::exp(-gate));
    return g.at(0, i) * g.at(2, i) * sigmoid * (1 + gate * (1 - sigmoid));
  });
  expect_formula(g, 4, 10, [&](int64_t i) { return g.at(0, i) * g.at(1, i) / (1 + std::exp(-g.at(1, i))); });
}

}  // namespace
}  // namespace hc::interp
