// Reports of made-up ledgers against an approved text, and what has to be on every page.
#include "report/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "ledger/test_support.h"
#include "report/model.h"
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

TEST_F(ReportTest, MarkdownEqualsTheApprovedText) {
  ledger::testing::fake_goal(artifacts_, anchor_, kUnmet);
  ASSERT_TRUE(write().ok());
  const std::string approved_path = std::string(HC_SOURCE_DIR) + "/test/golden/report/unmet.md";
  if (std::getenv("UPDATE")) {
    ASSERT_EQ(write_file_atomic(approved_path, page("report.md")), "");
  }
  EXPECT_EQ(page("report.md"), read_file(approved_path).value_or("missing"))
      << "UPDATE=1 approves a new text";
  EXPECT_EQ(read_file(join_path(artifacts_, "r1/check.txt")).value_or(""),
            ledger::check_goal({join_path(artifacts_, "goal.json"), anchor_}).text);
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

}  // namespace
}  // namespace hc::report
