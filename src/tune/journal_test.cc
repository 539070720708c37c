// Rounds come back from their journal, whatever was cut off behind the last whole one.
#include "tune/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "ledger/test_support.h"

namespace hc::tune {
namespace {

namespace fs = std::filesystem;

class Journals : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder("journal-test"); }
  void TearDown() override { fs::remove_all(folder_); }
  /// The journal of a measurement of `rounds` rounds.
  Journal write(int rounds) {
    Journal journal(folder_, "confirm-a", 7);
    const ledger::PairsArtifact whole = ledger::testing::fake_pairs({.pairs = rounds}, ledger::Purpose::confirm, 7);
    ledger::PairsArtifact so_far = whole;
    so_far.pairs.clear();
    for (const ledger::Pair& pair : whole.pairs) {
      so_far.pairs.push_back(pair);
      EXPECT_TRUE(journal.append(so_far).ok());
    }
    return journal;
  }
  std::string folder_;
};

TEST_F(Journals, GiveBackEveryRound) {
  const Journal journal = write(5);
  EXPECT_EQ(journals_in(folder_), std::vector<std::string>{journal.path()});
  const ledger::PairsArtifact whole = ledger::testing::fake_pairs({.pairs = 5}, ledger::Purpose::confirm, 7);
  EXPECT_EQ(ledger::to_json(read_journal(journal.path()).value()), ledger::to_json(whole));
  journal.remove();
  EXPECT_TRUE(journals_in(folder_).empty());
}

TEST_F(Journals, AreReadUpToATornLine) {
  const Journal journal = write(4);
  fs::resize_file(journal.path(), fs::file_size(journal.path()) - 20);
  EXPECT_EQ(read_journal(journal.path()).value().pairs.size(), 3U);
  fs::resize_file(journal.path(), 20);
  EXPECT_FALSE(read_journal(journal.path()).ok());
}

TEST_F(Journals, MarkedUnfinishedCountForNothing) {
  ledger::PairsArtifact a = ledger::testing::fake_pairs({.pairs = 2}, ledger::Purpose::confirm, 7);
  a.pairs[1].valid = false;
  a.pairs[1].rule = "canary";
  mark_unfinished(&a, "killed-", "run_killed", "the run was killed");
  EXPECT_EQ(a.name, "killed-confirm-a");
  EXPECT_EQ(a.pairs[0].rule, "run_killed");
  EXPECT_EQ(a.pairs[1].rule, "canary");
  EXPECT_TRUE(ledger::pair_times(a, "onednn").empty());
  EXPECT_EQ(ledger::fact(a.machine, "unfinished"), "the run was killed");
}

TEST_F(Journals, SayWhenTheyCannotBeWritten) {
  std::ofstream(join_path(folder_, "file")) << "in the way";
  const Journal journal(join_path(folder_, "file"), "confirm-a", 7);
  const Status status = journal.append(ledger::testing::fake_pairs({}, ledger::Purpose::confirm, 7));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::file_error);
}

}  // namespace
}  // namespace hc::tune
