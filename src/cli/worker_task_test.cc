// A task whose candidate is a worker, from first numbers to the report: its own tuner, pinned configs, refusals, a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/worker_arm.h"
#include "cli/worker_task_fixture.h"
#include "contract/goal.h"
#include "ledger/checker.h"
#include "report/report.h"

namespace hc::cli {
namespace {

TEST_F(WorkerTask, GoesAllTheWayWithItsConfigPinned) {
  write_task("tune_seconds = 0\n", "", narrow_baseline());
  ASSERT_EQ(start(options("start")), 0);
  const ledger::TuneRecord tune = ledger::parse_tune(stored("tune-t1"), "tune").value();
  EXPECT_TRUE(tune.cold_and_full());
  EXPECT_EQ(tune.arm, "mine");
  const Json winner = parse_json(tune.winner).value();
  EXPECT_TRUE(winner.contains("pieces")) << tune.winner;
  EXPECT_TRUE(ledger::parse_check(stored("check-t1"), "check").value().passed);
  EXPECT_EQ(ledger::parse_check(stored("check-t1"), "check").value().reference, "oracle");
  const ledger::TuneRecord rival = ledger::parse_tune(stored("config-t1-double"), "config").value();
  EXPECT_EQ(rival.winner, "{\"pieces\":1}") << "a baseline's own choice is recorded as well";
  const ledger::TuneRecord refusal = ledger::parse_tune(stored("config-t1-narrow"), "config").value();
  EXPECT_EQ(refusal.candidates.at(0).outcome, ledger::Outcome::refused);
  EXPECT_NE(refusal.candidates.at(0).reason.find("rows of 64 are too wide"), std::string::npos);

  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict.value().best_baseline, "double");
  EXPECT_GT(verdict.value().ratio, 1.0);
  EXPECT_EQ(verdict.value().reason.find("tune"), std::string::npos) << verdict.value().reason;
  EXPECT_EQ(verdict.value().reason.find("narrow"), std::string::npos) << "one that refuses is no rival";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;

  int tuned = 0, bare = 0;
  for (const Json& given : log()) {
    tuned += !given["tune_s"].is_null();
    bare += given["tune_s"].is_null() && given["config"].is_null();
    const bool pinned = given["implementation"] == "plain" && !given["config"].is_null();
    EXPECT_TRUE(!pinned || given["config"] == winner) << given.dump();
  }
  EXPECT_EQ(tuned, 1) << "pairs never tune again";
  EXPECT_EQ(bare, 1) << "the baseline was asked for its config once";
  EXPECT_GT(log().size(), 20u) << "each reading has a process of its own";
  const auto paths = report::write_report(path("artifacts"), check().run, path("out"), {path("anchor.json"), ""});
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_NE(read_file(paths.value().markdown).value().find("rows of 64 are too wide"), std::string::npos);
}

TEST_F(WorkerTask, BeyondAMetGoalTheEntryOnlyGetsBetter) {
  if (!climb_to_the_goal()) GTEST_SKIP() << "the machine was too restless";
  const int tuned = tunes();
  const auto [nothing, idle] = climb(options("climb"));
  EXPECT_EQ(nothing, ledger::kExitMet) << idle;
  EXPECT_NE(idle.find("every variant passes: nothing is left to do"), std::string::npos) << idle;
  EXPECT_EQ(tunes(), tuned);

  ClimbOptions beyond = options("climb");
  beyond.beyond = true;
  for (int round = 1; round <= 2; ++round) {
    const ledger::GoalShape before = check().shapes.at(0);
    const auto [status, out] = climb(beyond);
    SCOPED_TRACE(out);
    EXPECT_EQ(status, ledger::kExitMet) << check().text;
    EXPECT_NE(out.find("every variant passes: 1 are tuned anew, the smallest lead first"), std::string::npos);
    EXPECT_EQ(tunes(), tuned + round);
    const ledger::GoalShape after = check().shapes.at(0);
    const bool stays = out.find("the entry stays") != std::string::npos;
    EXPECT_EQ(after.evidence == before.evidence, stays);
    EXPECT_GE(after.lcb, before.lcb);
    EXPECT_TRUE(check().broken.empty()) << "no confirming run of the entry was left out";
  }
}

TEST_F(WorkerTask, AKernelEditedAfterAMetGoalIsStaleAndMeasuredAnew) {
  const std::string kernel = read_file(std::string(HC_SOURCE_DIR) + "/kernels/softmax.py").value_or("");
  ASSERT_EQ(write_file_atomic(path("k.py"), kernel), "");
  if (!climb_to_the_goal("k.py:softmax")) GTEST_SKIP() << "the machine was too restless";
  const int tuned = tunes();
  const ledger::GoalShape before = check().shapes.at(0);

  ASSERT_EQ(write_file_atomic(path("k.py"), kernel + "\n# edited since\n"), "");
  {
    Workbench bench(options("measure t1"), context_);
    ASSERT_TRUE(bench.open("t1").ok());
  }
  EXPECT_EQ(check().exit_code, ledger::kExitUnmet) << check().text;
  EXPECT_NE(check().text.find("stale"), std::string::npos) << check().text;

  const auto [again, out] = climb(options("climb"));
  EXPECT_TRUE(again == ledger::kExitMet || again == ledger::kExitUndecided) << out;
  EXPECT_EQ(tunes(), tuned + 1) << "the edited kernel was tuned";
  EXPECT_NE(check().shapes.at(0).evidence, before.evidence);
  EXPECT_FALSE(check().shapes.at(0).stale);
}

TEST_F(WorkerTask, AnotherProgramIsAnotherCandidate) {
  ASSERT_EQ(make_folders(path("mine/deep/__pycache__")), "");
  const auto write = [&](const char* file, const char* text) {
    ASSERT_EQ(write_file_atomic(path(std::string("mine/") + file), text), "");
  };
  write("compiler.py", "1");
  write_task(fmt::format("files = [\"{}\"]\n", path("mine")));
  const contract::Task task = contract::read_task(path("tiny.toml")).value();
  const auto identity = [&] {
    return worker_contender(*task.candidate, task, Subject{}, ledger::Role::candidate).value().arm.source_sha256;
  };
  const std::string before = identity();
  EXPECT_EQ(identity(), before);
  write("deep/__pycache__/compiler.pyc", "compiled");
  EXPECT_EQ(identity(), before) << "caches are not the program";
  write("compiler.py", "2");
  const std::string edited = identity();
  EXPECT_NE(edited, before);
  write("deep/pass.py", "3");
  EXPECT_NE(identity(), edited) << "a file that came in";
}

TEST_F(WorkerTask, ARunDrawsItsOwnInputsForAllOfItsArms) {
  write_task("");
  ASSERT_EQ(start(options("start")), 0);
  const contract::Goal goal = contract::read_goal(path("artifacts")).value();
  const uint64_t seed = input_seed_of(goal.run, goal.lock);
  EXPECT_NE(seed, kInputSeed);
  EXPECT_NE(seed, input_seed_of(goal.run + "-2", goal.lock));
  EXPECT_NE(seed, input_seed_of(goal.run, goal.lock + "0"));
  ASSERT_TRUE(verify().ok());
  for (const Json& given : log()) EXPECT_EQ(given["seed"], seed) << given.dump();
  const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("confirm-t1"), "pairs").value();
  EXPECT_EQ(ledger::fact(pairs.input, "seed"), std::to_string(seed)) << "the record says with which inputs";

  Workbench bench(options("audit"), context_);
  ASSERT_TRUE(bench.open("t1").ok());
  ASSERT_TRUE(bench.replay(check().shapes.at(0).evidence.back()).ok());
  const ledger::PairsArtifact fresh = ledger::parse_pairs(stored("audit-t1"), "pairs").value();
  EXPECT_NE(ledger::fact(fresh.input, "seed"), std::to_string(seed)) << "an audit draws others";
  EXPECT_FALSE(ledger::fact(fresh.input, "seed").empty());
}

TEST_F(WorkerTask, ALimitedTuneNeverPasses) {
  write_task("tune_seconds = 1\n");
  ASSERT_EQ(start(options("start")), 0);
  const ledger::TuneRecord tune = ledger::parse_tune(stored("tune-t1"), "tune").value();
  EXPECT_TRUE(tune.started_cold);
  EXPECT_FALSE(tune.full);
  EXPECT_EQ(tune.ended_by, "limit");
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass);
  EXPECT_NE(verdict.value().reason.find("ended by a limit before it converged"), std::string::npos)
      << verdict.value().reason;
  EXPECT_NE(check().text.find("ended by a limit"), std::string::npos) << check().text;
}

TEST_F(WorkerTask, APinnedConfigIsNoTune) {
  write_task("config = { pieces = 4 }\n");
  ASSERT_EQ(start(options("start")), 0);
  EXPECT_EQ(ledger::parse_tune(stored("tune-t1"), "tune").value().ended_by, "no search");
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_NE(verdict.value().reason.find("no search found the config of"), std::string::npos) << verdict.value().reason;
  for (const Json& given : log()) EXPECT_TRUE(given["tune_s"].is_null());
}

TEST_F(WorkerTask, AFailedTuneIsARowWithItsError) {
  for (const auto& [step, words] : {std::pair{"tune", "found no config for this device"}, {"die", "python3"}}) {
    write_task(fmt::format("fail = \"{}\"\n", step));
    ClimbOptions fresh = options("start");
    fresh.fresh = true;
    EXPECT_EQ(start(fresh), 1);
    EXPECT_NE(check().text.find("not measured: mine: "), std::string::npos) << check().text;
    EXPECT_NE(check().text.find(words), std::string::npos) << check().text;
    const auto paths = report::write_report(path("artifacts"), check().run, path("out"), {path("anchor.json"), ""});
    ASSERT_TRUE(paths.ok()) << paths.error().message;
    EXPECT_NE(read_file(paths.value().markdown).value().find(words), std::string::npos);
  }
}

/// As `climb --beyond` leaves it when the worker's new config is no better.
TEST_F(WorkerTask, VerifyTakesTheConfigOfTheGoalsEntry) {
  write_task("tune_seconds = 0\n");
  ASSERT_EQ(start(options("start")), 0);
  const ledger::TuneRecord entry = ledger::parse_tune(stored("tune-t1"), "tune").value();
  ledger::TuneRecord later = entry;
  later.winner = "{\"pieces\":3}";
  ASSERT_NE(later.winner, entry.winner);
  {
    ledger::Store store = ledger::Store::open(path("artifacts"), path("anchor.json")).value();
    ASSERT_TRUE(store.put(later.run, later.name, ledger::to_json(later), "t1", -1).ok());
  }
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  const ledger::PairsArtifact confirmed = ledger::parse_pairs(stored("confirm-t1"), "pairs").value();
  EXPECT_EQ(confirmed.arms[0].config, entry.winner);
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WorkerTask, WrongOutputsAreFoundByTheOracle) {
  write_task("fail = \"wrong\"\n");
  EXPECT_EQ(start(options("start")), 1);
  const ledger::CheckRecord record = ledger::parse_check(stored("check-t1"), "check").value();
  EXPECT_FALSE(record.passed);
}

TEST_F(WorkerTask, AWrongAnswerDuringTheRunKeepsItsSamples) {
  write_task(fmt::format("fail = \"late\"\nwhen = \"{}\"\n", path("bad")));
  ASSERT_EQ(start(options("start")), 0);
  ASSERT_EQ(write_file_atomic(path("bad"), "1"), "");
  const Result<ledger::VariantVerdict> failed = verify();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::wrong_answer) << failed.error().message;
  const ledger::PairsArtifact kept = ledger::parse_pairs(stored("failed-"), "failed").value();
  ASSERT_FALSE(kept.pairs.empty());
  EXPECT_FALSE(kept.pairs[0].valid);
  EXPECT_EQ(kept.pairs[0].rule, "campaign_failed");
  ASSERT_FALSE(kept.pairs[0].readings.empty());
  EXPECT_FALSE(kept.pairs[0].readings[0].blocks.empty());
  EXPECT_GT(kept.pairs[0].reference.compute_s, 0);
  // it is no evidence: the next run is judged without it
  std::filesystem::remove(path("bad"));
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(check().broken.empty()) << check().text;
}

TEST_F(WorkerTask, AWrongBaselineIsLeftOutWithItsReason) {
  std::string wrong = narrow_baseline();
  wrong.replace(wrong.find("widest = 32"), 11, "fail = \"wrong\"");
  write_task("", "", wrong);
  ASSERT_EQ(start(options("start")), 0);
  const ledger::TuneRecord record = ledger::parse_tune(stored("config-t1-narrow"), "config").value();
  EXPECT_EQ(record.candidates.at(0).outcome, ledger::Outcome::wrong_answer);
  const Result<ledger::VariantVerdict> verdict = verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass) << "a rival that was not measured may be the best one";
}

TEST_F(WorkerTask, AnUnreadableKernelIsHeldAgainstTheFirstBaseline) {
  ASSERT_EQ(write_file_atomic(path("k.py"), "def softmax(x):\n    return launch_my_cuda(x)\n"), "");
  write_task("", "", "", "k.py:softmax");
  ASSERT_EQ(start(options("start")), 0);
  EXPECT_EQ(ledger::parse_check(stored("check-t1"), "check").value().reference, "baseline double");
  write_task("fail = \"wrong\"\n", "", "", "k.py:softmax");
  ClimbOptions fresh = options("start");
  fresh.fresh = true;
  EXPECT_EQ(start(fresh), 1);
  EXPECT_FALSE(ledger::parse_check(stored("check-t1"), "check").value().passed);
}

TEST_F(WorkerTask, EveryWorkerOfAVariantGetsItsGpu) {
  write_task("", "device = \"gpu\"\nwaive = \"a test\"\n");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  ASSERT_EQ(start(with), 0);
  ASSERT_GT(log().size(), 5u);
  for (const Json& given : log()) EXPECT_EQ(given["gpu"], "GPU-test");
  const std::string devices = read_file(path("artifacts/" + check().run + "/devices.json")).value_or("");
  EXPECT_NE(devices.find("\"t1\": \"GPU-test\""), std::string::npos) << devices;
  const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("nominate-t1"), "pairs").value();
  EXPECT_EQ(ledger::fact(pairs.machine, "gpu uuid"), "GPU-test");
  EXPECT_EQ(pairs.timer, "event/one-launch/cold-l2");
}

TEST_F(WorkerTask, RoundsThatSlowModesLeftOpenAreMeasuredOnceMore) {
  write_task(fmt::format("tune_seconds = 0\nlimp = \"{}\"\n", path("steps")));
  const std::string said = climb(options("climb")).second;
  EXPECT_NE(said.find("slow modes left it open, so it is measured once more"), std::string::npos) << said;
  int confirming = 0;
  for (const ledger::LedgerLine& line : ledger::read_ledger(path("artifacts")).lines) {
    confirming += line.kind == "run_open" && line.purpose == "confirm";
  }
  EXPECT_EQ(confirming, 2);
  EXPECT_EQ(check().variants.front().pairs, 16) << "both runs are pooled";
}

TEST_F(WorkerTask, ConfirmingRoundsOnAGpuFollowItsCalibrationAndACoolDown) {
  write_task("", "device = \"gpu\"\nwaive = \"a test\"\n");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  ASSERT_EQ(start(with), 0);
  const auto verify_there = [&] {
    Workbench bench(with, context_);
    const Status open = bench.open("t1");
    ASSERT_TRUE(open.ok()) << open.error().message;
    const Result<ledger::VariantVerdict> verdict = bench.verify();
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_TRUE(verdict.value().calibration.there());
    EXPECT_EQ(verdict.value().calibration.device, "GPU-test");
  };
  verify_there();
  const ledger::PairsArtifact itself = ledger::parse_pairs(stored("aa-t1"), "aa").value();
  EXPECT_EQ(itself.purpose, ledger::Purpose::aa);
  EXPECT_EQ(itself.arms[0].binary_sha256, itself.arms[1].binary_sha256);
  const ledger::PairsArtifact confirm = ledger::parse_pairs(stored("confirm-t1"), "confirm").value();
  EXPECT_LT(itself.open_seq, confirm.open_seq);
  EXPECT_EQ(ledger::fact(confirm.machine, "gpu idle temperature C"), "30");
  EXPECT_EQ(ledger::fact(confirm.machine, "gpu cool-down"), "reached in 0 s");
  EXPECT_EQ(ledger::fact(itself.machine, "gpu cool-down"), "") << "only confirming rounds wait";
}

/// What the referee measures of a GPU by itself: its copy in every round, its memory's rates before and after them.
TEST_F(WorkerTask, AGpuCampaignHasItsAnchorAndItsRates) {
  write_task("", "device = \"gpu\"\nwaive = \"a test\"\n");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  std::vector<std::string> asked;
  with.gpu_rates = [&](const std::string& uuid) -> Result<bench::GpuRates> {
    asked.push_back(uuid);
    return bench::GpuRates{
        .read_gbs = asked.size() == 1 ? 1e6 : 1e5, .copy_gbs = 900, .bytes = 1 << 20, .l2_bytes = 1024};
  };
  with.gpu_anchor = tune::device_anchor(kProgram);
  with.gpu_anchor->prepare.implementation = "copy";
  with.gpu_anchor->prepare.bytes = 1 << 20;
  ASSERT_EQ(start(with), 0);
  EXPECT_GE(asked.size(), 2u) << "before the rounds and after them";
  for (const std::string& uuid : asked) EXPECT_EQ(uuid, "GPU-test");
  const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("nominate-t1"), "pairs").value();
  EXPECT_EQ(pairs.read_gbs, 1e6) << "the better of the two";
  EXPECT_EQ(pairs.cache_bytes, 1024);
  EXPECT_EQ(ledger::fact(pairs.machine, "driver copy GB/s"), "900");
  ASSERT_EQ(pairs.arms.back().name, "device copy");
  EXPECT_EQ(pairs.arms.back().role, ledger::Role::anchor);
  for (const ledger::Pair& pair : pairs.pairs) EXPECT_EQ(pair.readings.size(), pairs.arms.size());
  EXPECT_TRUE(check().broken.empty()) << check().text;
  // the same once more where the memory is said to read almost nothing: what the workers claim is impossible then
  with.gpu_rates = [](const std::string&) -> Result<bench::GpuRates> {
    return bench::GpuRates{.read_gbs = 1e-12, .copy_gbs = 1e-12, .bytes = 1 << 20, .l2_bytes = 0};
  };
  Workbench bench(with, context_);
  ASSERT_TRUE(bench.open("t1").ok());
  const Result<ledger::VariantVerdict> verdict = bench.verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass);
  const ledger::PairsArtifact confirmed = ledger::parse_pairs(stored("confirm-t1"), "pairs").value();
  EXPECT_NE(ledger::refusal(confirmed).find("above the read rate"), std::string::npos) << ledger::refusal(confirmed);
}

TEST_F(WorkerTask, WithoutTheGpusRatesThereAreNoNumbers) {
  write_task("", "device = \"gpu\"\nwaive = \"a test\"\n");
  ClimbOptions with = options("start");
  with.gpus = idle_gpus({"GPU-test"}, folder_);
  with.gpu_rates = [](const std::string&) -> Result<bench::GpuRates> {
    return Diagnostic{Code::measurement_failed, "the memory rates of GPU-test failed"};
  };
  testing::internal::CaptureStdout();
  const int without = start(with);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(without, 1) << said;
  EXPECT_NE(said.find("the memory rates of GPU-test failed"), std::string::npos) << said;
}

/// The GPUs that the workers of each variant were given, and whether workers of two variants ran at the same time.
TEST_F(WorkerTask, VariantsAreSpreadOverTheGpusThatThereAre) {
  const auto four = [&](const std::string& task) {
    std::string out = task;
    for (int i = 2; i <= 4; ++i) {
      out.insert(out.find("[candidate]"), fmt::format("[[variant]]\nname = \"t{}\"\nm = 8\nn = {}\n\n", i, 64 * i));
    }
    return out;
  };
  for (const bool whole : {false, true}) {
    std::filesystem::remove(path("log"));
    write_task("tune_seconds = 0\n", "device = \"gpu\"\nwaive = \"a test\"\n");
    std::string text = four(read_file(path("tiny.toml")).value());
    text.replace(text.find("pairs = 8"), 9, "aa_pairs = 0\npairs = 5");
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
    ClimbOptions with = options("start");
    with.fresh = whole;
    with.gpus = idle_gpus({"GPU-a", "GPU-b"}, folder_);
    std::string said;
    if (whole) {
      said = climb(with).second;
    } else {
      testing::internal::CaptureStdout();
      const int without = start(with);
      said = testing::internal::GetCapturedStdout();
      ASSERT_EQ(without, 0) << said;
    }
    EXPECT_NE(said.find("GPU-a takes t1 t3"), std::string::npos) << said;
    EXPECT_NE(said.find("GPU-b takes t2 t4"), std::string::npos) << said;
    std::map<std::string, std::set<std::string>> given_to;  // the width of the input names the variant
    for (const Json& given : log()) given_to[given["args"].dump()].insert(given["gpu"].get<std::string>());
    EXPECT_EQ(given_to.size(), 4u);
    for (const auto& [args, gpus] : given_to) EXPECT_EQ(gpus.size(), 1u) << args;
    const ledger::CheckReport report = check();
    EXPECT_TRUE(report.broken.empty()) << report.text;
    ASSERT_EQ(report.shapes.size(), 4u);
    for (const ledger::GoalShape& shape : report.shapes) EXPECT_FALSE(shape.evidence.empty()) << shape.name;
    for (const char* variant : {"t1", "t2", "t3", "t4"}) {
      const ledger::PairsArtifact pairs =
          ledger::parse_pairs(stored(fmt::format("nominate-{}", variant)), "pairs").value();
      EXPECT_EQ(ledger::fact(pairs.machine, "gpu uuid"), variant[1] % 2 ? "GPU-a" : "GPU-b");
    }
  }
}

/// What concerns every variant ends all parts, and what was stored stays whole.
TEST_F(WorkerTask, APartThatCannotGoOnEndsTheOthers) {
  write_task("tune_seconds = 0\n", "device = \"gpu\"\nwaive = \"a test\"\n");
  std::string task = read_file(path("tiny.toml")).value();
  task.insert(task.find("[candidate]"), "[[variant]]\nname = \"t2\"\nm = 8\nn = 128\n\n");
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), task), "");
  ClimbOptions with = options("start");
  std::atomic<int> opened{0};
  with.gpus = [&,
               inner = idle_gpus({"GPU-a", "GPU-b"}, folder_)](bench::GpuPoolOptions pool) -> Result<bench::GpuPool> {
    if (++opened == 3) return Diagnostic{.code = Code::file_error, .message = "no space is left"};
    return inner(std::move(pool));
  };
  Workbench bench(with, context_);
  const Result<int> without = bench.first_numbers();
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::file_error) << without.error().message;
  EXPECT_TRUE(check().broken.empty()) << check().text;
}

TEST_F(WorkerTask, StepsOnOurOwnSourceRefuse) {
  write_task("");
  ASSERT_EQ(start(options("start")), 0);
  Workbench bench(options("ablate t1"), context_);
  ASSERT_TRUE(bench.open("t1").ok());
  for (const Diagnostic& error : {bench.ablate().error(), bench.attempt("", std::nullopt).error(),
                                  bench.defaults().error(), bench.measure(knob::Config()).error()}) {
    EXPECT_EQ(error.code, Code::not_available) << error.message;
  }
}

}  // namespace
}  // namespace hc::cli
