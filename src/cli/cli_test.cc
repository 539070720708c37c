// The command line as a user sees it: transcripts of mistakes, reference pages in step with their tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/command.h"

namespace hc::cli {
namespace {

const std::string kProgram = std::string(HC_BINARY_DIR) + "/hillclimb";
const std::string kGolden = std::string(HC_SOURCE_DIR) + "/test/golden/cli";

bool updating() { return std::getenv("UPDATE") != nullptr; }

/// What a shell shows for the command after `$ hillclimb `: output, then errors, then the exit status.
std::string transcript(const std::string& arguments) {
  const RunOutcome run = run_process({"sh", "-c", fmt::format("'{}' {}", kProgram, arguments)}, 60);
  return fmt::format("{}{}exit {}\n", run.out, run.err, run.exit_code);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, TheTranscriptIsAsStored) {
  if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
  const std::string path = join_path(kGolden, GetParam());
  const std::string stored = read_file(path).value_or("");
  const std::string start = "$ hillclimb ";
  ASSERT_TRUE(stored.starts_with(start)) << path;
  const std::string command = stored.substr(0, stored.find('\n') + 1);
  const std::string arguments = command.substr(start.size(), command.size() - start.size() - 1);
  const std::string now = command + transcript(arguments);
  if (updating()) {
    ASSERT_EQ(write_file_atomic(path, now), "");
  } else {
    EXPECT_EQ(now, stored) << "UPDATE=1 rewrites the stored transcripts";
  }
}

std::vector<std::string> golden_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Cli, Golden, testing::ValuesIn(golden_files()), test_name);

TEST(Cli, EveryCommandHasHelpWithItsOptions) {
  if (!file_exists(kProgram)) GTEST_SKIP() << "hillclimb was not built";
  for (const Command& command : commands()) {
    const RunOutcome help = run_process({kProgram, command.name, "--help"}, 60);
    EXPECT_EQ(help.exit_code, 0) << command.name;
    for (const Option& option : command.options) {
      EXPECT_NE(help.out.find(option.name), std::string::npos) << command.name << " " << option.name;
    }
  }
}

TEST(Cli, SentencesAreSentences) {
  for (const Command& command : commands()) {
    EXPECT_TRUE(command.sentence.ends_with('.')) << command.name;
    for (const Option& option : command.options) EXPECT_TRUE(option.sentence.ends_with('.')) << option.name;
  }
}

TEST(Cli, ReferencePagesAreFresh) {
  const std::vector<std::pair<std::string, std::string>> pages = {
      {"cli.md", cli_document()}, {"knobs.md", knobs_document()}, {"errors.md", errors_document()}};
  for (const auto& [name, text] : pages) {
    const std::string path = join_path(std::string(HC_SOURCE_DIR) + "/docs", name);
    if (updating()) {
      ASSERT_EQ(write_file_atomic(path, text), "");
    }
    EXPECT_EQ(read_file(path).value_or(""), text) << "`hillclimb docs` rewrites docs/" << name;
  }
}

TEST(Cli, ValuesAreRead) {
  Parsed parsed;
  parsed.set("--n", {"1", "12"});
  parsed.set("--bad", {"12x"});
  EXPECT_EQ(parsed.get("--n"), "12");
  EXPECT_EQ(parsed.all("--n").size(), 2U);
  EXPECT_EQ(parsed.whole("--n", 0, 1).value(), 12);
  EXPECT_EQ(parsed.whole("--absent", 7, 1).value(), 7);
  EXPECT_FALSE(parsed.whole("--bad", 0, 0).ok());
  EXPECT_FALSE(parsed.whole("--n", 0, 13).ok());
}

}  // namespace
}  // namespace hc::cli
