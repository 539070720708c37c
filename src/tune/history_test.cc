// The tuning history: what goes in comes out best first, and only for its own key.
#include "tune/history.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tune/search.h"

namespace hc::tune {
namespace {

ledger::Candidate candidate(const std::string& rows, double seconds, ledger::Outcome outcome) {
  knob::Config config;
  config.set("rows", rows);
  ledger::Candidate c;
  c.config = config_json(config);
  c.origin = "random";
  c.outcome = outcome;
  c.reason = outcome == ledger::Outcome::ok ? "" : "a reason";
  c.seconds = seconds;
  return c;
}

TEST(History, BestFirstAndOnlyForTheKey) {
  const std::string path = join_path(make_temp_folder("history"), "deep/history.sqlite");
  const HistoryKey key{"machine", "hash", "softmax", "f32[8,8]"};
  {
    const auto history = History::open(path);
    ASSERT_TRUE(history.ok()) << history.error().message;
    ASSERT_TRUE(history.value()
                    ->add(key, {candidate("4", 3e-3, ledger::Outcome::ok), candidate("8", 1e-3, ledger::Outcome::ok),
                                candidate("16", 1e-6, ledger::Outcome::wrong_answer)})
                    .ok());
  }
  const auto history = History::open(path);
  ASSERT_TRUE(history.ok());
  const auto best = history.value()->best(key, 5);
  ASSERT_TRUE(best.ok());
  ASSERT_EQ(best.value().size(), 2U) << "a wrong answer is never a head start";
  EXPECT_EQ(best.value()[0].get("rows", ""), "8");
  HistoryKey other = key;
  other.machine = "another";
  EXPECT_TRUE(history.value()->best(other, 5).value().empty());
}

TEST(History, AFileThatCannotBeUsedSaysSo) {
  const auto history = History::open("/proc/history.sqlite");
  ASSERT_FALSE(history.ok());
  EXPECT_EQ(history.error().code, Code::file_error);
}

}  // namespace
}  // namespace hc::tune
