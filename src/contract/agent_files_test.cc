// Installing the stop hook and the playbook, and taking them out again.
#include "contract/agent_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "contract/playbook.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;

const std::vector<Agent> kAgents{Agent::claude, Agent::codex, Agent::cursor, Agent::gemini};

class AgentFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder("agent");
    project_ = join_path(folder_, "my project's folder");
    fs::create_directories(project_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  AgentInstall request(Agent agent) {
    return {agent, project_, join_path(folder_, "no such program"), "", playbook({}), join_path(folder_, "state")};
  }
  std::string settings(Agent agent) { return join_path(project_, hook_file(agent)); }
  std::string skill(Agent agent) { return join_path(project_, skill_file(agent)); }
  Json read(Agent agent) { return parse_json(read_file(settings(agent)).value()).value(); }
  void put(Agent agent, const std::string& text) {
    fs::create_directories(fs::path(settings(agent)).parent_path());
    ASSERT_EQ(write_file_atomic(settings(agent), text), "");
  }
  /// Everything below the project: path and content.
  std::vector<std::pair<std::string, std::string>> tree() {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& entry : fs::recursive_directory_iterator(project_)) {
      out.emplace_back(entry.path().string(), entry.is_regular_file() ? read_file(entry.path().string()).value() : "");
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string folder_, project_;
};

/// The command as the agent finds it in its own format.
std::string command_in(Agent agent, const Json& json) {
  switch (agent) {
    case Agent::cursor:
      return json["hooks"]["stop"].back()["command"];
    case Agent::gemini:
      return json["hooks"]["AfterAgent"].back()["hooks"][0]["command"];
    default:
      return json["hooks"]["Stop"].back()["hooks"][0]["command"];
  }
}

TEST_F(AgentFilesTest, EachAgentFindsHookAndPlaybookWhereItLooks) {
  for (const Agent agent : kAgents) {
    ASSERT_TRUE(install_agent(request(agent)).ok());
    EXPECT_EQ(command_in(agent, read(agent)), hook_command(request(agent)));
    const std::string text = read_file(skill(agent)).value();
    EXPECT_TRUE(text.starts_with("---\nname: hillclimb\ndescription: ")) << text.substr(0, 60);
  }
  EXPECT_EQ(read(Agent::cursor)["version"], 1);
  EXPECT_EQ(read(Agent::claude)["hooks"]["Stop"][0]["hooks"][0]["type"], "command");
}

TEST_F(AgentFilesTest, RemovalLeavesNothingBehind) {
  const auto before = tree();
  for (const Agent agent : kAgents) ASSERT_TRUE(install_agent(request(agent)).ok());
  EXPECT_NE(tree(), before);
  for (const Agent agent : kAgents) ASSERT_TRUE(remove_agent(request(agent)).ok());
  EXPECT_EQ(tree(), before);
  for (const Agent agent : kAgents) EXPECT_TRUE(remove_agent(request(agent)).ok()) << "twice does no harm";
}

TEST_F(AgentFilesTest, WhatIsThereStaysAndComesBackByteForByte) {
  const std::string own =
      "{ \"model\": \"x\",\n   \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}],\n"
      " \"PreToolUse\": []}, \"z\": 1e3 }";
  for (const Agent agent : {Agent::claude, Agent::codex}) {
    put(agent, own);
    ASSERT_TRUE(install_agent(request(agent)).ok());
    const Json now = read(agent);
    EXPECT_EQ(now["model"], "x");
    EXPECT_EQ(now["z"], 1000.0);
    ASSERT_EQ(now["hooks"]["Stop"].size(), 2u);
    EXPECT_EQ(now["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
    EXPECT_TRUE(now["hooks"].contains("PreToolUse"));
    ASSERT_TRUE(remove_agent(request(agent)).ok());
    EXPECT_EQ(read_file(settings(agent)).value(), own);
  }
}

TEST_F(AgentFilesTest, ASecondCallChangesNothing) {
  for (const Agent agent : kAgents) {
    put(agent, "{\"theme\":\"dark\"}");
    ASSERT_TRUE(install_agent(request(agent)).ok());
    const auto once = tree();
    ASSERT_TRUE(install_agent(request(agent)).ok());
    EXPECT_EQ(tree(), once);
    ASSERT_TRUE(remove_agent(request(agent)).ok());
    EXPECT_EQ(read_file(settings(agent)).value(), "{\"theme\":\"dark\"}");
  }
}

TEST_F(AgentFilesTest, AnotherProgramRenewsTheHookInsteadOfDoublingIt) {
  AgentInstall install = request(Agent::claude);
  ASSERT_TRUE(install_agent(install).ok());
  install.program = "/elsewhere/hillclimb";
  ASSERT_TRUE(install_agent(install).ok());
  EXPECT_EQ(read(Agent::claude)["hooks"]["Stop"].size(), 1u);
  EXPECT_NE(command_in(Agent::claude, read(Agent::claude)).find("/elsewhere/"), std::string::npos);
  ASSERT_TRUE(remove_agent(install).ok());
  EXPECT_FALSE(fs::exists(settings(Agent::claude)));
}

TEST_F(AgentFilesTest, LaterEditsOfTheOwnerSurviveTheRemoval) {
  for (const Agent agent : kAgents) {
    put(agent, "{\"theme\":\"dark\"}");
    ASSERT_TRUE(install_agent(request(agent)).ok());
    Json edited = read(agent);
    edited["theme"] = "light";
    put(agent, edited.dump());
    AgentInstall again = request(agent);
    again.program = "/elsewhere/hillclimb";
    ASSERT_TRUE(install_agent(again).ok()) << "renewed on top of the edit";
    ASSERT_TRUE(remove_agent(again).ok());
    const Json left = read(agent);
    EXPECT_EQ(left["theme"], "light");
    EXPECT_FALSE(left.contains("hooks"));
  }
}

TEST_F(AgentFilesTest, ARemovalWithoutRecordTakesOutOnlyOurs) {
  put(Agent::cursor, R"({"version":1,"hooks":{"stop":[{"command":"mine"}]}})");
  ASSERT_TRUE(install_agent(request(Agent::cursor)).ok());
  fs::remove_all(join_path(folder_, "state"));
  ASSERT_TRUE(remove_agent(request(Agent::cursor)).ok());
  EXPECT_EQ(read(Agent::cursor), parse_json(R"({"version":1,"hooks":{"stop":[{"command":"mine"}]}})").value());
}

TEST_F(AgentFilesTest, SettingsThatAreNotPlainJsonAreLeftAlone) {
  for (const char* text : {"{ // comment\n}", "[]", "{\"hooks\": 7}", "{\"hooks\": {\"Stop\": {}}}", "{,}"}) {
    put(Agent::claude, text);
    EXPECT_FALSE(install_agent(request(Agent::claude)).ok()) << text;
    EXPECT_EQ(read_file(settings(Agent::claude)).value(), text);
    EXPECT_FALSE(fs::exists(skill(Agent::claude)));
  }
  put(Agent::claude, "\n");
  EXPECT_TRUE(install_agent(request(Agent::claude)).ok()) << "an empty file is empty settings";
}

TEST_F(AgentFilesTest, AForeignSkillOfTheSameNameStays) {
  fs::create_directories(fs::path(skill(Agent::claude)).parent_path());
  ASSERT_EQ(write_file_atomic(skill(Agent::claude), "my own skill\n"), "");
  EXPECT_FALSE(install_agent(request(Agent::claude)).ok());
  EXPECT_TRUE(remove_agent(request(Agent::claude)).ok());
  EXPECT_EQ(read_file(skill(Agent::claude)).value(), "my own skill\n");
}

TEST_F(AgentFilesTest, AMissingProgramBlocksInEveryDialect) {
  for (const Agent agent : kAgents) {
    const RunOutcome run = run_process({"sh", "-c", hook_command(request(agent))}, 10);
    if (agent == Agent::cursor) {
      EXPECT_EQ(run.exit_code, 0);
      EXPECT_TRUE(parse_json(run.out).value().contains("followup_message")) << run.out;
    } else {
      EXPECT_EQ(run.exit_code, 2);
      EXPECT_NE(run.err.find("could not judge"), std::string::npos);
      EXPECT_EQ(run.out, "");
    }
  }
}

TEST_F(AgentFilesTest, AProgramThatDiesBlocks) {
  for (const char* body : {"kill -9 $$", "exit 70", "exit 64", "exit 1"}) {
    const std::string program = join_path(folder_, "no such program");
    ASSERT_EQ(write_file_atomic(program, std::string("#!/bin/sh\n") + body + "\n"), "");
    fs::permissions(program, fs::perms::owner_all);
    const RunOutcome run = run_process({"sh", "-c", hook_command(request(Agent::claude))}, 10);
    EXPECT_EQ(run.exit_code, 2) << body;
    EXPECT_FALSE(run.err.empty()) << body;
  }
}

TEST_F(AgentFilesTest, TheProgramsAnswerComesThroughUnchanged) {
  const std::string program = join_path(folder_, "no such program");
  ASSERT_EQ(write_file_atomic(program, "#!/bin/sh\necho \"$HILLCLIMB_ANCHOR|$*\"\n"), "");
  fs::permissions(program, fs::perms::owner_all);
  AgentInstall install = request(Agent::claude);
  install.anchor = "/a b/c";
  const RunOutcome run = run_process({"sh", "-c", hook_command(install)}, 10);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "/a b/c|gate --agent claude --artifacts " + project_ + "/artifacts\n");
}

TEST_F(AgentFilesTest, ExitAndMissingFoldersAreSaid) {
  EXPECT_FALSE(install_agent(request(Agent::exit)).ok());
  AgentInstall install = request(Agent::claude);
  install.project = join_path(folder_, "nowhere");
  EXPECT_FALSE(install_agent(install).ok());
}

TEST(Playbook, CoversTheWholeClimb) {
  const std::string text = playbook({"climb"});
  for (const char* part : {"## Step 1",
                           "## Step 2",
                           "## Step 3",
                           "## Step 4",
                           "## Step 5",
                           "8 variants",
                           "--quote",
                           "--question",
                           "hand-edited",
                           "same device",
                           "hillclimb status",
                           "hillclimb log",
                           "Subagents",
                           "CUDA_VISIBLE_DEVICES",
                           "one config per process",
                           "ABAB",
                           "two modes",
                           "Frozen tree",
                           "[noland]",
                           "INTERIM",
                           "cold full tune",
                           "floor",
                           "seeds",
                           "risky",
                           "artifacts/",
                           "power cap",
                           "PyTorch",
                           "CuTe",
                           "such as `i1`",
                           "`.gitignore` once the first",
                           "archived"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Playbook, NamesOnlyWhatIsThere) {
  EXPECT_EQ(playbook({"climb"}).find("hillclimb try"), std::string::npos);
  EXPECT_NE(playbook({"climb", "try"}).find("hillclimb try"), std::string::npos);
  EXPECT_EQ(playbook({"start"}).find("`hillclimb climb TASK` measures every baseline"), std::string::npos);
}

}  // namespace
}  // namespace hc::contract
