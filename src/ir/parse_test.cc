// Tests of the parser: round trips of made and of random programs, and what it says of malformed text.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <set>

#include "ir/builder.h"
#include "ir/sample_programs.h"

namespace hc::ir {
namespace {

void collect_kinds(const Region& region, std::set<OpKind>& kinds) {
  for (const Op& op : region.ops) {
    kinds.insert(op.kind);
    for (const Region& inner : op.regions) collect_kinds(inner, kinds);
  }
}

TEST(Parse, RoundTripsEveryOp) {
  std::set<OpKind> kinds;
  for (const Program& p : {softmax_program(), elementwise_program(), parsed(structured_text())}) {
    const std::string text = print(p);
    EXPECT_EQ(print(parsed(text)), text);
    for (const Step& step : p.steps) collect_kinds(step.launch.body, kinds);
  }
  for (int k = 0; k <= static_cast<int>(OpKind::yield); ++k) {
    EXPECT_TRUE(kinds.count(static_cast<OpKind>(k))) << op_name(static_cast<OpKind>(k)) << " is in no sample";
  }
}

TEST(Parse, TheStructuredSampleIsCanonical) { EXPECT_EQ(print(parsed(structured_text())), structured_text()); }

TEST(Parse, BlanksAndCommentsDoNotCount) {
  const Program p = parsed("# a comment\nprogram\n\"p\"   index =i64 # another\n return\t1.50, none");
  EXPECT_EQ(print(p), "program \"p\" index=i64\nreturn 1.5, none\n");
}

TEST(Parse, OpsCarryTheirPlace) {
  const Program p = parsed(print(softmax_program()));
  const Span& span = p.steps[0].launch.body.ops[0].span;
  ASSERT_TRUE(span);
  EXPECT_EQ(span.source->text().substr(span.begin, span.end - span.begin), "%1 = tile_index %0 b0 : i32[b0]");
}

// Draws programs that are well formed as text and otherwise arbitrary: the verifier would refuse nearly all of them.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {}

  Program make() {
    Program p;
    p.name = name();
    p.index_dtype = chance(2) ? DType::i32 : DType::i64;
    for (int i = below(4); i > 0; --i)
      p.blocks.push_back({name(), 1 + below(9), integer(), integer(), integer(), chance(2)});
    blocks_ = static_cast<int>(p.blocks.size());
    sizes_ = &p.blocks;
    for (int i = below(3); i > 0; --i) p.tunables.push_back({name(), name(), {name(), name()}});
    for (int i = below(3); i > 0; --i) {
      const bool param = chance(2);
      p.storages.push_back(
          {name(), dtype(), integer(), param ? StorageRole::param : StorageRole::alloc, param ? below(9) : -1});
    }
    for (int i = below(4); i > 0; --i)
      p.tensors.push_back({name(), below(5), dtype(), integers(), integers(), integer()});
    for (int i = below(3); i > 0; --i) p.mutated.push_back(below(4));
    for (int i = below(4); i > 0; --i) p.steps.push_back(step(p));
    for (int i = below(4); i > 0; --i) p.returned.push_back({static_cast<Returned::Kind>(below(3)), below(5), real()});
    return p;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool chance(int one_in) { return below(one_in) == 0; }
  int64_t integer() {
    const int64_t wide = static_cast<int64_t>((static_cast<uint64_t>(random_()) << 32) | random_());
    return chance(4) ? wide : below(100) - 10;
  }
  std::vector<int64_t> integers() {
    std::vector<int64_t> list(static_cast<size_t>(below(4)));
    for (int64_t& n : list) n = integer();
    return list;
  }
  double real() {
    const double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(), std::nan(""), 5e-324, 1e308, 3};
    if (chance(2)) return special[below(7)];
    return std::bit_cast<double>((static_cast<uint64_t>(random_()) << 32) | random_());
  }
  std::string name() {
    std::string out;
    for (int i = below(6); i > 0; --i) out += static_cast<char>(chance(3) ? below(256) : 'a' + below(26));
    return out;
  }
  DType dtype() { return static_cast<DType>(below(kDTypeCount)); }
  Literal literal(DType type) { return is_floating(type) ? Literal{real(), 0} : Literal{0, integer()}; }
  Type type() {
    Type type{dtype(), {}};
    for (int i = below(4); i > 0; --i) {
      const int block = below(blocks_ + 1) - 1;
      type.dims.push_back({block, block == kNone ? integer() : (*sizes_)[static_cast<size_t>(block)].size});
    }
    return type;
  }

  Step step(const Program& p) {
    Step step;
    if (!p.tensors.empty() && chance(2)) {
      step.kind = Step::Kind::fill;
      step.fill_tensor = below(static_cast<int>(p.tensors.size()));
      step.fill_value = literal(p.tensor(step.fill_tensor).dtype);
      return step;
    }
    Launch& launch = step.launch;
    launch.name = name();
    Builder b(launch);
    for (int i = below(3); i > 0; --i) launch.axes.push_back({name(), below(5) - 1, integer(), integer(), integer()});
    for (int i = below(3); i > 0; --i) launch.body.args.push_back(b.add_value(type(), name()));
    ops(b, 0);
    return step;
  }

  Operand operand(const Builder& b) {
    Operand operand{below(static_cast<int>(const_cast<Builder&>(b).launch().values.size()) + 1), {}};
    // Maps that start with 1 are never the identity, which the text leaves out.
    if (chance(2)) operand.map.push_back(1);
    while (!operand.map.empty() && chance(2)) operand.map.push_back(static_cast<int8_t>(below(5)));
    return operand;
  }

  void ops(Builder& b, int depth) {
    for (int i = below(8); i > 0; --i) op(b, depth);
  }

  void op(Builder& b, int depth) {
    Op op;
    op.kind = static_cast<OpKind>(below(static_cast<int>(OpKind::yield) + 1));
    if (depth > 3 && op.kind >= OpKind::for_tile && op.kind <= OpKind::if_else) op.kind = OpKind::exp;
    const bool loop = op.kind == OpKind::for_tile || op.kind == OpKind::for_grid;
    int operands = below(4);
    int results = below(3);
    if (op.kind == OpKind::constant) operands = 0, results = 1;
    if (op.kind == OpKind::tile_index || op.kind == OpKind::permute || op.kind == OpKind::reduce) operands = 1;
    if (op.kind == OpKind::for_tile) operands += 2;
    if (op.kind == OpKind::for_grid) operands += 3;
    if (op.kind == OpKind::load || op.kind == OpKind::store) op.masked = chance(2), operands += 2;
    // With neither operands nor results an op would run into the next one's first result.
    if (results == 0 && operands == 0) operands = 1;
    for (int i = 0; i < operands; ++i) op.operands.push_back(operand(b));
    if (op.kind == OpKind::store) op.operands[0].map.clear();
    if (op.kind == OpKind::reduce) op.reduce = static_cast<ReduceKind>(below(8)), op.axis = below(6) - 1;
    if (op.kind == OpKind::permute) op.ints.assign(static_cast<size_t>(below(4)), below(4));
    op.block = below(5);
    op.tensor = below(5);
    op.regions.resize(loop ? 1 : op.kind == OpKind::if_else ? 2 : 0);
    for (Region& region : op.regions) {
      for (int i = loop ? below(3) : 0; i > 0; --i) region.args.push_back(b.add_value(type(), name()));
      b.open(region);
      ops(b, depth + 1);
      b.close();
    }
    std::vector<Type> types;
    for (int i = 0; i < results; ++i) types.push_back(type());
    if (op.kind == OpKind::constant) op.literal = literal(types[0].dtype);
    b.append(std::move(op), types);
  }

  std::mt19937 random_;
  int blocks_ = 0;
  const std::vector<Block>* sizes_ = nullptr;
};

void expect_same_ops(const Launch& la, const Region& a, const Region& b) {
  ASSERT_EQ(a.args, b.args);
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < a.ops.size(); ++i) {
    const Op& x = a.ops[i];
    const Op& y = b.ops[i];
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.operands, y.operands);
    EXPECT_EQ(x.results, y.results);
    EXPECT_EQ(x.ints, y.ints);
    EXPECT_EQ(x.masked, y.masked);
    if (x.kind == OpKind::reduce) {
      EXPECT_TRUE(x.reduce == y.reduce && x.axis == y.axis);
    }
    if (x.kind == OpKind::load || x.kind == OpKind::store) {
      EXPECT_EQ(x.tensor, y.tensor);
    }
    if (x.kind == OpKind::tile_index || x.kind == OpKind::for_tile) {
      EXPECT_EQ(x.block, y.block);
    }
    if (x.kind == OpKind::constant) {
      const bool floating = is_floating(la.type(x.results[0]).dtype);
      const bool both_nan = std::isnan(x.literal.f) && std::isnan(y.literal.f);
      const bool same = std::bit_cast<uint64_t>(x.literal.f) == std::bit_cast<uint64_t>(y.literal.f);
      EXPECT_TRUE(floating ? same || both_nan : x.literal.i == y.literal.i);
    }
    ASSERT_EQ(x.regions.size(), y.regions.size());
    for (size_t r = 0; r < x.regions.size(); ++r) expect_same_ops(la, x.regions[r], y.regions[r]);
  }
}

uint32_t first_seed() {
  const uint32_t seed = std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

TEST(Parse, RandomProgramsRoundTrip) {
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed != first + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program p = RandomProgram(seed).make();
    const std::string text = print(p);
    const Program q = parsed(text);
    ASSERT_EQ(print(q), text);
    ASSERT_EQ(p.steps.size(), q.steps.size());
    for (size_t i = 0; i < p.steps.size(); ++i) {
      expect_same_ops(p.steps[i].launch, p.steps[i].launch.body, q.steps[i].launch.body);
    }
    (void)verify(q);  // must return, whatever it says
    if (HasFailure()) return;
  }
}

// What a slip of the pen or a cut file makes of good text: an error or a program, never a crash.
TEST(Parse, DamagedTextIsRefusedOrRead) {
  const uint32_t seed = first_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = structured_text();
    for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, "%@[]{}0123456789b,.-\"\\"[random() % 22]);
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    const Result<Program> program = parse(std::make_shared<diag::Source>("damaged.ir", text));
    if (!program.ok()) {
      ++refused;
      EXPECT_EQ(program.error().code, Code::ir_syntax);
      EXPECT_TRUE(program.error().span);
      continue;
    }
    (void)verify(program.value());
    const std::string again = print(program.value());
    EXPECT_EQ(print(parsed(again)), again);
    if (::testing::Test::HasFailure()) FAIL() << text;
  }
  EXPECT_GT(refused, 500);
}

struct Refusal {
  std::string_view from;  ///< replaced in the structured sample
  std::string_view to;
  std::string_view message;
  std::string_view place;  ///< the text under the caret
};

TEST(Parse, SaysWhatIsNeededAndWhere) {
  const Refusal refusals[] = {
      {"program \"all\"", "program all", "expected a string in double quotes, found `all`", "all"},
      {"index=i32", "index=int", "expected a dtype such as f32, found `int`", "int"},
      {"block b1", "block b2", "expected `b1`, found `b2`: ids are declared in order", "b2"},
      {"size=4", "size=4.5", "expected a whole number in 64 bits, found `4.5`", "4.5"},
      {"size=4", "size=99999999999999999999", "expected a whole number in 64 bits, found `99999999999999999999`",
       "99999999999999999999"},
      {"param 0", "argument 0", "expected `alloc`, found `argument`", "argument"},
      {"fill t1 -inf", "fill t9 0", "tensor t9 is not declared above", "t9"},
      {"fill t1 -inf", "fill t2 0.5", "expected a whole number in 64 bits, found `0.5`", "0.5"},
      {": i32[b0]", ": i32[b7]", "block b7 is not declared above", "b7"},
      {"= copy", "= kopy", "expected an operation, found `kopy`", "kopy"},
      {"reduce sum", "reduce mean", "expected a reduction such as sum, found `mean`", "mean"},
      {"constant 20", "constant 0.5", "expected a constant of i64, found `0.5`", "0.5"},
      {"constant 0.5", "constant \"0.5\"", "expected a constant of f32, found `0.5`", "\"0.5\""},
      {"%3@0", "%3@300", "300 is not between -128 and 127", "300"},
      {"%3 = load", "%9999999 = load", "value %9999999 has too large a number", "%9999999"},
      {"\"m.begin\"", "\"m.begin", "a string without its closing quote", ""},
      {"\"m.begin\"", "\"m\\qbegin\"", "an unknown escape in a string; \\\", \\\\ and \\xNN are known", ""},
      {"return t1", "return t1 t1", "expected the end of the text, found `t1`", "t1"},
      {"return t1, none, 0.1, nan", "", "expected `launch`, `fill` or `return`, found the end of the text", ""},
  };
  for (const Refusal& refusal : refusals) {
    std::string text = structured_text();
    const size_t at = text.find(refusal.from);
    ASSERT_NE(at, std::string::npos) << refusal.from;
    text.replace(at, refusal.from.size(), refusal.to);
    const Result<Program> program = parse(std::make_shared<diag::Source>("test.ir", text));
    ASSERT_FALSE(program.ok()) << refusal.to;
    const Diagnostic& error = program.error();
    EXPECT_EQ(error.code, Code::ir_syntax);
    EXPECT_EQ(error.message, refusal.message);
    ASSERT_TRUE(error.span);
    if (!refusal.place.empty()) {
      EXPECT_EQ(text.substr(error.span.begin, error.span.end - error.span.begin), refusal.place);
    }
  }
}

TEST(Parse, DepthIsLimited) {
  std::string text = "program \"deep\" index=i32\nlaunch \"deep\" { body() { %0 = constant 1 : bool\n";
  for (int i = 0; i < 20000; ++i) text += "if_else %0 {\n";
  const Result<Program> program = parse(std::make_shared<diag::Source>("deep.ir", text));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, "regions are nested deeper than 100");
}

}  // namespace
}  // namespace hc::ir
