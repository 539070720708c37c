// Lowering on whole programs: golden kernel IR and C++ for two of them, legality and text for all under many configs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "backend/cpu/cpu.h"
#include "base/files.h"

namespace hc::backend::cpu {
namespace {

const std::string kRoot = HC_SOURCE_DIR;

/// A machine that does not depend on this one.
target::Target machine() {
  target::Target out;
  out.name = "a machine with 64-byte vectors";
  out.cores = 2;
  out.vector_bytes = 64;
  return out;
}

ir::Program read_program(const std::string& path) {
  const auto text = read_file(path);
  EXPECT_TRUE(text) << path;
  auto program = ir::parse(std::make_shared<diag::Source>(path, text.value_or("")));
  EXPECT_TRUE(program) << diag::render(program.error());
  return std::move(program).value();
}

std::vector<std::string> program_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/test/programs")) {
    if (entry.path().extension() == ".ir") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void expect_golden(const std::string& path, const std::string& text) {
  if (std::getenv("UPDATE")) {
    ASSERT_EQ(make_folders(path.substr(0, path.rfind('/'))), "");
    ASSERT_EQ(write_file_atomic(path, text), "");
  }
  EXPECT_EQ(text, read_file(path).value_or("missing")) << path << "\nUPDATE=1 rewrites the golden files";
}

TEST(Lower, GoldenTexts) {
  for (const std::string name : {"softmax_two_pass", "layer_norm_fwd"}) {
    const ir::Program program = read_program(kRoot + "/test/programs/" + name + ".ir");
    knob::Config config;
    config.set("unroll", "2");
    const auto lowered = lower(program, config, machine());
    ASSERT_TRUE(lowered) << diag::render(lowered.error());
    expect_golden(kRoot + "/test/golden/kernel/" + name + ".txt", ir::print(lowered.value()));
    expect_golden(kRoot + "/test/golden/cpp/" + name + ".cc", print(lowered.value(), machine()));
  }
}

TEST(Lower, EveryProgramUnderManyConfigs) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  for (const std::string& path : program_files()) {
    const ir::Program program = read_program(path);
    const std::vector<knob::Choice> all = choices(program, machine());
    for (int round = 0; round < 20; ++round) {
      knob::Config config;
      for (const knob::Choice& choice : all) config.set(choice.key, choice.values[random() % choice.values.size()]);
      const auto lowered = lower(program, config, machine());
      ASSERT_TRUE(lowered) << path << "\n" << knob::to_text(config) << "\n" << diag::render(lowered.error());
      const std::string text = ir::print(lowered.value());
      const auto again = ir::parse_kernel(std::make_shared<diag::Source>("kernel.txt", text));
      ASSERT_TRUE(again) << text << diag::render(again.error());
      EXPECT_EQ(ir::print(again.value()), text) << path << ", seed " << kSeed;
    }
  }
}

TEST(Lower, CrossEntropySweepsTwiceAndKeepsNothing) {
  // The maximum, then the exponentials' sum: nothing else may run over a row, and nothing is kept for later. The third
  // sweep is the mean of the losses.
  const ir::Program program = read_program(kRoot + "/test/programs/cross_entropy.ir");
  const auto lowered = lower(program, {}, machine());
  ASSERT_TRUE(lowered) << diag::render(lowered.error());
  const std::string text = ir::print(lowered.value());
  size_t sweeps = 0;
  for (size_t at = text.find("loop vector"); at != std::string::npos; at = text.find("loop vector", at + 1)) ++sweeps;
  EXPECT_EQ(sweeps, 3u) << text;
  EXPECT_EQ(text.find("local"), std::string::npos) << text;
}

TEST(Knobs, ComeFromTheTable) {
  for (const std::string& path : program_files()) {
    const ir::Program program = read_program(path);
    for (const knob::Choice& choice : choices(program, machine())) {
      ASSERT_NE(knob::find_row(choice.name), nullptr) << choice.name;
      EXPECT_NE(std::find(choice.values.begin(), choice.values.end(), choice.default_value), choice.values.end())
          << choice.key;
    }
    for (const knob::Config& seed : seeds(program, machine())) {
      EXPECT_TRUE(lower(program, seed, machine())) << knob::to_text(seed);
    }
  }
}

TEST(Knobs, WrongValuesAreRefused) {
  const ir::Program program = read_program(kRoot + "/test/programs/softmax_two_pass.ir");
  knob::Config config;
  config.set("unroll", "3");
  const auto lowered = lower(program, config, machine());
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, Code::invalid_config);
}

constexpr const char* kSquare = R"(program "square" index=i32
block b0 "tile" size=4 min=1 max=8 extent=8
storage s0 "x" f32 64 param 0
tensor t0 "x" s0 f32[8, 8] strides[8, 1] offset=0
mutated s0
launch "square" {
  axis "tile" b0 0..8 step 4
  body(%0: i64) {
    %1 = arange : i32[8]
    %2 = tile_index %0 b0 : i32[b0]
    %3 = load t0[%2@0, %1@1] : f32[b0, 8]
    %4 = reduce sum %3 axis=0 : f32[8]
    %5 = copy %4@0 : f32[8, 8]
    %6 = copy %4@1 : f32[8, 8]
    %7 = mul %5, %6 : f32[8, 8]
    %8 = reduce sum %7 axis=0 : f32[8]
    store t0[%0, %1], %8
  }
}
return t0
)";

TEST(Lower, OneAxisAsTwoDimensionsIsRefused) {
  const auto program = ir::parse(std::make_shared<diag::Source>("square.ir", kSquare));
  ASSERT_TRUE(program) << diag::render(program.error());
  const auto lowered = lower(program.value(), {}, machine());
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, Code::backend_unsupported);
}

TEST(Knobs, ATensorThatIsReadAgainIsNotStreamed) {
  const auto program = ir::parse(std::make_shared<diag::Source>("square.ir", kSquare));
  ASSERT_TRUE(program);
  for (const knob::Choice& choice : choices(program.value(), machine())) EXPECT_NE(choice.name, "store");
}

}  // namespace
}  // namespace hc::backend::cpu
