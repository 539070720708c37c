// Correct implementations in narrow arithmetic must lie within the oracle's bound, whatever their order of summation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/philox.h"
#include "interp/testing.h"

namespace hc::interp {
namespace {

/// One op of a random chain: its IR name, how many operands, and what a float implementation computes.
struct Step {
  const char* name;
  int arity;
  std::function<float(float, float)> run;
};

float div_floor(float a, float b) {
  if (b == 0) return a / b;
  if (std::isinf(a) || std::isnan(a)) return NAN;
  if (std::isinf(b)) return a != 0 && (a < 0) != (b < 0) ? -1 : a / b;
  return std::floor(a / b);
}

const std::vector<Step>& steps() {
  static const std::vector<Step> all = {
      {"neg", 1, [](float a, float) { return -a; }},
      {"abs", 1, [](float a, float) { return std::fabs(a); }},
      {"exp", 1, [](float a, float) { return std::exp(a); }},
      {"exp2", 1, [](float a, float) { return std::exp2(a); }},
      {"expm1", 1, [](float a, float) { return std::expm1(a); }},
      {"log", 1, [](float a, float) { return std::log(a); }},
      {"log2", 1, [](float a, float) { return std::log2(a); }},
      {"log1p", 1, [](float a, float) { return std::log1p(a); }},
      {"sqrt", 1, [](float a, float) { return std::sqrt(a); }},
      {"rsqrt", 1, [](float a, float) { return 1.0f / std::sqrt(a); }},
      {"reciprocal", 1, [](float a, float) { return 1.0f / a; }},
      {"sin", 1, [](float a, float) { return std::sin(a); }},
      {"cos", 1, [](float a, float) { return std::cos(a); }},
      {"tanh", 1, [](float a, float) { return std::tanh(a); }},
      {"sigmoid", 1, [](float a, float) { return 1.0f / (1.0f + std::exp(-a)); }},
      {"erf", 1, [](float a, float) { return std::erf(a); }},
      {"floor", 1, [](float a, float) { return std::floor(a); }},
      {"round", 1, [](float a, float) { return std::nearbyint(a); }},
      {"add", 2, [](float a, float b) { return a + b; }},
      {"sub", 2, [](float a, float b) { return a - b; }},
      {"mul", 2, [](float a, float b) { return a * b; }},
      {"div", 2, [](float a, float b) { return a / b; }},
      {"maximum", 2, [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }},
      {"minimum", 2, [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }},
      {"floor_divide", 2, [](float a, float b) { return div_floor(a, b); }},
      {"atan2", 2, [](float a, float b) { return std::atan2(a, b); }},
  };
  return all;
}

struct Chain {
  std::string text;
  std::vector<std::array<int, 3>> ops;  ///< step, operand values (0 and 1 are x and y)
};

constexpr int kLanes = 64;

Chain random_chain(uint32_t seed, std::string_view dtype) {
  uint32_t counter = 0;
  const auto below = [&](int bound) {
    return static_cast<int>(philox4x32({counter++, 0, 0, 7}, {seed, 0})[0] % static_cast<uint32_t>(bound));
  };
  Chain chain;
  const std::string type = fmt::format("{}[{}]", dtype, kLanes);
  chain.text = fmt::format(R"(program "chain" index=i32
storage s0 "x" {0} {1} param 0
storage s1 "y" {0} {1} param 1
storage s2 "out" {0} {1} alloc
tensor t0 "x" s0 {0}[{1}] strides[1] offset=0
tensor t1 "y" s1 {0}[{1}] strides[1] offset=0
tensor t2 "out" s2 {0}[{1}] strides[1] offset=0
launch "k" {{
  axis "g" grid 0..1 step 1
  body(%0: i64) {{
    %1 = arange : i32[{1}]
    %2 = load t0[%1] : {2}
    %3 = load t1[%1] : {2}
)",
                           dtype, kLanes, type);
  const int length = 1 + below(7);
  for (int k = 0; k < length; ++k) {
    const int step = below(static_cast<int>(steps().size()));
    // Mostly the newest values, so that chains grow deep.
    const int a = k + 1 - below(std::min(k + 2, 2)), b = below(k + 2);
    chain.ops.push_back({step, a, b});
    const Step& s = steps()[static_cast<size_t>(step)];
    chain.text += fmt::format("    %{} = {} %{}{} : {}\n", k + 4, s.name, a + 2,
                              s.arity == 2 ? fmt::format(", %{}", b + 2) : "", type);
  }
  chain.text += fmt::format("    store t2[%1], %{}\n  }}\n}}\nreturn t2\n", length + 3);
  return chain;
}

/// Runs a chain in f32; `round_each` also rounds every result to the nominal dtype, as eager PyTorch does.
double run_chain(const Chain& chain, DType dtype, double x, double y, bool round_each) {
  std::vector<float> values = {static_cast<float>(x), static_cast<float>(y)};
  for (const auto& [step, a, b] : chain.ops) {
    const float r =
        steps()[static_cast<size_t>(step)].run(values[static_cast<size_t>(a)], values[static_cast<size_t>(b)]);
    values.push_back(round_each ? static_cast<float>(round_to(dtype, r)) : r);
  }
  return round_to(dtype, values.back());
}

TEST(Soundness, RandomChainsOfFloatFunctionsStayWithinTheBound) {
  constexpr uint32_t kSeed = 20240607;
  int checked = 0, open = 0;
  for (uint32_t round = 0; round < 1500; ++round) {
    const char* dtype_text = round % 3 == 0 ? "f32" : (round % 3 == 1 ? "bf16" : "f16");
    const DType dtype = *dtype_from_name(dtype_text);
    const Chain chain = random_chain(kSeed + round, dtype_text);
    Fixture f(chain.text, round);
    const auto want = f.elements(2);
    for (int64_t i = 0; i < kLanes; ++i) {
      for (bool round_each : {false, true}) {
        const double got = run_chain(chain, dtype, f.at(0, i), f.at(1, i), round_each);
        uint64_t slot = 0;
        store_double(&slot, dtype, 0, got);
        const Element& e = want[static_cast<size_t>(i)];
        ++checked;
        open += std::isinf(e.bound);
        ASSERT_TRUE(agrees(e, dtype, &slot, 0)) << "seed " << kSeed + round << " lane " << i << " got " << got
                                                << " want " << e.value << " +- " << e.bound << "\n"
                                                << chain.text;
      }
    }
  }
  EXPECT_LT(open, checked / 5);  // a bound that allows everything judges nothing
}

using Order = std::function<float(const std::vector<float>&)>;

float sequential(const std::vector<float>& x) {
  float sum = 0;
  for (float v : x) sum += v;
  return sum;
}
float backward(const std::vector<float>& x) { return sequential({x.rbegin(), x.rend()}); }
float sorted(std::vector<float> x) {
  std::sort(x.begin(), x.end(), [](float a, float b) { return a > b; });
  return sequential(x);
}
float pairwise(std::vector<float> x) {
  for (; x.size() > 1; x.resize((x.size() + 1) / 2)) {
    for (size_t i = 0; i < x.size() / 2; ++i) x[i] += x[x.size() - 1 - i];
  }
  return x.empty() ? 0 : x[0];
}

std::string sum_text(int64_t n) {
  return fmt::format(R"(program "sum" index=i32
storage s0 "x" f32 {0} param 0
storage s1 "out" f32 1 alloc
tensor t0 "x" s0 f32[{0}] strides[1] offset=0
tensor t1 "out" s1 f32[1] strides[1] offset=0
launch "k" {{
  axis "g" grid 0..1 step 1
  body(%0: i64) {{
    %1 = arange : i32[{0}]
    %2 = load t0[%1] : f32[{0}]
    %3 = reduce sum %2 axis=0 : f32
    store t1[%0], %3
  }}
}}
return t1
)",
                     n);
}

TEST(Soundness, SumsInAnyOrderStayWithinTheBound) {
  const Order orders[] = {sequential, backward, sorted, pairwise};
  for (int64_t n : {1, 2, 63, 1000, 40001}) {
    for (int kind = 0; kind < 3; ++kind) {
      Fixture f(sum_text(n));
      std::vector<float> x;
      double sizes = 0;
      for (int64_t i = 0; i < n; ++i) {
        // Random signs, equal terms whose roundings all go one way, and terms of very different size.
        if (kind == 1) f.set(0, i, 0.1);
        if (kind == 2) f.set(0, i, std::exp(8 * f.at(0, i)));
        x.push_back(static_cast<float>(f.at(0, i)));
        sizes += std::fabs(f.at(0, i));
      }
      const Element want = f.elements(1)[0];
      for (const Order& order : orders) {
        const float got = order(x);
        EXPECT_TRUE(agrees(want, DType::f32, &got, 0))
            << n << " kind " << kind << " got " << got << " want " << want.value << " +- " << want.bound;
      }
      const float off = static_cast<float>(want.value + 1e-3 * sizes);
      if (n <= 1000) {
        EXPECT_FALSE(agrees(want, DType::f32, &off, 0)) << n << " kind " << kind;
      }
    }
  }
}

}  // namespace
}  // namespace hc::interp
