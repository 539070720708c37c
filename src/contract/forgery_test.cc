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

TEST_F(ForgeryTest, Row18LaunchesInARowAreNoEvidenceForAGoalOfSingleOnes) {
  goal_of([](Parts& p) { p.pairs.timer = "monotonic/back-to-back"; });
  EXPECT_FALSE(updated_) << "and the other way round";
  edit_goal([&](ledger::Goal& goal) {
    goal.shapes[0].evidence = {store().view().lines[store().view().lines.size() - 2].object};
    goal.shapes[0].ratio = 1.05;
    goal.shapes[0].verdict = "PASS";
    goal.shapes[0].artifact = "artifacts/r1/confirm-a.json";
  });
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
  EXPECT_NE(check().text.find("was timed back to back, and the goal agreed to time by single launches"),
            std::string::npos)
      << check().text;
  SetUp();
  goal_of([](Parts& p) { p.lock.back_to_back = true; });
  EXPECT_FALSE(updated_);
  SetUp();
  goal_of([](Parts& p) {
    p.lock.back_to_back = true;
    p.pairs.timer = "monotonic/back-to-back";
  });
  EXPECT_TRUE(updated_);
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row18ArmsOfDifferentModesAreNotCompared) {
  // one arm in a row, where it keeps its inputs in the cache, the other by single cold launches
  goal_of([](Parts& p) {
    for (ledger::Pair& pair : p.pairs.pairs) {
      for (ledger::Reading& r : pair.readings) {
        r.mode = r.arm == "hillclimb" ? "back_to_back" : "single";
        if (r.mode == "single") {
          for (ledger::Block& block : r.blocks) block = {block.seconds / 10, 1};
        }
      }
    }
  });
  EXPECT_FALSE(updated_);
  // with its mode retold, its blocks still tell it
  SetUp();
  goal_of([](Parts& p) {
    for (ledger::Pair& pair : p.pairs.pairs) {
      for (ledger::Reading& r : pair.readings) r.mode = "single";
    }
  });
  EXPECT_FALSE(updated_) << "blocks of ten launches are no single ones";
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

/// Twenty-four rounds of which `voids`, an even number, are void from the third on: the others still alternate.
ledger::PairsArtifact with_void_rounds(int voids) {
  ledger::PairsArtifact pairs = ledger::testing::fake_pairs({.pairs = 24}, Purpose::confirm, -1);
  for (int k = 2; k < 2 + voids; ++k) {
    pairs.pairs[static_cast<size_t>(k)].valid = false;
    pairs.pairs[static_cast<size_t>(k)].rule = "canary";
  }
  return pairs;
}

TEST_F(ForgeryTest, Row27HalfOfTheRoundsMayBeVoid) {
  goal_of([](Parts& p) {
    p.pairs = with_void_rounds(12);
    p.lock.criteria.looks = {10};
  });
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row27TooManyVoidRoundsCannotPass) {
  goal_of([](Parts& p) {
    p.pairs = with_void_rounds(14);
    p.lock.criteria.looks = {10};
  });
  const ledger::CheckReport report = check();
  EXPECT_EQ(report.exit_code, ledger::kExitUndecided) << report.text;
  EXPECT_NE(report.text.find("14 of 24 pairs are void"), std::string::npos) << report.text;
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

/// Appends one line as a hand with an editor would: a chain that fits, and no word to the anchor.
void write_line(const std::string& artifacts, ledger::LedgerLine line) {
  const ledger::LedgerView view = ledger::read_ledger(artifacts);
  line.seq = static_cast<int64_t>(view.lines.size());
  line.prev = view.head();
  line.time = ledger::utc_now();
  std::ofstream(ledger::ledger_path(artifacts), std::ios::app) << ledger::line_text(line) << "\n";
}

/// Puts an object where the store would, without a line that lists it.
std::string write_object(const std::string& artifacts, const std::string& text, const std::string& name) {
  const std::string id = sha256_hex(text), path = ledger::object_path(artifacts, id);
  fs::create_directories(fs::path(path).parent_path());
  EXPECT_EQ(write_file_atomic(path, text), "");
  EXPECT_EQ(write_file_atomic(join_path(artifacts, name), text), "");
  return id;
}

TEST_F(ForgeryTest, Row33OneLineBehindAKilledRunIsNoEvidence) {
  FakeShape slow;
  slow.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {slow});
  // a confirming run is killed before it stored anything, and a script finishes it
  FakeShape fast = slow;
  fast.ratio = 1.2;
  fast.pairs = 200;
  fast.seed = 9;
  fast.first_pid = 70000;
  ledger::PairsArtifact a = ledger::testing::fake_pairs(fast, Purpose::confirm, -1);
  a.arms[0].tune =
      ledger::parse_pairs(read_file(join_path(artifacts_, "r1/confirm-a.json")).value(), "x").value().arms[0].tune;
  const std::string subject = ledger::candidate_subject(a.arms[0].source_sha256, a.arms[0].config);
  a.open_seq = store().run_open("r1", "confirm", "a", subject).value();
  a.name = "confirm-a-2";
  const std::string id = write_object(artifacts_, to_json(a), "r1/confirm-a-2.json");
  ledger::LedgerLine line;
  line.kind = "object";
  line.run = "r1";
  line.object = id;
  line.name = "r1/confirm-a-2.json";
  line.variant = "a";
  line.opens = a.open_seq;
  write_line(artifacts_, line);
  const auto forge_goal = [&] {
    edit_goal([&](ledger::Goal& goal) {
      ledger::GoalShape& shape = goal.shapes[0];
      shape.evidence = {shape.evidence[0], id};
      const ledger::LedgerView view = ledger::read_ledger(artifacts_);
      ledger::Evidence evidence(artifacts_, view);
      const ledger::VariantVerdict v =
          ledger::judge_variant(evidence, read_lock(artifacts_, goal.lock).value(), "a", shape.evidence);
      EXPECT_EQ(v.verdict, ledger::Verdict::pass)
          << "pooled with the honest run the invented one carries it: " << v.reason;
      shape.ratio = v.ratio;
      shape.lcb = v.lcb;
      shape.ucb = v.ucb;
      shape.verdict = "PASS";
      shape.artifact = "artifacts/r1/confirm-a-2.json";
    });
  };
  forge_goal();
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
  EXPECT_NE(check().text.find("beyond the anchor"), std::string::npos) << check().text;
  EXPECT_NE(check().text.find("it was not written by hillclimb"), std::string::npos) << check().text;
  EXPECT_FALSE(ledger::Store::open(artifacts_, anchor_).ok()) << "no command makes the line its own";
  // even announced, as by a run killed in between, the line is caught up with a note for ever and is no evidence
  ledger::Anchor anchor = ledger::read_anchor(anchor_).value();
  anchor.next = ledger::read_ledger(artifacts_).head();
  ASSERT_EQ(write_file_atomic(anchor_, ledger::anchor_text(anchor)), "");
  ASSERT_TRUE(store().run_close(a.open_seq, "done").ok());
  const ledger::CheckReport later = check();
  EXPECT_NE(later.exit_code, ledger::kExitMet) << later.text;
  EXPECT_NE(later.text.find("measure it again"), std::string::npos) << later.text;
}

TEST_F(ForgeryTest, Row33ASecondMeasurementUnderOneAnnouncementIsBroken) {
  FakeShape slow;
  slow.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {slow});
  FakeShape fast = slow;
  fast.ratio = 1.2;
  fast.pairs = 200;
  fast.seed = 9;
  ledger::PairsArtifact honest =
      ledger::parse_pairs(read_file(join_path(artifacts_, "r1/confirm-a.json")).value(), "x").value();
  ledger::PairsArtifact a = ledger::testing::fake_pairs(fast, Purpose::confirm, honest.open_seq);
  a.arms[0].tune = honest.arms[0].tune;
  ledger::Store s = store();
  const std::string id = s.put("r1", "confirm-a-2", to_json(a), "a", honest.open_seq).value();
  const Result<ledger::VariantVerdict> updated =
      update_shape(s, "a", {read_goal(artifacts_).value().shapes[0].evidence[0], id});
  ASSERT_FALSE(updated.ok());
  EXPECT_NE(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row7StaleEvidenceListedInAnotherOrderStaysStale) {
  goal_of([](Parts&) {});
  std::string first, second;
  {
    ledger::Store s = store();
    first = read_goal(artifacts_).value().shapes[0].evidence[0];
    FakeShape again;
    again.seed = 31;
    again.first_pid = 9000;
    ledger::PairsArtifact a = ledger::testing::fake_pairs(again, Purpose::confirm, -1);
    a.arms[0].tune = ledger::parse_pairs(ledger::read_object(artifacts_, first).value(), "x").value().arms[0].tune;
    a.lock = read_goal(artifacts_).value().lock;
    a.open_seq =
        s.run_open("r1", "confirm", "a", ledger::candidate_subject(a.arms[0].source_sha256, a.arms[0].config)).value();
    a.name = "confirm-a-again";
    second = s.put("r1", a.name, to_json(a), "a", a.open_seq).value();
    ASSERT_TRUE(s.run_close(a.open_seq, "done").ok());
    ASSERT_TRUE(update_shape(s, "a", {first, second}).ok());
    ASSERT_EQ(check().exit_code, ledger::kExitMet) << check().text;
    ASSERT_TRUE(mark_stale(s, "a", "the compiler makes another candidate today").ok());
  }
  ASSERT_EQ(check().exit_code, ledger::kExitUnmet);
  edit_goal([&](ledger::Goal& goal) {
    goal.shapes[0].evidence = {second, first};
    goal.shapes[0].artifact = "artifacts/r1/confirm-a.json";
    goal.shapes[0].stale = false;
  });
  EXPECT_NE(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row5APlainGoalFileInPlaceOfALostLedgerIsBroken) {
  FakeShape slow;
  slow.ratio = 0.98;
  ledger::testing::fake_goal(artifacts_, anchor_, {slow});
  fs::remove(ledger::ledger_path(artifacts_));
  ASSERT_EQ(write_file_atomic(goal_path(artifacts_),
                              R"({"task":"softmax-cpu","status":"running","criteria":{"geomean_min":1.0},)"
                              R"("shapes":[{"name":"a","ratio":1.5,"artifact":"artifacts/r1/confirm-a.json"}]})"),
            "");
  EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(ForgeryTest, Row23AnAmendmentCannotChangeABaselineTheLooksOrTheWork) {
  using Change = std::function<void(ledger::Lock&)>;
  const Change changes[] = {[](ledger::Lock& l) { l.baselines[0].recipe = R"({"operation":"softmax","slow":true})"; },
                            [](ledger::Lock& l) { l.baselines[0].worker = "slow"; },
                            [](ledger::Lock& l) { l.criteria.looks = {5, 6, 7, 8, 9, 10}; },
                            [](ledger::Lock& l) { l.back_to_back = true; },
                            [](ledger::Lock& l) { l.rules_version = 1; },
                            [](ledger::Lock& l) { l.variants[0].work.amount *= 2; }};
  for (const Change& change : changes) {
    SetUp();
    goal_of([](Parts&) {});
    ledger::Store s = store();
    ledger::Lock lock = read_lock(artifacts_, read_goal(artifacts_).value().lock).value();
    change(lock);
    ledger::LedgerLine line;
    line.kind = "amend";
    line.run = "r1";
    line.object = store_lock(s, lock).value();
    ASSERT_TRUE(s.append(line).ok());
    edit_goal([&](ledger::Goal& goal) { goal.lock = line.object; });
    EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
    EXPECT_NE(check().text.find("is not allowed"), std::string::npos) << check().text;
    fs::remove_all(folder_);
  }
}

TEST_F(ForgeryTest, Row25AConfigTunedOnAnotherMachineCannotPass) {
  goal_of([](Parts& p) { p.tune.machine = {{"cpu", "Example CPU 3000"}, {"cores", "1"}}; });
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("tuned with cores 1 and measured with 2"), std::string::npos) << check().text;
}

TEST_F(ForgeryTest, Row25AMachineThatChangesDuringTheRunCannotPass) {
  goal_of([](Parts& p) {
    p.pairs.machine.emplace_back("governor", "performance");
    p.pairs.machine_close = p.pairs.machine;
    p.pairs.machine_close.back().second = "powersave";
  });
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("governor was \"performance\" and became \"powersave\""), std::string::npos)
      << check().text;
}

TEST_F(ForgeryTest, Row25AMachineThatStaysAsItIsPasses) {
  goal_of([](Parts& p) {
    p.pairs.machine_close = p.pairs.machine;
    p.pairs.machine_close.emplace_back("load", "[9,9,9]");
    p.pairs.machine_close.emplace_back("gpu power cap W", "700");  // could not be read at the begin
  });
  EXPECT_EQ(check().exit_code, ledger::kExitMet) << check().text;
}

TEST_F(ForgeryTest, Row17AnotherBinaryOfTheBaselineAndAnotherKernelAreSaid) {
  FakeShape shape;
  shape.before = 0.9;
  ledger::testing::fake_goal(artifacts_, anchor_, {shape});
  ledger::Store s = store();
  FakeShape again = shape;
  again.seed = 41;
  again.first_pid = 9000;
  ledger::PairsArtifact a = ledger::testing::fake_pairs(again, Purpose::confirm, -1);
  a.arms[0].source_sha256 = ledger::testing::hash_of("another candidate");
  a.arms[1].binary_sha256 = ledger::testing::hash_of("an older library");
  a.kernel_sha256 = ledger::testing::hash_of("an edited kernel");
  for (ledger::Pair& pair : a.pairs) {
    for (ledger::Reading& r : pair.readings) {
      if (r.arm == a.arms[1].name) r.binary_sha256 = a.arms[1].binary_sha256;
    }
  }
  a.open_seq =
      s.run_open("r1", "confirm", "a", ledger::candidate_subject(a.arms[0].source_sha256, a.arms[0].config)).value();
  a.name = "confirm-other";
  const std::string id = s.put("r1", a.name, to_json(a), "a", a.open_seq).value();
  ASSERT_TRUE(s.run_close(a.open_seq, "done").ok());
  ASSERT_TRUE(update_shape(s, "a", {id}).ok());
  const std::string text = check().text;
  EXPECT_NE(text.find("onednn runs another binary"), std::string::npos) << text;
  EXPECT_NE(text.find("the kernel's source is another one"), std::string::npos) << text;
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
