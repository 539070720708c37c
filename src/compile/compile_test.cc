// The pipeline from a kernel's text to source: what can be chosen, what is refused, which stages can be read.
#include "compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hc::compile {
namespace {

constexpr const char* kText = R"(import torch
import helion
import helion.language as hl


@helion.kernel()
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile_n in hl.tile(rows):
        out[tile_n, :] = x[tile_n, :] * factor
    return out
)";

Request make_request(int64_t rows, int64_t columns) {
  Request request;
  request.module = lang::parse_text("scaled.py", kText).value();
  request.kernel = "scaled";
  request.args = {TensorSpec{DType::f32, {rows, columns}, {}, {}}, 2.5};
  return request;
}

TEST(Space, HasTheBlocksOfTheSourceByNameAndTheBackendsKnobs) {
  const auto found = space(make_request(100, 64), target::host());
  ASSERT_TRUE(found.ok()) << found.error().message;
  const knob::Choice* block = found.value().find("block_size[tile_n]");
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->values.front(), "1");
  EXPECT_EQ(block->values.back(), "128") << "the first size that covers the extent is the last that differs";
  for (const knob::Choice& choice : found.value().choices) {
    EXPECT_NE(std::find(choice.values.begin(), choice.values.end(), choice.default_value), choice.values.end())
        << choice.key << " has the default " << choice.default_value;
    EXPECT_NE(knob::find_row(choice.name), nullptr) << choice.name;
  }
  EXPECT_NE(found.value().find("threads"), nullptr);
}

TEST(Space, EverySeedIsLegal) {
  const Request request = make_request(100, 64);
  const auto found = seeds(request, target::host());
  ASSERT_TRUE(found.ok());
  for (const knob::Config& seed : found.value()) {
    const auto compiled = compile(request, seed, target::host());
    EXPECT_TRUE(compiled.ok()) << knob::to_text(seed) << ": " << compiled.error().message;
  }
}

TEST(Compile, UsesTheConfigAndFillsInTheRest) {
  knob::Config config;
  config.set("block_size[tile_n]", "4");
  const Request request = make_request(100, 64);
  const auto compiled = compile(request, config, target::host());
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  ASSERT_EQ(compiled.value().program.blocks.size(), 1U);
  EXPECT_EQ(compiled.value().program.blocks[0].size, 4);
  EXPECT_EQ(compiled.value().config.values().size(), space(request, target::host()).value().choices.size());
  EXPECT_NE(compiled.value().source.find("hc_call"), std::string::npos);
  const auto again = compile(request, config, target::host());
  EXPECT_EQ(again.value().source, compiled.value().source) << "the same config, the same text";
}

TEST(Compile, RefusesWhatTheKernelDoesNotHave) {
  knob::Config config;
  config.set("block_size[tile_m]", "4");
  const auto unknown = compile(make_request(100, 64), config, target::host());
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::invalid_config);
  EXPECT_NE(unknown.error().help.find("block_size[tile_n]"), std::string::npos) << unknown.error().help;
  knob::Config odd;
  odd.set("block_size[tile_n]", "3");
  EXPECT_FALSE(compile(make_request(100, 64), odd, target::host()).ok());
}

TEST(Stages, UpToTheOneAskedFor) {
  const Request request = make_request(8, 64);
  const auto names = [](const std::vector<Stage>& list) {
    std::vector<std::string> out;
    for (const Stage& stage : list) out.push_back(stage.name);
    return out;
  };
  const auto all = stages(request, {}, target::host(), "");
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(names(all.value()), stage_names());
  for (const Stage& stage : all.value()) EXPECT_FALSE(stage.text.empty()) << stage.name;
  for (const std::string& last : stage_names()) {
    const auto some = stages(request, {}, target::host(), last);
    ASSERT_TRUE(some.ok());
    EXPECT_EQ(some.value().back().name, last);
  }
}

TEST(Headers, AreThere) {
  const std::vector<Header> found = headers();
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Header& h) { return h.name == "hc/vector.h"; }));
}

}  // namespace
}  // namespace hc::compile
