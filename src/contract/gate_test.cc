// The stop gate: when it blocks, when it lets go, and how it says so to each agent.
#include "contract/gate.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "contract/goal.h"
#include "ledger/test_support.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;
using ledger::testing::FakeShape;

constexpr const char* kTurn = R"({"session_id":"s1","hook_event_name":"Stop","stop_hook_active":false})";

FakeShape shape(const std::string& name, double ratio, uint64_t seed) {
  FakeShape out;
  out.name = name;
  out.ratio = ratio;
  out.seed = seed;
  return out;
}

class GateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("gate");
    artifacts_ = join_path(folder_, "project/artifacts");
    anchor_ = join_path(folder_, "state/anchor.json");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void make_goal(const std::vector<FakeShape>& shapes) { ledger::testing::fake_goal(artifacts_, anchor_, shapes); }
  GateReply ask(Agent agent = Agent::claude, const std::string& input = kTurn) {
    return gate({agent, artifacts_, anchor_, input, kGiveUpAfter});
  }
  void set_status(const std::string& status, const std::string& words, const std::vector<std::string>& evidence = {}) {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    ASSERT_TRUE(contract::set_status(store, status, words, evidence).ok());
  }

  std::string folder_, artifacts_, anchor_;
};

const std::vector<FakeShape> kMet{shape("a", 1.05, 1), shape("b", 1.04, 2)};
const std::vector<FakeShape> kUnmet{shape("good", 1.05, 1), shape("bad", 0.90, 2), shape("worse", 0.80, 3)};

TEST_F(GateTest, AllowsAnAgentWhereNoGoalWasEverCreated) {
  for (const std::string_view name : agent_names()) {
    if (name == "exit") continue;
    const GateReply reply = ask(*agent_from(name));
    EXPECT_TRUE(reply.allowed) << name;
    EXPECT_EQ(reply.reason, GateReason::no_goal);
    EXPECT_EQ(reply.exit_code, 0) << name;
    EXPECT_EQ(reply.out, "{}\n") << name;
  }
  EXPECT_FALSE(file_exists(gate_state_path(anchor_))) << "a project without goal leaves no trace";
}

/// A checkout in CI has no artifacts folder: a plain exit status that says "met" there would pass for ever.
TEST_F(GateTest, APlainExitStatusWithoutAGoalIsTheOneOfCheck) {
  for (const bool folder : {false, true}) {
    if (folder) fs::create_directories(artifacts_);
    const GateReply reply = ask(Agent::exit, "");
    EXPECT_FALSE(reply.allowed);
    EXPECT_EQ(reply.reason, GateReason::no_goal);
    EXPECT_EQ(reply.exit_code, ledger::check_goal({goal_path(artifacts_), anchor_}).exit_code);
    EXPECT_NE(reply.exit_code, 0);
    EXPECT_NE(reply.err.find("no goal: " + artifacts_), std::string::npos) << reply.err;
    EXPECT_EQ(reply.out, "");
  }
}

TEST_F(GateTest, AMetGoalLetsGo) {
  make_goal(kMet);
  const GateReply reply = ask();
  EXPECT_TRUE(reply.allowed) << reply.message;
  EXPECT_EQ(reply.reason, GateReason::met);
}

TEST_F(GateTest, APlainGoalLetsGoOnlyWithTheWeakerFormNamed) {
  fs::create_directories(artifacts_);
  ASSERT_EQ(write_file_atomic(join_path(artifacts_, "goal.json"),
                              R"({"task":"tiny","criteria":{"geomean_min":1.0},"shapes":)"
                              R"([{"name":"t1","ratio":1.05,"artifact":"artifacts/goal.json"}]})"),
            "");
  for (const std::string_view name : agent_names()) {
    const GateReply reply = ask(*agent_from(name));
    EXPECT_TRUE(reply.allowed) << name;
    EXPECT_NE((reply.out + reply.err).find("in the weaker form of the check only"), std::string::npos) << name;
  }
}

TEST_F(GateTest, ASymlinkInPlaceOfTheArtifactsIsBroken) {
  make_goal(kUnmet);
  EXPECT_FALSE(ask().allowed);
  const std::string other = join_path(folder_, "other");
  fs::rename(artifacts_, join_path(folder_, "old"));
  fs::create_directories(other);
  fs::create_directory_symlink("other", artifacts_);
  // the anchor and the memory of the folder that is linked to know nothing
  const std::string anchor = join_path(folder_, "state/other.json");
  for (const bool plain_goal : {false, true}) {
    if (plain_goal) {
      ASSERT_EQ(write_file_atomic(join_path(other, "goal.json"),
                                  R"({"task":"tiny","criteria":{"geomean_min":1.0},"shapes":)"
                                  R"([{"name":"t1","ratio":1.05,"artifact":"artifacts/goal.json"}]})"),
                "");
    }
    const GateReply reply = gate({Agent::claude, artifacts_, anchor, kTurn, kGiveUpAfter});
    EXPECT_FALSE(reply.allowed) << plain_goal;
    EXPECT_NE(reply.message.find("is a symlink to other"), std::string::npos) << reply.message;
  }
}

TEST_F(GateTest, ListsEveryFailingVariantWorstFirst) {
  make_goal(kUnmet);
  const GateReply reply = ask();
  ASSERT_FALSE(reply.allowed);
  const size_t worse = reply.message.find("  worse  "), bad = reply.message.find("  bad  ");
  ASSERT_NE(worse, std::string::npos) << reply.message;
  ASSERT_NE(bad, std::string::npos) << reply.message;
  EXPECT_LT(worse, bad);
  EXPECT_EQ(reply.message.find("  good  "), std::string::npos);
  EXPECT_NE(reply.message.find("2 of 3 variants fail"), std::string::npos);
}

TEST_F(GateTest, NamesEveryFailingVariantOfALongList) {
  std::vector<FakeShape> shapes;
  for (int i = 0; i < 14; ++i) shapes.push_back(shape("v" + std::to_string(i), 0.8, 10 + i));
  make_goal(shapes);
  const GateReply reply = ask();
  for (const FakeShape& one : shapes) EXPECT_NE(reply.message.find(one.name), std::string::npos) << one.name;
}

TEST_F(GateTest, SpeaksEachDialect) {
  make_goal(kUnmet);
  const Json claude = *parse_json(ask(Agent::claude).out), codex = *parse_json(ask(Agent::codex).out);
  EXPECT_EQ(claude["decision"], "block");
  EXPECT_EQ(codex["decision"], "block");
  EXPECT_FALSE(codex["reason"].get<std::string>().empty());
  EXPECT_EQ((*parse_json(ask(Agent::gemini).out))["decision"], "deny");
  const GateReply cursor = ask(Agent::cursor, R"({"conversation_id":"c1","status":"completed","loop_count":0})");
  EXPECT_FALSE((*parse_json(cursor.out))["followup_message"].get<std::string>().empty());
  EXPECT_EQ(cursor.exit_code, 0);
  const GateReply plain = ask(Agent::exit);
  EXPECT_EQ(plain.exit_code, ledger::kExitUnmet);
  EXPECT_FALSE(plain.err.empty());
}

TEST_F(GateTest, AsksNothingAfterTheUserBrokeOff) {
  make_goal(kUnmet);
  const GateReply reply = ask(Agent::cursor, R"({"conversation_id":"c1","status":"aborted"})");
  EXPECT_TRUE(reply.allowed);
  EXPECT_FALSE(parse_json(reply.out)->contains("followup_message"));
}

TEST_F(GateTest, AnyInputBlocksAsWell) {
  make_goal(kUnmet);
  for (const char* input :
       {"", "\xEF\xBB\xBF{\"session_id\":\"x\"}", "not JSON", "[]", "{\"session_id\":7}", "\xFF\xFE"}) {
    const GateReply reply = ask(Agent::claude, input);
    EXPECT_FALSE(reply.allowed) << input;
    EXPECT_TRUE(parse_json(reply.out).has_value()) << input;
  }
}

TEST_F(GateTest, BlocksWhenTheGoalFileIsGone) {
  make_goal(kMet);
  fs::remove(goal_path(artifacts_));
  EXPECT_FALSE(ask().allowed);
  EXPECT_EQ(ask(Agent::exit).exit_code, ledger::kExitBroken);
}

TEST_F(GateTest, BlocksWhenAllArtifactsAreGone) {
  make_goal(kMet);
  fs::remove_all(artifacts_);
  const GateReply reply = ask();
  EXPECT_FALSE(reply.allowed);
  EXPECT_NE(reply.message.find("goal"), std::string::npos);
}

TEST_F(GateTest, BlocksAfterArtifactsWereRemovedAndBegunAnewWithoutAGoal) {
  make_goal(kUnmet);
  fs::remove_all(artifacts_);
  { ledger::Store store = ledger::Store::open(artifacts_, anchor_).value(); }
  EXPECT_FALSE(ask().allowed);
}

TEST_F(GateTest, ALedgerWithoutGoalIsNoGoal) {
  {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    ASSERT_TRUE(store.run_open("r1", "tune", "a", "").ok());
  }
  EXPECT_TRUE(ask().allowed);
}

TEST_F(GateTest, BlocksOnADamagedGoalFile) {
  make_goal(kMet);
  for (const char* text : {"", "{", "[]", "null", "{\"task\":\"x\",\"shapes\":[]}"}) {
    ASSERT_EQ(write_file_atomic(goal_path(artifacts_), text), "");
    EXPECT_FALSE(ask().allowed) << text;
  }
}

TEST_F(GateTest, APlainGoalFileIsRemembered) {
  ASSERT_EQ(make_folders(artifacts_), "");
  ASSERT_EQ(write_file_atomic(goal_path(artifacts_),
                              R"({"task":"softmax","shapes":[{"name":"a","ratio":0.9,"artifact":"x"}]})"),
            "");
  EXPECT_FALSE(ask().allowed);
  fs::remove(goal_path(artifacts_));
  EXPECT_FALSE(ask().allowed) << "the gate saw a goal, so a missing one is not none";
}

TEST_F(GateTest, ADamagedMemoryOfItsOwnBlocks) {
  ASSERT_EQ(make_folders(join_path(folder_, "state")), "");
  ASSERT_EQ(write_file_atomic(gate_state_path(anchor_), "{broken"), "");
  EXPECT_FALSE(ask().allowed);
}

TEST_F(GateTest, SeesALedgerRewrittenTogetherWithItsAnchor) {
  make_goal(kUnmet);
  EXPECT_FALSE(ask().allowed);
  // the forger removes everything but the gate's memory and makes a better world
  fs::remove_all(artifacts_);
  fs::remove(anchor_);
  make_goal(kMet);
  const GateReply reply = ask();
  EXPECT_FALSE(reply.allowed);
  EXPECT_NE(reply.message.find("since the last stop"), std::string::npos) << reply.message;
}

TEST_F(GateTest, PausedAndBlockedStopWithoutBeingMet) {
  make_goal(kUnmet);
  set_status("paused", "stop for today");
  const GateReply reply = ask();
  EXPECT_TRUE(reply.allowed) << reply.message;
  EXPECT_EQ(reply.reason, GateReason::stopped);
  EXPECT_NE(reply.message.find("stopped, not met"), std::string::npos);
  EXPECT_NE(reply.message.find("stop for today"), std::string::npos);
  EXPECT_EQ(ask(Agent::exit).exit_code, ledger::kExitUnmet);
}

TEST_F(GateTest, AStatusTypedIntoTheGoalFileBlocks) {
  make_goal(kUnmet);
  ledger::Goal goal = read_goal(artifacts_).value();
  goal.status = "paused";
  goal.paused_reason = "the user said so, honestly";
  ASSERT_TRUE(write_goal(artifacts_, goal).ok());
  const GateReply reply = ask();
  EXPECT_FALSE(reply.allowed);
  EXPECT_NE(reply.message.find("the ledger has no such decision"), std::string::npos) << reply.message;
}

TEST_F(GateTest, GivesUpLoudlyAndBlocksTheNextStopAgain) {
  make_goal(kUnmet);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kGiveUpAfter; ++i) EXPECT_FALSE(ask().allowed) << round << " " << i;
    const GateReply reply = ask();
    EXPECT_TRUE(reply.allowed);
    EXPECT_EQ(reply.reason, GateReason::gave_up);
    EXPECT_NE(reply.message.find("NOT MET"), std::string::npos);
    EXPECT_EQ(read_goal(artifacts_).value().status, "running");
  }
  EXPECT_FALSE(ask().allowed);
  const ledger::LedgerView view = ledger::read_ledger(artifacts_);
  EXPECT_EQ(std::count_if(view.lines.begin(), view.lines.end(), [](const auto& l) { return l.kind == "gate_giveup"; }),
            2);
}

TEST_F(GateTest, NewEvidenceRenewsItsPatienceAndTalkDoesNot) {
  make_goal(kUnmet);
  for (int i = 0; i < kGiveUpAfter; ++i) EXPECT_FALSE(ask().allowed);
  {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    ASSERT_TRUE(store.run_open("r1", "nominate", "bad", "x").ok());
  }
  for (int i = 0; i < kGiveUpAfter; ++i) EXPECT_FALSE(ask().allowed) << i;
  {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    ledger::LedgerLine line;
    line.kind = "log";
    ASSERT_TRUE(store.append(line).ok());
  }
  EXPECT_EQ(ask().reason, GateReason::gave_up);
}

TEST_F(GateTest, SessionsAreCountedApartAndExitNeverGivesUp) {
  make_goal(kUnmet);
  for (int i = 0; i < kGiveUpAfter; ++i) EXPECT_FALSE(ask().allowed);
  EXPECT_FALSE(ask(Agent::claude, R"({"session_id":"s2"})").allowed);
  for (int i = 0; i < 3 * kGiveUpAfter; ++i) EXPECT_FALSE(ask(Agent::exit, "").allowed);
}

TEST_F(GateTest, BrokenEvidenceBlocksAndGivesUpInTheEnd) {
  make_goal(kMet);
  for (const auto& entry : fs::recursive_directory_iterator(join_path(artifacts_, "objects"))) {
    if (entry.is_regular_file()) {
      fs::remove(entry.path());
      break;
    }
  }
  for (int i = 0; i < kGiveUpAfter; ++i) EXPECT_EQ(ask().reason, GateReason::broken);
  EXPECT_EQ(ask().reason, GateReason::gave_up);
  EXPECT_EQ(ask().reason, GateReason::broken);
}

TEST_F(GateTest, EveryStopLeavesALineInTheLedger) {
  make_goal(kUnmet);
  (void)ask();
  const ledger::LedgerLine last = ledger::read_ledger(artifacts_).lines.back();
  EXPECT_EQ(last.kind, "gate");
  EXPECT_EQ(last.purpose, "claude");
  EXPECT_NE(last.note.find("UNMET 1/3"), std::string::npos) << last.note;
  // and the ledger with it is still in order
  EXPECT_EQ(ledger::check_goal({goal_path(artifacts_), anchor_}).exit_code, ledger::kExitUnmet);
}

TEST_F(GateTest, WhileARunIsLiveItBlocksAndSendsTheAgentToWait) {
  make_goal(kUnmet);
  {
    const Result<ledger::WriterLock> at_work = ledger::WriterLock::take(artifacts_, "climb softmax");
    ASSERT_TRUE(at_work.ok());
    const GateReply reply = ask();
    ASSERT_FALSE(reply.allowed);
    EXPECT_EQ(reply.reason, GateReason::unmet);
    EXPECT_NE(reply.message.find("`hillclimb wait`: climb softmax"), std::string::npos) << reply.message;
    EXPECT_EQ(reply.message.find("go on with the worst variant"), std::string::npos) << "that would be a second writer";
    EXPECT_EQ(ask(Agent::exit).exit_code, ledger::kExitUnmet);
    // its own line goes in beside the writer, whose next line still fits
    EXPECT_EQ(ledger::read_ledger(artifacts_).lines.back().kind, "gate");
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    (void)ask();
    ASSERT_TRUE(store.run_open("r1", "nominate", "bad", "x").ok());
    EXPECT_EQ(ledger::check_goal({goal_path(artifacts_), anchor_}).exit_code, ledger::kExitUnmet);
  }
  const GateReply after = ask();
  EXPECT_FALSE(after.allowed);
  EXPECT_EQ(after.message.find("hillclimb wait"), std::string::npos) << after.message;
}

TEST_F(GateTest, AWriterOnAMetGoalKeepsNobody) {
  make_goal(kMet);
  const Result<ledger::WriterLock> at_work = ledger::WriterLock::take(artifacts_, "climb softmax");
  ASSERT_TRUE(at_work.ok());
  EXPECT_EQ(ask().reason, GateReason::met);
}

TEST(GateFailure, BlocksInEveryDialect) {
  for (const std::string_view name : agent_names()) {
    const GateReply reply = gate_failure(*agent_from(name), "no memory");
    EXPECT_FALSE(reply.allowed);
    if (name == "exit") {
      EXPECT_EQ(reply.exit_code, 2);
    } else {
      EXPECT_NE(reply.out.find("no memory"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace hc::contract
