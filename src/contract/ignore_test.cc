// The ignore rule for artifacts in a real repository.
#include "contract/ignore.h"

#include <gtest/gtest.h>

#include "contract/git_fixture.h"

namespace hc::contract {
namespace {

class IgnoreTest : public testing::GitTest {};

TEST_F(IgnoreTest, AnIgnoredFolderIsLeftAlone) {
  EXPECT_EQ(ignore_artifacts(join_path(top_, "artifacts")).value(), "");
  EXPECT_EQ(git({"status", "--porcelain"}), "");
}

TEST_F(IgnoreTest, AMissingRuleIsAddedOnceAndKeepsWhatIsThere) {
  write(".gitignore", "*.o");
  EXPECT_EQ(ignore_artifacts(join_path(top_, "artifacts")).value(), join_path(top_, ".gitignore"));
  EXPECT_EQ(ignore_artifacts(join_path(top_, "artifacts")).value(), "");
  EXPECT_EQ(read_file(join_path(top_, ".gitignore")), "*.o\n/artifacts/\n");
  write("artifacts/goal.json", "{}");
  EXPECT_EQ(git({"status", "--porcelain"}), " M .gitignore\n");
}

TEST_F(IgnoreTest, AFolderFurtherDownIsNamedByItsPath) {
  write(".gitignore", "");
  write("deep/er/a", "a");
  EXPECT_NE(ignore_artifacts(join_path(top_, "deep/er/evidence")).value(), "");
  EXPECT_EQ(read_file(join_path(top_, ".gitignore")), "/deep/er/evidence/\n");
}

TEST_F(IgnoreTest, OutsideOfAnyRepositoryNothingHappens) {
  EXPECT_EQ(ignore_artifacts(join_path(folder_, "artifacts")).value(), "");
  EXPECT_FALSE(file_exists(join_path(folder_, ".gitignore")));
}

}  // namespace
}  // namespace hc::contract
