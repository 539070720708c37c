// Scope of a change, and the frozen tree.
#include "contract/scope.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/hash.h"
#include "contract/git_fixture.h"
#include "contract/snapshot.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;

TEST(PathFits, PatternsAreAsWritten) {
  struct Row {
    const char *pattern, *path;
    bool fits;
  };
  const Row rows[] = {
      {"src", "src/a.cc", true},
      {"src/", "src/x/y.cc", true},
      {"src", "src2/a.cc", false},
      {"src/*.cc", "src/a.cc", true},
      {"src/*.cc", "src/x/a.cc", false},
      {"src/**/*.cc", "src/a.cc", true},
      {"src/**/*.cc", "src/x/y/a.cc", true},
      {"**/cute/**", "helion/_compiler/cute/x.py", true},
      {"**", "anything/at/all", true},
      {"*.md", "README.md", true},
      {"*.md", "docs/README.md", false},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"./src", "src/a.cc", true},
      {".", "x", true},
      {"", "x", false},
      {"src/a.cc", "src/a.cc", true},
      {"src/*", "src/x/deep.cc", true},
  };
  for (const Row& row : rows) EXPECT_EQ(path_fits(row.pattern, row.path), row.fits) << row.pattern << " " << row.path;
}

class ScopeTest : public testing::GitTest {
 protected:
  ScopeReport check(const TaskScope& scope) { return check_scope(open(), scope, "start").value(); }
};

TEST_F(ScopeTest, EveryWayOfChangingIsSeen) {
  commit("committed", {{"src/new.cc", "x\n"}, {"other/committed.cc", "x\n"}});
  write("README.md", "edited\n");
  write("untracked.txt", "x\n");
  write("artifacts/raw.json", "{}");
  write("src/staged.cc", "x\n");
  git({"add", "src/staged.cc"});
  TaskScope scope;
  scope.allow = {"src"};
  const ScopeReport report = check(scope);
  EXPECT_EQ(report.outside, (std::vector<std::string>{"README.md", "other/committed.cc", "untracked.txt"}));
  EXPECT_FALSE(report.inside());
  EXPECT_NE(scope_text(report).find("not allowed: README.md"), std::string::npos);
}

TEST_F(ScopeTest, DenyIsStrongerThanAllow) {
  commit("c", {{"src/frontend/x.cc", "x\n"}, {"src/backend/x.cc", "x\n"}});
  TaskScope scope;
  scope.allow = {"src"};
  scope.deny = {"src/frontend"};
  EXPECT_EQ(check(scope).denied, (std::vector<std::string>{"src/frontend/x.cc"}));
  scope.deny = {};
  EXPECT_TRUE(check(scope).inside());
}

TEST_F(ScopeTest, AFileMovedOutOfItsFolderIsSeenAtBothPlaces) {
  git({"mv", "README.md", "src/README.md"});
  git({"commit", "-q", "-m", "move"});
  TaskScope scope;
  scope.allow = {"src"};
  EXPECT_EQ(check(scope).outside, (std::vector<std::string>{"README.md"}));
}

TEST_F(ScopeTest, AChangeTakenBackStaysInTheHistory) {
  commit("out", {{"README.md", "edited\n"}});
  commit("back", {{"README.md", "read me\n"}});
  TaskScope scope;
  scope.allow = {"src"};
  EXPECT_EQ(check(scope).outside, (std::vector<std::string>{"README.md"}));
}

TEST_F(ScopeTest, NamesWithSpacesAndLettersOfOtherTongues) {
  commit("odd", {{"other/a b.cc", "x"}, {"other/für.cc", "x"}});
  TaskScope scope;
  scope.allow = {"src"};
  EXPECT_EQ(check(scope).outside, (std::vector<std::string>{"other/a b.cc", "other/für.cc"}));
}

TEST_F(ScopeTest, AnUnknownBaseIsSaid) {
  EXPECT_FALSE(check_scope(open(), {}, "nothing").ok());
  EXPECT_FALSE(check_scope(open(), {}, "--version").ok());
  EXPECT_FALSE(Git::open(folder_).ok());
  commit("c", {{"src/b.cc", "x"}});
  EXPECT_EQ(check_scope(open(), {}, "").value().changed, (std::vector<std::string>{"src/b.cc"})) << "main is the base";
}

class SnapshotTest : public testing::GitTest {
 protected:
  std::string target() { return join_path(folder_, "frozen"); }
};

TEST_F(SnapshotTest, HoldsTheTreeAsItIsWithoutWhatIsIgnored) {
  write("src/a.cc", "edited\n");
  write("src/new.cc", "new\n");
  write("artifacts/raw.json", "{}");
  fs::remove(join_path(top_, "README.md"));
  fs::create_symlink("a.cc", join_path(top_, "src/link.cc"));
  const Snapshot snapshot = export_snapshot(open(), target()).value();
  EXPECT_TRUE(snapshot.dirty);
  EXPECT_EQ(snapshot.commit + "\n", git({"rev-parse", "HEAD"}));
  EXPECT_EQ(read_file(join_path(target(), "src/a.cc")), "edited\n");
  EXPECT_EQ(read_file(join_path(target(), "src/new.cc")), "new\n");
  EXPECT_FALSE(file_exists(join_path(target(), "artifacts/raw.json")));
  EXPECT_FALSE(file_exists(join_path(target(), "README.md")));
  EXPECT_TRUE(fs::is_symlink(join_path(target(), "src/link.cc")));
  EXPECT_TRUE(snapshot_changes(target()).value().empty());
  EXPECT_FALSE(export_snapshot(open(), target()).ok()) << "never over another one";
}

TEST_F(SnapshotTest, EditsAndCheckoutsOfTheTreeCannotReachIt) {
  commit("more", {{"src/b.cc", "b\n"}});
  const Snapshot snapshot = export_snapshot(open(), target()).value();
  write("src/b.cc", "edited while the run is live\n");
  git({"stash", "-q"});
  git({"checkout", "-q", "main"});
  EXPECT_EQ(read_file(join_path(target(), "src/b.cc")), "b\n");
  EXPECT_TRUE(snapshot_changes(target()).value().empty());
  EXPECT_EQ(read_snapshot(target()).value().sha256, snapshot.sha256);
  EXPECT_FALSE(snapshot.dirty);
}

TEST_F(SnapshotTest, WhateverReachedItIsNamed) {
  write("src/tool.sh", "#!/bin/sh\n");
  fs::permissions(join_path(top_, "src/tool.sh"), fs::perms::owner_all);
  ASSERT_TRUE(export_snapshot(open(), target()).ok());
  run_process({"chmod", "-R", "u+w", target()}, 10);
  ASSERT_EQ(write_file_atomic(join_path(target(), "src/a.cc"), "other\n"), "");
  ASSERT_EQ(write_file_atomic(join_path(target(), "src/more.cc"), "x\n"), "");
  fs::remove(join_path(target(), "README.md"));
  fs::permissions(join_path(target(), "src/tool.sh"), fs::perms::owner_read);
  fs::create_directory(join_path(target(), "src/__pycache__"));
  ASSERT_EQ(write_file_atomic(join_path(target(), "src/__pycache__/a.pyc"), "x"), "");
  EXPECT_EQ(snapshot_changes(target()).value(),
            (std::vector<std::string>{"README.md was removed", "src/a.cc was changed", "src/tool.sh was changed",
                                      "src/more.cc was added"}));
}

TEST_F(SnapshotTest, OnlyItsOwnModulesAndThoseOfPackagesMayBeLoaded) {
  commit("module", {{"lib/mine.py", "value = 1\n"}});
  ASSERT_TRUE(export_snapshot(open(), target()).ok());
  EXPECT_FALSE(FrozenTree::around(join_path(top_, "lib/mine.py")).value()) << "the checkout itself is none";
  const std::optional<FrozenTree> tree = FrozenTree::around(join_path(target(), "lib/task.toml")).value();
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->folder(), target());
  const std::string hash = sha256_hex("value = 1\n");
  EXPECT_EQ(tree->refusal(join_path(target(), "lib/mine.py"), hash), "");
  EXPECT_NE(tree->refusal(join_path(target(), "lib/mine.py"), sha256_hex("2")).find("not as it was exported"),
            std::string::npos);
  EXPECT_NE(tree->refusal(join_path(target(), "lib/new.py"), hash).find("was added"), std::string::npos);
  const std::string outside = tree->refusal(join_path(top_, "lib/mine.py"), hash);
  EXPECT_NE(outside.find("of the checkout " + top_), std::string::npos) << outside;
  fs::create_symlink(join_path(top_, "lib"), join_path(folder_, "link"));
  EXPECT_NE(tree->refusal(join_path(folder_, "link/mine.py"), hash), "") << "nor by another name";
  EXPECT_EQ(tree->refusal(join_path(folder_, "cache/generated.py"), hash), "") << "it is of no checkout";
  run_process({"chmod", "u+w", target() + ".manifest.json"}, 10);
  ASSERT_EQ(write_file_atomic(target() + ".manifest.json", "{}"), "");
  EXPECT_FALSE(FrozenTree::around(join_path(target(), "lib/task.toml")).ok());
}

TEST_F(SnapshotTest, EqualTreesHaveEqualHashes) {
  const std::string other = join_path(folder_, "frozen2");
  const std::string first = export_snapshot(open(), target()).value().sha256;
  EXPECT_EQ(export_snapshot(open(), other).value().sha256, first);
  write("src/a.cc", "b\n");
  EXPECT_NE(export_snapshot(open(), join_path(folder_, "frozen3")).value().sha256, first);
}

TEST_F(SnapshotTest, ADamagedManifestIsBroken) {
  ASSERT_TRUE(export_snapshot(open(), target()).ok());
  const std::string path = target() + ".manifest.json";
  std::string text = read_file(path).value();
  text.replace(text.find("src/a.cc"), 8, "src/z.cc");
  ASSERT_EQ(write_file_atomic(path, text), "");
  EXPECT_FALSE(snapshot_changes(target()).ok());
  EXPECT_FALSE(remove_snapshot(target()).ok()) << "only what is a snapshot is removed";
}

TEST_F(SnapshotTest, IsRemovedWhole) {
  ASSERT_TRUE(export_snapshot(open(), target()).ok());
  ASSERT_TRUE(remove_snapshot(target()).ok());
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_FALSE(fs::exists(target() + ".manifest.json"));
  EXPECT_FALSE(remove_snapshot(top_).ok());
  EXPECT_TRUE(fs::exists(top_));
}

}  // namespace
}  // namespace hc::contract
