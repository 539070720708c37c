// A throw-away repository for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "contract/git.h"

namespace hc::contract::testing {

/// A repository on branch `main` with one commit, tagged `start`; the work goes on a branch `work`.
class GitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("git");
    top_ = join_path(folder_, "repo");
    ASSERT_EQ(make_folders(top_), "");
    git({"init", "-q", "-b", "main"});
    git({"config", "user.name", "Test"});
    git({"config", "user.email", "test@example.com"});
    commit("start", {{"src/a.cc", "a\n"}, {"README.md", "read me\n"}, {".gitignore", "artifacts/\n"}});
    git({"tag", "start"});
    git({"checkout", "-q", "-b", "work"});
  }
  void TearDown() override {
    run_process({"chmod", "-R", "u+w", folder_}, 10);
    std::filesystem::remove_all(folder_);
  }

  std::string git(const std::vector<std::string>& args) {
    std::vector<std::string> argv{"git", "-C", top_};
    argv.insert(argv.end(), args.begin(), args.end());
    const RunOutcome outcome = run_process(argv, 30, {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"});
    EXPECT_TRUE(outcome.ok()) << args[0] << ": " << outcome.err << outcome.failure;
    return outcome.out;
  }
  void write(const std::string& path, const std::string& text) {
    const std::string whole = join_path(top_, path);
    ASSERT_EQ(make_folders(std::filesystem::path(whole).parent_path().string()), "");
    ASSERT_EQ(write_file_atomic(whole, text), "");
  }
  void commit(const std::string& message, const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [path, text] : files) write(path, text);
    git({"add", "-A"});
    git({"commit", "-q", "-m", message});
  }
  Git open() { return Git::open(top_).value(); }

  std::string folder_, top_;
};

}  // namespace hc::contract::testing
