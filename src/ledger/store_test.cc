// Objects, ledger chain, anchor, repairs and locks on a real folder.
#include "ledger/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "ledger/ledger_line.h"
#include "ledger/test_support.h"

namespace hc::ledger {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("hc-store-");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "state/anchor.json");
  }
  void TearDown() override { (void)!::system(("rm -rf " + folder_).c_str()); }
  Store open() { return Store::open(artifacts_, anchor_).value(); }
  std::string ledger_text() { return read_file(ledger_path(artifacts_)).value_or(""); }
  void write_ledger(const std::string& text) { ASSERT_EQ(write_file_atomic(ledger_path(artifacts_), text), ""); }

  std::string folder_, artifacts_, anchor_;
};

TEST_F(StoreTest, PutsObjectsReadOnlyAndByName) {
  Store store = open();
  const int64_t seq = store.run_open("r1", "confirm", "a", "s").value();
  const std::string id = store.put("r1", "confirm-a", "{\"x\":1}\n", "a", seq).value();
  EXPECT_EQ(id, sha256_hex("{\"x\":1}\n"));
  struct stat info {};
  ASSERT_EQ(::stat(object_path(artifacts_, id).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0444u);
  EXPECT_EQ(read_file(join_path(artifacts_, "r1/confirm-a.json")), "{\"x\":1}\n");
  EXPECT_EQ(store.named_path(id), "artifacts/r1/confirm-a.json");
  EXPECT_EQ(read_object(artifacts_, id).value(), "{\"x\":1}\n");
  EXPECT_TRUE(store.run_close(seq, "done").ok());
  const LedgerView view = read_ledger(artifacts_);
  ASSERT_EQ(view.lines.size(), 3u);
  EXPECT_EQ(view.lines[1].opens, seq);
  EXPECT_EQ(view.lines[2].opens, seq);
  EXPECT_TRUE(view.broken.empty());
}

TEST_F(StoreTest, NeverOverwritesANamedFile) {
  Store store = open();
  const std::string a = store.put("r1", "x", "1", "", -1).value();
  const std::string b = store.put("r1", "x", "2", "", -1).value();
  EXPECT_EQ(store.named_path(a), "artifacts/r1/x.json");
  EXPECT_EQ(store.named_path(b), "artifacts/r1/x-2.json");
  EXPECT_EQ(read_file(join_path(artifacts_, "r1/x.json")), "1");
  const std::string odd = store.put("r1", "a/b c", "3", "", -1).value();
  EXPECT_EQ(store.named_path(odd), "artifacts/r1/a_b_c.json");
}

TEST_F(StoreTest, TwoWritersShareOneChain) {
  Store first = open(), second = open();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(first.run_open("r1", "tune", "a", "").ok());
    ASSERT_TRUE(second.run_open("r2", "tune", "b", "").ok());
  }
  const LedgerView view = read_ledger(artifacts_);
  EXPECT_TRUE(view.broken.empty());
  EXPECT_EQ(view.lines.size(), 10u);
}

TEST_F(StoreTest, TwoProcessesShareOneChain) {
  open();
  constexpr int kChildren = 3, kLines = 20;
  for (int c = 0; c < kChildren; ++c) {
    if (::fork() != 0) continue;
    Store store = open();
    for (int i = 0; i < kLines; ++i) (void)store.run_open("r", "tune", "v", "");
    ::_exit(0);
  }
  for (int c = 0; c < kChildren; ++c) ::wait(nullptr);
  const LedgerView view = read_ledger(artifacts_);
  EXPECT_TRUE(view.broken.empty()) << view.broken.front();
  EXPECT_EQ(view.lines.size(), static_cast<size_t>(kChildren * kLines));
}

TEST_F(StoreTest, ATornLastLineIsSetAside) {
  {
    Store store = open();
    (void)store.run_open("r1", "tune", "a", "");
  }
  std::ofstream(ledger_path(artifacts_), std::ios::app) << "{\"schema\":\"hillclimb.led";
  EXPECT_FALSE(read_ledger(artifacts_).torn.empty());
  Store store = open();
  ASSERT_EQ(store.repairs().size(), 1u);
  EXPECT_NE(store.repairs()[0].find("torn"), std::string::npos);
  EXPECT_EQ(read_file(ledger_path(artifacts_) + ".torn-1"), "{\"schema\":\"hillclimb.led");
  EXPECT_TRUE(store.run_open("r1", "tune", "b", "").ok());
  const LedgerView view = read_ledger(artifacts_);
  EXPECT_EQ(view.lines.size(), 2u);
  EXPECT_TRUE(view.broken.empty() && view.torn.empty());
}

TEST_F(StoreTest, ACutTailIsRefusedByTheAnchor) {
  {
    Store store = open();
    for (int i = 0; i < 3; ++i) (void)store.run_open("r1", "tune", "a", "");
  }
  std::string text = ledger_text();
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  write_ledger(text);
  const Result<Store> again = Store::open(artifacts_, anchor_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::evidence_broken);
  EXPECT_NE(again.error().message.find("cut off"), std::string::npos) << again.error().message;
}

TEST_F(StoreTest, ALostLedgerLeavesALineForEver) {
  { (void)open().run_open("r1", "tune", "a", ""); }
  ASSERT_EQ(::unlink(ledger_path(artifacts_).c_str()), 0);
  const Store store = open();
  ASSERT_EQ(store.view().lines.size(), 1u);
  EXPECT_EQ(store.view().lines[0].kind, "lost");
  EXPECT_NE(store.view().lines[0].note.find("1 lines"), std::string::npos) << store.view().lines[0].note;
}

TEST_F(StoreTest, ChangedMovedAndNewerLinesAreFound) {
  {
    Store store = open();
    for (int i = 0; i < 3; ++i) (void)store.run_open("run" + std::to_string(i), "tune", "a", "");
  }
  const std::string good = ledger_text();
  std::string changed = good;
  changed.replace(changed.find("run1"), 4, "runX");
  write_ledger(changed);
  ASSERT_FALSE(read_ledger(artifacts_).broken.empty());
  EXPECT_NE(read_ledger(artifacts_).broken[0].find("chain"), std::string::npos);

  const size_t first = good.find('\n') + 1, second = good.find('\n', first) + 1;
  write_ledger(good.substr(first, second - first) + good.substr(0, first) + good.substr(second));
  EXPECT_NE(read_ledger(artifacts_).broken.at(0).find("moved"), std::string::npos);

  std::string newer = good;
  newer.replace(newer.find("ledger/1"), 8, "ledger/2");
  write_ledger(newer);
  EXPECT_NE(read_ledger(artifacts_).broken.at(0).find("hillclimb.ledger/2, newer than"), std::string::npos);
}

TEST_F(StoreTest, AMissingOrChangedObjectIsNamed) {
  Store store = open();
  const std::string id = store.put("r1", "x", "text", "", -1).value();
  ::chmod(object_path(artifacts_, id).c_str(), 0644);
  std::ofstream(object_path(artifacts_, id), std::ios::app) << "more";
  EXPECT_NE(read_object(artifacts_, id).error().message.find("was changed"), std::string::npos);
  ::unlink(object_path(artifacts_, id).c_str());
  EXPECT_NE(read_object(artifacts_, id).error().message.find("is missing"), std::string::npos);
  EXPECT_NE(read_object(artifacts_, "../etc/passwd").error().message.find("not an object id"), std::string::npos);
}

TEST_F(StoreTest, AFullDiskLeavesTheLedgerWhole) {
  Store store = open();
  (void)store.run_open("r1", "tune", "a", "");
  const std::string before = ledger_text();
  // a limit on file size fails the append as a full disk would
  if (::fork() == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 10, before.size() + 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Result<int64_t> line = store.run_open("r1", "tune", "b", "");
    ::_exit(!line.ok() && line.error().code == Code::file_error && !line.error().help.empty() ? 0 : 1);
  }
  int status = 1;
  ::wait(&status);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ledger_text(), before);
}

TEST_F(StoreTest, TheWriterLockNamesItsHolder) {
  const Result<WriterLock> mine = WriterLock::take(artifacts_, "hillclimb climb softmax");
  ASSERT_TRUE(mine.ok());
  const Result<WriterLock> other = WriterLock::take(artifacts_, "hillclimb start");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("hillclimb climb softmax (process "), std::string::npos)
      << other.error().message;
}

}  // namespace
}  // namespace hc::ledger
