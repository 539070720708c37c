// The two steps of an append at the anchor: killed or stopped between them, and lines that nobody announced.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "ledger/checker_fixture.h"
#include "ledger/ledger_line.h"

namespace hc::ledger {
namespace {

class AnchorTest : public CheckerTest {
 protected:
  void SetUp() override {
    CheckerTest::SetUp();
    testing::fake_goal(artifacts_, anchor_, {{"a", 1.05}});
    ASSERT_EQ(check().exit_code, kExitMet) << check().text;
  }
  std::string ledger_text() { return read_file(ledger_path(artifacts_)).value(); }
  Anchor anchor() { return read_anchor(anchor_).value(); }
  void write_anchor(const Anchor& anchor) { ASSERT_EQ(write_file_atomic(anchor_, anchor_text(anchor)), ""); }
  /// The line as a hand with an editor would append it: a chain that fits, and no word to the anchor.
  std::string forge(LedgerLine line) {
    const LedgerView view = read_ledger(artifacts_);
    line.seq = static_cast<int64_t>(view.lines.size());
    line.prev = view.head();
    line.time = utc_now();
    std::ofstream(ledger_path(artifacts_), std::ios::app) << line_text(line) << "\n";
    return sha256_hex(line_text(line));
  }
  std::string forge(const std::string& kind) {
    LedgerLine line;
    line.kind = kind;
    return forge(std::move(line));
  }
  size_t lines() { return read_ledger(artifacts_).lines.size(); }
  size_t lines_of(const std::string& kind) {
    size_t count = 0;
    for (const LedgerLine& line : read_ledger(artifacts_).lines) count += line.kind == kind;
    return count;
  }
  /// Whether opening succeeds in a process of its own whose files may not grow beyond `bytes`.
  bool open_with_room_for(size_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::_exit(Store::open(artifacts_, anchor_).ok() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  /// The outcome of one append in a process of its own whose files may not grow beyond `bytes`.
  bool append_with_room_for(size_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
      Store store = Store::open(artifacts_, anchor_).value();
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::_exit(store.run_open("r1", "tune", "a", "").ok() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_F(AnchorTest, NoForgedLineBeyondTheAnchorIsAcceptedWhateverItsKind) {
  Store live = Store::open(artifacts_, anchor_).value();
  const std::string good = ledger_text(), good_anchor = read_file(anchor_).value();
  const std::string lock = read_ledger(artifacts_).lines[0].object;
  for (const char* kind : {"run_open", "run_close", "object", "goal", "amend", "stale", "status", "archive", "lost",
                           "adopted", "caught_up", "log", "gate", "gate_giveup"}) {
    LedgerLine line;
    line.kind = kind;
    line.run = "r1";
    line.object = lock;
    line.variant = "a";
    line.note = "void";
    line.opens = 1;
    forge(line);
    const std::string forged = ledger_text();
    expect_broken(
        fmt::format("({}) lies beyond the anchor, which was told of no further line: it was not written by "
                    "hillclimb",
                    kind));
    const Result<Store> again = Store::open(artifacts_, anchor_);
    ASSERT_FALSE(again.ok()) << kind;
    EXPECT_EQ(again.error().code, Code::evidence_broken);
    EXPECT_EQ(ledger_text(), forged) << "no writer builds on it";
    EXPECT_EQ(read_file(anchor_), good_anchor);
    ASSERT_EQ(write_file_atomic(ledger_path(artifacts_), good), "");
  }
  forge("run_close");
  EXPECT_FALSE(live.run_open("r1", "tune", "a", "").ok()) << "a running writer refuses it as well";
  EXPECT_EQ(read_file(anchor_), good_anchor);
}

TEST_F(AnchorTest, AnotherLineThanTheAnnouncedOneIsNotAccepted) {
  Anchor told = anchor();
  told.next = std::string(64, 'a');
  write_anchor(told);
  EXPECT_EQ(check().exit_code, kExitMet) << "killed before the append: the announced line never came";
  forge("run_close");
  expect_broken("lies beyond the anchor, which was told of another line");
  EXPECT_FALSE(Store::open(artifacts_, anchor_).ok());
}

TEST_F(AnchorTest, KilledAfterTheAnnouncementCostsNothing) {
  Anchor told = anchor();
  const size_t before = lines();
  told.next = std::string(64, 'a');
  write_anchor(told);
  Store store = Store::open(artifacts_, anchor_).value();
  EXPECT_TRUE(store.repairs().empty());
  ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
  EXPECT_EQ(lines(), before + 1);
  EXPECT_EQ(anchor().count, static_cast<int64_t>(before) + 1);
  EXPECT_EQ(anchor().next, "");
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
}

TEST_F(AnchorTest, KilledAfterTheAppendIsCaughtUpWithANoteForEver) {
  Anchor told = anchor();
  told.next = forge("log");
  write_anchor(told);
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
  const size_t before = lines();
  Store store = Store::open(artifacts_, anchor_).value();
  ASSERT_EQ(store.repairs().size(), 1u);
  EXPECT_EQ(lines(), before + 1);
  EXPECT_EQ(lines_of("caught_up"), 1u);
  EXPECT_EQ(anchor().count, static_cast<int64_t>(before) + 1);
  EXPECT_NE(check().text.find("had not reached the anchor"), std::string::npos) << check().text;
  EXPECT_TRUE(Store::open(artifacts_, anchor_).value().repairs().empty()) << "once is enough";
}

TEST_F(AnchorTest, AnAnchorOfBeforeTheAnnouncementsIsReadAndAllowsNoFurtherLine) {
  const Anchor now = anchor();
  ASSERT_EQ(
      write_file_atomic(anchor_, fmt::format("{{\"schema\":\"hillclimb.anchor/1\",\"count\":{},\"head\":\"{}\"}}\n",
                                             now.count, now.head)),
      "");
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
  forge("log");
  expect_broken("was told of no further line");
}

TEST_F(AnchorTest, KilledAtAnyMomentTheEvidenceStaysWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Store> store = Store::open(artifacts_, anchor_);
      if (!store.ok()) ::_exit(1);
      for (;;) (void)store.value().run_open("r1", "tune", "a", "");
    }
    ::usleep(random() % 12000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ": the evidence was found broken";
    ASSERT_EQ(check().exit_code, kExitMet) << check().text;
  }
  Store store = Store::open(artifacts_, anchor_).value();
  EXPECT_EQ(anchor().count, static_cast<int64_t>(lines()));
}

TEST_F(AnchorTest, AFullDiskAtTheAnnouncementOrTheLineLeavesBothWhole) {
  const std::string before = ledger_text(), anchor_before = read_file(anchor_).value();
  EXPECT_FALSE(append_with_room_for(20));
  EXPECT_EQ(ledger_text(), before);
  EXPECT_EQ(read_file(anchor_), anchor_before) << "stopped at the announcement";
  EXPECT_FALSE(append_with_room_for(before.size() + 10));
  EXPECT_EQ(ledger_text(), before);
  EXPECT_NE(anchor().next, "") << "stopped at the line";
  EXPECT_EQ(anchor().count, static_cast<int64_t>(lines()));
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
  EXPECT_TRUE(append_with_room_for(before.size() + 1000));
  EXPECT_EQ(anchor().next, "");
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
}

TEST_F(AnchorTest, AFullDiskAtTheAnchorOfAWrittenLineIsCaughtUpByTheSameWriter) {
  Store store = Store::open(artifacts_, anchor_).value();
  Anchor told = anchor();
  ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
  told.next = read_ledger(artifacts_).head();
  write_anchor(told);
  ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
  EXPECT_EQ(lines_of("caught_up"), 1u);
  EXPECT_EQ(anchor().count, static_cast<int64_t>(lines()));
  EXPECT_EQ(check().exit_code, kExitMet) << check().text;
}

TEST_F(AnchorTest, LinesWithoutAnAnchorAreAdoptedWithANoteForEver) {
  const std::string note = fmt::format("{} ledger lines, head ", lines());
  ASSERT_EQ(::unlink(anchor_.c_str()), 0);
  EXPECT_NE(check().text.find("has no anchor here"), std::string::npos) << check().text;
  for (int i = 0; i < 2; ++i) {
    Store store = Store::open(artifacts_, anchor_).value();
    ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
    EXPECT_EQ(lines_of("adopted"), 1u);
    EXPECT_EQ(check().exit_code, kExitMet) << check().text;
    EXPECT_NE(check().text.find(note), std::string::npos) << check().text;
    EXPECT_NE(check().text.find("were adopted without an anchor"), std::string::npos) << check().text;
  }
}

TEST_F(AnchorTest, AnAdoptionThatFailedIsNotForgotten) {
  ASSERT_EQ(::unlink(anchor_.c_str()), 0);
  EXPECT_FALSE(open_with_room_for(ledger_text().size() + 10));
  EXPECT_FALSE(file_exists(anchor_)) << "nothing vouches for the lines before the note is written";
  (void)Store::open(artifacts_, anchor_).value();
  EXPECT_EQ(lines_of("adopted"), 1u);
}

TEST_F(AnchorTest, AnAnchorRemovedUnderARunningWriterIsSaidForEver) {
  Store live = Store::open(artifacts_, anchor_).value();
  ASSERT_EQ(::unlink(anchor_.c_str()), 0);
  forge("run_close");
  ASSERT_TRUE(live.run_open("r1", "tune", "a", "").ok());
  EXPECT_EQ(lines_of("adopted"), 1u);
}

TEST_F(AnchorTest, ASymlinkInPlaceOfTheFolderIsRefusedHoweverItIsWritten) {
  const std::string real = join_path(folder_, "real");
  ASSERT_EQ(::rename(artifacts_.c_str(), real.c_str()), 0);
  ASSERT_EQ(::symlink("real", artifacts_.c_str()), 0);
  for (const std::string& path : {artifacts_, artifacts_ + "/", artifacts_ + "/.", folder_ + "/real/../artifacts//"}) {
    const CheckReport report = check_goal({join_path(path, "goal.json"), anchor_});
    EXPECT_EQ(report.exit_code, kExitBroken) << path;
    EXPECT_FALSE(report.no_goal);
    EXPECT_NE(report.text.find("is a symlink to real; the evidence needs a real folder"), std::string::npos)
        << report.text;
    const Result<Store> store = Store::open(path, anchor_);
    ASSERT_FALSE(store.ok()) << path;
    EXPECT_EQ(store.error().code, Code::evidence_broken);
    EXPECT_FALSE(store.error().help.empty());
    EXPECT_FALSE(WriterLock::take(path, "hillclimb climb").ok()) << path;
  }
  EXPECT_EQ(check_goal({join_path(real, "goal.json"), anchor_}).exit_code, kExitMet) << "the folder itself is fine";
}

TEST_F(AnchorTest, ALossIsNotForgottenBetweenAnnouncementAndLine) {
  const Anchor before = anchor();
  ASSERT_EQ(::unlink(ledger_path(artifacts_).c_str()), 0);
  Anchor told = before;
  told.next = std::string(64, 'a');
  write_anchor(told);  // killed before the line that says so was appended
  EXPECT_FALSE(open_with_room_for(20)) << "or a full disk, at the announcement";
  EXPECT_FALSE(open_with_room_for(240)) << "or at the line";
  EXPECT_NE(anchor().next, told.next);
  EXPECT_EQ(anchor().count, before.count);
  (void)Store::open(artifacts_, anchor_).value();
  ASSERT_EQ(lines_of("lost"), 1u);
  told.next = read_ledger(artifacts_).head();
  write_anchor(told);  // killed right after
  {
    Store store = Store::open(artifacts_, anchor_).value();
    ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
  }
  EXPECT_EQ(anchor().count, 2);
  EXPECT_EQ(read_ledger(artifacts_).lines[0].kind, "lost");
  // but a line of that kind that was not announced does not stand for the ledger that is gone
  ASSERT_EQ(::unlink(ledger_path(artifacts_).c_str()), 0);
  write_anchor(before);
  forge("lost");
  EXPECT_FALSE(Store::open(artifacts_, anchor_).ok());
}

}  // namespace
}  // namespace hc::ledger
