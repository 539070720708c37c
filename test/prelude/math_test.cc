// Accuracy of the vector mathematics: every function against long double, at every lane count and as a scalar.
#include <gtest/gtest.h>

#include "hc/vector.h"
#include "ulp.h"

namespace {
using hc_test::kSeed;
using hc_test::points;
using hc_test::ulps;

template <class T>
uint64_t bits_of(T x) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(x);
  else
    return std::bit_cast<uint64_t>(x);
}
template <class T>
bool same(T a, T b) {
  return bits_of(a) == bits_of(b) || (a != a && b != b);
}

/// Applies `f` to vectors of N lanes and to scalars; all must give the same bits.
template <int N, class T, class F>
void expect_same_lanes(const char* name, const std::vector<T>& xs, const std::vector<T>& scalar, F f) {
  for (size_t i = 0; i < xs.size(); i += N) {
    T out[N];
    hcv::store(out, f(hcv::load<N>(&xs[i])));
    for (int k = 0; k < N; ++k) {
      ASSERT_TRUE(same(out[k], scalar[i + k]))
          << name << " of " << xs[i + k] << ", " << N << " lanes: " << out[k] << ", scalar " << scalar[i + k];
    }
  }
}

template <class T, class F, class R>
void check(const char* name, double low, double high, double limit, F f, R reference) {
  const auto xs = points<T>(kSeed, low, high, 60000);
  std::vector<T> got;
  double worst = 0;
  T where = 0;
  for (T x : xs) {
    got.push_back(f(x));
    const long double want = reference((long double)x);
    const double error = ulps(got.back(), want);
    if (error > worst) worst = error, where = x;
    if (want == 0 && got.back() == 0) {
      EXPECT_EQ(std::signbit(got.back()), std::signbit(want)) << name << " of " << x;
    }
  }
  EXPECT_LE(worst, limit) << name << " at " << where << " gives " << f(where) << ", not "
                          << reference((long double)where);
  ::testing::Test::RecordProperty(name, std::to_string(worst));
  printf("  %-12s %s %.2f ulp at %.9g\n", name, sizeof(T) == 4 ? "f32" : "f64", worst, double(where));
  expect_same_lanes<4>(name, xs, got, f);
  expect_same_lanes<16>(name, xs, got, f);
  expect_same_lanes<64>(name, xs, got, f);
}

#define HC_FN(name) [](auto x) { return hcv::name(x); }
#define HC_CHECK1(name, low, high, limit)                                                                        \
  check<float>(#name, low, high, limit, HC_FN(name), [](long double x) -> long double { return std::name(x); }); \
  check<double>(#name, low, high, 2.5, HC_FN(name), [](long double x) -> long double { return std::name(x); })

TEST(VectorMath, Exponentials) {
  HC_CHECK1(exp, -110, 95, 1.5);
  HC_CHECK1(exp2, -152, 130, 1.5);
  HC_CHECK1(expm1, -20, 20, 2);
}
TEST(VectorMath, Logarithms) {
  HC_CHECK1(log, 0, 3, 1.5);
  HC_CHECK1(log2, 0, 3, 2.5);
  HC_CHECK1(log10, 0, 3, 2.5);
  HC_CHECK1(log1p, -1, 2, 2);
}
TEST(VectorMath, Trigonometry) {
  HC_CHECK1(sin, -10, 10, 2);
  HC_CHECK1(cos, -10, 10, 2);
  HC_CHECK1(tan, -10, 10, 4);
  check<float>("sin far", -2e6, 2e6, 2, HC_FN(sin), [](long double x) { return std::sin(x); });
  check<float>("cos far", -1e6, 1e6, 2, HC_FN(cos), [](long double x) { return std::cos(x); });
}
TEST(VectorMath, Sigmoids) {
  HC_CHECK1(tanh, -10, 10, 3);
  HC_CHECK1(erf, -4.5, 4.5, 2);
  const auto sigmoid = [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  check<float>("sigmoid", -110, 20, 2.5, HC_FN(sigmoid), sigmoid);
  check<double>("sigmoid", -110, 20, 2.5, HC_FN(sigmoid), sigmoid);
}
TEST(VectorMath, Roots) {
  HC_CHECK1(sqrt, 0, 10, 0.51);
  const auto rsqrt = [](long double x) { return 1 / std::sqrt(x); };
  check<float>("rsqrt", 0, 10, 1.5, HC_FN(rsqrt), rsqrt);
  check<double>("rsqrt", 0, 10, 1.5, HC_FN(rsqrt), rsqrt);
  check<float>("reciprocal", -10, 10, 0.51, HC_FN(reciprocal), [](long double x) { return 1 / x; });
}
TEST(VectorMath, Rounding) {
  HC_CHECK1(floor, -5, 5, 0);
  HC_CHECK1(ceil, -5, 5, 0);
  HC_CHECK1(trunc, -5, 5, 0);
  const auto even = [](long double x) { return std::nearbyint(x); };
  check<float>("round", -5, 5, 0, HC_FN(round), even);
  check<double>("round", -5, 5, 0, HC_FN(round), even);
  check<float>("abs", -5, 5, 0, HC_FN(abs), [](long double x) { return std::fabs(x); });
  const auto sign = [](long double x) { return (long double)(x > 0) - (long double)(x < 0); };
  check<float>("sign", -5, 5, 0, HC_FN(sign), sign);
  check<double>("sign", -5, 5, 0, HC_FN(sign), sign);
}

template <class T, class F, class R>
void check2(const char* name, double low, double high, double limit, F f, R reference) {
  const auto special = hc_test::special_points<T>();
  auto xs = points<T>(kSeed, low, high, 60000), ys = points<T>(kSeed + 1, low, high, 60000);
  for (T x : special)
    for (T y : special) xs.push_back(x), ys.push_back(y);
  while (xs.size() % 16) xs.push_back(T(1)), ys.push_back(T(1));
  double worst = 0;
  size_t where = 0;
  std::vector<T> got(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    got[i] = f(xs[i], ys[i]);
    const double error = ulps(got[i], (long double)reference(xs[i], ys[i]));
    if (error > worst) worst = error, where = i;
  }
  printf("  %-12s %s %.2f ulp at (%.9g, %.9g)\n", name, sizeof(T) == 4 ? "f32" : "f64", worst, double(xs[where]),
         double(ys[where]));
  EXPECT_LE(worst, limit) << name << " at (" << xs[where] << ", " << ys[where] << ") gives " << got[where];
  for (size_t i = 0; i < xs.size(); i += 16) {
    T out[16];
    hcv::store(out, f(hcv::load<16>(&xs[i]), hcv::load<16>(&ys[i])));
    for (int k = 0; k < 16; ++k) {
      ASSERT_TRUE(same(out[k], got[i + k]))
          << name << " of " << xs[i + k] << ", " << ys[i + k] << ": " << out[k] << ", scalar " << got[i + k];
    }
  }
}
#define HC_FN2(name) [](auto a, auto b) { return hcv::name(a, b); }

TEST(VectorMath, TwoOperands) {
  const auto pow = [](long double a, long double b) { return std::pow(a, b); };
  check2<float>("pow", 0, 12, 1.5, HC_FN2(pow), pow);
  check2<double>("pow", 0, 12, 1.5, HC_FN2(pow), pow);
  const auto atan2 = [](long double a, long double b) { return std::atan2(a, b); };
  check2<float>("atan2", -5, 5, 3, HC_FN2(atan2), atan2);
  check2<double>("atan2", -5, 5, 1.01, HC_FN2(atan2), atan2);
  const auto fmod = [](auto a, auto b) { return std::fmod(a, b); };
  check2<float>("fmod", -50, 50, 0, HC_FN2(fmod), fmod);
  check2<double>("fmod", -50, 50, 0, HC_FN2(fmod), fmod);
  const auto maximum = [](auto a, auto b) { return a != a || b != b ? NAN : std::max(a, b); };
  check2<float>("maximum", -5, 5, 0, HC_FN2(maximum), maximum);
  const auto minimum = [](auto a, auto b) { return a != a || b != b ? NAN : std::min(a, b); };
  check2<float>("minimum", -5, 5, 0, HC_FN2(minimum), minimum);
}

/// Python's % and // of floats: the exact remainder moved to the divisor's side.
TEST(VectorMath, FloorDivision) {
  const auto remainder = [](auto a, auto b) {
    const auto m = std::fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
  };
  check2<float>("remainder", -50, 50, 0, HC_FN2(remainder), remainder);
  check2<double>("remainder", -50, 50, 0, HC_FN2(remainder), remainder);
  const auto xs = points<float>(kSeed, -50, 50, 20000), ys = points<float>(kSeed + 1, -50, 50, 20000);
  for (size_t i = 0; i < xs.size(); ++i) {
    const float q = hcv::floor_divide(xs[i], ys[i]);
    const double exact = std::floor(double(xs[i]) / double(ys[i]));
    if (std::isfinite(exact) && std::fabs(exact) < 1e6 && ys[i] != 0) {
      ASSERT_EQ(q, float(exact)) << xs[i] << " // " << ys[i];
    }
  }
  EXPECT_EQ(hcv::floor_divide(-0.0f, 3.0f), 0.0f);
  EXPECT_TRUE(std::isinf(hcv::floor_divide(1.0f, 0.0f)));
  EXPECT_TRUE(std::isnan(hcv::floor_divide(0.0f, 0.0f)));
}

template <class T>
void check_divisor() {
  const auto xs = points<T>(kSeed, -50, 50, 2000), ds = points<T>(kSeed + 1, -50, 50, 300);
  double worst = 0;
  for (T d : ds) {
    const auto divisor = hcv::make_divisor<16>(d);
    for (size_t i = 0; i < xs.size(); i += 16) {
      T out[16];
      hcv::store(out, hcv::load<16>(&xs[i]) / divisor);
      for (int k = 0; k < 16; ++k) {
        const double error = ulps(out[k], (long double)(xs[i + k] / d));
        worst = std::max(worst, error);
        ASSERT_LE(error, 2) << xs[i + k] << " / " << d << " gives " << out[k];
      }
    }
  }
  EXPECT_GT(worst, 0);
}
TEST(VectorMath, DivisionByOneNumber) {
  check_divisor<float>();
  check_divisor<double>();
}

TEST(VectorMath, IsNanIsInf) {
  const auto xs = points<float>(kSeed, -5, 5, 1000);
  for (size_t i = 0; i < xs.size(); i += 16) {
    const auto v = hcv::load<16>(&xs[i]);
    const auto nan = hcv::isnan(v), inf = hcv::isinf(v);
    for (int k = 0; k < 16; ++k) {
      EXPECT_EQ(nan[k], std::isnan(xs[i + k]) ? -1 : 0);
      EXPECT_EQ(inf[k], std::isinf(xs[i + k]) ? -1 : 0);
      EXPECT_EQ(hcv::isinf(xs[i + k]), std::isinf(xs[i + k]));
    }
  }
}

}  // namespace
