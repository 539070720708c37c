// PyTorch's own answers (test/vectors): special points of unary, binary and integer functions, and maxima of rows with
// NaN.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "hc/vector.h"
#include "ulp.h"

namespace {

const hc::Json& values() {
  static const hc::Json json =
      *hc::parse_json(*hc::read_file(std::string(HC_SOURCE_DIR) + "/test/vectors/values.json"));
  return json;
}

template <class T>
std::vector<T> column(const hc::Json& texts) {
  using U = hcv::uint_of<T>;
  std::vector<T> out;
  for (const hc::Json& text : texts)
    out.push_back(std::bit_cast<T>(U(std::stoull(text.get<std::string>(), nullptr, 16))));
  return out;
}

/// Ulps allowed; the f32 rows of transcendental functions are a GPU's and good to a few themselves.
constexpr double kExact = 0, kGpu = 6, kLibm = 2.5;

template <class T>
using Unary = std::function<hcv::vec<T, 4>(hcv::vec<T, 4>)>;
template <class T>
using Binary = std::function<hcv::vec<T, 4>(hcv::vec<T, 4>, hcv::vec<T, 4>)>;

template <class T>
void check_unary(const std::string& name, double limit, const Unary<T>& f) {
  const std::string row = name + (sizeof(T) == 4 ? " f32" : " f64");
  const auto& entry = values()["unary"][row];
  const auto in = column<T>(entry[0]), want = column<T>(entry[1]);
  ASSERT_GE(in.size(), 40u);
  for (size_t i = 0; i < in.size(); ++i) {
    const T got = f(hcv::splat<T, 4>(in[i]))[1];
    EXPECT_LE(hc_test::ulps(got, (long double)want[i]), limit)
        << row << " of " << in[i] << ": " << got << ", torch " << want[i];
  }
}

#define HC_UNARY(name, limit)                                            \
  check_unary<float>(#name, limit, [](auto x) { return hcv::name(x); }); \
  check_unary<double>(#name, limit ? kLibm : 0, [](auto x) { return hcv::name(x); });

TEST(TorchValues, Unary) {
  HC_UNARY(exp, kGpu);
  HC_UNARY(exp2, kGpu);
  HC_UNARY(expm1, kGpu);
  HC_UNARY(log, kGpu);
  HC_UNARY(log2, kGpu);
  HC_UNARY(log10, kGpu);
  HC_UNARY(log1p, kGpu);
  HC_UNARY(sin, kGpu);
  HC_UNARY(cos, kGpu);
  HC_UNARY(tan, kGpu);
  HC_UNARY(tanh, kGpu);
  HC_UNARY(erf, kGpu);
  HC_UNARY(sigmoid, kGpu);
  HC_UNARY(rsqrt, kGpu);
  HC_UNARY(sqrt, kExact);
  HC_UNARY(reciprocal, kExact);
  HC_UNARY(abs, kExact);
  HC_UNARY(floor, kExact);
  HC_UNARY(ceil, kExact);
  HC_UNARY(trunc, kExact);
  HC_UNARY(round, kExact);
  HC_UNARY(sign, kExact);
}

template <class T>
void check_binary(const std::string& name, double limit, const Binary<T>& f) {
  const std::string row = name + (sizeof(T) == 4 ? " f32" : " f64");
  const auto& entry = values()["binary"][row];
  const auto a = column<T>(entry[0]), b = column<T>(entry[1]), want = column<T>(entry[2]);
  ASSERT_GE(a.size(), 200u);
  for (size_t i = 0; i < a.size(); ++i) {
    const T got = f(hcv::splat<T, 4>(a[i]), hcv::splat<T, 4>(b[i]))[1];
    EXPECT_LE(hc_test::ulps(got, (long double)want[i]), limit)
        << row << " of " << a[i] << ", " << b[i] << ": " << got << ", torch " << want[i];
  }
}
#define HC_BINARY(name, limit)                                                       \
  check_binary<float>(#name, limit, [](auto x, auto y) { return hcv::name(x, y); }); \
  check_binary<double>(#name, limit ? kLibm : 0, [](auto x, auto y) { return hcv::name(x, y); });

TEST(TorchValues, Binary) {
  HC_BINARY(pow, kGpu);
  HC_BINARY(atan2, kGpu);
  HC_BINARY(fmod, kExact);
  HC_BINARY(remainder, kExact);
  HC_BINARY(floor_divide, kExact);
  HC_BINARY(maximum, kExact);
  HC_BINARY(minimum, kExact);
}

template <class T>
void check_integer(const std::string& name, const std::string& type, const Binary<T>& f) {
  const auto& entry = values()["integer"][name + " " + type];
  const auto a = column<T>(entry[0]), b = column<T>(entry[1]), want = column<T>(entry[2]);
  ASSERT_GE(a.size(), 30u);
  for (size_t i = 0; i < a.size(); ++i) {
    const T got = f(hcv::splat<T, 4>(a[i]), hcv::splat<T, 4>(b[i]))[1];
    EXPECT_EQ(got, want[i]) << name << " " << type << " of " << int64_t(a[i]) << ", " << int64_t(b[i]);
  }
}

template <class T>
void check_integers(const std::string& type) {
  check_integer<T>("add", type, [](auto x, auto y) { return x + y; });
  check_integer<T>("sub", type, [](auto x, auto y) { return x - y; });
  check_integer<T>("mul", type, [](auto x, auto y) { return x * y; });
  check_integer<T>("floor_divide", type, [](auto x, auto y) { return hcv::floor_divide(x, y); });
  check_integer<T>("remainder", type, [](auto x, auto y) { return hcv::remainder(x, y); });
  check_integer<T>("fmod", type, [](auto x, auto y) { return hcv::fmod(x, y); });
  check_integer<T>("maximum", type, [](auto x, auto y) { return hcv::maximum(x, y); });
  check_integer<T>("minimum", type, [](auto x, auto y) { return hcv::minimum(x, y); });
  check_integer<T>("bitwise_and", type, [](auto x, auto y) { return x & y; });
  check_integer<T>("bitwise_or", type, [](auto x, auto y) { return x | y; });
  check_integer<T>("bitwise_xor", type, [](auto x, auto y) { return x ^ y; });
  check_integer<T>("bitwise_left_shift", type, [](auto x, auto y) { return hcv::shift_left(x, y); });
  check_integer<T>("bitwise_right_shift", type, [](auto x, auto y) { return hcv::shift_right(x, y); });
}

TEST(TorchValues, Integers) {
  check_integers<int8_t>("i8");
  check_integers<uint8_t>("u8");
  check_integers<int16_t>("i16");
  check_integers<int32_t>("i32");
  check_integers<int64_t>("i64");
}

TEST(TorchValues, RowMaximaAndMinima) {
  const auto& most = values()["reduction"]["amax f32"];
  const auto in = column<float>(most[0]), max = column<float>(most[1]);
  const auto min = column<float>(values()["reduction"]["amin f32"][1]);
  const size_t width = in.size() / max.size();
  for (size_t row = 0; row < max.size(); ++row) {
    const auto high =
        hcv::select(hcv::first_lanes<float, 4>(int64_t(width)), hcv::load_n<4>(&in[row * width], int64_t(width)),
                    hcv::splat<float, 4>(-hcv::kInf<float>));
    const auto low =
        hcv::select(hcv::first_lanes<float, 4>(int64_t(width)), hcv::load_n<4>(&in[row * width], int64_t(width)),
                    hcv::splat<float, 4>(hcv::kInf<float>));
    EXPECT_EQ(hc_test::ulps(hcv::reduce_max(high), (long double)max[row]), 0) << row;
    EXPECT_EQ(hc_test::ulps(hcv::reduce_min(low), (long double)min[row]), 0) << row;
  }
}

}  // namespace
