// Order, counts, repetition and records of interleaved pairs, with workers of scripted times; lock and environment.
#include "bench/pairing.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/json.h"
#include "bench/environment.h"
#include "bench/fake_worker.h"
#include "bench/lock.h"
#include "ledger/records.h"

namespace hc::bench {
namespace {

class Pairing : public testing::Test {
 protected:
  std::string folder_ = make_temp_folder("hc-pairs");
  std::string log_ = join_path(folder_, "log");
  std::string script_ = write_fake_worker(folder_, "worker.sh", "", good_cases());
  PairPlan plan_;

  Pairing() {
    plan_.run_id = "run-1";
    plan_.canary = [] { return CanaryReading{1, 1, 0}; };
    plan_.settle_s = 0;
    plan_.patience_s = 0;
  }
  Arm arm(const std::string& name, const std::string& seconds = "0.0001") {
    Arm made;
    made.name = name;
    made.role = name == "A" ? "candidate" : "baseline";
    made.argv = fake_argv(script_, name, log_, seconds);
    made.files = {{script_, ""}};
    return made;
  }
  /// The arms in the order in which their workers were timed.
  std::string order() {
    std::string names;
    for (const char c : read_file(log_).value_or("")) {
      if (c != '\n') names += c;
    }
    return names;
  }
};

TEST_F(Pairing, AlternatesAndUsesFreshProcesses) {
  plan_.pairs = 4;
  int seen = 0;
  const auto record = run_pairs({arm("A", "0.0001"), arm("B", "0.0002")}, plan_, [&](const PairRecord& pair) {
    EXPECT_EQ(pair.index, seen++);
    EXPECT_TRUE(pair.valid) << pair.message;
    return true;
  });
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(record.value().failure, "");
  EXPECT_TRUE(order() == "ABBAABBA" || order() == "BAABBAAB") << order();
  std::set<int64_t> pids;
  for (const PairRecord& pair : record.value().pairs) {
    ASSERT_EQ(pair.runs.size(), 2U);
    for (const ArmRun& run : pair.runs) {
      pids.insert(run.pid);
      const double seconds = run.timed.blocks.at(0).seconds.at(0);
      EXPECT_EQ(seconds < 0.0002, run.arm == 0) << seconds;  // digits of the process stand behind
      EXPECT_EQ(run.files.at(0).sha256.size(), 64U);
    }
  }
  EXPECT_EQ(pids.size(), 8U);
}

TEST_F(Pairing, FirstArmDependsOnTheRun) {
  std::set<std::string> orders;
  plan_.pairs = 1;
  for (int i = 0; i < 12; ++i) {
    plan_.run_id = "run-" + std::to_string(i);
    const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
    ASSERT_TRUE(record.ok());
    orders.insert(record.value().pairs.at(0).order);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"AB", "BA"}));
}

TEST_F(Pairing, ThreeArmsRunForwardsAndBackwards) {
  plan_.pairs = 2;
  const auto record = run_pairs({arm("A"), arm("B"), arm("C")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(order() == "ABCCBA" || order() == "CBAABC") << order();
}

TEST_F(Pairing, CanaryVoidsAPairBlindAndItIsRepeated) {
  plan_.pairs = 2;
  int calls = 0;
  // Five reference readings, then one after each pair: the first pair's is off.
  plan_.canary = [&] { return CanaryReading{1, ++calls == 6 ? 1.5 : 1.0, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  const CampaignRecord& campaign = record.value();
  // The second is void as well: it began under the same reading.
  ASSERT_EQ(campaign.pairs.size(), 4U);
  EXPECT_EQ(campaign.void_pairs, 2);
  EXPECT_EQ(campaign.valid_pairs, 2);
  EXPECT_EQ(campaign.pairs[0].rule, "canary");
  EXPECT_EQ(campaign.pairs[1].rule, "canary");
  EXPECT_EQ(campaign.pairs[2].index, 0);
  EXPECT_EQ(campaign.pairs[2].attempt, 2);
  EXPECT_EQ(campaign.pairs[0].order, campaign.pairs[2].order);
  EXPECT_NE(campaign.pairs[2].order, campaign.pairs[3].order);
  EXPECT_EQ(campaign.pairs[0].runs.at(1).timed.blocks.size(), 1U);  // its readings are kept
}

TEST_F(Pairing, WaitsForADisturbanceToEnd) {
  plan_.pairs = 1;
  plan_.patience_s = 30;
  int calls = 0;
  // Five for the reference; the one after the first round and the next while waiting are off.
  plan_.canary = [&] { return CanaryReading{++calls == 6 || calls == 7 ? 3.0 : 1.0, 1, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().void_pairs, 1);
  EXPECT_EQ(record.value().valid_pairs, 1);
}

TEST_F(Pairing, ReferenceIsTakenAnewWhenTheMachineIsQuieter) {
  plan_.pairs = 2;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{++calls <= 5 ? 4.0 : 1.0, 1, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().void_pairs, 1);
  EXPECT_EQ(record.value().valid_pairs, 2);
  EXPECT_EQ(record.value().pairs[0].canary_reference.compute_s, 4);
  EXPECT_EQ(record.value().pairs[1].canary_reference.compute_s, 1);
}

TEST_F(Pairing, ReferenceIsTheLeastOfCanariesThatNeverAgree) {
  plan_.pairs = 1;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{++calls < 5 ? 1.0 + calls : 1.5, 1, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().canary_reference.compute_s, 1.5);
}

TEST_F(Pairing, ScatterOfTheMemoryRateWidensItsOwnBandAlone) {
  plan_.pairs = 4;
  plan_.calibration_canaries = 9;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{1, 0.9 + 0.1 * (++calls % 3), 0}; };  // 0.9, 1, 1.1 in turn
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().void_pairs, 0) << record.value().failure;
  EXPECT_EQ(record.value().canary_reference.memory_s, 1);
  EXPECT_NEAR(record.value().canary_band.memory, 4 * 1.4826 * 0.1, 1e-12);
  EXPECT_EQ(record.value().canary_band.compute, plan_.canary_band);
}

TEST_F(Pairing, AProcessorThatStaysSlowerGetsAReferenceOfItsOwn) {
  plan_.pairs = 3;
  plan_.calibration_canaries = 9;
  plan_.patience_s = 30;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{++calls < 16 ? 1.0 : 1.4, 1, 0}; };  // from the second round on
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().valid_pairs, 3) << record.value().failure;
  EXPECT_EQ(record.value().void_pairs, 1);
  EXPECT_EQ(record.value().pairs.back().canary_reference.compute_s, 1.4);
}

TEST_F(Pairing, ADeviceThatStaysSlowerIsNotMeasuredOn) {
  plan_.pairs = 3;
  plan_.patience_s = 4;
  plan_.max_invalid = 2;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{++calls < 7 ? 1.0 : 1.4, 1, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().valid_pairs, 1);
  EXPECT_EQ(record.value().void_pairs, 3);
}

TEST_F(Pairing, BeyondTheCalibratedBandARoundIsVoid) {
  plan_.pairs = 1;
  plan_.calibration_canaries = 9;
  int calls = 0;
  plan_.canary = [&] { return CanaryReading{1, ++calls == 15 ? 2.5 : 1.0 + 0.1 * (calls % 3), 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  ASSERT_EQ(record.value().void_pairs, 2) << "the reading ends one round and begins the next";
  EXPECT_EQ(record.value().pairs[0].message,
            "the canary moved by +0.0 % in compute and +127.3 % in memory; 15.0 and 53.9 % are the limits");
}

TEST_F(Pairing, WorkerFailureIsRepeatedAndKept) {
  const std::string marker = join_path(folder_, "died");
  const std::string dying = "if [ ! -e " + marker + " ]; then touch " + marker + "; echo oh no >&2; exit 7; fi";
  Arm b = arm("B");
  b.argv = fake_argv(write_fake_worker(folder_, "dying.sh", dying, good_cases()), "B", log_);
  plan_.pairs = 2;
  const auto record = run_pairs({arm("A"), b}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().valid_pairs, 2);
  EXPECT_EQ(record.value().void_pairs, 1);
  EXPECT_EQ(record.value().pairs[0].rule, "worker_failed");
  EXPECT_NE(record.value().pairs[0].message.find("oh no"), std::string::npos) << record.value().pairs[0].message;
}

TEST_F(Pairing, AWorkerThatReportsMoreTimeThanItTookIsVoid) {
  plan_.pairs = 2;
  const auto record = run_pairs({arm("A"), arm("B", "9.0")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().valid_pairs, 0);
  EXPECT_EQ(record.value().pairs[0].rule, "worker_failed");
  EXPECT_NE(record.value().failure.find("s of launches, and its answer took"), std::string::npos)
      << record.value().failure;
}

TEST_F(Pairing, GivesUpOnAnArmThatAlwaysFails) {
  Arm b = arm("B");
  b.argv = {"/bin/sh", "-c", "exit 7"};
  const auto record = run_pairs({arm("A"), b}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().void_pairs, 3);
  EXPECT_NE(record.value().failure.find("worker_failed: B: "), std::string::npos) << record.value().failure;
}

TEST_F(Pairing, GivesUpAboveTheCap) {
  int calls = 0;
  plan_.max_invalid = 4;
  plan_.canary = [&] { return CanaryReading{++calls > 5 ? 2.0 : 1.0, 1, 0}; };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().void_pairs, 5);
  EXPECT_EQ(record.value().valid_pairs, 0);
  EXPECT_NE(record.value().failure.find("5 pairs were void, the last by the rule canary"), std::string::npos);
}

TEST_F(Pairing, AnotherHashVoidsThePair) {
  Arm b = arm("B");
  b.files = {{script_, std::string(64, '0')}};
  const auto record = run_pairs({arm("A"), b}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().pairs.at(0).rule, "hash_mismatch");
  EXPECT_NE(record.value().failure, "");
}

TEST_F(Pairing, WrongOutputEndsTheCampaign) {
  int asked = 0;
  plan_.verify = [&](const Arm& judged, const CheckReply& outputs) -> Result<OutputVerdict> {
    ++asked;
    EXPECT_EQ(outputs.outputs.at(0).sha256, "out");
    if (judged.name == "A") return OutputVerdict{true, 0.25, 0, ""};
    return OutputVerdict{false, 8, 1, "element 3 is 1 and not 2"};
  };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().failure, "wrong answer of B: element 3 is 1 and not 2");
  EXPECT_EQ(record.value().pairs.size(), 1U);
  EXPECT_EQ(asked, 2);  // equal hashes are judged once per arm
}

TEST_F(Pairing, TheCallbackCanStop) {
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, [](const PairRecord&) { return false; });
  ASSERT_TRUE(record.ok());
  EXPECT_TRUE(record.value().stopped);
  EXPECT_EQ(record.value().pairs.size(), 1U);
}

TEST_F(Pairing, RefusesPlansThatCannotBeFollowed) {
  EXPECT_FALSE(run_pairs({arm("A")}, plan_, {}).ok());
  plan_.pairs = 0;
  EXPECT_FALSE(run_pairs({arm("A"), arm("B")}, plan_, {}).ok());
}

TEST_F(Pairing, BecomesEvidenceThatTheLedgerReads) {
  plan_.pairs = 2;
  const std::vector<Arm> arms = {arm("A"), arm("B")};
  const auto record = run_pairs(arms, plan_, {});
  ASSERT_TRUE(record.ok());
  ledger::PairsArtifact artifact;
  artifact.run = artifact.name = artifact.task = artifact.variant = "x";
  fill_artifact(record.value(), arms, plan_, &artifact);
  const auto parsed = ledger::parse_pairs(ledger::to_json(artifact), "test");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed.value().pairs.size(), 2U);
  ASSERT_EQ(parsed.value().arms.size(), 2U);
  const ledger::Reading& reading = parsed.value().pairs[0].readings.at(0);
  EXPECT_EQ(reading.blocks.at(0).seconds, record.value().pairs[0].runs[0].timed.blocks[0].seconds[0]);
  EXPECT_EQ(reading.binary_sha256, parsed.value().arms[0].binary_sha256);
  EXPECT_EQ(parsed.value().timer, "monotonic/one-launch/cold-l2");
  const Json json = to_json(record.value(), arms, plan_);
  EXPECT_EQ(json["schema"], "hillclimb.campaign/1");
  EXPECT_EQ(json["pairs"].size(), 2U);
}

TEST_F(Pairing, AnIntruderVoidsTheRoundAndEndsTheCampaign) {
  plan_.pairs = 4;
  int asked = 0;
  plan_.intruder = [&] { return ++asked == 2 ? std::string("1 other process uses it") : std::string(); };
  const auto record = run_pairs({arm("A"), arm("B")}, plan_, {});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record.value().valid_pairs, 1);
  EXPECT_EQ(record.value().void_pairs, 1);
  EXPECT_EQ(record.value().pairs.back().rule, "foreign_process");
  EXPECT_EQ(record.value().pairs.back().runs.size(), 2U) << "a void round keeps its readings";
  EXPECT_NE(record.value().failure.find("1 other process uses it"), std::string::npos) << record.value().failure;
}

TEST(Canary, NoScatterIsWiderThanHalfSpeed) {
  const std::vector<CanaryReading> readings{{1, 1, 0}, {1, 1, 0}, {1.01, 9, 0}};
  const CanaryReading middle = median_canary(readings);
  EXPECT_EQ(memory_scatter(readings, middle, 0.05), 1);
  EXPECT_EQ(memory_scatter({middle, middle}, middle, 0.05), 0.05);
  const double now = memory_scatter_now();
  EXPECT_GE(now, 0);
  EXPECT_LE(now, 1);
}

TEST(Canary, ReadsTheMachine) {
  const CanaryReading reading = run_canary();
  EXPECT_GT(reading.compute_s, 1e-4);
  EXPECT_GT(reading.memory_s, 1e-4);
  EXPECT_LT(reading.compute_s + reading.memory_s, 1);
  EXPECT_TRUE(within({0.8, 1.1, 5}, {1, 1, 9}, {0.21, 0.11}));
  EXPECT_FALSE(within({0.8, 1.1, 0}, {1, 1, 0}, {0.19, 0.11}));
  EXPECT_FALSE(within({0.8, 1.1, 0}, {1, 1, 0}, {0.21, 0.09}));
}

TEST(Environment, NamesTheMachine) {
  const Json facts = environment();
  for (const char* key : {"cpu", "cores", "affinity", "kernel", "isolation", "load", "l2_bytes"}) {
    EXPECT_TRUE(facts.contains(key)) << key;
  }
  EXPECT_GE(facts["cores"].get<int>(), 1);
  Json later = environment();
  later["load"] = Json::array({9, 9, 9});
  EXPECT_EQ(environment_fingerprint(facts), environment_fingerprint(later));
  later["cores"] = 999;
  EXPECT_NE(environment_fingerprint(facts), environment_fingerprint(later));
}

TEST(Lock, KeepsOthersOutAndNamesTheHolder) {
  const std::string file = join_path(make_temp_folder("hc-lock"), "lock");
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = MeasurementLock::acquire(5, {}, file);
    char c = lock.ok() ? 'y' : 'n';
    (void)!::write(ready[1], &c, 1);
    (void)!::read(done[0], &c, 1);
    ::_exit(0);  // the lock goes with the process
  }
  char c = 'n';
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_EQ(c, 'y');
  std::string heard;
  const auto refused = MeasurementLock::acquire(
      0.1, [&](const std::string& holder) { heard = holder; }, file);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(heard, "process " + std::to_string(child));
  EXPECT_NE(refused.error().message.find(heard), std::string::npos);
  EXPECT_EQ(read_file(file).value_or(""), heard + "\n");
  ASSERT_EQ(::write(done[1], &c, 1), 1);
  ::waitpid(child, nullptr, 0);
  const auto lock = MeasurementLock::acquire(5, {}, file);
  EXPECT_TRUE(lock.ok());
  const auto again = MeasurementLock::acquire(0, {}, file);
  EXPECT_TRUE(again.ok());  // the holder itself
  const auto nowhere = MeasurementLock::acquire(0, {}, "/nowhere/lock");
  EXPECT_FALSE(nowhere.ok());
}

}  // namespace
}  // namespace hc::bench
