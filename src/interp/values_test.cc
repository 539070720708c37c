// Every op that tile IR shares with the vectors of PyTorch's own answers, at special points, for each dtype.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/numeric.h"
#include "interp/lanes.h"

namespace hc::interp {
namespace {

const Json& vectors() {
  static const Json json =
      parse_json(read_file(std::string(HC_SOURCE_DIR) + "/test/vectors/values.json").value_or("null")).value_or(Json());
  return json;
}

/// Functions of the vectors that are no op of tile IR: test/conform holds those that the front end composes of ops
/// against the same rows, and sees that it refuses the others.
const std::set<std::string> kNotOps = {
    "asin",      "acos",     "atan",     "sinh",       "cosh",      "asinh",    "acosh",    "atanh",
    "erfc",      "frac",     "isfinite", "signbit",    "square",    "relu",     "positive", "logit",
    "lgamma",    "digamma",  "deg2rad",  "rad2deg",    "erfinv",    "i0",       "silu",     "gelu",
    "gelu_tanh", "softplus", "elu",      "leaky_relu", "hardtanh",  "mish",     "selu",     "logsigmoid",
    "hardswish", "relu6",    "softsign", "fmin",       "fmax",      "copysign", "hypot",    "mean",
    "var",       "std",      "cumsum",   "cumprod",    "logsumexp", "softmax",  "norm",     "max"};

std::optional<ir::OpKind> op_of(const std::string& name) {
  static const std::map<std::string, std::string> renamed = {{"bitwise_left_shift", "shift_left"},
                                                             {"bitwise_right_shift", "shift_right"}};
  const auto it = renamed.find(name);
  const std::string own = it == renamed.end() ? name : it->second;
  for (int k = 0; k <= static_cast<int>(ir::OpKind::rand); ++k) {
    if (ir::op_name(static_cast<ir::OpKind>(k)) == own) return static_cast<ir::OpKind>(k);
  }
  return std::nullopt;
}

std::pair<std::string, DType> split_name(const std::string& entry) {
  const size_t space = entry.find(' ');
  return {entry.substr(0, space), *dtype_from_name(entry.substr(space + 1))};
}

uint64_t bits_of(const Json& hex) { return std::strtoull(hex.get<std::string>().c_str(), nullptr, 16); }

LanesPtr lanes_of(const Json& list, DType dtype, std::vector<int64_t> sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(list.size())};
  auto lanes = make_lanes(dtype, std::move(sizes));
  for (size_t k = 0; k < list.size(); ++k) {
    const uint64_t bits = bits_of(list[k]);
    if (lanes->floating()) {
      lanes->v[k] = load_double(&bits, dtype, 0);
    } else {
      lanes->i[k] = load_int(&bits, dtype, 0);
    }
  }
  return lanes;
}

/// What a store of the result would hold, against torch's bits. Narrow rows are a GPU's: some ulps are theirs.
void expect_same(const LanesPtr& got, const Json& want, DType want_dtype, const std::string& entry) {
  const LanesPtr stored = elementwise(ir::OpKind::cast, {got}, want_dtype, got->sizes);
  for (size_t k = 0; k < want.size(); ++k) {
    const uint64_t bits = bits_of(want[k]);
    const std::string where = entry + " at " + std::to_string(k);
    if (!stored->floating()) {
      EXPECT_EQ(stored->i[k], load_int(&bits, want_dtype, 0)) << where;
      continue;
    }
    const double w = load_double(&bits, want_dtype, 0), v = stored->v[k];
    if (std::isnan(w) || std::isinf(w)) {
      EXPECT_TRUE(std::isnan(w) ? std::isnan(v) : v == w) << where << " got " << v << " want " << w;
      continue;
    }
    const double ulps = want_dtype == DType::f64 ? 1e-14 : std::ldexp(4.0, -dtype_significand_bits(want_dtype));
    const double bound = std::isinf(stored->bound(k)) ? 0 : stored->bound(k);
    EXPECT_LE(std::fabs(v - w), bound + ulps * std::fabs(w)) << where << " got " << v << " want " << w;
  }
}

/// The dtype that a row of hexadecimal words has.
DType result_dtype(ir::OpKind kind, DType operand) {
  const ir::TypeRule rule = ir::op_rule(kind);
  return rule == ir::TypeRule::compare || rule == ir::TypeRule::logical ? DType::boolean : operand;
}

TEST(Values, EveryNameIsAnOpOrListedAsNone) {
  for (const char* group : {"unary", "binary", "integer", "reduction"}) {
    for (const auto& [entry, data] : vectors()[group].items()) {
      const std::string name = split_name(entry).first;
      static const std::set<std::string> reductions = {"sum", "prod", "amax", "amin", "argmax", "argmin", "any", "all"};
      const bool known = op_of(name).has_value() || reductions.contains(name);
      EXPECT_NE(known, kNotOps.contains(name)) << entry;
    }
  }
}

TEST(Values, Unary) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["unary"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto kind = op_of(name);
    if (!kind || !data.is_array()) continue;
    const DType to = result_dtype(*kind, dtype);
    const LanesPtr x = lanes_of(data[0], dtype);
    expect_same(elementwise(*kind, {x}, to, x->sizes), data[1], to, entry);
    ++checked;
  }
  EXPECT_EQ(checked, 104);
}

TEST(Values, Binary) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["binary"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto kind = op_of(name);
    if (!kind) continue;
    const DType to = result_dtype(*kind, dtype);
    const LanesPtr a = lanes_of(data[0], dtype), b = lanes_of(data[1], dtype);
    expect_same(elementwise(*kind, {a, b}, to, a->sizes), data[2], to, entry);
    ++checked;
  }
  EXPECT_EQ(checked, 39);
}

TEST(Values, Integer) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["integer"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto kind = op_of(name);
    ASSERT_TRUE(kind.has_value()) << entry;
    if (*kind == ir::OpKind::div) continue;  // of integers, torch's quotient is an f32: the front end promotes first
    const LanesPtr a = lanes_of(data[0], dtype), b = lanes_of(data[1], dtype);
    expect_same(elementwise(*kind, {a, b}, dtype, a->sizes), data[2], dtype, entry);
    ++checked;
  }
  EXPECT_EQ(checked, 65);
}

TEST(Values, Reduction) {
  static const std::map<std::string, ir::ReduceKind> kinds = {
      {"sum", ir::ReduceKind::sum},   {"prod", ir::ReduceKind::prod},     {"amax", ir::ReduceKind::amax},
      {"amin", ir::ReduceKind::amin}, {"argmax", ir::ReduceKind::argmax}, {"argmin", ir::ReduceKind::argmin},
      {"any", ir::ReduceKind::any},   {"all", ir::ReduceKind::all}};
  int checked = 0;
  for (const auto& [entry, data] : vectors()["reduction"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto kind = kinds.find(name);
    if (kind == kinds.end()) continue;
    Json flat = Json::array();
    for (const Json& word : data[0]) flat.push_back(word);
    const LanesPtr x = lanes_of(flat, dtype, {static_cast<int64_t>(flat.size()) / 3, 3});
    const DType to = *dtype_from_name(data[2].get<std::string>());
    EXPECT_EQ(ir::reduce_dtype(kind->second, dtype), to) << entry;
    expect_same(reduce(kind->second, *x, 1, to, {}), data[1], to, entry);
    ++checked;
  }
  EXPECT_EQ(checked, 24);
}

}  // namespace
}  // namespace hc::interp
