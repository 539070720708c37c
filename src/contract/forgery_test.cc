// Forgeries that a hand with an editor and a script plants; docs/threat-model.md names each by its row.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/files.h"
#include "base/hash.h"
#include "contract/gate.h"
#include "contract/goal_moves.h"
#include "contract/task.h"
#include "ledger/checker.h"
#include "ledger/ledger_line.h"
#include "ledger/test_support.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;
using ledger::Purpose;
using ledger::testing::FakeShape;

class ForgeryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("forgery");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "state/anchor.json");
  }
  void TearDown() override { fs::remove_all(folder_); }

  ledger::CheckReport check() { return ledger::check_goal({goal_path(artifacts_), anchor_}); }
  GateReply stop() { return gate({Agent::claude, artifacts_, anchor_, "", kGiveUpAfter}); }
  ledger::Store store() { return ledger::Store::open(artifacts_, anchor_).value(); }

  /// A goal of one variant whose confirming measurement, tune and lock are as `change` leaves them.
  struct Parts {
    ledger::Lock lock = ledger::testing::fake_lock({"a"});
    ledger::TuneRecord tune = ledger::testing::fake_tune("a");
    ledger::PairsArtifact pairs = ledger::testing::fake_pairs({}, Purpose::confirm, -1);
  };
  void goal_of(const std::function<void(Parts&)>& change) {
    Parts parts;
    change(parts);
    ledger::Store s = store();
    const std::string lock = s.put("r1", "goal.lock", to_json(parts.lock), "", -1).value();
    ledger::LedgerLine line;
    line.kind = "goal";
    line.run = "r1";
    line.object = lock;
    line.name = "r1/goal.lock.json";
    ASSERT_TRUE(s.append(line).ok());
    ledger::Goal goal;
    goal.task = parts.lock.task;
    goal.run = "r1";
    goal.lock = lock;
    goal.shapes.emplace_back();
    goal.shapes[0].name = "a";
    ASSERT_TRUE(write_goal(artifacts_, goal).ok());
    const std::string tune = s.put("r1", "tune-a", to_json(parts.tune), "a", -1).value();
    const ledger::Arm& arm = parts.pairs.arms[0];
    const int64_t open =
        s.run_open("r1", "confirm", "a", ledger::candidate_subject(arm.source_sha256, arm.config)).value();
    parts.pairs.open_seq = open;
    parts.pairs.lock = lock;
    if (parts.pairs.arms[0].tune.empty()) parts.pairs.arms[0].tune = tune;
    const std::string id = s.put("r1", parts.pairs.name, to_json(parts.pairs), "a", open).value();
    ASSERT_TRUE(s.run_close(open, "done").ok());
    updated_ = update_shape(s, "a", {id}).ok();
  }
  void edit_goal(const std::function<void(ledger::Goal&)>& change) {
    ledger::Goal goal = read_goal(artifacts_).value();
    change(goal);
    ASSERT_TRUE(write_goal(artifacts_, goal).ok());
  }

  std::string folder_, artifacts_, anchor_;
  bool updated_ = false;
};

TEST_F(ForgeryTest, TheHonestGoalIsMet) {
  goal_of([](Parts&) {});
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row2ARatioWithoutEvidence) {
  goal_of([](Parts&) {});
  edit_goal([](ledger::Goal& goal) { goal.shapes[0].evidence.clear(); });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(ForgeryTest, Row8AndRow24TheDistributionIsPartOfTheVariant) {
  const std::string path = std::string(HC_SOURCE_DIR) + "/tasks/quickstart.toml";
  std::string text = read_file(path).value();
  const std::string hash = parse_task(path, text).value().variants[0].hash;
  const std::string from = "\"f32[{m},{n}]\"";
  ASSERT_NE(text.find(from), std::string::npos);
  text.replace(text.find(from), from.size(), "\"f32[{m},{n}]=const(0)\"");
  const Result<Task> zeros = parse_task(path, text);
  ASSERT_TRUE(zeros.ok()) << zeros.error().message;
  EXPECT_NE(zeros.value().variants[0].hash, hash);
}

TEST_F(ForgeryTest, Row10OutputsThatAreNotNumbersCannotPass) {
  goal_of([](Parts& p) { p.pairs.pairs[4].readings[0].nonfinite = 1; });
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("wrong answer"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, Row17AnUntunedBaselineCannotBeBeaten) {
  goal_of([](Parts& p) { p.pairs.arms[1].has_tuner = true; });
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("not a full tune"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, Row18ARatioNeedsBothSidesInOneMeasurement) {
  goal_of([](Parts& p) {
    p.pairs.arms.resize(1);
    for (ledger::Pair& pair : p.pairs.pairs)
      std::erase_if(pair.readings, [](const auto& r) { return r.arm == "onednn"; });
  });
  EXPECT_FALSE(updated_) << "a measurement without the baseline gives no ratio";
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet);
}

TEST_F(ForgeryTest, Row20ALuckyRunAmongManyIsPooledWithTheUnluckyOnes) {
  // 1.5 % behind in truth: the forger measures again and again and keeps what he likes
  FakeShape shape;
  shape.ratio = 0.985;
  ledger::testing::fake_goal(artifacts_, anchor_, {shape});
  for (uint64_t seed = 50; seed < 58; ++seed) {
    shape.seed = seed;
    shape.first_pid = static_cast<int64_t>(seed) * 1000;
    ledger::Store s = store();
    const std::string id = ledger::testing::confirm_shape(s, shape);
    (void)update_shape(s, "a", {id});
    EXPECT_NE(check().exit_code, ledger::kExitMet) << seed << "\n" << check().text;
  }
}

TEST_F(ForgeryTest, Row23ALooserLockMadeByHandIsBroken) {
  FakeShape shape;
  shape.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {shape});
  ledger::Store s = store();
  ledger::Lock lock = read_lock(artifacts_, read_goal(artifacts_).value().lock).value();
  lock.variants[0].target = 0.9;
  ledger::LedgerLine line;
  line.kind = "amend";
  line.run = "r1";
  line.object = store_lock(s, lock).value();
  ASSERT_TRUE(s.append(line).ok());
  edit_goal([&](ledger::Goal& goal) { goal.lock = line.object; });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(ForgeryTest, Row23ASecondGoalWithEasierTermsIsCounted) {
  goal_of([](Parts&) {});
  goal_of([](Parts& p) { p.lock.criteria.geomean_min = 0.5; });
  EXPECT_NE(check().text.find("goal number 2"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, Row27TooManyVoidRoundsCannotPass) {
  goal_of([](Parts& p) {
    for (int k : {1, 4, 7}) {
      p.pairs.pairs[k].valid = false;
      p.pairs.pairs[k].rule = "canary";
    }
    p.lock.criteria.looks = {7};
  });
  EXPECT_NE(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row28AnotherCheckersLockIsSaid) {
  goal_of([](Parts& p) { p.lock.rules_sha256 = sha256_hex("a checker of my own"); });
  EXPECT_NE(check().text.find("built from other sources"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, Row28RulesOfAnotherVersionAreRefused) {
  goal_of([](Parts& p) { p.lock.rules_version = 99; });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(ForgeryTest, Row31MetTypedByHandIsBroken) {
  FakeShape shape;
  shape.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {shape});
  edit_goal([](ledger::Goal& goal) { goal.status = "met"; });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken);
  EXPECT_FALSE(stop().allowed);
}

TEST_F(ForgeryTest, Row32ReadingsOutOfTheirOrderAreBroken) {
  goal_of([](Parts& p) { std::swap(p.pairs.pairs[3].readings[0].mid_s, p.pairs.pairs[3].readings[1].mid_s); });
  EXPECT_FALSE(updated_);
}

TEST_F(ForgeryTest, Row33LinesWrittenByAScriptDoNotReachTheAnchor) {
  FakeShape slow;
  slow.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {slow});
  // the script knows the formats: it writes objects and a chain that fits, in a copy without an anchor, and a goal file
  {
    ledger::Store forger = ledger::Store::open(artifacts_, join_path(folder_, "anchor of the forger")).value();
    FakeShape fast = slow;
    fast.ratio = 1.05;
    ledger::LedgerLine line;
    line.kind = "goal";
    line.run = "r1";
    line.object = read_goal(artifacts_).value().lock;
    line.name = "r1/goal.lock.json";
    ASSERT_TRUE(forger.append(line).ok());
    const std::string id = ledger::testing::confirm_shape(forger, fast);
    ASSERT_TRUE(update_shape(forger, "a", {id}).ok());
  }
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
  EXPECT_NE(check().text.find("not written by hillclimb"), std::string::npos) << check().text;
  const GateReply reply = stop();
  EXPECT_FALSE(reply.allowed);
  EXPECT_NE(reply.message.find("not written by hillclimb"), std::string::npos) << reply.message;
}

TEST_F(ForgeryTest, Row33AnInventedObjectIsNotEvidence) {
  FakeShape slow;
  slow.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {slow});
  FakeShape fast;
  fast.ratio = 1.05;
  const std::string text = to_json(ledger::testing::fake_pairs(fast, Purpose::confirm, 3));
  const std::string id = sha256_hex(text);
  fs::create_directories(fs::path(ledger::object_path(artifacts_, id)).parent_path());
  ASSERT_EQ(write_file_atomic(ledger::object_path(artifacts_, id), text), "");
  edit_goal([&](ledger::Goal& goal) { goal.shapes[0].evidence = {id}; });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken);
  EXPECT_NE(check().text.find("not listed in the ledger"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, EveryByteOfGoalAndLedgerMatters) {
  // one flipped bit anywhere in ledger or objects is exit 2, or leaves the verdict as it was where the byte says
  // nothing
  goal_of([](Parts&) {});
  uint64_t seed = 20260830;
  ledger::testing::Noise noise(seed);
  std::vector<std::string> files{ledger::ledger_path(artifacts_)};
  for (const auto& entry : fs::recursive_directory_iterator(join_path(artifacts_, "objects"))) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  for (int round = 0; round < 60; ++round) {
    const std::string& path = files[static_cast<size_t>(noise.uniform() * static_cast<double>(files.size()))];
    const std::string original = read_file(path).value();
    std::string changed = original;
    changed[static_cast<size_t>(noise.uniform() * static_cast<double>(changed.size()))] ^= 1 << (round % 7);
    fs::permissions(path, fs::perms::owner_all);
    // in place: a hard link under a readable name has to show the same bytes
    std::ofstream(path, std::ios::binary) << changed;
    const ledger::CheckReport report = check();
    // the last newline may turn into another character: then the last line counts as torn
    EXPECT_NE(report.exit_code, ledger::kExitMet) << "seed " << seed << " round " << round << " " << path << "\n"
                                                  << report.text;
    std::ofstream(path, std::ios::binary) << original;
  }
  EXPECT_EQ(check().exit_code, ledger::kExitMet);
}

}  // namespace
}  // namespace hc::contract
