// The best baseline and those within 2 % of it are confirmed against, no others.
#include "cli/rivals.h"

#include <gtest/gtest.h>

namespace hc::cli {
namespace {

/// Names of the rivals of a candidate that takes a second, among baselines that take these many.
std::vector<std::string> rivals(const std::vector<double>& baselines, const std::vector<std::string>& renamed = {}) {
  std::vector<tune::Contender> arms(baselines.size() + 1);
  std::vector<std::string> names = {"candidate"};
  std::vector<double> seconds = {0.5};
  arms[0].arm.name = "candidate";
  for (size_t i = 0; i < baselines.size(); ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i)));
    arms[i + 1].arm.name = i < renamed.size() && !renamed[i].empty() ? renamed[i] : names.back();
    seconds.push_back(baselines[i]);
  }
  std::vector<std::string> out;
  for (const tune::Contender& rival : nearest_rivals(arms, names, seconds)) out.push_back(rival.arm.name);
  return out;
}

using Names = std::vector<std::string>;

TEST(Rivals, AreTheBestAndThoseWithinTwoPerCent) {
  EXPECT_EQ(rivals({1.0}), Names({"a"}));
  EXPECT_EQ(rivals({1.3, 1.0, 1.019}), Names({"b", "c"})) << "in the order of the task";
  EXPECT_EQ(rivals({1.0, 1.021}), Names({"a"}));
  EXPECT_EQ(rivals({1.02, 1.0, 1.0201}), Names({"a", "b"})) << "the bound itself counts";
  EXPECT_EQ(rivals({2, 2, 2}), Names({"a", "b", "c"}));
}

TEST(Rivals, SlowerLibrariesOfABaselineDoNotCompete) {
  EXPECT_EQ(rivals({1.0, 1.01, 1.01}, {"", "b#2"}), Names({"a", "c"}));
}

}  // namespace
}  // namespace hc::cli
