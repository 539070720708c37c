// What a candidate that is a worker can do beside being measured: second backends, listings, edited sources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/handoff.h"
#include "cli/kernel_request.h"
#include "cli/workbench.h"
#include "cli/worker_listing.h"
#include "cli/worker_task_fixture.h"
#include "ledger/checker.h"
#include "report/report.h"

namespace hc::cli {
namespace {

const std::string kSource = HC_SOURCE_DIR;

class WorkerCandidate : public WorkerTask {
 protected:
  /// The candidate `mine` with further lines, against a baseline that does everything twelve times.
  void write_task(const std::string& candidate, const std::string& arguments = "") const {
    const std::string text = fmt::format(
        "name = \"tiny\"\nkernel = \"{0}/kernels/softmax.py:softmax\"\nbytes = \"8 * m * n\"\n\n[inputs]\n"
        "x = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\nname = \"t1\"\nm = 8\nn = 64\n\n[candidate]\nname = \"mine\"\n"
        "implementation = \"plain\"\nworker = [\"python3\", \"{1}\"{2}]\ntune_seconds = 0\n{3}\n[[baseline]]\n"
        "name = \"double\"\nimplementation = \"twice\"\ntimes = 12\nworker = [\"python3\", \"{1}\"]\n\n[effort]\n"
        "pairs = 8\nblocks = 5\nblock_seconds = 0.0005\nnominate_pairs = 2\n",
        kSource, kWorker, arguments, candidate);
    ASSERT_EQ(write_file_atomic(path("tiny.toml"), text), "");
  }
  /// Variants without numbers after `start`, and what it printed.
  std::pair<int, std::string> start(bool fresh = false) const {
    ClimbOptions with = options("start");
    with.fresh = fresh;
    testing::internal::CaptureStdout();
    Workbench bench(with, context_);
    const Result<int> without = bench.first_numbers();
    std::string out = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(without.ok()) << (without.ok() ? "" : without.error().message);
    return {without.ok() ? without.value() : -1, std::move(out)};
  }
  bool started(bool fresh = false) const {
    const auto [without, out] = start(fresh);
    EXPECT_EQ(without, 0) << out;
    return without == 0;
  }
  int lines_named(const std::string& part) const {
    int out = 0;
    for (const ledger::LedgerLine& line : ledger::read_ledger(path("artifacts")).lines) {
      out += line.kind == "object" && line.name.find(part) != std::string::npos;
    }
    return out;
  }
  /// A step's command as a user types it: status and everything that it printed.
  std::pair<int, std::string> command(const std::vector<std::string>& words) const {
    std::vector<std::string> argv = {kProgram};
    argv.insert(argv.end(), words.begin(), words.end());
    const RunOutcome out = run_process(argv, 120, {"HILLCLIMB_ANCHOR=" + path("anchor.json")});
    return {out.exit_code, out.out + out.err};
  }
};

TEST_F(WorkerCandidate, ASecondBackendIsCheckedBeforeTheFirstNumber) {
  write_task("second = [\"other\", \"refusing\"]\n");
  const auto [without, out] = start();
  EXPECT_EQ(without, 0) << out;
  const ledger::TuneRecord other = ledger::parse_tune(stored("second-t1-other"), "second").value();
  EXPECT_EQ(other.candidates.at(0).outcome, ledger::Outcome::ok);
  EXPECT_EQ(other.arm, "mine under other");
  const ledger::TuneRecord refusing = ledger::parse_tune(stored("second-t1-refusing"), "second").value();
  EXPECT_EQ(refusing.candidates.at(0).outcome, ledger::Outcome::refused);
  EXPECT_NE(refusing.candidates.at(0).reason.find("there is no implementation refusing"), std::string::npos);
  EXPECT_NE(out.find("mine under refusing was not checked"), std::string::npos) << out;
  const std::vector<ledger::LedgerLine> lines = ledger::read_ledger(path("artifacts")).lines;
  size_t second = 0, numbers = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].name.find("second-t1-other") != std::string::npos) second = i;
    if (numbers == 0 && lines[i].purpose == "nominate") numbers = i;
  }
  EXPECT_GT(second, 0u);
  EXPECT_GT(numbers, second) << "no number before it";
  const auto pages = report::write_report(path("artifacts"), check().run, path("out"), {path("anchor.json"), ""});
  ASSERT_TRUE(pages.ok()) << pages.error().message;
  EXPECT_NE(read_file(pages.value().markdown).value().find("there is no implementation refusing"), std::string::npos);
  Workbench bench(options("measure t1"), context_);
  ASSERT_TRUE(bench.open("t1").ok());
  EXPECT_TRUE(bench.measure(std::nullopt).ok());
  EXPECT_EQ(lines_named("second-"), 2) << "neither is asked twice in a run";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WorkerCandidate, AWrongAnswerOfASecondBackendStops) {
  write_task("second = \"wrong\"\n");
  const auto [without, out] = start();
  EXPECT_EQ(without, 1) << out;
  EXPECT_NE(out.find("mine under wrong"), std::string::npos) << out;
  EXPECT_EQ(lines_named("nominate-t1"), 0);
  EXPECT_EQ(ledger::parse_tune(stored("second-t1-wrong"), "second").value().candidates.at(0).outcome,
            ledger::Outcome::wrong_answer);
  EXPECT_EQ(start().first, 1) << "and stops again";
}

TEST_F(WorkerCandidate, DiffCountsPtxAndSassOfBothSides) {
  write_task(fmt::format("ptx = \"{0}/test/data/rows.ptx\"\nsass = \"{0}/test/data/rows.sass\"\n", kSource));
  ASSERT_TRUE(started());
  const auto [status, out] =
      command({"diff", path("tiny.toml"), "--variant", "t1", "--artifacts", path("artifacts"), "--full"});
  EXPECT_EQ(status, 0) << out;
  for (const char* words :
       {"right: double", "PTX instructions in the text", "SASS instructions in the text", "matrix products",
        "local memory (spills)", "def rows(x, out, n):", "ld.global.v4.b32", "HMMA.16816.F32.BF16", "pieces",
        "not shown of double: nothing: it is written in Python by hand"}) {
    EXPECT_NE(out.find(words), std::string::npos) << words << "\n" << out;
  }
  EXPECT_NE(
      command({"diff", path("tiny.toml"), "--variant", "t1", "--artifacts", path("artifacts"), "--set", "a=b"}).first,
      0);
  write_task("", ", \"--mute\"");
  ASSERT_TRUE(started(/*fresh=*/true));
  Workbench bench(options("diff t1"), context_);
  ASSERT_TRUE(bench.open_to_read("t1").ok());
  const Result<tune::Contender> mute = bench.stored_worker();
  ASSERT_TRUE(mute.ok()) << mute.error().message;
  const Result<WorkerListing> listing = list_worker(mute.value(), path("listing"));
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_FALSE(listing.value().sass);
  ASSERT_EQ(listing.value().missing.size(), 1u);
  EXPECT_NE(listing.value().missing[0].find("does not list its code"), std::string::npos) << listing.value().missing[0];
}

TEST_F(WorkerCandidate, AnEditedSourceIsCheckedAndMeasured) {
  write_task("");
  ASSERT_TRUE(started());
  const auto attempt = [&](const std::string& text) -> Result<Attempt> {
    Workbench bench(options("try t1"), context_);
    HC_TRY(bench.open("t1"));
    return bench.attempt_worker(text, "kernel.py");
  };
  {
    Workbench bench(options("diff t1"), context_);
    ASSERT_TRUE(bench.open_to_read("t1").ok());
    const Result<tune::Contender> winner = bench.stored_worker();
    ASSERT_TRUE(winner.ok()) << winner.error().message;
    const Result<WorkerListing> listing = list_worker(winner.value(), path("listing"));
    ASSERT_TRUE(listing.ok()) << listing.error().message;
    EXPECT_EQ(listing.value().source_file, "kernel.py");
    const Result<Attempt> good = attempt(listing.value().source + "# edited\n");
    ASSERT_TRUE(good.ok()) << good.error().message;
    EXPECT_EQ(good.value().baselines.at(0).first, "double");
    EXPECT_GT(good.value().baselines.at(0).second.ratio, 1.0);
    const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("/try-t1"), "try").value();
    EXPECT_EQ(pairs.purpose, ledger::Purpose::attempt);
    ASSERT_EQ(pairs.arms.size(), 3u);
    EXPECT_EQ(pairs.arms[0].name, kHandEdited);
    EXPECT_EQ(pairs.arms[2].name, kIncumbent);
    EXPECT_NE(pairs.arms[0].source_sha256, pairs.arms[2].source_sha256);
    EXPECT_EQ(pairs.arms[0].generated_sha256, sha256_hex(listing.value().source)) << "an edit can be told from none";
    EXPECT_NE(pairs.arms[0].binary_sha256, pairs.arms[2].binary_sha256) << "the edited file is hashed with the others";
    EXPECT_NE(stored("source-t1").find("# edited"), std::string::npos) << "what was measured stays readable";
    const auto [status, said] = command(
        {"handoff", path("tiny.toml"), "--variant", "t1", "--artifacts", path("artifacts"), "--out", path("by-hand")});
    EXPECT_EQ(status, 0) << said;
    EXPECT_NE(said.find(fmt::format("--source {}/kernel.py", path("by-hand"))), std::string::npos) << said;
    EXPECT_EQ(read_file(path("by-hand/kernel.py")).value_or(""), listing.value().source);
    EXPECT_NE(read_file(path("by-hand/README.md")).value_or("").find("| double |"), std::string::npos);
    EXPECT_NE(read_file(path("by-hand/numbers.json")).value_or("").find("\"double\""), std::string::npos);
    // an edit that errs is found before anything is timed
    std::string wrong = listing.value().source;
    wrong.replace(wrong.find("p * scale"), 9, "p + scale");
    const Result<Attempt> bad = attempt(wrong);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, Code::wrong_answer) << bad.error().message;
    EXPECT_EQ(lines_named("/try-t1"), 1);
    ASSERT_TRUE(attempt(listing.value().source).ok());
    const ledger::Arm unedited = ledger::parse_pairs(stored("/try-t1"), "try").value().arms.at(0);
    EXPECT_EQ(unedited.source_sha256, unedited.generated_sha256) << "which a block refuses";
  }
  EXPECT_FALSE(attempt("def columns(x): ...\n").ok());
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
  write_task("", ", \"--mute\"");
  ASSERT_TRUE(started(/*fresh=*/true));
  const Result<Attempt> mute = attempt("def rows(x, out, n): ...\n");
  ASSERT_FALSE(mute.ok());
  EXPECT_NE(mute.error().message.find("takes no edited source"), std::string::npos) << mute.error().message;
}

/// A config that the command line gives runs and is on record; it never stands for what the tuner found.
TEST_F(WorkerCandidate, AGivenConfigIsMeasuredAndNeverTheWinner) {
  write_task("");
  ASSERT_TRUE(started());
  const std::string winner = ledger::parse_tune(stored("/tune-t1"), "tune").value().winner;
  const auto measured = [&](const std::string& pinned) -> ledger::Arm {
    ClimbOptions with = options("measure t1");
    with.pinned = pinned;
    Workbench bench(with, context_);
    EXPECT_TRUE(bench.open("t1").ok());
    const Result<ledger::VariantVerdict> verdict = bench.measure(std::nullopt);
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass);
    EXPECT_GT(bench.nominated().value().at(0).second.ratio, 0);
    return ledger::parse_pairs(stored("/nominate-t1"), "pairs").value().arms.at(0);
  };
  const ledger::Arm given = measured(R"({"pieces":2})");
  EXPECT_EQ(given.config, R"({"pieces":2})");
  EXPECT_EQ(given.tune, "") << "no tune found it";
  EXPECT_EQ(measured("").config, winner) << "and it is not the stored winner";
  EXPECT_NE(measured(winner).tune, "") << "the winner may be given as well";
  {
    Workbench bench(options("ablate t1"), context_);
    ASSERT_TRUE(bench.open("t1").ok());
    const Result<std::vector<Ablation>> rows = bench.ablate_worker(R"({"pieces":2})");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows.value().size(), 1u);
    EXPECT_EQ(rows.value()[0].reason, "");
    EXPECT_TRUE(rows.value()[0].change.starts_with("pieces: ")) << rows.value()[0].change;
    EXPECT_GT(rows.value()[0].comparison.ratio, 0);
    const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("/ablate-t1"), "pairs").value();
    ASSERT_EQ(pairs.arms.size(), 2u);
    EXPECT_EQ(pairs.arms[1].varies, "mine");
    EXPECT_EQ(pairs.arms[1].config, R"({"pieces":2})");
    EXPECT_TRUE(bench.ablate_worker(winner).value().empty());
  }
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WorkerCandidate, KnobsOfOurCompilerAreRefusedByWhatToSayInstead) {
  write_task("");
  ASSERT_TRUE(started());
  ASSERT_EQ(write_file_atomic(path("none.json"), "[]"), "");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"measure", "--set", "block=1"}, "--config FILE|JSON gives it"},
      {{"measure", "--config", path("none.json")}, "holds no config of a worker"},
      {{"verify", "--config", "{\"pieces\":2}"}, "`hillclimb measure --config`"},
      {{"ablate"}, "--config FILE|JSON names the config"},
      {{"tune"}, "`hillclimb start "}};
  for (const auto& [words, said] : wrong) {
    std::vector<std::string> line = {words[0], path("tiny.toml"), "--variant", "t1"};
    if (words[0] != "tune") line.insert(line.end(), {"--artifacts", path("artifacts")});
    line.insert(line.end(), words.begin() + 1, words.end());
    const auto [status, out] = command(line);
    EXPECT_NE(status, 0) << words[0];
    EXPECT_NE(out.find(said), std::string::npos) << words[0] << "\n" << out;
  }
  EXPECT_EQ(read_worker_config("{ \"pieces\" : 2 }").value(), R"({"pieces":2})");
  ASSERT_EQ(write_file_atomic(path("tune.json"), stored("/tune-t1")), "");
  EXPECT_EQ(read_worker_config(path("tune.json")).value(),
            ledger::parse_tune(stored("/tune-t1"), "tune").value().winner);
}

TEST_F(WorkerCandidate, AClimbThatFallsShortLeavesTheHandOff) {
  write_task("claims = 1e-4\nclaims_in_a_row = 1e-4\n");
  std::string task = read_file(path("tiny.toml")).value_or("");
  const std::string times = "times = 12\n";
  task.replace(task.find(times), times.size(), "claims = 5e-5\nclaims_in_a_row = 5e-5\n");
  ASSERT_EQ(write_file_atomic(path("tiny.toml"), task), "");
  const auto [status, out] = climb(options("climb"));
  ASSERT_EQ(status, ledger::kExitUnmet) << out;
  const std::string folder = handoff_folder(path("artifacts"), check().run, "t1");
  EXPECT_NE(read_file(join_path(folder, "kernel.py")).value_or("").find("def rows"), std::string::npos) << out;
  EXPECT_NE(read_file(join_path(folder, "README.md")).value_or("").find("| double |"), std::string::npos) << out;
}

TEST_F(WorkerCandidate, AModuleEditedDuringTheRunVoidsTheRounds) {
  ASSERT_EQ(write_file_atomic(path("mine.py"), "value = 1\n"), "");
  write_task(fmt::format("module = \"{}\"\ngrows = true\n", path("mine.py")));
  ASSERT_TRUE(started()) << "one round came before the edit";
  const ledger::PairsArtifact pairs = ledger::parse_pairs(stored("/nominate-t1"), "pairs").value();
  ASSERT_GT(pairs.pairs.size(), 1u);
  EXPECT_TRUE(pairs.pairs[0].valid);
  for (size_t i = 1; i < pairs.pairs.size(); ++i) EXPECT_EQ(pairs.pairs[i].rule, "hash_mismatch");
}

/// A run from a snapshot whose worker imports from the checkout that goes on being edited.
TEST_F(WorkerCandidate, Row7AnImportFromAnotherCheckoutVoidsTheRun) {
  ASSERT_EQ(make_folders(path("checkout/.git")), "");
  for (const char* name : {"checkout/mine.py", "frozen/mine.py", "loose.py"}) {
    ASSERT_EQ(make_folders(path("frozen")), "");
    ASSERT_EQ(write_file_atomic(path(name), "value = 1\n"), "");
  }
  const auto nominated = [&](const std::string& module) {
    write_task(fmt::format("module = \"{}\"\n", path(module)));
    std::filesystem::rename(path("tiny.toml"), path("frozen/tiny.toml"));
    ClimbOptions with = options("start");
    with.task_path = path("frozen/tiny.toml");
    with.fresh = true;
    Workbench bench(with, context_);
    const Result<int> without = bench.first_numbers();
    return without.ok() ? without.value() : -1;
  };
  EXPECT_EQ(nominated("checkout/mine.py"), 0) << "without a snapshot nothing is outside";
  ledger::PairsArtifact pairs = ledger::parse_pairs(stored("/nominate-t1"), "pairs").value();
  EXPECT_EQ(ledger::fact(pairs.arms[0].loaded, path("checkout/mine.py")), sha256_hex("value = 1\n"));
  EXPECT_EQ(ledger::fact(pairs.arms[0].loaded, "numbers 1"), "ab") << "packages are summed up";

  const Json file = {"file", sha256_hex("value = 1\n")};
  const Json manifest{{"schema", "hillclimb.snapshot/1"},
                      {"sha256", sha256_hex(fmt::format("file {} mine.py\n", sha256_hex("value = 1\n")))},
                      {"files", {{"mine.py", file}}}};
  ASSERT_EQ(write_file_atomic(path("frozen.manifest.json"), manifest.dump()), "");
  EXPECT_EQ(nominated("frozen/mine.py"), 0);
  EXPECT_EQ(nominated("loose.py"), 0) << "it is of no checkout";
  EXPECT_EQ(nominated("checkout/mine.py"), 1);
  pairs = ledger::parse_pairs(stored("/failed-nominate-t1"), "pairs").value();
  ASSERT_FALSE(pairs.pairs.empty());
  for (const ledger::Pair& pair : pairs.pairs) {
    EXPECT_FALSE(pair.valid);
    EXPECT_EQ(pair.rule, "outside_snapshot");
  }
  ASSERT_EQ(write_file_atomic(path("frozen/mine.py"), "value = 2\n"), "");
  EXPECT_EQ(nominated("frozen/mine.py"), 1) << "nor one that was changed since";
}

}  // namespace
}  // namespace hc::cli
