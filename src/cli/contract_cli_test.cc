// The contract's commands from outside: gate, goal, idea, log, status, scope, history, freeze and agent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "contract/playbook.h"
#include "ledger/test_support.h"

namespace hc::cli {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";

class ContractCli : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
    folder_ = make_temp_folder("contract");
    project_ = join_path(folder_, "project");
    anchor_ = join_path(folder_, "state/anchor.json");
    fs::create_directories(project_);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    run_process({"chmod", "-R", "u+w", folder_}, 10);
    fs::remove_all(folder_);
  }

  void make_goal(double ratio) {
    ledger::testing::FakeShape shape;
    shape.ratio = ratio;
    ledger::testing::fake_goal(join_path(project_, "artifacts"), anchor_, {shape});
  }
  RunOutcome shell(const std::string& command) {
    return run_process({"sh", "-c", fmt::format("cd '{}' && {}", project_, command)}, 60,
                       {"HILLCLIMB_ANCHOR=" + anchor_, "XDG_STATE_HOME=" + join_path(folder_, "xdg"),
                        "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com",
                        "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com"});
  }
  RunOutcome hillclimb(const std::string& arguments) { return shell(fmt::format("'{}' {}", kProgram, arguments)); }

  std::string folder_, project_, anchor_;
};

TEST_F(ContractCli, TheGateAnswersInEachDialect) {
  EXPECT_EQ(hillclimb("gate --agent claude </dev/null").out, "{}\n");
  EXPECT_EQ(hillclimb("gate --agent exit").exit_code, 2) << "as check: nothing is shown where there is no goal";
  make_goal(0.9);
  const RunOutcome claude = shell(fmt::format("echo '{{\"session_id\":\"a\"}}' | '{}' gate --agent claude", kProgram));
  EXPECT_EQ(claude.exit_code, 0);
  EXPECT_EQ((*parse_json(claude.out))["decision"], "block");
  EXPECT_EQ(hillclimb("gate --agent exit </dev/null").exit_code, 1);
  EXPECT_EQ(hillclimb("gate --agent nobody </dev/null").exit_code, 64);
  EXPECT_TRUE(parse_json(hillclimb("gate --agent cursor </dev/null").out)->contains("followup_message"));
}

TEST_F(ContractCli, AnAnswerThatCannotBeWrittenStillBlocks) {
  make_goal(0.9);
  const RunOutcome run = hillclimb("gate --agent claude </dev/null >/dev/full");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_FALSE(run.err.empty());
}

TEST_F(ContractCli, TheInstalledHookBlocksAndLetsGo) {
  ASSERT_EQ(hillclimb("agent install --agent claude").exit_code, 0);
  make_goal(0.9);
  const Json settings = *parse_json(*read_file(join_path(project_, ".claude/settings.json")));
  const std::string command = settings["hooks"]["Stop"][0]["hooks"][0]["command"];
  // from another folder, as an agent may run it
  const RunOutcome run = run_process({"sh", "-c", "cd / && " + command + "\n"}, 60);
  EXPECT_EQ((*parse_json(run.out))["decision"], "block") << run.out << run.err;
  ASSERT_EQ(hillclimb("goal pause --quote 'enough for today'").exit_code, 0);
  const RunOutcome paused = run_process({"sh", "-c", "cd / && " + command + "\n"}, 60);
  EXPECT_FALSE(parse_json(paused.out)->contains("decision")) << paused.out;
  EXPECT_NE(paused.out.find("stopped, not met"), std::string::npos);
  ASSERT_EQ(hillclimb("agent install --agent claude --remove").exit_code, 0);
  EXPECT_FALSE(fs::exists(join_path(project_, ".claude")));
}

TEST_F(ContractCli, GoalIdeaLogAndStatusWorkTogether) {
  EXPECT_EQ(hillclimb("status").exit_code, 65);
  EXPECT_EQ(hillclimb("idea add x").exit_code, 65);
  EXPECT_FALSE(fs::exists(join_path(project_, "artifacts"))) << "a command without goal makes nothing";
  make_goal(0.9);
  EXPECT_EQ(hillclimb("goal pause").exit_code, 64);
  EXPECT_EQ(hillclimb("goal amend --margin 0.005").exit_code, 64) << "without a reason";
  EXPECT_EQ(hillclimb("log --idea words --result ''").exit_code, 64);
  EXPECT_EQ(hillclimb("log --idea i9 --result slower").exit_code, 64) << "there is no such idea";
  EXPECT_EQ(hillclimb("idea add x --variant zz").exit_code, 64) << "nor such a variant";
  EXPECT_EQ(hillclimb("goal block --question 'why?'").exit_code, 65);
  EXPECT_EQ(hillclimb("goal amend --margin 0.05 --reason easier").exit_code, 65);
  EXPECT_EQ(hillclimb("goal amend --margin 0.005 --reason harder").exit_code, 0);
  EXPECT_EQ(hillclimb("goal nonsense").exit_code, 64);
  EXPECT_EQ(hillclimb("idea add 'two rows per thread' --variant a").exit_code, 0);
  EXPECT_EQ(hillclimb("idea add 'wider stores' --rank 1").exit_code, 0);
  EXPECT_EQ(hillclimb("idea close i1").exit_code, 64);
  EXPECT_EQ(hillclimb("idea close i1 --evidence artifacts/r1/confirm-a.json --outcome slower").exit_code, 0);
  EXPECT_EQ(hillclimb("log --idea i1 --result 'slower'").exit_code, 0);
  const RunOutcome status = hillclimb("status");
  for (const char* part : {"UNMET", "wider stores", "i1: slower", "next:", "harder"}) {
    EXPECT_NE(status.out.find(part), std::string::npos) << part << "\n" << status.out;
  }
  const Json json = *parse_json(hillclimb("status --json").out);
  EXPECT_EQ(json["backlog"].size(), 2u);
  EXPECT_TRUE(json.contains("next"));
  EXPECT_NE(read_file(join_path(project_, "artifacts/r1/plan.md"))->find("wider stores"), std::string::npos);
  EXPECT_EQ(hillclimb("check").exit_code, 1);
}

TEST_F(ContractCli, TheGoalsWriterIsNamed) {
  make_goal(0.9);
  const auto lock = ledger::WriterLock::take(join_path(project_, "artifacts"), "measure a");
  const RunOutcome run = hillclimb("goal pause --quote stop");
  EXPECT_EQ(run.exit_code, 65);
  EXPECT_NE(run.err.find("measure a"), std::string::npos) << run.err;
  EXPECT_EQ(hillclimb("wait --seconds 1").exit_code, 3);
  EXPECT_EQ(hillclimb("idea add 'meanwhile'").exit_code, 0) << "who only adds lines need not wait";
}

TEST_F(ContractCli, WaitEndsWithTheStatus) {
  EXPECT_EQ(hillclimb("wait").exit_code, 65);
  make_goal(0.9);
  const RunOutcome run = hillclimb("wait");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find("next:"), std::string::npos);
}

TEST_F(ContractCli, ScopeHistoryAndFreezeInARepository) {
  const std::string task = fmt::format("'{}/tasks/quickstart.toml'", HC_SOURCE_DIR);
  EXPECT_EQ(hillclimb("scope " + task).exit_code, 65);
  shell(
      "git init -q -b main . && mkdir src && echo a >src/a && git add . && git commit -qm start && git checkout -qb "
      "work");
  shell("mkdir benchmarks && echo b >benchmarks/b && echo b >src/a && git add . && git commit -qm 'all at once'");
  EXPECT_EQ(hillclimb("scope " + task).exit_code, 0);
  EXPECT_EQ(hillclimb("history check").exit_code, 1);
  EXPECT_EQ(hillclimb("history apply").exit_code, 64);
  EXPECT_EQ(hillclimb("history plan").exit_code, 0);
  const RunOutcome applied = hillclimb("history apply --branch clean");
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_EQ(hillclimb("history check --head clean").exit_code, 0);
  EXPECT_EQ(hillclimb("freeze ../frozen").exit_code, 0);
  shell("git checkout -q main");
  EXPECT_EQ(hillclimb("freeze ../frozen --check").exit_code, 0);
  EXPECT_EQ(hillclimb("freeze ../frozen --remove").exit_code, 0);
  EXPECT_EQ(hillclimb("freeze ../frozen --check").exit_code, 65);
}

/// Options of a command, with their dashes.
std::set<std::string> options_of(const Command& command) {
  std::set<std::string> out;
  for (const Option& option : command.options) out.insert(option.name);
  return out;
}

TEST(PlaybookText, NamesOnlyCommandsAndOptionsThatAreThere) {
  std::set<std::string> names;
  for (const Command& one : commands()) names.insert(one.name);
  const std::string text = contract::playbook(names);
  const std::regex step("`hillclimb ([a-z]+)([^`]*)`"), option("--[a-z][a-z-]*");
  int steps = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), step), end; it != end; ++it, ++steps) {
    const std::string name = (*it)[1], rest = (*it)[2];
    const auto command =
        std::find_if(commands().begin(), commands().end(), [&](const auto& c) { return c.name == name; });
    ASSERT_NE(command, commands().end()) << (*it)[0];
    for (std::sregex_iterator o(rest.begin(), rest.end(), option); o != end; ++o) {
      EXPECT_TRUE(options_of(*command).count(o->str())) << (*it)[0];
    }
  }
  EXPECT_GT(steps, 20);
}

}  // namespace
}  // namespace hc::cli
