// The single steps on a task of a few microseconds, and what they refuse.
#include "cli/workbench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/worker_client.h"
#include "cli/evidence.h"
#include "cli/handoff.h"
#include "contract/backlog.h"
#include "contract/goal.h"
#include "ledger/checker.h"
#include "runtime/toolchain.h"

namespace hc::cli {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
const char* const kKernel =
    "import torch\nimport helion\nimport helion.language as hl\n\n\n@helion.kernel()\n"
    "def softmax(x: torch.Tensor) -> torch.Tensor:\n    n, _m = x.size()\n    out = torch.empty_like(x)\n"
    "    for tile_n in hl.tile(n):\n        out[tile_n, :] = torch.nn.functional.softmax(x[tile_n, :], dim=1)\n"
    "    return out\n";

class Steps : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    folder_ = make_temp_folder("steps-test");
    context_ = {path("cache"), path("state"), path("anchor.json"), kProgram};
    write("k.py", kKernel);
    write("tiny.toml", fmt::format("name = \"tiny\"\nkernel = \"k.py:softmax\"\nbackend = \"cpu\"\n"
                                   "bytes = \"2 * 4 * m * n\"\n\n[inputs]\nx = \"f32[{{m}},{{n}}]\"\n\n[[variant]]\n"
                                   "name = \"t1\"\nm = 64\nn = 96\n\n[[baseline]]\nname = \"onednn\"\n"
                                   "worker = \"onednn\"\noperation = \"softmax\"\n\n[effort]\npairs = 5\n"
                                   "max_candidates = 3\nblocks = 2\nblock_seconds = 0.001\n"));
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_EQ(write_file_atomic(join_path(folder_, name), text), "");
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  RunOutcome run(const std::string& arguments) const {
    return run_process({"sh", "-c",
                        fmt::format("cd '{0}' && XDG_STATE_HOME='{0}/xdg' HILLCLIMB_CACHE='{0}/cache' exec '{1}' {2}",
                                    folder_, kProgram, arguments)},
                       120);
  }
  /// Whatever else runs on this machine voids nothing here.
  ClimbOptions options(const std::string& who) const {
    ClimbOptions out;
    out.task_path = path("tiny.toml");
    out.artifacts = path("artifacts");
    out.who = who;
    out.pairs = 5;
    out.anchor_band = 1e9;
    out.canary = [] { return bench::CanaryReading{1, 1, 0}; };
    return out;
  }
  /// A bench with the variant in the hand.
  std::unique_ptr<Workbench> open(const std::string& who) const {
    auto bench = std::make_unique<Workbench>(options(who), context_);
    const Status status = bench->open("t1");
    EXPECT_TRUE(status.ok()) << status.error().message;
    return bench;
  }
  ledger::CheckReport check() const { return ledger::check_goal({path("artifacts/goal.json"), path("anchor.json")}); }

  std::string folder_;
  Context context_;  ///< outlives every bench
};

TEST_F(Steps, RefuseWithoutGoalVariantOrSource) {
  for (const char* command : {"measure", "verify", "confirm", "ablate", "diff", "handoff"}) {
    const RunOutcome none = run(fmt::format("{} tiny.toml --variant t1", command));
    EXPECT_EQ(none.exit_code, 65) << command << none.out << none.err;
    EXPECT_NE(none.err.find("hillclimb start"), std::string::npos) << none.err;
    const RunOutcome nameless = run(fmt::format("{} tiny.toml", command));
    EXPECT_EQ(nameless.exit_code, 64) << command << nameless.err;
    EXPECT_NE(nameless.err.find("--variant"), std::string::npos) << nameless.err;
    EXPECT_EQ(run(fmt::format("{} tiny.toml --variant t1 --nonsense", command)).exit_code, 64) << command;
  }
  EXPECT_EQ(run("try tiny.toml --variant t1").exit_code, 64);
  EXPECT_EQ(run("try tiny.toml --variant t1 --source no-such-file.cc").exit_code, 65);
  EXPECT_EQ(run("measure tiny.toml --variant t1 --set nonsense").exit_code, 65);
  EXPECT_EQ(run("ablate tiny.toml --variant t1 --set threads=1").exit_code, 64) << "of which baseline?";
  EXPECT_EQ(run("measure tiny.toml --variant t1 --pairs 0").exit_code, 64);
  EXPECT_EQ(run("start no-such-task.toml").exit_code, 65);
  EXPECT_FALSE(file_exists(path("artifacts"))) << "a refused command leaves no trace";
}

/// One goal, taken through all steps in turn: each rests on what the one before stored. Its baseline is one library by
/// path, so that the numbers of arms hold wherever more than one is installed.
class WholeWay : public Steps {
 protected:
  void SetUp() override {
    Steps::SetUp();
    if (IsSkipped()) return;
    if (!runtime::find_toolchain().ok()) GTEST_SKIP() << "no compiler is there";
    std::string library;
    const auto offers = bench::discover_offers({kProgram, "worker"});
    for (const bench::Offer& offer : offers.ok() ? offers.value() : std::vector<bench::Offer>{}) {
      if (offer.implementation == "onednn" && library.empty()) library = offer.library;
    }
    if (library.empty()) GTEST_SKIP() << "no oneDNN library is there";
    std::string task = read_file(path("tiny.toml")).value_or("");
    const std::string worker = "worker = \"onednn\"\n";
    task.insert(task.find(worker) + worker.size(), fmt::format("library = \"{}\"\n", library));
    write("tiny.toml", task);
    Workbench bench(options("start"), context_);
    const Result<int> without = bench.first_numbers();
    ASSERT_TRUE(without.ok()) << without.error().message;
    ASSERT_EQ(without.value(), 0);
  }

  std::vector<std::string> tune_ids() const {
    std::vector<std::string> out;
    for (const ledger::LedgerLine& line : ledger::read_ledger(path("artifacts")).lines) {
      if (line.kind == "object" && line.name.find("/tune-t1") != std::string::npos) out.push_back(line.object);
    }
    return out;
  }
  ledger::TuneRecord tune_of(const std::string& id) const {
    return ledger::parse_tune(ledger::read_object(path("artifacts"), id).value(), id).value();
  }
  /// The confirming runs that the goal's entry rests on.
  std::vector<std::string> confirming() const {
    std::vector<std::string> out;
    const ledger::CheckReport report = check();
    for (const std::string& id : report.shapes[0].evidence) {
      const ledger::PairsArtifact a =
          ledger::parse_pairs(ledger::read_object(path("artifacts"), id).value(), id).value();
      if (a.purpose == ledger::Purpose::confirm) out.push_back(id);
    }
    return out;
  }
  /// The newest stored measurement.
  ledger::PairsArtifact newest_pairs() const {
    ledger::PairsArtifact out;
    for (const ledger::LedgerLine& line : ledger::read_ledger(path("artifacts")).lines) {
      if (line.kind != "object") continue;
      const Result<std::string> text = ledger::read_object(path("artifacts"), line.object);
      if (!text.ok()) continue;
      const Result<std::string> kind = ledger::artifact_kind(text.value(), line.name);
      if (kind.ok() && kind.value() == "pairs") out = ledger::parse_pairs(text.value(), line.name).value();
    }
    return out;
  }

  /// The generated source of the stored winner.
  std::string winner_source() const {
    Workbench bench(options("read"), context_);
    EXPECT_TRUE(bench.open_to_read("t1").ok());
    return bench.built(std::nullopt).value().compiled.source;
  }
};

TEST_F(WholeWay, FirstNumbersThenMeasureThenTry) {
  const ledger::CheckReport first = check();
  EXPECT_NE(first.exit_code, ledger::kExitBroken) << first.text;
  ASSERT_EQ(first.shapes.size(), 1u);
  EXPECT_GT(first.shapes[0].before_ratio, 0);
  EXPECT_EQ(first.variants[0].verdict, ledger::Verdict::open) << "a nomination never passes";

  const Result<ledger::VariantVerdict> measured = open("measure t1")->measure(std::nullopt);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_NE(measured.value().verdict, ledger::Verdict::pass);
  EXPECT_GT(measured.value().ratio, 0);
  EXPECT_NE(check().shapes[0].evidence, first.shapes[0].evidence) << "the entry was rewritten";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;

  const Result<Attempt> tried = open("try t1")->attempt(winner_source() + "\n// edited by hand\n", std::nullopt);
  ASSERT_TRUE(tried.ok()) << tried.error().message;
  ASSERT_EQ(tried.value().baselines.size(), 1u);
  EXPECT_GT(tried.value().baselines[0].second.ratio, 0);
  EXPECT_GT(tried.value().incumbent.ratio, 0);
  const ledger::LedgerView view = ledger::read_ledger(path("artifacts"));
  const std::vector<contract::Idea> ideas = contract::backlog(view, first.run);
  EXPECT_EQ(ideas.size(), tried.value().verdict == ledger::Verdict::pass ? 1u : 0u) << "parity is the next pass";
  const std::string text = ledger::read_object(path("artifacts"), tried.value().object).value();
  const ledger::PairsArtifact artifact = ledger::parse_pairs(text, "try").value();
  EXPECT_EQ(artifact.purpose, ledger::Purpose::attempt);
  EXPECT_FALSE(ledger::fact(artifact.machine, "known-good before s").empty());
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WholeWay, VerifyConfirmsTheStoredWinnerAndPoolsARepeat) {
  const std::string tune = tune_ids().back();
  const Result<ledger::VariantVerdict> first = open("verify t1")->verify();
  ASSERT_TRUE(first.ok()) << first.error().message;
  // the tune was cut short by max_candidates: however fast the winner is, that cannot pass
  EXPECT_NE(first.value().verdict, ledger::Verdict::pass);
  if (first.value().verdict == ledger::Verdict::open && !first.value().undecided) {
    EXPECT_NE(first.value().reason.find("limit"), std::string::npos) << first.value().reason;
  }
  ASSERT_EQ(first.value().baselines.size(), 1u);
  EXPECT_TRUE(first.value().baselines[0].confirmed);
  const ledger::PairsArtifact artifact = newest_pairs();
  EXPECT_EQ(artifact.purpose, ledger::Purpose::confirm);
  EXPECT_EQ(artifact.arms[0].tune, tune) << "the evidence names the tune that found the config";
  const std::vector<std::string> evidence = confirming();
  EXPECT_EQ(evidence.size(), 1u);
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
  EXPECT_NE(check().exit_code, ledger::kExitMet);

  const Result<ledger::VariantVerdict> second = open("verify t1")->verify();
  ASSERT_TRUE(second.ok()) << second.error().message;
  ASSERT_EQ(confirming().size(), 2u) << "measuring again replaces nothing";
  EXPECT_EQ(confirming()[0], evidence[0]);
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
  EXPECT_EQ(tune_ids().size(), 1u) << "verify tunes nothing";

  // another config leaves the entry alone, and its own number is said all the same
  std::optional<knob::Config> other;
  const ledger::TuneRecord record = tune_of(tune);
  for (const ledger::Candidate& c : record.candidates) {
    if (c.outcome == ledger::Outcome::ok && c.config != record.winner) other = tune::config_from_json(c.config).value();
  }
  ASSERT_TRUE(other.has_value());
  const auto bench = open("measure t1");
  const Result<ledger::VariantVerdict> beside = bench->measure(other);
  ASSERT_TRUE(beside.ok()) << beside.error().message;
  EXPECT_EQ(confirming().size(), 2u) << "the entry stays";
  const auto fresh = bench->nominated();
  ASSERT_TRUE(fresh.ok()) << fresh.error().message;
  EXPECT_FALSE(fresh.value().empty());
}

/// As `climb --beyond` leaves it when the new winner is no better: the newest tune is not the entry's.
TEST_F(WholeWay, VerifyTakesTheTuneThatTheGoalsEntryNames) {
  const std::string entry = tune_ids().back();
  ledger::TuneRecord later = tune_of(entry);
  const std::string winner = later.winner;
  for (const ledger::Candidate& c : later.candidates) {
    if (c.outcome == ledger::Outcome::ok && c.config != winner) later.winner = c.config;
  }
  later.seed += 1;
  {
    ledger::Store store = ledger::Store::open(path("artifacts"), path("anchor.json")).value();
    ASSERT_TRUE(store.put(later.run, later.name, ledger::to_json(later), "t1", -1).ok());
  }
  ASSERT_EQ(tune_ids().size(), 2u);
  ASSERT_NE(tune_ids().back(), entry);
  EXPECT_EQ(open("look")->newest_tune(0)->first, entry);
  EXPECT_EQ(open("look")->newest_tune(1)->first, tune_ids().back());
  EXPECT_FALSE(open("look")->newest_tune(2).has_value());
  const Result<ledger::VariantVerdict> verdict = open("verify t1")->verify();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  const ledger::PairsArtifact artifact = newest_pairs();
  EXPECT_EQ(artifact.purpose, ledger::Purpose::confirm);
  EXPECT_EQ(artifact.arms[0].tune, entry);
  EXPECT_EQ(tune_ids().size(), 2u) << "verify tunes nothing";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WholeWay, VerifyRefusesAWinnerOfAnotherKernel) {
  write("k.py", std::string(kKernel) + "\n# edited since\n");
  const Result<ledger::VariantVerdict> verified = open("verify t1")->verify();
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, Code::goal_error);
  EXPECT_NE(verified.error().message.find("no winner of tiny/t1"), std::string::npos) << verified.error().message;
  EXPECT_NE(verified.error().help.find("hillclimb confirm"), std::string::npos) << verified.error().help;
}

TEST_F(WholeWay, ConfirmTunesAnewWithAFreshSeedAndNamesThatTune) {
  const ledger::TuneRecord before = tune_of(tune_ids().back());
  const Result<ledger::VariantVerdict> verdict = open("confirm t1")->confirm_anew();
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_NE(verdict.value().verdict, ledger::Verdict::pass) << "cut short";
  ASSERT_EQ(tune_ids().size(), 2u) << "the stored winner was not taken";
  const ledger::TuneRecord after = tune_of(tune_ids().back());
  EXPECT_NE(after.seed, before.seed);
  EXPECT_TRUE(after.started_cold);
  EXPECT_EQ(after.ended_by, "limit");
  EXPECT_FALSE(after.cold_and_full());
  const ledger::CheckReport report = check();
  EXPECT_NE(report.exit_code, ledger::kExitBroken) << report.text;
  ledger::LedgerView view = ledger::read_ledger(path("artifacts"));
  ledger::Evidence evidence(path("artifacts"), view);
  std::vector<std::string> broken;
  const ledger::PairsArtifact* used = evidence.pairs(report.shapes[0].evidence.back(), &broken);
  ASSERT_NE(used, nullptr);
  EXPECT_EQ(used->purpose, ledger::Purpose::confirm);
  EXPECT_EQ(used->arms[0].tune, tune_ids().back());
  EXPECT_EQ(used->arms[0].source_sha256, after.winner_source_sha256);
  // another winner is also measured beside the one before
  int beside = 0;
  for (const ledger::LedgerLine& line : view.lines) beside += line.name.find("against-incumbent") != std::string::npos;
  EXPECT_EQ(beside, after.winner_source_sha256 != before.winner_source_sha256);
}

TEST_F(WholeWay, AnEditOfTheKernelMakesTheEntryStaleUnlessTheCodeStaysTheSame) {
  write("k.py", std::string(kKernel) + "\n# a remark\n");
  { const auto bench = open("measure t1"); }
  EXPECT_FALSE(contract::read_goal(path("artifacts")).value().shape("t1")->stale) << "the same code comes out of it";
  std::string edited = kKernel;
  edited.replace(edited.find("dim=1)"), 6, "dim=1) * 1.5");
  write("k.py", edited);
  { const auto bench = open("measure t1"); }
  EXPECT_TRUE(contract::read_goal(path("artifacts")).value().shape("t1")->stale);
  EXPECT_NE(check().text.find("stale"), std::string::npos) << check().text;
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST(PrintVerdict, GivesTheCheckersExitCodes) {
  ledger::VariantVerdict verdict;
  verdict.verdict = ledger::Verdict::pass;
  EXPECT_EQ(print_verdict(verdict), 0);
  verdict.verdict = ledger::Verdict::fail;
  EXPECT_EQ(print_verdict(verdict), 1);
  verdict.verdict = ledger::Verdict::open;
  EXPECT_EQ(print_verdict(verdict), 3);
}

TEST_F(WholeWay, AWrongEditIsRefusedBeforeItIsMeasured) {
  const std::string source = winner_source();
  const Result<Attempt> broken = open("try t1")->attempt(source + "\nthis is no C++\n", std::nullopt);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code, Code::compile_failed) << broken.error().message;
  // an entry that does nothing leaves the poison in the outputs
  const Result<Attempt> wrong = open("try t1")->attempt("extern \"C\" void hc_call(void* const*) {}\n", std::nullopt);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::wrong_answer) << wrong.error().message;
  const Result<Attempt> nameless = open("try t1")->attempt("extern \"C\" void other(void* const*) {}\n", std::nullopt);
  EXPECT_FALSE(nameless.ok());
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WholeWay, AblateNamesEveryKnobThatIsNotAtItsDefault) {
  auto bench = open("ablate t1");
  const Result<std::vector<Ablation>> rows = bench->ablate();
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  const knob::Config defaults = bench->defaults().value();
  const knob::Config winner = bench->built(std::nullopt).value().compiled.config;
  size_t changed = 0;
  for (const auto& [key, value] : defaults.values()) changed += winner.get(key, value) != value;
  EXPECT_EQ(rows.value().size(), changed + (changed > 1)) << "and all of them together";
  for (const Ablation& row : rows.value()) EXPECT_NE(row.reason.empty(), row.comparison.ratio <= 0) << row.change;
}

TEST_F(WholeWay, AblateOfABaselineTakesItsRecipeApart) {
  const Result<std::vector<Ablation>> unknown = open("ablate t1")->ablate_baseline("cudnn", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::usage);
  EXPECT_NE(unknown.error().help.find("onednn"), std::string::npos) << unknown.error().help;
  EXPECT_EQ(open("ablate t1")->ablate_baseline("onednn", {"operation=layer_norm"}).error().code, Code::usage);

  auto bench = open("ablate t1");
  const Result<std::vector<Ablation>> rows = bench->ablate_baseline("onednn", {"env.OMP_WAIT_POLICY=passive"});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_FALSE(rows.value().empty());
  std::set<std::string> expected, measured;
  for (const Ablation& row : rows.value()) {
    EXPECT_NE(row.reason.empty(), row.object.empty()) << row.change;
    if (row.reason.empty()) expected.insert("onednn with " + row.change);
  }
  EXPECT_TRUE(expected.contains("onednn with env.OMP_WAIT_POLICY -> passive"));
  const ledger::PairsArtifact artifact = newest_pairs();
  EXPECT_EQ(artifact.purpose, ledger::Purpose::ablate);
  EXPECT_TRUE(ledger::invalidities(artifact, bench->lock()).empty());
  int whole = 0;
  for (const ledger::Arm& arm : artifact.arms) {
    whole += arm.role == ledger::Role::baseline && arm.name == "onednn";
    if (arm.varies == "onednn") measured.insert(arm.name);
  }
  EXPECT_EQ(whole, 1) << "the baseline as it is stands beside";
  EXPECT_EQ(measured, expected);
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WholeWay, ABatchDuringWhichTheKnownGoodConfigMovedIsVoidAndKept) {
  ClimbOptions strict = options("measure t1");
  strict.anchor_band = -1;  // everything moved
  strict.pairs = 2;
  Workbench bench(strict, context_);
  ASSERT_TRUE(bench.open("t1").ok());
  const Result<ledger::VariantVerdict> measured = bench.measure(std::nullopt);
  ASSERT_FALSE(measured.ok());
  EXPECT_NE(measured.error().message.find("void: the known-good config"), std::string::npos);
  int kept = 0;
  for (const ledger::LedgerLine& line : bench.lines()) kept += line.name.find("void-nominate-t1") != std::string::npos;
  EXPECT_EQ(kept, 3) << "each try";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;
}

TEST_F(WholeWay, HandoffAndDiffReadTheSameWinner) {
  const RunOutcome out = run_process(
      {"sh", "-c",
       fmt::format("cd '{0}' && HILLCLIMB_ANCHOR='{0}/anchor.json' HILLCLIMB_CACHE='{0}/cache' '{1}' handoff "
                   "tiny.toml --variant t1 && HILLCLIMB_ANCHOR='{0}/anchor.json' '{1}' diff tiny.toml --variant t1",
                   folder_, kProgram)},
      120);
  ASSERT_EQ(out.exit_code, 0) << out.out << out.err;
  const std::string folder = path(handoff_folder("artifacts", check().run, "t1"));
  EXPECT_EQ(read_file(join_path(folder, "kernel.cc")), winner_source());
  for (const char* name : {"README.md", "config.txt", "numbers.json", "include/hc/vec.h"}) {
    EXPECT_TRUE(file_exists(join_path(folder, name))) << name;
  }
  const std::string readme = read_file(join_path(folder, "README.md")).value_or("");
  EXPECT_NE(readme.find("hillclimb try tiny.toml --variant t1 --source artifacts/"), std::string::npos) << readme;
  EXPECT_NE(out.out.find("knobs that differ"), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("generated source:"), std::string::npos) << out.out;
}

TEST_F(WholeWay, AnAuditMeasuresTheSameCandidateOnceMoreAndFindsAnInventedOne) {
  ASSERT_TRUE(open("verify t1")->verify().ok());
  const std::string object = check().shapes[0].evidence.back();
  const std::string goal_before = read_file(path("artifacts/goal.json")).value_or("");
  const Result<Replay> honest = open("audit")->replay(object);
  ASSERT_TRUE(honest.ok()) << honest.error().message;
  ASSERT_EQ(honest.value().baselines.size(), 1u);
  EXPECT_GT(honest.value().baselines[0].fresh.ratio, 0);
  EXPECT_EQ(newest_pairs().purpose, ledger::Purpose::audit);
  EXPECT_EQ(read_file(path("artifacts/goal.json")).value_or(""), goal_before) << "an audit decides nothing";
  EXPECT_NE(check().exit_code, ledger::kExitBroken) << check().text;

  // a measurement whose candidate was made ten times as fast on paper
  std::string invented;
  {
    ledger::Store store = ledger::Store::open(path("artifacts"), path("anchor.json")).value();
    ledger::PairsArtifact a = ledger::parse_pairs(ledger::read_object(path("artifacts"), object).value(), "x").value();
    for (ledger::Pair& pair : a.pairs) {
      for (ledger::Reading& reading : pair.readings) {
        const double seconds = reading.arm == a.arms[0].name ? 1e-9 : 1e-6;
        for (ledger::Block& block : reading.blocks) block.seconds = seconds * static_cast<double>(block.launches);
      }
    }
    invented = store.put(a.run, "confirm-invented", to_json(a), "t1", a.open_seq).value();
  }
  ClimbOptions many = options("audit");
  many.pairs = 12;
  Workbench auditor(many, context_);
  ASSERT_TRUE(auditor.open("t1").ok());
  const Result<Replay> caught = auditor.replay(invented);
  ASSERT_TRUE(caught.ok()) << caught.error().message;
  EXPECT_FALSE(caught.value().baselines[0].disagreement.empty());
}

TEST_F(WholeWay, DiffAgainstABaselineShowsItsRecipeAndTheCodeThatItsLibraryGenerates) {
  const auto diff = [&](const std::string& more) {
    return run_process({"sh", "-c",
                        fmt::format("cd '{0}' && HILLCLIMB_ANCHOR='{0}/anchor.json' HILLCLIMB_CACHE='{0}/cache' '{1}' "
                                    "diff tiny.toml --variant t1 {2}",
                                    folder_, kProgram, more)},
                       120);
  };
  const RunOutcome out = diff("--baseline onednn");
  ASSERT_EQ(out.exit_code, 0) << out.out << out.err;
  for (const char* part : {"right: onednn", "operation", "library", "libdnnl", "its source cannot be shown"}) {
    EXPECT_NE(out.out.find(part), std::string::npos) << part << "\n" << out.out;
  }
  // without objdump, or where the library generates nothing, that is said
  const bool shown = out.out.find("machine code:\n") != std::string::npos;
  EXPECT_NE(shown, out.out.find("its machine code cannot be shown") != std::string::npos) << out.out;
  EXPECT_EQ(shown, out.out.find("at run time") != std::string::npos) << out.out;
  EXPECT_EQ(diff("--baseline cudnn").exit_code, 64);
  EXPECT_EQ(diff("--baseline onednn --set unroll=1").exit_code, 64);
}

}  // namespace
}  // namespace hc::cli
