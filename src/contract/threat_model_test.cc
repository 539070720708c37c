// docs/threat-model.md names a test for each forgery; this test keeps it in step with the tests that there are.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "base/files.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;

std::set<std::string> tests_in_source() {
  std::set<std::string> out;
  const std::regex row(R"(TEST(_F|_P)?\((\w+), (\w+)\))");
  for (const char* folder : {"/src", "/baselines"}) {
    for (const auto& entry : fs::recursive_directory_iterator(std::string(HC_SOURCE_DIR) + folder)) {
      if (!entry.path().string().ends_with("_test.cc")) continue;
      const std::string text = read_file(entry.path().string()).value_or("");
      for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
        out.insert((*it)[2].str() + "." + (*it)[3].str());
      }
    }
  }
  return out;
}

/// The last cell of a table row.
std::string last_cell(const std::string& line) {
  const size_t end = line.rfind('|'), begin = line.rfind('|', end - 1);
  return line.substr(begin + 1, end - begin - 1);
}

TEST(ThreatModel, AnswersEveryRowWithTestsThatExist) {
  const std::string text = read_file(std::string(HC_SOURCE_DIR) + "/docs/threat-model.md").value_or("");
  const std::set<std::string> known = tests_in_source();
  const std::regex row(R"(\n\| (\d+) \|[^\n]*)"), name("`([A-Za-z_0-9.]+)`");
  int expected = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    EXPECT_EQ((*it)[1].str(), std::to_string(++expected));
    const std::string cell = last_cell(it->str());
    std::string suite;
    int named = 0;
    for (std::sregex_iterator n(cell.begin(), cell.end(), name); n != end; ++n, ++named) {
      std::string test = (*n)[1];
      if (test.find('.') == std::string::npos) test = suite + "." + test;
      suite = test.substr(0, test.find('.'));
      EXPECT_TRUE(known.count(test)) << "row " << expected << " names " << test;
    }
    EXPECT_TRUE(named > 0 || cell.find("not caught") != std::string::npos) << "row " << expected;
  }
  EXPECT_EQ(expected, 33);
}

}  // namespace
}  // namespace hc::contract
