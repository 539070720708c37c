// Taking recipes apart.
#include "cli/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"

namespace hc::cli {
namespace {

contract::TaskBaseline recipe(std::vector<std::pair<std::string, std::string>> keys) {
  contract::TaskBaseline out;
  out.name = "theirs";
  out.worker = {"worker"};
  out.recipe = std::move(keys);
  return out;
}

target::Target machine(int cores, int vector_bytes) {
  target::Target out;
  out.cores = cores;
  out.vector_bytes = vector_bytes;
  return out;
}

std::vector<std::string> texts(const contract::TaskBaseline& baseline, const tune::Contender& whole,
                               const std::vector<std::string>& sets = {}, int cores = 1) {
  const auto changes = recipe_changes(baseline, whole, machine(cores, 32), {"/a.so", "/b.so"}, sets);
  EXPECT_TRUE(changes.ok()) << changes.error().message;
  std::vector<std::string> out;
  for (const RecipeChange& change : changes.value()) out.push_back(change.text);
  return out;
}

TEST(Recipe, EveryKeyThatSaysHowIsLeftOutOnceAndWhatIsComputedStays) {
  const contract::TaskBaseline baseline = recipe({{"operation", "\"softmax\""},
                                                  {"source", "\"a.cc\""},
                                                  {"algorithm", "\"online\""},
                                                  {"options", R"({"compile":true,"warps":4})"}});
  EXPECT_EQ(texts(baseline, {}),
            (std::vector<std::string>{"algorithm: \"online\" -> left out", "options.compile: true -> left out",
                                      "options.warps: 4 -> left out"}));
  const auto changes = recipe_changes(baseline, {}, machine(1, 32), {}, {}).value();
  EXPECT_EQ(changes[0].recipe.key("algorithm"), "");
  EXPECT_EQ(changes[0].recipe.key("operation"), "softmax");
  EXPECT_EQ(changes[1].recipe.key("options"), R"({"warps":4})");
  EXPECT_EQ(changes[2].recipe.key("options"), R"({"compile":true})");
}

TEST(Recipe, AConfigThatATunerFoundIsTakenApartToo) {
  tune::Contender whole;
  whole.prepare.config = R"({"block":128,"stages":3})";
  EXPECT_EQ(texts(recipe({}), whole),
            (std::vector<std::string>{"config.block: 128 -> left out", "config.stages: 3 -> left out"}));
  const auto changes = recipe_changes(recipe({}), whole, machine(1, 32), {}, {}).value();
  tune::Contender changed = whole;
  apply_change(changes[0], &changed);
  EXPECT_EQ(changed.prepare.config, R"({"stages":3})");
  EXPECT_EQ(parse_json(changed.arm.config).value()["config"]["stages"], 3);
}

TEST(Recipe, ThreadsInstructionSetsAndOtherLibrariesOfOneDnn) {
  tune::Contender whole;
  whole.prepare.implementation = "onednn";
  whole.prepare.library = "/a.so";
  const std::vector<std::string> found = texts(recipe({{"operation", "\"softmax\""}}), whole, {}, 2);
  EXPECT_NE(std::find(found.begin(), found.end(), "library: /a.so -> /b.so"), found.end());
  EXPECT_EQ(found.back(), "threads: all -> 1");
#if defined(__x86_64__)
  EXPECT_EQ(found.front(), "instruction set: the widest -> SSE41") << "no cap above what the machine has";
#endif
  whole.prepare.threads = 1;
  EXPECT_NE(texts(recipe({}), whole, {}, 2).back(), "threads: all -> 1") << "that is no change";
}

TEST(Recipe, TypedChangesAreAppliedAndRecorded) {
  tune::Contender whole;
  whole.argv = {"prog", "worker"};
  whole.arm.config = R"({"operation":"softmax"})";
  whole.prepare.config = R"({"block":128,"stages":3})";
  const auto changes =
      recipe_changes(recipe({{"operation", "\"softmax\""}}), whole, machine(1, 32), {},
                     {"env.OMP_PROC_BIND=true", "threads=3", "options.warps=8", "algorithm=online", "config.block=64"});
  ASSERT_TRUE(changes.ok()) << changes.error().message;
  ASSERT_GE(changes.value().size(), 4u);
  tune::Contender one = whole;
  apply_change(changes.value()[0], &one);
  EXPECT_EQ(one.argv, (std::vector<std::string>{"env", "OMP_PROC_BIND=true", "prog", "worker"}));
  EXPECT_EQ(parse_json(one.arm.config).value()["env"][0], "OMP_PROC_BIND=true");
  EXPECT_FALSE(one.arm.source_sha256.empty());
  one = whole;
  apply_change(changes.value()[1], &one);
  EXPECT_EQ(one.prepare.threads, 3);
  EXPECT_EQ(parse_json(one.arm.config).value()["threads"], 3);
  EXPECT_EQ(changes.value()[2].recipe.key("options"), R"({"warps":8})");
  EXPECT_EQ(changes.value()[3].recipe.key("algorithm"), "online");
  EXPECT_EQ(changes.value()[4].config, R"({"block":64,"stages":3})");
}

TEST(Recipe, WhatIsNoChangeIsAUsageError) {
  for (const char* set : {"nonsense", "=3", "env.=1", "threads=0", "threads=many", "operation=layer_norm"}) {
    const auto changes = recipe_changes(recipe({}), {}, machine(1, 32), {}, {set});
    ASSERT_FALSE(changes.ok()) << set;
    EXPECT_EQ(changes.error().code, Code::usage) << set;
  }
}

}  // namespace
}  // namespace hc::cli
