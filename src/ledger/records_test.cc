// Round trips of records and the refusal of what cannot be one.
#include "ledger/records.h"

#include <gtest/gtest.h>

#include "ledger/test_support.h"

namespace hc::ledger {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Records, PairsRoundTripWithoutRounding) {
  testing::FakeShape shape;
  shape.copy_ratio = 1.1;
  PairsArtifact a = testing::fake_pairs(shape, Purpose::confirm, 5);
  a.pairs[0].readings[0].blocks[0].seconds = 0.1 + 0.2;
  a.pairs[1].valid = false;
  a.pairs[1].rule = "canary";
  a.pairs[1].before = {0.001, 0.002};
  a.pairs[1].after = {INFINITY, INFINITY};  // it failed
  a.pairs[1].reference = {0.001, 0.0021};
  a.machine_close = {{"cores", "2"}};
  const std::string text = to_json(a);
  const Result<PairsArtifact> back = parse_pairs(text, "x");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(back.value()), text);
  EXPECT_EQ(back.value().pairs[0].readings[0].blocks[0].seconds, 0.1 + 0.2);
  EXPECT_EQ(back.value().pairs[1].before.memory_s, 0.002);
  EXPECT_EQ(back.value().pairs[1].after.compute_s, 0);
  EXPECT_EQ(back.value().pairs[0].before.compute_s, 0) << "records of earlier versions have no canaries";
  EXPECT_EQ(fact(back.value().machine_close, "cores"), "2");
  EXPECT_EQ(artifact_kind(text, "x").value(), "pairs");
}

TEST(Records, TunesChecksAndLocksRoundTrip) {
  const std::string tune = to_json(testing::fake_tune("a"));
  EXPECT_EQ(to_json(parse_tune(tune, "x").value()), tune);
  CheckRecord check;
  check.run = "r";
  check.backend = "cpu";
  check.passed = true;
  EXPECT_EQ(to_json(parse_check(to_json(check), "x").value()), to_json(check));
  const std::string lock = to_json(testing::fake_lock({"a", "b"}));
  EXPECT_EQ(to_json(parse_lock(lock, "x").value()), lock);
}

TEST(Records, ANewerSchemaIsRefusedByName) {
  const std::string text = replaced(to_json(testing::fake_tune("a")), "artifact/1", "artifact/2");
  const Result<TuneRecord> back = parse_tune(text, "artifacts/r1/tune.json");
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(
      back.error().message,
      "artifacts/r1/tune.json has schema hillclimb.artifact/2, newer than hillclimb.artifact/1, the newest that this "
      "program reads");
  EXPECT_FALSE(back.error().help.empty());
}

TEST(Records, WrongFieldsAreNamedByPath) {
  const std::string good = to_json(testing::fake_pairs({}, Purpose::confirm, 5));
  const auto message = [](const std::string& text) { return parse_pairs(text, "f").error().message; };
  EXPECT_EQ(message("{"), "f is not JSON");
  EXPECT_EQ(message("[1]"), "f does not hold a JSON object");
  EXPECT_EQ(message("{}"), "f has no `schema`; hillclimb.artifact/1 was expected");
  EXPECT_EQ(message(replaced(good, "\"correct\": true", "\"correct\": 1")),
            "f: field `pairs[0].readings[0].correct` is 1 and must be true or false");
  EXPECT_EQ(message(replaced(good, "\"purpose\": \"confirm\"", "\"purpose\": \"wish\"")),
            "f: field `purpose` is \"wish\", which is not a known value");
  EXPECT_NE(message(replaced(good, "\"seconds\": [", "\"seconds\": [ null,")).find("seconds[0]` is not a number"),
            std::string::npos);
  EXPECT_NE(message(replaced(good, "\"seconds\": [", "\"seconds\": [ NaN,")).find("is not JSON"), std::string::npos);
  EXPECT_NE(message(replaced(good, "\"launches\": [", "\"launches\": [ 3,")).find("differ in length"),
            std::string::npos);
  EXPECT_EQ(parse_tune(good, "f").error().message.substr(0, 34), "f: kind is \"pairs\"; \"tune\" was exp");
}

TEST(Records, AGoalRoundTripsAndThePlainFormOfTheSpecIsRead) {
  Goal goal;
  goal.task = "t";
  goal.run = "r";
  goal.lock = std::string(64, 'a');
  GoalShape shape;
  shape.name = "v";
  shape.ratio = 1.25;
  shape.ucb = std::numeric_limits<double>::infinity();
  shape.evidence = {std::string(64, 'b')};
  goal.shapes = {shape};
  const std::string text = to_json(goal);
  const Result<Goal> back = parse_goal(text, "goal.json");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(back.value()), text);
  const Result<Goal> plain = parse_goal(
      R"({"task":"softmax","status":"running","criteria":{"geomean_min":1.0},
          "shapes":[{"name":"32768x4096","ratio":0.87,"artifact":"artifacts/s/before.jsonl"}]})",
      "goal.json");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain.value().has_lock());
  EXPECT_EQ(plain.value().shapes[0].ratio, 0.87);
  EXPECT_FALSE(parse_goal(R"({"task":"x","shapes":[]})", "g").ok());
  EXPECT_FALSE(parse_goal(R"({"task":"x","shapes":[{"name":"a","ratio":"high"}]})", "g").ok());
  EXPECT_FALSE(parse_goal(R"({"schema":"hillclimb.goal/2","task":"x","shapes":[{"name":"a"}]})", "g").ok());
}

}  // namespace
}  // namespace hc::ledger
