// Reports of made-up ledgers against an approved text, and what has to be on every page.
#include "report/report.h"
#include "report/ceiling.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <vector>

#include "ledger/test_support.h"
#include "report/claims.h"
#include "report/model.h"
#include "report/pages.h"
#include "report/svg.h"

namespace hc::report {
namespace {

using ledger::testing::FakeShape;

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("hc-report-");
    artifacts_ = join_path(folder_, "artifacts");
    anchor_ = join_path(folder_, "anchor.json");
  }
  void TearDown() override { (void)!::system(("rm -rf " + folder_).c_str()); }
  std::string page(const char* name) { return read_file(join_path(folder_, std::string("out/") + name)).value_or(""); }
  Result<ReportPaths> write() {
    return write_report(artifacts_, "r1", join_path(folder_, "out"), {anchor_, "2026-08-30T12:00:00Z"});
  }
  std::string folder_, artifacts_, anchor_;
};

const std::vector<FakeShape> kUnmet{{.name = "sm1", .ratio = 1.21, .copy_ratio = 1.06, .before = 0.8},
                                    {.name = "sm2", .ratio = 0.94, .copy_ratio = 1.2, .seed = 2, .before = 0.7},
                                    {.name = "sm3", .ratio = 1.05, .seed = 3, .sigma = 0.001}};

/// Times of the ledger and its head are those of the moment.
std::string timeless(const std::string& text) {
  const std::string out =
      std::regex_replace(text, std::regex("20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}"), "TIME");
  return std::regex_replace(out, std::regex("ledger ([0-9]+) [0-9a-f]{64}"), "ledger $1 HEAD");
}

TEST_F(ReportTest, MarkdownEqualsTheApprovedText) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  const std::string approved_path = std::string(HC_SOURCE_DIR) + "/test/golden/report/unmet.md";
  if (std::getenv("UPDATE")) {
    ASSERT_EQ(write_file_atomic(approved_path, timeless(page("report.md"))), "");
  }
  EXPECT_EQ(timeless(page("report.md")), read_file(approved_path).value_or("missing"))
      << "UPDATE=1 approves a new text";
  EXPECT_EQ(read_file(join_path(artifacts_, "r1/check.txt")).value_or(""),
            ledger::check_goal({join_path(artifacts_, "goal.json"), anchor_}).text);
}

/// A small win on a GPU whose readings are a third an empty launch.
const FakeShape kThin{.name = "sm1",
                      .ratio = 1.03,
                      .seconds = 1e-5,
                      .sigma = 0.0005,
                      .timer = "event/one-launch/cold-l2",
                      .empty_s = "3.3e-06"};

TEST_F(ReportTest, AnEmptyLaunchIsNamedWhereItIsMuchOfAReading) {
  ledger::testing::fake_goal(artifacts_, anchor_, {kThin, {.name = "sm2", .seed = 2, .empty_s = "3.3e-06"}});
  ASSERT_TRUE(write().ok());
  for (const char* name : {"report.md", "report.html"}) {
    const std::string text = page(name);
    EXPECT_NE(text.find("sm1: hillclimb 3.3 of 9.7 us (34 %), onednn 3.3 of 10.0 us (33 %)"), std::string::npos)
        << name;
    EXPECT_EQ(text.find("sm2: hillclimb"), std::string::npos) << "a reading of a millisecond";
  }
}

TEST_F(ReportTest, ASmallWinThatIsGoneBackToBackIsARisk) {
  ledger::testing::fake_goal(artifacts_, anchor_, {kThin});
  ASSERT_TRUE(write().ok());
  EXPECT_NE(page("report.md").find("sm1: its win of 3.0 % over onednn was not looked at back to back"),
            std::string::npos);
  const auto look = [&](double ratio, uint64_t seed) {
    FakeShape shape = kThin;
    shape.ratio = ratio;
    shape.seed = seed;
    shape.first_pid = 1000 * static_cast<int64_t>(seed);
    shape.timer = "event/back-to-back";
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    const int64_t open = store.run_open("r1", "nominate", "sm1", "").value();
    ledger::PairsArtifact a = ledger::testing::fake_pairs(shape, ledger::Purpose::nominate, open);
    a.name = "back-to-back-sm1";
    ASSERT_TRUE(store.put("r1", a.name, to_json(a), "sm1", open).ok());
    ASSERT_TRUE(store.run_close(open, "done").ok());
    ASSERT_TRUE(write().ok());
  };
  look(0.998, 21);
  EXPECT_NE(page("report.md").find("its win of 3.0 % over onednn is gone back to back (-0.2 % in"), std::string::npos)
      << page("report.md");
  EXPECT_NE(page("report.html").find("is gone back to back"), std::string::npos);
  EXPECT_NE(page("report.md").find("| nominate, back to back | sm1 |"), std::string::npos) << "among the runs";
  look(1.028, 22);
  EXPECT_EQ(page("report.md").find("its win of"), std::string::npos) << "it is there";
}

TEST_F(ReportTest, EveryPageOfAnUnmetGoalSaysInterim) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  EXPECT_EQ(page("report.md").substr(0, 11), "# INTERIM: ");
  EXPECT_NE(page("report.html").find("<span class=\"interim\">INTERIM</span>"), std::string::npos);
}

TEST_F(ReportTest, AMetGoalDoesNotSayInterim) {
  ledger::testing::fake_goal(artifacts_, anchor_, {{"sm1", 1.2}});
  ASSERT_TRUE(write().ok());
  EXPECT_EQ(page("report.md").find("INTERIM"), std::string::npos);
  EXPECT_NE(page("report.md").find("GOAL MET"), std::string::npos);
  EXPECT_EQ(page("report.html").find(">INTERIM<"), std::string::npos);
}

TEST_F(ReportTest, BrokenEvidenceIsSaidFirst) {
  ledger::Goal goal = ledger::testing::fake_goal(artifacts_, anchor_, {{"sm1", 0.9}});
  goal.shapes[0].ratio = 1.1;
  ASSERT_EQ(write_file_atomic(join_path(artifacts_, "goal.json"), to_json(goal)), "");
  ASSERT_TRUE(write().ok());
  EXPECT_NE(page("report.md").find("EVIDENCE BROKEN"), std::string::npos);
  EXPECT_NE(page("report.html").find("EVIDENCE BROKEN"), std::string::npos);
}

TEST_F(ReportTest, TheHtmlNeedsNothingElse) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  const std::string html = page("report.html");
  for (const char* foreign : {"<script", "<link", "src=", "url(", "@import"})
    EXPECT_EQ(html.find(foreign), std::string::npos) << foreign;
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("GOAL UNMET softmax-cpu: 2 of 3 variants pass"), std::string::npos);
}

TEST_F(ReportTest, EveryRowNamesItsArtifact) {
  const ledger::Goal goal = ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  for (const ledger::GoalShape& shape : goal.shapes) {
    EXPECT_NE(page("report.md").find(shape.artifact), std::string::npos);
    EXPECT_NE(page("report.html").find(shape.artifact), std::string::npos);
  }
}

TEST_F(ReportTest, SpeedsFollowFromTheRawSamples) {
  ledger::testing::fake_goal(artifacts_, anchor_, {{.name = "sm1", .ratio = 1.25, .copy_ratio = 1.1, .sigma = 0}});
  const Result<Model> model = gather(artifacts_, "", anchor_);
  ASSERT_TRUE(model.ok());
  const Row& row = model.value().rows[0];
  EXPECT_NEAR(row.after, 1e7 / (0.001 / 1.25) * 1e-9, 1e-9);
  EXPECT_NEAR(row.baselines[0].value, 10.0, 1e-9);
  EXPECT_NEAR(row.ceiling, row.after * 1.1, 1e-9);
  EXPECT_EQ(row.tune.candidates, 7);
  EXPECT_EQ(model.value().losses.size(), 3u);
}

/// A goal of one variant measured on a GPU, with a second baseline that was nominated and not confirmed.
void gpu_goal(const std::string& artifacts, const std::string& anchor) {
  using namespace ledger::testing;
  ledger::Store store = ledger::Store::open(artifacts, anchor).value();
  ledger::Lock lock = fake_lock({"sm1"});
  lock.baselines.push_back({"eager", "eager", "{}"});
  ledger::Goal goal;
  goal.task = lock.task;
  goal.run = "r1";
  goal.lock = store.put("r1", "goal.lock", to_json(lock), "", -1).value();
  ledger::LedgerLine line;
  line.kind = "goal";
  line.run = "r1";
  line.object = goal.lock;
  line.name = "r1/goal.lock.json";
  ASSERT_TRUE(store.append(line).ok());
  const auto put = [&](ledger::Purpose purpose, bool eager) {
    const std::string word(purpose_name(purpose));
    const int64_t open = store.run_open("r1", word, "sm1", "").value();
    FakeShape shape{.name = "sm1", .ratio = 1.1, .seed = eager ? 5u : 6u, .sigma = 0};
    ledger::PairsArtifact a = fake_pairs(shape, purpose, open);
    a.machine = {{"cpu", "Example CPU 3000"},      {"governor", ""},        {"known-good config", R"({"block_m":4})"},
                 {"known-good before s", "0.001"}, {"governor", ""},        {"gpu uuid", "GPU-1"},
                 {"gpu", "Example GPU"},           {"gpu driver", "580.1"}, {"cuda", "13.0"},
                 {"gpu power cap W", "700"}};
    if (!eager) {
      a.machine.insert(a.machine.end(), {{"gpu idle temperature C", "31"},
                                         {"gpu temperature before cool-down C", "64"},
                                         {"gpu temperature after cool-down C", "36"},
                                         {"gpu cool-down", "reached in 40 s"}});
    }
    a.arms[1].versions = {{"implementation", "onednn"}, {"version", "3.5"}, {"library", ""}};
    Noise noise(9);
    if (eager) a.arms.push_back(fake_arm("eager", ledger::Role::baseline));
    for (size_t i = 0; eager && i < a.pairs.size(); ++i)
      a.pairs[i].readings.push_back(fake_reading(a.arms[2], shape, 0.002, 100 + static_cast<int>(i), &noise));
    const std::string id = store.put("r1", a.name, to_json(a), "sm1", open).value();
    EXPECT_TRUE(store.run_close(open, "done").ok());
    return id;
  };
  put(ledger::Purpose::nominate, true);
  ledger::GoalShape shape;
  shape.name = "sm1";
  shape.evidence = {put(ledger::Purpose::confirm, false)};
  shape.artifact = store.named_path(shape.evidence[0]);
  goal.shapes.push_back(shape);
  ASSERT_EQ(write_file_atomic(join_path(artifacts, "goal.json"), to_json(goal)), "");
}

TEST_F(ReportTest, ABaselineThatWasOnlyNominatedShowsThatSpeedAndItsArtifact) {
  gpu_goal(artifacts_, anchor_);
  ASSERT_TRUE(write().ok());
  EXPECT_NE(page("report.md").find("[5.00 (nominated)](../artifacts/r1/nominate-sm1.json)"), std::string::npos)
      << page("report.md");
  EXPECT_NE(page("report.html").find("nominate-sm1.json\">5.00 (nominated)</a>"), std::string::npos);
  EXPECT_EQ(page("report.md").find("10.0 (nominated)"), std::string::npos) << "the other one was confirmed";
  EXPECT_TRUE(verify_report(artifacts_, join_path(folder_, "out"), anchor_).value().differences.empty());
}

TEST_F(ReportTest, TheGpuComesFirstAndNothingEmptyOrTwice) {
  gpu_goal(artifacts_, anchor_);
  ASSERT_TRUE(write().ok());
  const std::string head =
      "gpu: Example GPU · gpu driver: 580.1 · cuda: 13.0 · gpu power cap W: 700 · gpu vbios: not recorded · gpu uuid: "
      "GPU-1 · cpu: Example CPU 3000 · hillclimb 0.1.0 · onednn 3.5 · timer: ";
  for (const char* name : {"report.md", "report.html"}) {
    const std::string text = page(name);
    EXPECT_NE(text.find(head), std::string::npos) << text;
    for (const char* absent : {"known-good", "governor", "onednn implementation", "library"})
      EXPECT_EQ(text.find(absent), std::string::npos) << name << ": " << absent;
  }
}

TEST_F(ReportTest, TheCoolDownHasItsTable) {
  gpu_goal(artifacts_, anchor_);
  ASSERT_TRUE(write().ok());
  const std::string text = page("report.md"), file = "](../artifacts/r1/confirm-sm1.json)";
  EXPECT_NE(text.find("| sm1 | [31" + file + " | [64" + file + " | [36" + file + " | [reached in 40 s" + file + " |"),
            std::string::npos)
      << text;
}

TEST_F(ReportTest, TheCalibrationHasItsTableAndItsAbsenceItsRisk) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet, "", 6);
  ASSERT_TRUE(write().ok());
  const std::string text = page("report.md"), file = "](../artifacts/r1/aa-sm1.json)";
  EXPECT_NE(text.find("| onednn | Example CPU 3000, 2 cores | 2026-08-30 10:01 | [6" + file + " | [0.9994"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" %" + file + " | [no" + file + " |"), std::string::npos) << text;
  EXPECT_NE(page("report.html").find("aa-sm1.json"), std::string::npos);
  EXPECT_NE(read_file(join_path(artifacts_, "r1/check.txt")).value_or("").find("A/A: onednn against itself"),
            std::string::npos);
  EXPECT_EQ(text.find("calibration is switched off"), std::string::npos);
  SetUp();
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  EXPECT_NE(page("report.md").find("calibration is switched off"), std::string::npos);
}

TEST(CopyShare, NamesThoseThatStayBehindTheCopy) {
  Model m;
  EXPECT_EQ(copy_share_text(m), "");
  Row fast, slow, alone;
  fast.name = "fast", fast.after = 81, fast.ceiling = 100;
  slow.name = "slow", slow.after = 79, slow.ceiling = 100;
  alone.name = "alone", alone.after = 10;
  m.rows = {fast, alone};
  EXPECT_EQ(copy_share_text(m), "No variant is below 0.8 of the streaming copy of the same run.");
  m.rows = {slow, fast, slow};
  EXPECT_EQ(copy_share_text(m), "Below 0.8 of the streaming copy of the same run: slow, slow.");
}

TEST_F(ReportTest, MeansNeedEveryValue) {
  EXPECT_DOUBLE_EQ(geometric_mean({1, 4}), 2);
  EXPECT_DOUBLE_EQ(arithmetic_mean({1, 4}), 2.5);
  EXPECT_EQ(geometric_mean({1, 0}), 0);
  EXPECT_EQ(arithmetic_mean({}), 0);
}

TEST_F(ReportTest, TextIsEscaped) { EXPECT_EQ(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;"); }

TEST_F(ReportTest, AnotherRunOrNoGoalIsRefusedWithAFix) {
  EXPECT_FALSE(write().ok());
  ledger::testing::fake_goal(artifacts_, anchor_, {{"sm1", 1.2}});
  const Result<ReportPaths> other = write_report(artifacts_, "r9", join_path(folder_, "out"));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "the goal file is of the run r1, not of r9");
}

TEST_F(ReportTest, VerifyDerivesEveryPageAnewAndFindsWhatWasTyped) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  const std::string out = join_path(folder_, "out");
  EXPECT_FALSE(verify_report(artifacts_, out, anchor_).ok()) << "there is none yet";
  ASSERT_TRUE(write().ok());
  const auto verify = [&] { return verify_report(artifacts_, out, anchor_).value(); };
  EXPECT_TRUE(verify().differences.empty());
  EXPECT_FALSE(verify().grown);
  const std::pair<std::string, std::string> edits[] = {
      {"0.938", "0.998"}, {"12.1", "13.1"}, {"INTERIM: ", ""}, {"FAIL", "PASS"}, {"10.0", "9.50"}};
  for (const char* name : {"out/report.md", "out/report.html", "artifacts/r1/check.txt"}) {
    const std::string path = join_path(folder_, name), text = read_file(path).value();
    int tried = 0;
    for (const auto& [from, to] : edits) {
      const size_t at = text.find(from);
      if (at == std::string::npos) continue;
      std::string edited = text;
      edited.replace(at, from.size(), to);
      ASSERT_EQ(write_file_atomic(path, edited), "");
      EXPECT_FALSE(verify().differences.empty()) << name << ": " << from << " -> " << to;
      ++tried;
    }
    EXPECT_GT(tried, 0) << name;
    ASSERT_EQ(write_file_atomic(path, text), "");
  }
  EXPECT_TRUE(verify().differences.empty());
  // the stamp itself is no way round
  const std::string path = join_path(out, "report.md"), text = read_file(path).value();
  ASSERT_EQ(write_file_atomic(path, text.substr(0, text.rfind("<!--"))), "");
  EXPECT_FALSE(verify().differences.empty());
  std::string other = text;
  other[text.rfind("ledger ") + 20] ^= 1;
  ASSERT_EQ(write_file_atomic(path, other), "");
  EXPECT_FALSE(verify().differences.empty());
  ASSERT_EQ(write_file_atomic(path, text), "");
  ledger::LedgerLine stop;
  stop.kind = "gate";
  ASSERT_TRUE(ledger::Store::open(artifacts_, anchor_).value().append(stop).ok());
  EXPECT_FALSE(verify().grown) << "a stop says nothing of the numbers";
  EXPECT_TRUE(verify().differences.empty());
  ASSERT_TRUE(ledger::Store::open(artifacts_, anchor_).value().run_open("r1", "confirm", "sm1", "x").ok());
  EXPECT_TRUE(verify().grown);
}

/// A ratio over two confirming runs is in neither of them: the page leads to both, and each number is of both.
TEST_F(ReportTest, PooledNumbersLeadToEveryRunThatTheyAreTakenOver) {
  const FakeShape first{.name = "sm1", .ratio = 1.10, .seconds = 1e-3};
  FakeShape second = first;
  second.ratio = 1.30;
  second.seconds = 2e-3;
  second.seed = 7;
  second.first_pid = 70000;
  ledger::testing::fake_goal(artifacts_, anchor_, {first});
  {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    const std::string id = ledger::testing::confirm_shape(store, second);
    const auto updated = contract::update_shape(store, "sm1", {id});
    ASSERT_TRUE(updated.ok()) << updated.error().message;
  }
  const Model model = gather(artifacts_, "r1", anchor_).value();
  const Row& row = model.rows.at(0);
  ASSERT_EQ(row.pooled.size(), 2u);
  EXPECT_EQ(row.pooled[0], row.artifact);
  EXPECT_NE(row.pooled[1], row.artifact);
  const auto speed_of = [&](const FakeShape& of) {
    const ledger::PairsArtifact a = ledger::testing::fake_pairs(of, ledger::Purpose::confirm, 0);
    return a.work.amount / ledger::arm_seconds(a, a.arms[0].name) * 1e-9;
  };
  EXPECT_LT(row.after, 0.95 * speed_of(first)) << "the newest run alone is not the pool";
  EXPECT_GT(row.after, 1.05 * speed_of(second));
  ASSERT_TRUE(write().ok());
  const std::string ratio = ratio_text(row.verdict.ratio);
  const std::string both =
      markdown_link(model, ratio, row.pooled[0]).substr(0, ratio.size() + 3);  // the folder is another one here
  const std::string text = page("report.md");
  const size_t at = text.find(both);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.substr(at, 120).find("confirm-sm1-2.json) [+]("), std::string::npos) << text.substr(at, 120);
  EXPECT_NE(text.find("taken over the rounds of several confirming runs"), std::string::npos);
  EXPECT_NE(page("report.html").find("confirm-sm1.json\">+</a>"), std::string::npos);
  // the pooled number is derived anew, not read from the goal file
  const std::string out = join_path(folder_, "out");
  EXPECT_TRUE(verify_report(artifacts_, out, anchor_).value().differences.empty());
  std::string forged = text;
  forged.replace(at + 1, ratio.size(), "9.999");
  ASSERT_EQ(write_file_atomic(join_path(out, "report.md"), forged), "");
  EXPECT_FALSE(verify_report(artifacts_, out, anchor_).value().differences.empty());
}

TEST_F(ReportTest, EveryRunStandsInItThoseThatLostToo) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  {
    ledger::Store store = ledger::Store::open(artifacts_, anchor_).value();
    const int64_t open = store.run_open("r1", "attempt", "sm2", "edited").value();
    FakeShape lost = kUnmet[1];
    lost.ratio = 0.83;
    lost.seed = 99;
    const ledger::PairsArtifact a = ledger::testing::fake_pairs(lost, ledger::Purpose::attempt, open);
    ASSERT_TRUE(store.put("r1", "try-sm2", to_json(a), "sm2", open).ok());
    ASSERT_TRUE(store.run_close(open, "done").ok());
    ASSERT_TRUE(contract::add_iteration(store, "r1", ledger::check_goal({join_path(artifacts_, "goal.json"), anchor_}),
                                        {0, "", "", "rows", "two rows per thread: slower", ""})
                    .ok());
  }
  ASSERT_TRUE(write().ok());
  for (const char* name : {"report.md", "report.html"}) {
    const std::string text = page(name);
    EXPECT_NE(text.find("try-sm2.json"), std::string::npos) << name;
    EXPECT_NE(text.find("(behind)"), std::string::npos) << name;
    EXPECT_NE(text.find("two rows per thread: slower"), std::string::npos) << name;
    EXPECT_NE(text.find("numbers in them are not verified"), std::string::npos) << name << ": those are typed";
    EXPECT_NE(text.find("Pairs and modes"), std::string::npos) << name;
  }
}

TEST_F(ReportTest, ClaimsTakeTheirNumbersFromTheEvidence) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  const Model model = gather(artifacts_, "", anchor_).value();
  const Result<std::string> good = fill_claims(
      "1. sm2 is behind at {{sm2.ratio}} [{{sm2.lcb}}, {{sm2.ucb}}] of {{sm2.best}}.\n"
      "The pass for bf16 rows (`a1b2c3d4e5`, shapes like `64x64`) brought sm1 to {{sm1.after}}; "
      "{{goal.passing}} of {{goal.variants}} pass.\n",
      "claims.md", model);
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_NE(good.value().find("sm2 is behind at 0.938 [0.937, 0.940] of onednn"), std::string::npos) << good.value();
  EXPECT_NE(good.value().find("2 of 3 pass"), std::string::npos) << good.value();
  for (const char* typed : {"it is 1.5x faster", "up to 30 % faster", "2x", "`1.2x` faster", "{{sm9.ratio}}",
                            "{{sm1.speed}}", "{{sm1.ratio", "from .9 to 1", "ratio=1.02", "sm1:1.02"}) {
    const Result<std::string> filled = fill_claims(std::string("fine\n") + typed + "\n", "claims.md", model);
    ASSERT_FALSE(filled.ok()) << typed;
    EXPECT_NE(filled.error().message.find("line 2"), std::string::npos) << filled.error().message;
  }
}

TEST_F(ReportTest, ClaimsAreKeptWithTheRunAndVerified) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  const std::string claims = join_path(folder_, "mine.md");
  ASSERT_EQ(write_file_atomic(claims, "sm1 stands at {{sm1.ratio}}.\n"), "");
  ReportOptions options{anchor_, "2026-08-30T12:00:00Z"};
  options.claims = claims;
  ASSERT_TRUE(write_report(artifacts_, "r1", join_path(folder_, "out"), options).ok());
  EXPECT_NE(page("report.md").find("sm1 stands at 1.210."), std::string::npos);
  EXPECT_NE(page("report.html").find("sm1 stands at 1.210."), std::string::npos);
  EXPECT_TRUE(verify_report(artifacts_, join_path(folder_, "out"), anchor_).value().differences.empty());
  ASSERT_EQ(write_file_atomic(claims, "sm1 is 2x as fast.\n"), "");
  EXPECT_FALSE(write_report(artifacts_, "r1", join_path(folder_, "out"), options).ok());
  EXPECT_NE(page("report.md").find("sm1 stands at 1.210."), std::string::npos) << "the refused one changed nothing";
}

TEST_F(ReportTest, CommitsStandWithTheirPurposeAndEffect) {
  const auto git = [&](const std::string& arguments) {
    const std::string command =
        "cd " + folder_ + " && git -c user.name=a -c user.email=a@example.org " + arguments + " >/dev/null 2>&1";
    ASSERT_EQ(::system(command.c_str()), 0) << command;
  };
  git("init -b main .");
  ASSERT_EQ(write_file_atomic(join_path(folder_, ".gitignore"), "artifacts/\nout/\n"), "");
  git("add .gitignore");
  git("commit -m begin --date=2020-01-01T00:00:00Z");
  git("switch -c climb");
  ASSERT_EQ(write_file_atomic(join_path(folder_, "a.txt"), "a\n"), "");
  git("add a.txt");
  git("commit -m 'pass: vectorise the tail' -m 'Rows that end in the middle of a vector were slow.' "
      "--date=2020-01-02T00:00:00Z");
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  for (const char* name : {"report.md", "report.html"}) {
    const std::string text = page(name);
    EXPECT_NE(text.find("pass: vectorise the tail"), std::string::npos) << name;
    EXPECT_NE(text.find("Rows that end in the middle"), std::string::npos) << name;
    EXPECT_NE(text.find("sm3 first measured at 1.050"), std::string::npos) << name;
    EXPECT_EQ(text.find("| begin |"), std::string::npos) << "of the upstream";
  }
  EXPECT_TRUE(verify_report(artifacts_, join_path(folder_, "out"), anchor_).value().differences.empty());
}

TEST(ReportTime, IsReadAsUtc) {
  EXPECT_DOUBLE_EQ(unix_time("1970-01-02T00:00:01.500Z"), 86401.5);
  EXPECT_EQ(unix_time("nonsense"), 0);
}

}  // namespace
}  // namespace hc::report
