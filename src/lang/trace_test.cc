// Facts of traced programs: result dtypes, block names and bounds, index width, views, the kernels that we ship.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "lang/lang.h"

namespace hc::lang {
namespace {

constexpr const char* kImports = "import math\nimport torch\nimport helion\nimport helion.language as hl\n";

Result<ir::Program> trace_text(const std::string& text, const std::vector<std::string>& words,
                               const Choices& choices = {}) {
  const ModulePtr module = HC_TRY(parse_text("test.py", kImports + text));
  std::vector<Arg> args;
  for (const std::string& word : words) args.push_back(HC_TRY(arg_from_text(word)));
  return trace(*module, "", args, choices);
}

std::string failure(const Result<ir::Program>& program) {
  if (!program.ok()) return diag::render(program.error());
  const Status valid = ir::verify(program.value());
  return valid.ok() ? "" : diag::render(valid.error());
}

/// Dtype of `expression` over tiles of h (f16), s (f32), i (i32), l (i64), b (bool), each [8, 16], and z (f32, 0-d).
std::string dtype_of(const std::string& expression) {
  const std::string text =
      "@helion.kernel()\ndef fn(h, s, i, l, b, z):\n"
      "    out = torch.empty_like(s)\n    for m, n in hl.tile(s.size()):\n"
      "        H, S, I, L, B, Z = h[m, n], s[m, n], i[m, n], l[m, n], b[m, n], z[()]\n"
      "        value = " +
      expression + "\n        out[m, n] = value.to(torch.float64)\n    return out\n";
  const Result<ir::Program> program =
      trace_text(text, {"f16[8,16]", "f32[8,16]", "i32[8,16]", "i64[8,16]", "bool[8,16]", "f32[]"});
  if (!program.ok()) return diag::render(program.error());
  if (const std::string why = failure(program); !why.empty()) return why;
  const ir::Launch& launch = program.value().steps[0].launch;
  for (const ir::Op& op : launch.body.ops) {
    if (op.kind == ir::OpKind::cast && launch.type(op.results[0]).dtype == DType::f64) {
      return std::string(dtype_name(launch.type(op.operands[0].value).dtype));
    }
  }
  return "f64";
}

TEST(Trace, ResultDtypesArePyTorchs) {
  const std::pair<const char*, const char*> kCases[] = {{"H * 0.1", "f16"},
                                                        {"H + 1", "f16"},
                                                        {"H + S", "f32"},
                                                        {"H + Z", "f16"},
                                                        {"I + 1.5", "f32"},
                                                        {"I / 2", "f32"},
                                                        {"I // 2", "i32"},
                                                        {"I + L", "i64"},
                                                        {"I * True", "i32"},
                                                        {"B * 2", "i64"},
                                                        {"B + S", "f32"},
                                                        {"I + Z", "f32"},
                                                        {"H < 0", "bool"},
                                                        {"I & 3", "i32"},
                                                        {"~B", "bool"},
                                                        {"-H", "f16"},
                                                        {"H ** 2", "f16"},
                                                        {"I ** 3", "i32"},
                                                        {"torch.exp(H)", "f16"},
                                                        {"torch.exp(I)", "f32"},
                                                        {"torch.sqrt(L)", "f32"},
                                                        {"torch.where(B, H, 0.0)", "f16"},
                                                        {"torch.where(B, I, 0.5)", "f32"},
                                                        {"torch.maximum(H, S)", "f32"},
                                                        {"torch.clamp(H, min=0.5)", "f16"},
                                                        {"H.sum(0)[None, :]", "f16"},
                                                        {"I.sum(0)[None, :]", "i64"},
                                                        {"B.sum(0)[None, :]", "i64"},
                                                        {"H.mean(0)[None, :]", "f16"},
                                                        {"H.amax(0)[None, :]", "f16"},
                                                        {"H.argmax(0)[None, :]", "i64"},
                                                        {"B.any(0)[None, :]", "bool"},
                                                        {"torch.softmax(H, dim=0)", "f16"},
                                                        {"m.index[:, None]", "i32"},
                                                        {"m.begin + I", "i32"},
                                                        {"m.begin * S", "f32"},
                                                        {"hl.arange(16)[None, :]", "error"},
                                                        {"H.float()", "f32"},
                                                        {"hl.zeros([m, n])", "f32"},
                                                        {"hl.full([m, n], 1)", "f32"},
                                                        {"torch.zeros_like(H)", "f16"},
                                                        {"torch.full([m, n], 2)", "i64"},
                                                        {"torch.nn.functional.gelu(H)", "f16"}};
  for (const auto& [expression, wanted] : kCases) {
    const std::string got = dtype_of(expression);
    if (std::string(wanted) == "error") {
      EXPECT_NE(got.find("error["), std::string::npos) << expression;
    } else {
      EXPECT_EQ(got, wanted) << expression;
    }
  }
}

const ir::Block& block_named(const ir::Program& program, const std::string& name) {
  static const ir::Block kMissing;
  const auto it =
      std::find_if(program.blocks.begin(), program.blocks.end(), [&](const ir::Block& b) { return b.name == name; });
  EXPECT_NE(it, program.blocks.end()) << name;
  return it == program.blocks.end() ? kMissing : *it;
}

TEST(Trace, BlocksAreNamedAndBoundedByTheSource) {
  const std::string text =
      "@helion.kernel()\n"                                   // line 5
      "def fn(x: torch.Tensor) -> torch.Tensor:\n"           // 6
      "    m, n = x.size()\n"                                // 7
      "    rows, cols = hl.register_block_size(4, 64), n\n"  // 8
      "    out = torch.empty_like(x)\n"                      // 9
      "    for t in hl.tile(m, block_size=rows):\n"          // 10
      "        for inner in hl.tile(t.begin, t.end):\n"      // 11
      "            for c in hl.tile(cols):\n"                // 12
      "                out[inner, c] = x[inner, c]\n"        // 13
      "        for c in hl.tile(cols, block_size=8):\n"      // 14
      "            out[t, c] = x[t, c]\n"
      "    return out\n";
  Choices choices;
  choices.block_sizes = {{"rows", 16}, {"c@12", 128}};
  const Result<ir::Program> program = trace_text(text, {"f32[50,100]"}, choices);
  ASSERT_EQ(failure(program), "");
  const ir::Block& rows = block_named(program.value(), "rows");
  EXPECT_EQ(rows.size, 16);
  EXPECT_EQ(rows.min, 4);
  EXPECT_EQ(rows.max, 64);
  EXPECT_EQ(rows.extent, 50);
  const ir::Block& inner = block_named(program.value(), "inner");
  EXPECT_EQ(inner.max, 64) << "that of the parent's largest choice";
  EXPECT_LE(inner.size, 16) << "never larger than the parent's tile";
  EXPECT_EQ(inner.extent, -1);
  const ir::Block& free = block_named(program.value(), "c@12");
  EXPECT_EQ(free.size, 128);
  EXPECT_EQ(free.max, 128);
  EXPECT_FALSE(free.fixed);
  const ir::Block& fixed = block_named(program.value(), "c@14");
  EXPECT_EQ(fixed.size, 8);
  EXPECT_TRUE(fixed.fixed);

  choices.block_sizes = {{"rows", 2}};
  const Result<ir::Program> refused = trace_text(text, {"f32[50,100]"}, choices);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_config);
}

TEST(Trace, ATileInsideATileIsNeverLargerWhateverIsChosen) {
  const std::string text =
      "@helion.kernel()\ndef fn(x):\n    out = torch.empty_like(x)\n    for outer in hl.tile(x.size(0)):\n"
      "        for inner in hl.tile(outer.begin, outer.end):\n            out[inner] = x[inner] + 1\n    return out\n";
  for (const int64_t outer : {1, 4, 64}) {
    for (const int64_t inner : {0, 1, 8, 128}) {
      Choices choices;
      choices.block_sizes["outer"] = outer;
      if (inner > 0) choices.block_sizes["inner"] = inner;
      const Result<ir::Program> program = trace_text(text, {"f32[100]"}, choices);
      ASSERT_EQ(failure(program), "") << outer << " " << inner;
      EXPECT_LE(program.value().blocks[1].size, outer);
      EXPECT_EQ(program.value().blocks[1].max, program.value().blocks[0].max) << "a stored config stays readable";
    }
  }
}

TEST(Trace, DefaultBlocksLieWithinTheirBounds) {
  const std::string text =
      "@helion.kernel()\ndef fn(x: torch.Tensor) -> torch.Tensor:\n    out = torch.empty_like(x)\n"
      "    for tile in hl.tile(x.size()):\n        out[tile] = x[tile]\n    return out\n";
  for (const char* shape : {"f32[1]", "f32[3,5]", "f32[7,1,1000]", "f32[2,2,2,2,2]"}) {
    const Result<ir::Program> program = trace_text(text, {shape});
    ASSERT_EQ(failure(program), "") << shape;
    for (const ir::Block& block : program.value().blocks) {
      EXPECT_EQ(block.size & (block.size - 1), 0);
      EXPECT_GE(block.size, block.min);
      EXPECT_LE(block.size, block.max);
    }
  }
}

TEST(Trace, TheIndexTypeHoldsTheLargestTensor) {
  const std::string text =
      "@helion.kernel()\ndef fn(x: torch.Tensor) -> torch.Tensor:\n    out = torch.empty([2])\n"
      "    for tile in hl.tile(2):\n        out[tile] = x[tile, 0] + tile.index\n    return out\n";
  const Result<ir::Program> small = trace_text(text, {"f32[32768,65535]"});
  ASSERT_EQ(failure(small), "");
  EXPECT_EQ(small.value().index_dtype, DType::i32);
  const Result<ir::Program> large = trace_text(text, {"f32[32768,65536]"});
  ASSERT_EQ(failure(large), "");
  EXPECT_EQ(large.value().index_dtype, DType::i64);
}

/// Shape, strides and offset of the view that a kernel returns, after a loop that only touches `out`.
std::string view_of(const std::string& expression, const std::string& argument) {
  const std::string text =
      "@helion.kernel()\ndef fn(x: torch.Tensor):\n    view = " + expression +
      "\n    out = torch.empty([4])\n    for t in hl.tile(4):\n        out[t] = 1.0\n    return view\n";
  const Result<ir::Program> program = trace_text(text, {argument});
  if (!program.ok()) return std::string(diag::code_slug(program.error().code));
  const ir::Tensor& tensor = program.value().tensor(program.value().returned[0].tensor);
  std::string out = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    out += (i == 0 ? "" : " ") + std::to_string(tensor.shape[i]) + ":" + std::to_string(tensor.strides[i]);
  }
  return out + "]+" + std::to_string(tensor.offset);
}

TEST(Trace, HostViewsShareStorage) {
  EXPECT_EQ(view_of("x.view(-1)", "f32[4,6]"), "[24:1]+0");
  EXPECT_EQ(view_of("x.reshape(2, -1, 3)", "f32[4,6]"), "[2:12 4:3 3:1]+0");
  EXPECT_EQ(view_of("x.t()", "f32[4,6]"), "[6:1 4:6]+0");
  EXPECT_EQ(view_of("x.permute(2, 0, 1)", "f32[2,3,4]"), "[4:1 2:12 3:4]+0");
  EXPECT_EQ(view_of("x[:, :-1, :]", "f32[2,3,4]"), "[2:12 2:4 4:1]+0");
  EXPECT_EQ(view_of("x[1, ::2, None]", "f32[2,3,4]"), "[2:8 1:0 4:1]+12");
  EXPECT_EQ(view_of("x[..., -1]", "f32[2,3,4]"), "[2:12 3:4]+3");
  EXPECT_EQ(view_of("x.unsqueeze(-1).expand(-1, -1, 5)", "f32[4,6]"), "[4:6 6:1 5:0]+0");
  EXPECT_EQ(view_of("x[:, :, 0].reshape(-1)", "f32[2,3,4]"), "[6:4]+0");
  EXPECT_EQ(view_of("x.transpose(0, 1).reshape(-1)", "f32[4,6]"), "NotYetSupported");
  EXPECT_EQ(view_of("x.view(5, 5)", "f32[4,6]"), "ShapeMismatch");
  EXPECT_EQ(view_of("x[:, :, 0]", "f32[4,6]"), "RankMismatch");
}

TEST(Trace, HostPartIsEvaluated) {
  const std::string text =
      "SCALE = 1.0 / math.sqrt(16)\ndef twice(v, by=2):\n    return v * by\n"
      "@helion.kernel()\ndef fn(x: torch.Tensor, eps: float = 1e-5, mode: str = 'sum', sizes: list[int] = None):\n"
      "    m, n = x.shape\n    assert m % 2 == 0 and 0 < n <= 64, f'bad sizes {m} {n}'\n"
      "    total = sum([twice(k) for k in range(3) if k != 1])\n"
      "    out = torch.full([total], eps if mode == 'sum' else 2.0)\n"
      "    y = x.new_empty(helion.cdiv(m, 3), helion.next_power_of_2(n))\n"
      "    for t in hl.tile(total):\n        out[t] = twice(x[t, 0], by=SCALE)\n    return out, None, y, n // 3\n";
  const Result<ir::Program> program = trace_text(text, {"f32[10,20]"});
  ASSERT_EQ(failure(program), "");
  const ir::Program& p = program.value();
  ASSERT_EQ(p.returned.size(), 4u);
  EXPECT_EQ(p.tensor(p.returned[0].tensor).shape, std::vector<int64_t>({4}));
  EXPECT_EQ(p.returned[1].kind, ir::Returned::Kind::none);
  EXPECT_EQ(p.tensor(p.returned[2].tensor).shape, std::vector<int64_t>({4, 32}));
  EXPECT_EQ(p.returned[3].number, 6);
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_EQ(p.steps[0].kind, ir::Step::Kind::fill);
  EXPECT_EQ(p.steps[0].fill_value.f, 1e-5);
}

TEST(Trace, WritesToParametersAreMarked) {
  const std::string text =
      "@helion.kernel()\ndef fn(x: torch.Tensor, y: torch.Tensor):\n"
      "    for t in hl.tile(x.size(0)):\n        y[t] += x[t]\n";
  const Result<ir::Program> program = trace_text(text, {"f32[8]", "f32[8]"});
  ASSERT_EQ(failure(program), "");
  ASSERT_EQ(program.value().mutated.size(), 1u);
  EXPECT_EQ(program.value().storage(program.value().mutated[0]).name, "y");
  EXPECT_TRUE(program.value().returned.empty());
}

/// The kernels that we ship trace and verify at sizes that divide nothing.
TEST(Trace, ShippedKernels) {
  const std::vector<std::vector<std::string>> kCalls = {
      {"add", "add", "f32[7,13]", "f16[13]"},
      {"exp", "exp_fwd", "f32[1001]"},
      {"exp", "exp_bwd", "bf16[7,13]", "bf16[7,13]"},
      {"sum", "sum_kernel", "f16[7,13]"},
      {"long_sum", "longsum", "f32[3,1301]"},
      {"long_sum", "longsum_manual", "f32[3,1301]"},
      {"softmax", "softmax", "bf16[7,13]"},
      {"softmax", "softmax_decomposed", "f32[7,13]"},
      {"softmax", "softmax_two_pass", "f16[7,13]"},
      {"softmax", "softmax_bwd", "f32[7,13]", "f32[7,13]"},
      {"rms_norm", "rms_norm_fwd", "f16[7,13]", "f16[13]"},
      {"rms_norm", "rms_norm_bwd", "f32[7,13]", "f32[7,13]", "f32[13]", "f32[7,1]"},
      {"layer_norm", "layer_norm_fwd", "f32[7,13]", "[13]", "f32[13]", "f32[13]"},
      {"layer_norm", "layer_norm_bwd", "f32[7,13]", "f32[7,13]", "f32[7]", "f32[7]", "f32[13]"},
      {"cross_entropy", "cross_entropy", "f32[7,13]", "i64[7]=range(0,13)"},
      {"cross_entropy", "cross_entropy_flat", "f32[7,13]", "i64[7]=range(0,13)"},
      {"geglu", "geglu", "f32[3,7]", "f32[3,7]"},
      {"geglu", "geglu_bwd", "f16[3,7]", "f16[3,7]", "f16[3,7]"},
      {"swiglu", "swiglu_fwd", "f32[3,7]", "f32[3,7]"},
      {"swiglu", "swiglu_bwd", "f32[3,7]", "f32[3,7]", "f32[3,7]"}};
  for (const std::vector<std::string>& call : kCalls) {
    SCOPED_TRACE(call[0] + ".py:" + call[1]);
    const Result<ModulePtr> module = parse_file(std::string(HC_SOURCE_DIR) + "/kernels/" + call[0] + ".py");
    ASSERT_TRUE(module.ok());
    std::vector<Arg> args;
    for (size_t i = 2; i < call.size(); ++i) args.push_back(arg_from_text(call[i]).value());
    EXPECT_EQ(failure(trace(*module.value(), call[1], args, {})), "");
  }
}

}  // namespace
}  // namespace hc::lang
