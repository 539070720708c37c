// Functions that the front end composes of several ops, at PyTorch's own points: a kernel text for each, traced and run
// by the oracle. What is neither composed nor an op is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/numeric.h"
#include "base/tensor.h"
#include "interp/oracle.h"
#include "lang/lang.h"

namespace hc::conform {
namespace {

const Json& vectors() {
  static const Json json =
      parse_json(read_file(std::string(HC_SOURCE_DIR) + "/test/vectors/values.json").value_or("null")).value_or(Json());
  return json;
}

/// By the vectors' name, an expression over x (a tile of elements, or of whole rows).
const std::map<std::string, std::string> kUnary = {{"square", "torch.square(x[t])"},
                                                   {"relu", "torch.relu(x[t])"},
                                                   {"silu", "torch.nn.functional.silu(x[t])"},
                                                   {"gelu", "torch.nn.functional.gelu(x[t])"},
                                                   {"gelu_tanh", "torch.nn.functional.gelu(x[t], approximate='tanh')"},
                                                   {"softplus", "torch.nn.functional.softplus(x[t])"},
                                                   {"leaky_relu", "torch.nn.functional.leaky_relu(x[t])"}};
const std::map<std::string, std::string> kReductions = {{"mean", "x[t, :].mean(-1)"},
                                                        {"var", "torch.var(x[t, :], dim=-1)"},
                                                        {"std", "torch.std(x[t, :], dim=-1)"},
                                                        {"logsumexp", "torch.logsumexp(x[t, :], dim=-1)"},
                                                        {"softmax", "torch.softmax(x[t, :], dim=-1)"}};
/// One op each: the interpreter's own test holds these against the same rows.
const std::set<std::string> kSingleOps = {
    "abs",   "neg",  "exp",   "exp2",  "expm1",  "log",    "log2",       "log10",       "log1p",
    "sin",   "cos",  "tan",   "tanh",  "sqrt",   "rsqrt",  "reciprocal", "sigmoid",     "erf",
    "floor", "ceil", "round", "trunc", "sign",   "isnan",  "isinf",      "logical_not", "bitwise_not",
    "sum",   "prod", "amax",  "amin",  "argmax", "argmin", "any",        "all"};

std::pair<std::string, DType> split_name(const std::string& entry) {
  const size_t space = entry.find(' ');
  return {entry.substr(0, space), *dtype_from_name(entry.substr(space + 1))};
}

/// A parameter with these words in row-major order.
struct Input {
  TensorSpec spec;
  TensorBuffer buffer;

  Input(const Json& words, DType dtype, std::vector<int64_t> shape) {
    spec.dtype = dtype;
    spec.shape = std::move(shape);
    buffer = TensorBuffer(spec);
    auto* bytes = static_cast<char*>(buffer.data());
    const auto size = static_cast<size_t>(dtype_bytes(dtype));
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t bits = std::strtoull(words[i].get<std::string>().c_str(), nullptr, 16);
      std::memcpy(bytes + i * size, &bits, size);  // little-endian, as the processors are that we run on
    }
  }
};

Result<ir::Program> trace(const std::string& head, const std::string& out, const std::string& statement,
                          const std::vector<Input>& inputs) {
  const std::string text = fmt::format(
      "import helion\nimport helion.language as hl\nimport torch\n\n\n@helion.kernel()\ndef fn({}):\n    out = {}\n"
      "    for t in hl.tile(x.size(0)):\n        {}\n    return out\n",
      head, out, statement);
  const lang::ModulePtr module = HC_TRY(lang::parse_text("rows.py", text));
  std::vector<lang::Arg> args;
  for (const Input& input : inputs) args.emplace_back(input.spec);
  ir::Program program = HC_TRY(lang::trace(*module, "", args, {}));
  HC_TRY(ir::verify(program));
  return program;
}

/// Every element of the returned tensor.
Result<std::vector<interp::Element>> run(const ir::Program& program, const std::vector<Input>& inputs) {
  std::vector<const void*> params;
  for (const ir::Storage& storage : program.storages) {
    const bool param = storage.role == ir::StorageRole::param;
    params.push_back(param ? inputs[static_cast<size_t>(storage.param_index)].buffer.data() : nullptr);
  }
  const ir::TensorId out = program.returned.at(0).tensor;
  std::vector<int64_t> numbers(static_cast<size_t>(program.tensor(out).numel()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  return interp::Oracle(program, params).elements(out, numbers);
}

/// The oracle's element against torch's word. Narrow rows are a GPU's, so some ulps are theirs.
void expect_same(const interp::Element& got, const Json& word, DType dtype, const std::string& where) {
  const uint64_t bits = std::strtoull(word.get<std::string>().c_str(), nullptr, 16);
  const double want = load_double(&bits, dtype, 0);
  ASSERT_TRUE(got.written) << where;
  if (std::isnan(want) || std::isinf(want)) {
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got.value) : got.value == want) << where << " got " << got.value;
    return;
  }
  const double ulps = dtype == DType::f64 ? 1e-14 : std::ldexp(4.0, -dtype_significand_bits(dtype));
  const double bound = std::isinf(got.bound) ? 0 : got.bound;
  EXPECT_LE(std::fabs(got.value - want), bound + ulps * std::fabs(want))
      << where << " got " << got.value << " want " << want;
}

void compare(const std::string& entry, const Result<ir::Program>& program, const std::vector<Input>& inputs,
             const Json& want, DType dtype) {
  ASSERT_TRUE(program.ok()) << entry << "\n" << diag::render(program.error());
  EXPECT_EQ(program.value().tensor(program.value().returned.at(0).tensor).dtype, dtype) << entry;
  const auto got = run(program.value(), inputs);
  ASSERT_TRUE(got.ok()) << entry << "\n" << diag::render(got.error());
  ASSERT_EQ(got.value().size(), want.size()) << entry;
  for (size_t i = 0; i < want.size(); ++i)
    expect_same(got.value()[i], want[i], dtype, fmt::format("{} at {}", entry, i));
}

TEST(TorchRows, ComposedFunctionsOfOneTensor) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["unary"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto known = kUnary.find(name);
    if (known == kUnary.end()) continue;
    std::vector<Input> inputs;
    inputs.emplace_back(data[0], dtype, std::vector<int64_t>{static_cast<int64_t>(data[0].size())});
    compare(entry, trace("x", "torch.empty_like(x)", "out[t] = " + known->second, inputs), inputs, data[1], dtype);
    ++checked;
  }
  EXPECT_EQ(checked, 28);
}

TEST(TorchRows, ComposedReductionsOfRows) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["reduction"].items()) {
    const auto [name, dtype] = split_name(entry);
    const auto known = kReductions.find(name);
    if (known == kReductions.end()) continue;
    const auto rows = static_cast<int64_t>(data[0].size()) / 3;
    std::vector<Input> inputs;
    inputs.emplace_back(data[0], dtype, std::vector<int64_t>{rows, 3});
    const bool whole = data[1].size() == data[0].size();
    const std::string out = whole ? "torch.empty_like(x)" : "torch.empty([x.size(0)], dtype=x.dtype, device=x.device)";
    const std::string statement = (whole ? "out[t, :] = " : "out[t] = ") + known->second;
    compare(entry, trace("x", out, statement, inputs), inputs, data[1], *dtype_from_name(data[2].get<std::string>()));
    ++checked;
  }
  EXPECT_EQ(checked, 15);
}

TEST(TorchRows, TheQuotientOfIntegersIsAFloat) {
  int checked = 0;
  for (const auto& [entry, data] : vectors()["integer"].items()) {
    const auto [name, dtype] = split_name(entry);
    if (name != "div") continue;
    const std::vector<int64_t> shape = {static_cast<int64_t>(data[0].size())};
    std::vector<Input> inputs;
    inputs.emplace_back(data[0], dtype, shape);
    inputs.emplace_back(data[1], dtype, shape);
    const std::string out = "torch.empty([x.size(0)], dtype=torch.float32, device=x.device)";
    compare(entry, trace("x, y", out, "out[t] = x[t] / y[t]", inputs), inputs, data[2], DType::f32);
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST(TorchRows, EveryOtherFunctionIsRefused) {
  const std::map<std::string, std::vector<std::string>> forms = {
      {"unary", {"torch.NAME(x[t, :])", "torch.nn.functional.NAME(x[t, :])", "x[t, :].NAME()"}},
      {"reduction", {"torch.NAME(x[t, :], dim=-1)", "x[t, :].NAME(-1)"}}};
  std::vector<Input> inputs;
  inputs.emplace_back(Json::array({"00000000", "00000000"}), DType::f32, std::vector<int64_t>{2, 1});
  std::set<std::string> refused;
  for (const auto& [group, spellings] : forms) {
    for (const auto& [entry, data] : vectors()[group].items()) {
      const std::string name = split_name(entry).first;
      if (kUnary.contains(name) || kReductions.contains(name) || kSingleOps.contains(name)) continue;
      if (!refused.insert(name).second) continue;
      for (std::string expression : spellings) {
        expression.replace(expression.find("NAME"), 4, name);
        EXPECT_FALSE(trace("x", "torch.empty_like(x)", "out[t, :] = " + expression, inputs).ok()) << expression;
      }
    }
  }
  EXPECT_EQ(refused.size(), 32u);
}

}  // namespace
}  // namespace hc::conform
