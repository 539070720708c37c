// The build cache and the loader, with the compiler of this machine: hits, errors, time limits, racing builders, calls.
#include "runtime/toolchain.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/subprocess.h"

namespace hc::runtime {
namespace {

constexpr double kLimit_s = 60;

class ToolchainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = find_toolchain();
    ASSERT_TRUE(found.ok()) << diag::render(found.error());
    toolchain_ = found.value();
    folder_ = make_temp_folder("hc-toolchain-");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::string> build(const std::string& source, double limit_s = kLimit_s) {
    return build_shared_object(toolchain_, source, headers_, folder_, limit_s);
  }
  int files_named(const std::string& part) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      count += entry.path().string().find(part) != std::string::npos;
    return count;
  }

  Toolchain toolchain_;
  std::vector<Header> headers_ = {{"hc/four.h", "// Four.\n#define FOUR 4\n"}};
  std::string folder_;
};

constexpr const char* kDouble = R"(#include "hc/four.h"
extern "C" void hc_call(void* const* storages) {
  float* x = static_cast<float*>(storages[0]);
#pragma omp parallel for
  for (int i = 0; i < FOUR; ++i) x[i] *= 2;
}
)";

TEST_F(ToolchainTest, BuildsLoadsAndCalls) {
  const auto object = build(kDouble);
  ASSERT_TRUE(object.ok()) << diag::render(object.error());
  EXPECT_TRUE(object.value().starts_with('/'));
  Manifest manifest;
  manifest.shared_object = object.value();
  for (int round = 0; round < 3; ++round) {
    const auto kernel = LoadedKernel::load(manifest);
    ASSERT_TRUE(kernel.ok()) << diag::render(kernel.error());
    float x[4] = {1, 2, 3, 4};
    void* storages[] = {x};
    kernel.value()->call(storages);
    EXPECT_EQ(x[0], 2);
    EXPECT_EQ(x[3], 8);
  }
}

TEST_F(ToolchainTest, TheSameTextIsALookUp) {
  const auto first = build(kDouble);
  ASSERT_TRUE(first.ok()) << diag::render(first.error());
  const auto written = std::filesystem::last_write_time(first.value());
  const double start = monotonic_s();
  const auto second = build(kDouble);
  EXPECT_LT(monotonic_s() - start, 0.05);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first.value(), second.value());
  EXPECT_EQ(std::filesystem::last_write_time(first.value()), written);
  // Anything that the code depends on changes the name: text, header, flags.
  headers_[0].text += "// changed\n";
  const auto header = build(kDouble);
  ASSERT_TRUE(header.ok());
  EXPECT_NE(header.value(), first.value());
  toolchain_.flags.push_back("-O1");
  const auto flags = build(kDouble);
  ASSERT_TRUE(flags.ok());
  EXPECT_NE(flags.value(), header.value());
  EXPECT_EQ(files_named(".tmp"), 0);
}

TEST_F(ToolchainTest, ErrorsCarryTheCompilersWords) {
  const auto object = build("extern \"C\" void hc_call(void* const*) { not_a_name(); }\n");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::compile_failed);
  ASSERT_EQ(object.error().notes.size(), 1u);
  EXPECT_NE(object.error().notes[0].message.find("not_a_name"), std::string::npos) << diag::render(object.error());
  EXPECT_EQ(files_named(".so"), 0);
  std::string many = "void f() {\n";
  for (int i = 0; i < 300; ++i) many += "  unknown_" + std::to_string(i) + "();\n";
  const auto long_words = build(many + "}\n");
  ASSERT_FALSE(long_words.ok());
  const std::string& note = long_words.error().notes[0].message;
  EXPECT_LE(std::count(note.begin(), note.end(), '\n'), 41);
  EXPECT_GE(std::count(note.begin(), note.end(), '\n'), 30);
}

TEST_F(ToolchainTest, ACompilerThatHangsIsKilled) {
  const std::string script = join_path(folder_, "slow");
  ASSERT_EQ(write_file_atomic(script, "#!/bin/sh\nsleep 30\n"), "");
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  toolchain_.path = script;
  const double start = monotonic_s();
  const auto object = build(kDouble, 0.3);
  EXPECT_LT(monotonic_s() - start, 5);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::compile_failed);
  EXPECT_NE(object.error().message.find("0.3 s"), std::string::npos) << object.error().message;
}

TEST_F(ToolchainTest, RacingBuildersAgree) {
  std::vector<std::thread> threads;
  std::vector<std::string> paths(6);
  for (size_t i = 0; i < paths.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto object = build(kDouble);
      if (object.ok()) paths[i] = object.value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& path : paths) EXPECT_EQ(path, paths[0]);
  EXPECT_TRUE(file_exists(paths[0]));
  EXPECT_EQ(files_named(".tmp"), 0);
}

TEST_F(ToolchainTest, AFolderThatCannotBeWritten) {
  const std::string file = join_path(folder_, "file");
  ASSERT_EQ(write_file_atomic(file, "x"), "");
  const auto object = build_shared_object(toolchain_, kDouble, headers_, join_path(file, "cache"), kLimit_s);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::file_error);
}

TEST_F(ToolchainTest, LoadingWhatIsNotThere) {
  Manifest manifest;
  manifest.shared_object = join_path(folder_, "none.so");
  EXPECT_FALSE(LoadedKernel::load(manifest).ok());
  const auto object = build(kDouble);
  ASSERT_TRUE(object.ok());
  manifest.shared_object = object.value();
  manifest.entry = "another";
  const auto kernel = LoadedKernel::load(manifest);
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().message.find("`another`"), std::string::npos);
}

TEST(FindToolchain, HonoursCxx) {
  const char* before = ::getenv("CXX");
  const std::string kept = before ? before : "";
  ::setenv("CXX", "no-such-compiler", 1);
  const auto missing = find_toolchain();
  EXPECT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_available);
  ::setenv("CXX", "env c++", 1);
  const auto wrapped = find_toolchain();
  ASSERT_TRUE(wrapped.ok()) << diag::render(wrapped.error());
  EXPECT_EQ(wrapped.value().path, "env");
  EXPECT_EQ(wrapped.value().flags[0], "c++");
  EXPECT_FALSE(wrapped.value().version.empty());
  if (before)
    ::setenv("CXX", kept.c_str(), 1);
  else
    ::unsetenv("CXX");
}

}  // namespace
}  // namespace hc::runtime
