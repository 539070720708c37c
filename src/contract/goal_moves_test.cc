// Pausing, blocking, resuming and amending a goal; the backlog and the log beside it.
#include "contract/goal_moves.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "contract/backlog.h"
#include "contract/gate.h"
#include "contract/iteration_log.h"
#include "contract/status.h"
#include "ledger/checker.h"
#include "ledger/test_support.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;
using ledger::Purpose;
using ledger::testing::FakeShape;

FakeShape shape(const std::string& name, double ratio, uint64_t seed) {
  FakeShape out;
  out.name = name;
  out.ratio = ratio;
  out.seed = seed;
  return out;
}

/// Adds an arm that sets something of the arm `of` back, a tenth slower than the baseline.
void set_back(ledger::PairsArtifact* a, const std::string& of) {
  ledger::Arm arm = ledger::testing::fake_arm("set back", ledger::Role::anchor);
  arm.varies = of;
  arm.config = R"({"without":"something"})";
  a->arms.push_back(arm);
  FakeShape slower;
  slower.name = a->variant;
  slower.first_pid = 50000;
  ledger::testing::Noise noise(77);
  // two readings of a round begin 2 s apart and last 1.5 s
  for (size_t k = 0; k < a->pairs.size(); ++k) {
    ledger::Reading r = ledger::testing::fake_reading(arm, slower, 0.0011, static_cast<int>(k), &noise);
    for (size_t other = k + 1; other < a->pairs.size(); ++other) {
      for (ledger::Reading& later : a->pairs[other].readings) {
        later.started_s += 2;
        later.mid_s += 2;
      }
    }
    r.started_s = a->pairs[k].readings.back().started_s + 2;
    r.mid_s = r.started_s + 1;
    a->pairs[k].readings.push_back(r);
  }
}

class GoalMovesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("moves");
    artifacts_ = join_path(folder_, "project/artifacts");
    anchor_ = join_path(folder_, "state/anchor.json");
    ledger::testing::fake_goal(artifacts_, anchor_,
                               {shape("good", 1.05, 1), shape("bad", 0.9, 2), shape("worse", 0.8, 3)});
  }
  void TearDown() override { fs::remove_all(folder_); }

  ledger::Store store() { return ledger::Store::open(artifacts_, anchor_).value(); }
  ledger::CheckReport check() { return ledger::check_goal({goal_path(artifacts_), anchor_}); }
  Status block(const std::vector<std::string>& ids, const std::string& question = "may the frontend be changed?") {
    ledger::Store s = store();
    return block_goal(s, anchor_, question, ids);
  }
  /// Stores a hand-edited kernel's measurement; `edit` may spoil it before.
  template <typename Edit>
  std::string attempt(const FakeShape& of, Edit edit, Purpose purpose = Purpose::attempt) {
    ledger::Store s = store();
    ledger::PairsArtifact a = ledger::testing::fake_pairs(of, purpose, -1);
    if (purpose == Purpose::attempt) {
      a.arms[0].source_sha256 = ledger::testing::hash_of("edited source");
      a.arms[0].generated_sha256 = ledger::testing::hash_of("generated source");
    }
    edit(&a);
    const std::string subject = ledger::candidate_subject(a.arms[0].source_sha256, a.arms[0].config);
    a.open_seq = s.run_open("r1", std::string(purpose_name(purpose)), of.name, subject).value();
    const std::string id = s.put("r1", a.name, to_json(a), of.name, a.open_seq).value();
    EXPECT_TRUE(s.run_close(a.open_seq, "done").ok());
    return id;
  }
  std::string attempt(const FakeShape& of) {
    return attempt(of, [](ledger::PairsArtifact*) {});
  }

  /// What `goal block` refuses for a reason, the checker refuses for the same one when goal file and ledger say it.
  void refuse(const std::vector<std::string>& ids, const std::string& why,
              const std::string& question = "may the frontend be changed?") {
    const Status status = block(ids, question);
    ASSERT_FALSE(status.ok()) << why;
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
    const Goal honest = read_goal(artifacts_).value();
    forge_block(ids, question);
    const ledger::CheckReport report = check();
    EXPECT_EQ(report.exit_code, ledger::kExitBroken) << why << report.text;
    EXPECT_NE(report.text.find("the status is blocked, but"), std::string::npos) << why << report.text;
    EXPECT_NE(report.text.find(why), std::string::npos) << report.text;
    ASSERT_TRUE(write_goal(artifacts_, honest).ok());
    decide("running", "");
  }
  /// Writes past `goal block`: the goal file by hand, the ledger by a script with the writer's rights.
  void forge_block(const std::vector<std::string>& ids, const std::string& question) {
    Goal goal = read_goal(artifacts_).value();
    goal.status = "blocked";
    goal.question_for_user = question;
    goal.status_evidence = ids;
    ASSERT_TRUE(write_goal(artifacts_, goal).ok());
    decide("blocked: " + question, ids.empty() ? "" : ids.front());
  }
  void decide(const std::string& note, const std::string& object) {
    ledger::LedgerLine line;
    line.kind = "status";
    line.run = "r1";
    line.note = note;
    line.object = object;
    ASSERT_TRUE(store().append(std::move(line)).ok());
  }

  std::string folder_, artifacts_, anchor_;
};

TEST_F(GoalMovesTest, PauseNeedsTheOwnersWords) {
  ledger::Store s = store();
  EXPECT_FALSE(pause_goal(s, "").ok());
  EXPECT_FALSE(pause_goal(s, " \"\" ").ok());
  ASSERT_TRUE(pause_goal(s, "stop here, please").ok());
  const ledger::CheckReport report = check();
  EXPECT_EQ(report.exit_code, ledger::kExitUnmet);
  EXPECT_FALSE(report.met);
  EXPECT_EQ(report.status, "paused");
  EXPECT_EQ(read_goal(artifacts_).value().paused_reason, "stop here, please");
  ASSERT_TRUE(resume_goal(s, "go on").ok());
  EXPECT_EQ(check().status, "running");
  EXPECT_FALSE(resume_goal(s, "go on").ok());
}

TEST_F(GoalMovesTest, BlockTakesAHandEditedKernelThatFallsShort) {
  const std::string id = attempt(shape("worse", 0.9, 20));
  const Status status = block({id});
  ASSERT_TRUE(status.ok()) << status.error().message;
  const ledger::CheckReport report = check();
  EXPECT_EQ(report.exit_code, ledger::kExitUnmet) << report.text;
  EXPECT_EQ(report.status, "blocked");
  const GateReply reply = gate({Agent::claude, artifacts_, anchor_, "", kGiveUpAfter});
  EXPECT_TRUE(reply.allowed) << reply.message;
  EXPECT_NE(reply.message.find("stopped, not met"), std::string::npos);
}

TEST_F(GoalMovesTest, AHandEditedKernelAtParityRefusesTheBlockAndBecomesTheNextPass) {
  const std::string short_id = attempt(shape("worse", 0.9, 20));
  const std::string parity_id = attempt(shape("worse", 1.05, 21));
  // even when only the one that falls short is named
  for (const std::string& id : {short_id, parity_id}) {
    const Status status = block({id});
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("reaches parity"), std::string::npos) << status.error().message;
  }
  const std::vector<Idea> ideas = backlog(ledger::read_ledger(artifacts_), "r1");
  ASSERT_EQ(ideas.size(), 1u) << "said once";
  EXPECT_NE(ideas[0].text.find("general pass"), std::string::npos);
  EXPECT_EQ(ideas[0].variant, "worse");
  EXPECT_EQ(check().status, "running");
}

TEST_F(GoalMovesTest, EvidenceOfAnotherKindIsNone) {
  const ledger::Goal goal = read_goal(artifacts_).value();
  refuse({}, "no hand-edited kernel");
  refuse({goal.shapes[2].evidence[0]}, "only a hand-edited kernel");
  refuse({attempt(shape("bad", 0.8, 22))}, "the worst failing variant is worse");
  FakeShape few = shape("worse", 0.97, 23);
  few.sigma = 0.05;
  few.pairs = 4;
  refuse({attempt(few)}, "not decided");
  refuse({attempt(shape("worse", 0.9, 24), [](ledger::PairsArtifact* a) { a->machine[0].second = "Another CPU"; })},
         "another device");
  refuse({attempt(shape("worse", 0.9, 25), [](ledger::PairsArtifact* a) { a->pairs[0].readings[0].correct = false; })},
         "wrong answer");
  refuse({attempt(shape("worse", 0.9, 26), [](ledger::PairsArtifact* a) { a->variant_hash = std::string(64, '0'); })},
         "another kernel, shape or dtype");
  refuse({attempt(
             shape("worse", 0.9, 27), [](ledger::PairsArtifact* a) { set_back(a, "onednn"); }, Purpose::ablate)},
         "no hand-edited kernel");
  refuse({attempt(shape("worse", 0.9, 28),
                  [](ledger::PairsArtifact* a) {
                    a->arms[0].source_sha256 = ledger::testing::hash_of("hillclimb source");
                  })},
         "nothing in it was edited by hand");
  refuse({attempt(shape("worse", 0.9, 29), [](ledger::PairsArtifact* a) { a->timer = "wall"; })}, "was timed as wall");
  refuse({attempt(shape("worse", 0.9, 31),
                  [](ledger::PairsArtifact* a) { a->machine.emplace_back("gpu uuid", "GPU-of-somebody"); })},
         "another device");
  refuse({attempt(shape("worse", 0.9, 32),
                  [](ledger::PairsArtifact* a) {
                    a->arms[1].name = "another";
                    for (auto& pair : a->pairs)
                      for (auto& r : pair.readings) r.arm = r.arm == "onednn" ? "another" : r.arm;
                  })},
         "does not measure onednn");
  EXPECT_EQ(check().status, "running");
  for (const std::string& nothing : {goal.lock, std::string(64, 'a')}) {
    EXPECT_FALSE(block({nothing}).ok());
    forge_block({nothing}, "may the frontend be changed?");
    EXPECT_EQ(check().exit_code, ledger::kExitBroken) << check().text;
    ASSERT_TRUE(write_goal(artifacts_, goal).ok());
    decide("running", "");
  }
}

/// The own arm of a worker names its recipe, which no source hash ever equals.
TEST_F(GoalMovesTest, ASourceThatNobodyEditedIsNone) {
  refuse({attempt(shape("worse", 0.9, 20),
                  [](ledger::PairsArtifact* a) { a->arms[0].source_sha256 = a->arms[0].generated_sha256; })},
         "nothing in it was edited by hand");
  refuse({attempt(shape("worse", 0.9, 21), [](ledger::PairsArtifact* a) { a->arms[0].generated_sha256.clear(); })},
         "no edit is shown");
  EXPECT_TRUE(block({attempt(shape("worse", 0.9, 22))}).ok());
}

TEST_F(GoalMovesTest, AnAblationWithoutABoundIsNone) {
  fs::remove_all(artifacts_);
  fs::remove_all(join_path(folder_, "state"));
  ledger::testing::fake_goal(artifacts_, anchor_, {shape("good", 1.05, 1), shape("worse", 0.8, 3)},
                             R"({"operation":"softmax"})");
  FakeShape few = shape("worse", 0.8, 21);
  few.pairs = 3;
  const std::string unbounded = attempt(
      few, [](ledger::PairsArtifact* a) { set_back(a, "onednn"); }, Purpose::ablate);
  refuse({unbounded, attempt(shape("worse", 0.9, 22))}, "bounds nothing that it sets back in onednn");
}

TEST_F(GoalMovesTest, AnAttemptOfAnEarlierGoalIsNone) {
  const std::string id = attempt(shape("worse", 0.9, 20));
  const Goal goal = read_goal(artifacts_).value();
  {
    ledger::Store s = store();
    ledger::LedgerLine line;
    line.kind = "goal";
    line.run = "r1";
    line.object = goal.lock;
    line.name = "r1/goal.lock.json";
    ASSERT_TRUE(s.append(std::move(line)).ok());
    // the shapes' evidence is measured under the new goal
    for (const char* name : {"good", "bad", "worse"}) {
      const FakeShape again = shape(name,
                                    name == std::string("good")  ? 1.05
                                    : name == std::string("bad") ? 0.9
                                                                 : 0.8,
                                    60);
      const Result<ledger::VariantVerdict> updated = update_shape(s, name, {ledger::testing::confirm_shape(s, again)});
      ASSERT_TRUE(updated.ok()) << updated.error().message;
    }
  }
  refuse({id}, "was measured before the goal was made");
}

TEST_F(GoalMovesTest, ABlockWhoseKernelReachedParityLaterIsBroken) {
  ASSERT_TRUE(block({attempt(shape("worse", 0.9, 20))}).ok());
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet);
  attempt(shape("worse", 1.05, 21));
  EXPECT_EQ(check().exit_code, ledger::kExitBroken);
  EXPECT_NE(check().text.find("reaches parity"), std::string::npos) << check().text;
  ledger::Store s = store();
  ASSERT_TRUE(resume_goal(s, "make it a pass").ok());
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
}

TEST_F(GoalMovesTest, AnUndecidedWorstVariantIsNoneToBlockOn) {
  {
    ledger::Store s = store();
    for (const char* name : {"bad", "worse"}) ASSERT_TRUE(mark_stale(s, name, "the compiler changed").ok());
  }
  refuse({attempt(shape("worse", 0.9, 20))}, "noise on the machine is a reason to pause");
}

TEST_F(GoalMovesTest, AnUnannouncedAttemptIsNone) {
  std::string id;
  {
    ledger::Store s = store();
    ledger::PairsArtifact a = ledger::testing::fake_pairs(shape("worse", 0.9, 30), Purpose::attempt, -1);
    a.arms[0].source_sha256 = ledger::testing::hash_of("edited source");
    id = s.put("r1", a.name, to_json(a), "worse", -1).value();
  }
  refuse({id}, "not announced");
}

TEST_F(GoalMovesTest, BlockNeedsAQuestion) {
  const std::string id = attempt(shape("worse", 0.9, 20));
  refuse({id}, "a concrete question for the owner is needed", "");
  refuse({id}, "a concrete question for the owner is needed", "it is inherent overhead");
  refuse({id}, "a concrete question for the owner is needed", " ? ");
  EXPECT_TRUE(block({id}).ok());
}

/// Measures the worst variant again against a baseline that `edit` changes.
template <typename Edit>
void confirm_again(ledger::Store& s, Edit edit) {
  const ledger::Arm arm = ledger::testing::fake_arm("hillclimb", ledger::Role::candidate);
  const int64_t open =
      s.run_open("r1", "confirm", "worse", ledger::candidate_subject(arm.source_sha256, arm.config)).value();
  ledger::PairsArtifact a = ledger::testing::fake_pairs(shape("worse", 0.8, 40), Purpose::confirm, open);
  edit(&a);
  a.name = "confirm-again";
  std::vector<std::string> ids =
      ledger::confirming_ids(s.view(), "worse", ledger::candidate_subject(arm.source_sha256, arm.config));
  ids.push_back(s.put("r1", a.name, to_json(a), "worse", open).value());
  ASSERT_TRUE(s.run_close(open, "done").ok());
  const Result<ledger::VariantVerdict> updated = update_shape(s, "worse", ids);
  ASSERT_TRUE(updated.ok()) << updated.error().message;
}

TEST_F(GoalMovesTest, ATunedBaselineIsAblatedFirst) {
  {
    ledger::Store s = store();
    confirm_again(s, [](ledger::PairsArtifact* a) { a->arms[1].has_tuner = true; });
  }
  const auto ablate = [&](const std::string& of, uint64_t seed, auto edit) {
    return attempt(
        shape("worse", 0.8, seed),
        [&](ledger::PairsArtifact* a) {
          a->arms[1].has_tuner = true;
          set_back(a, of);
          edit(a);
        },
        Purpose::ablate);
  };
  const auto as_it_is = [](ledger::PairsArtifact*) {};
  const std::string too_early = attempt(shape("worse", 0.9, 41));
  refuse({too_early}, "has a tuned config of its own: an ablation");
  // ablations of the wrong kind
  refuse({too_early, ablate("hillclimb", 42, as_it_is)}, "another implementation than onednn");
  refuse({too_early, attempt(shape("worse", 0.8, 43), as_it_is, Purpose::ablate)}, "sets nothing of onednn back");
  refuse({too_early, ablate("onednn", 44,
                            [](ledger::PairsArtifact* a) {
                              a->arms[2].config = a->arms[1].config;
                              a->arms[2].source_sha256 = a->arms[1].source_sha256;
                            })},
         "another implementation");
  refuse({too_early, ablate("onednn", 45, [](ledger::PairsArtifact* a) { a->arms[1].config = R"({"x":1})"; })},
         "another config or binary");
  refuse({too_early, ablate("onednn", 46, [](ledger::PairsArtifact* a) { a->machine[0].second = "Another CPU"; })},
         "another device");
  refuse({too_early, ablate("onednn", 47, [](ledger::PairsArtifact* a) { a->pairs[0].readings[2].correct = false; })},
         "wrong answer");
  refuse(
      {too_early, attempt(
                      shape("bad", 0.8, 48), [](ledger::PairsArtifact* a) { set_back(a, "onednn"); }, Purpose::ablate)},
      "the worst failing variant is worse");
  const std::string ablation = ablate("onednn", 49, as_it_is);
  refuse({ablation}, "no hand-edited kernel");
  refuse({too_early, ablation}, "before the ablation");
  EXPECT_EQ(check().status, "running");
  const Status both = block({ablation, attempt(shape("worse", 0.9, 50))});
  EXPECT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(check().status, "blocked");
}

TEST_F(GoalMovesTest, ABaselineWithoutSourceIsAblatedFirst) {
  // another goal whose only baseline has nothing to copy
  fs::remove_all(artifacts_);
  fs::remove_all(join_path(folder_, "state"));
  ledger::testing::fake_goal(artifacts_, anchor_, {shape("good", 1.05, 1), shape("worse", 0.8, 3)},
                             R"({"operation":"softmax"})");
  const Status alone = block({attempt(shape("worse", 0.9, 20))});
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("names no `source`"), std::string::npos) << alone.error().message;
  EXPECT_NE(alone.error().help.find("hillclimb ablate tasks/softmax-cpu.toml --variant worse --baseline onednn"),
            std::string::npos);
  const std::string ablation = attempt(
      shape("worse", 0.8, 21), [](ledger::PairsArtifact* a) { set_back(a, "onednn"); }, Purpose::ablate);
  const Status both = block({ablation, attempt(shape("worse", 0.9, 22))});
  EXPECT_TRUE(both.ok()) << both.error().message;
}

TEST_F(GoalMovesTest, AnAmendmentTightensAndIsVisibleForEver) {
  ledger::Store s = store();
  Amendment amendment;
  amendment.margin = 0.005;
  amendment.geomean_min = 1.02;
  amendment.targets = {{"good", 1.06}};
  EXPECT_FALSE(amend_goal(s, amendment).ok()) << "a reason is needed";
  amendment.reason = "the owner wants more";
  const Result<std::string> changes = amend_goal(s, amendment);
  ASSERT_TRUE(changes.ok()) << changes.error().message;
  const ledger::CheckReport report = check();
  EXPECT_EQ(report.exit_code, ledger::kExitUnmet) << report.text;
  EXPECT_EQ(report.geomean_min, 1.02);
  EXPECT_NE(report.text.find("the owner wants more"), std::string::npos);
  for (const auto& v : report.variants) EXPECT_NEAR(v.limit, (v.name == "good" ? 1.06 : 1.0) * 0.995, 1e-12);
}

TEST_F(GoalMovesTest, AnAmendmentNeverLoosens) {
  ledger::Store s = store();
  Amendment wider, lower, target, nothing, unknown;
  wider.margin = 0.02;
  lower.geomean_min = 0.9;
  target.targets = {{"bad", 0.9}};
  unknown.targets = {{"none", 1.1}};
  for (Amendment* amendment : {&wider, &lower, &target, &nothing, &unknown}) {
    amendment->reason = "because";
    EXPECT_FALSE(amend_goal(s, *amendment).ok());
  }
  wider.margin = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(amend_goal(s, wider).ok());
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet);
}

TEST_F(GoalMovesTest, AStaleShapeStaysStaleThroughAnAmendment) {
  ledger::Store s = store();
  ASSERT_TRUE(mark_stale(s, "good", "the compiler changed").ok());
  Amendment amendment;
  amendment.margin = 0.001;
  amendment.reason = "tighter";
  ASSERT_TRUE(amend_goal(s, amendment).ok());
  const ledger::CheckReport report = check();
  EXPECT_EQ(report.exit_code, ledger::kExitUnmet) << report.text;
  EXPECT_TRUE(read_goal(artifacts_).value().shape("good")->stale);
}

TEST_F(GoalMovesTest, TheBacklogKeepsItsRanks) {
  ledger::Store s = store();
  EXPECT_FALSE(add_idea(s, "r1", " ", "", 0).ok());
  EXPECT_EQ(add_idea(s, "r1", "vectorise the tail", "bad", 0).value(), "i1");
  EXPECT_EQ(add_idea(s, "r1", "two rows per thread", "", 0).value(), "i2");
  EXPECT_EQ(add_idea(s, "r1", "non-temporal stores", "", 1).value(), "i3");
  EXPECT_EQ(add_idea(s, "r1", "non-temporal stores", "", 1).value(), "i3") << "the same idea is not doubled";
  ASSERT_TRUE(rank_idea(s, "r1", "i2", 1).ok());
  EXPECT_FALSE(rank_idea(s, "r1", "i9", 1).ok());
  EXPECT_FALSE(rank_idea(s, "r1", "i2", 0).ok());
  std::vector<std::string> order;
  for (const Idea& idea : backlog(s.view(), "r1")) order.push_back(idea.id);
  EXPECT_EQ(order, (std::vector<std::string>{"i2", "i3", "i1"}));
  EXPECT_TRUE(backlog(s.view(), "another run").empty());
}

TEST_F(GoalMovesTest, AnIdeaIsClosedOnlyWithEvidence) {
  ledger::Store s = store();
  ASSERT_TRUE(add_idea(s, "r1", "vectorise the tail", "bad", 0).ok());
  EXPECT_FALSE(close_idea(s, "r1", "i1", "no gain", "").ok());
  EXPECT_FALSE(close_idea(s, "r1", "i1", "no gain", "deadbeef").ok());
  const ledger::GoalShape shape = read_goal(artifacts_).value().shapes[1];
  ASSERT_TRUE(close_idea(s, "r1", "i1", "no gain", shape.artifact).ok());
  const Idea idea = backlog(s.view(), "r1").at(0);
  EXPECT_FALSE(idea.open);
  EXPECT_EQ(idea.evidence, shape.evidence[0]);
  EXPECT_FALSE(close_idea(s, "r1", "i1", "again", shape.artifact).ok());
  EXPECT_EQ(resolve_object(s.view(), shape.evidence[0].substr(0, 12)).value(), shape.evidence[0]);
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << "ideas do not disturb the evidence";
}

TEST_F(GoalMovesTest, TheLogNamesTheWorstVariantAndTheVerdictByItself) {
  ledger::Store s = store();
  const ledger::CheckReport report = check();
  EXPECT_FALSE(add_iteration(s, "r1", report, {}).ok());
  ASSERT_TRUE(add_idea(s, "r1", "a faster tail", "", 0).ok());
  Iteration line;
  line.idea = "i1";
  line.result = "the tail is 3 % faster";
  const Iteration written = add_iteration(s, "r1", report, line).value();
  EXPECT_EQ(written.variant, "worse");
  EXPECT_NE(written.verdict.find("FAIL"), std::string::npos);
  EXPECT_NE(written.verdict.find("UNMET 1/3"), std::string::npos) << written.verdict;
  line.variant = "none";
  const auto unknown = add_iteration(s, "r1", report, line);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().help.find("good"), std::string::npos) << unknown.error().help;
  line.variant = "";
  line.idea = "i9";
  const auto no_idea = add_iteration(s, "r1", report, line);
  ASSERT_FALSE(no_idea.ok());
  EXPECT_NE(no_idea.error().help.find("its ideas are: i1"), std::string::npos) << no_idea.error().help;
  ASSERT_EQ(iterations(s.view(), "r1").size(), 1u);
}

TEST_F(GoalMovesTest, StatusTellsAReaderWithoutMemoryWhatToDo) {
  {
    ledger::Store s = store();
    ASSERT_TRUE(add_idea(s, "r1", "two rows per thread", "worse", 0).ok());
    Iteration line;
    line.idea = "i1";
    line.result = "slower";
    ASSERT_TRUE(add_iteration(s, "r1", check(), line).ok());
    ASSERT_TRUE(s.run_open("r1", "confirm", "bad", "x").ok());
  }
  const std::string text = status_text(look(artifacts_, anchor_));
  for (const char* part : {"UNMET", "worse", "next: work on worse: idea i1", "two rows per thread", "slower",
                           "incomplete: confirm of bad was begun"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_LT(text.find("  FAIL  worse"), text.find("  FAIL  bad"));
  const std::string plan = write_plan(artifacts_, anchor_).value();
  EXPECT_EQ(plan, join_path(artifacts_, "r1/plan.md"));
  EXPECT_NE(read_file(plan).value().find("two rows per thread"), std::string::npos);
}

TEST_F(GoalMovesTest, WhatWasTypedWrongIsUsageAndNamesWhatThereIs) {
  ledger::Store s = store();
  const auto no_variant = add_idea(s, "r1", "two rows per thread", "zz", 0);
  ASSERT_FALSE(no_variant.ok());
  EXPECT_NE(no_variant.error().help.find("good, bad, worse"), std::string::npos) << no_variant.error().help;
  EXPECT_TRUE(backlog(s.view(), "r1").empty());
  Iteration empty;
  empty.idea = "some words";
  for (const Diagnostic& error :
       {no_variant.error(), pause_goal(s, "").error(), amend_goal(s, {}).error(), add_idea(s, "r1", " ", "", 0).error(),
        add_iteration(s, "r1", check(), empty).error()}) {
    EXPECT_EQ(error.code, Code::usage) << error.message;
  }
}

TEST_F(GoalMovesTest, AQuestionIsNotFollowedByAFullStop) {
  ASSERT_TRUE(block({attempt(shape("worse", 0.9, 20))}, "may we stop?").ok());
  const GateReply reply = gate({Agent::exit, artifacts_, anchor_, "", kGiveUpAfter});
  EXPECT_NE((reply.out + reply.err).find("may we stop? 2 of 3 variants fail."), std::string::npos) << reply.message;
}

TEST_F(GoalMovesTest, EverySuggestedCommandNamesTheTaskFile) {
  const auto next = [&] { return next_step(look(artifacts_, anchor_)); };
  EXPECT_NE(next().find("`hillclimb handoff tasks/softmax-cpu.toml --variant worse`"), std::string::npos) << next();
  {
    ledger::Store s = store();
    ASSERT_TRUE(add_idea(s, "r1", "two rows per thread", "", 0).ok());
  }
  EXPECT_NE(next().find("`hillclimb confirm tasks/softmax-cpu.toml --variant worse`"), std::string::npos) << next();
  // a variant that lacks pairs, one that is stale, and everything met
  fs::remove_all(artifacts_);
  fs::remove_all(join_path(folder_, "state"));
  FakeShape few = shape("good", 1.05, 1);
  few.pairs = 4;
  ledger::testing::fake_goal(artifacts_, anchor_, {few});
  EXPECT_NE(next().find("`hillclimb verify tasks/softmax-cpu.toml --variant good`"), std::string::npos) << next();
  {
    ledger::Store s = store();
    ASSERT_TRUE(mark_stale(s, "good", "the compiler changed").ok());
  }
  EXPECT_NE(next().find("`hillclimb confirm tasks/softmax-cpu.toml --variant good`"), std::string::npos) << next();
  fs::remove_all(artifacts_);
  fs::remove_all(join_path(folder_, "state"));
  ledger::testing::fake_goal(artifacts_, anchor_, {shape("good", 1.05, 1)});
  EXPECT_NE(next().find("`hillclimb climb tasks/softmax-cpu.toml --beyond`"), std::string::npos) << next();
  for (const std::string& text : {next(), status_text(look(artifacts_, anchor_)), plan_text(look(artifacts_, anchor_))})
    EXPECT_EQ(text.find("TASK"), std::string::npos) << text;
}

TEST_F(GoalMovesTest, VoidPairsAreNoReasonToRewriteTheKernel) {
  Standing s = look(artifacts_, anchor_);
  s.report.variants[0].reason = "9 of 15 pairs are void: the machine was too restless";
  const std::string step = next_step(s);
  EXPECT_NE(step.find("wait until nothing else runs here"), std::string::npos) << step;
  EXPECT_NE(step.find("`hillclimb verify tasks/softmax-cpu.toml --variant worse`"), std::string::npos) << step;
  EXPECT_EQ(step.find("transplant"), std::string::npos) << step;
}

TEST_F(GoalMovesTest, AnUnknownIdeaIsAnsweredWithWhatAnIdLooksLike) {
  ledger::Store s = store();
  ASSERT_TRUE(add_idea(s, "r1", "two rows per thread", "", 0).ok());
  const auto ranked = rank_idea(s, "r1", "1", 1);
  ASSERT_FALSE(ranked.ok());
  EXPECT_NE(ranked.error().help.find("such as `i1`"), std::string::npos) << ranked.error().help;
}

TEST_F(GoalMovesTest, ATaskFileIsQuotedForAShellWhereItHasTo) {
  ledger::Lock lock;
  EXPECT_EQ(ledger::task_argument(lock), "TASK") << "locks of earlier versions";
  for (const auto& [path, argument] :
       std::vector<std::pair<std::string, std::string>>{{"tasks/a-1_b.toml", "tasks/a-1_b.toml"},
                                                        {"my tasks/a.toml", "'my tasks/a.toml'"},
                                                        {"it's", R"('it'\''s')"}}) {
    lock.task_file = path;
    EXPECT_EQ(ledger::task_argument(lock), argument);
  }
}

TEST_F(GoalMovesTest, StatusNamesWhoIsAtWork) {
  const auto lock = ledger::WriterLock::take(artifacts_, "measure worse");
  ASSERT_TRUE(lock.ok());
  EXPECT_NE(live_writer(artifacts_).find("measure worse"), std::string::npos);
  EXPECT_NE(next_step(look(artifacts_, anchor_)).find("wait"), std::string::npos);
}

}  // namespace
}  // namespace hc::contract
