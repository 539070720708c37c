// The device's state of a block on its way from a worker's reply into the evidence.
#include "bench/protocol.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "bench/pairing.h"
#include "ledger/records.h"

namespace hc::bench {
namespace {

Result<TimeReply> reply_with(const std::string& devices) {
  const std::string block = R"({"seconds":[1e-5],"launches":1,"mid_monotonic_s":1)";
  const std::string text = R"({"clock":"cuda_event","threads":0,"flush_bytes":1,"blocks":[)" + block + R"(,"device":)" +
                           devices + "}," + block + "}]}";
  return time_reply_from_json(parse_json(text).value());
}

TEST(Protocol, TheDevicesStateOfABlockIsKept) {
  const Result<TimeReply> reply =
      reply_with(R"({"sm_mhz_clock":1979.5,"sm_mhz_nvml":1980,"memory_mhz":3201,"temperature_c":41,"power_w":412.5,)"
                 R"("event_reasons":9223372036854775812,"queue_timeouts":1})");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  const Block& block = reply.value().blocks.at(0);
  ASSERT_TRUE(block.has_device);
  EXPECT_EQ(block.device.sm_mhz_clock, 1979.5);
  EXPECT_EQ(block.device.sm_mhz_nvml, 1980);
  EXPECT_EQ(block.device.memory_mhz, 3201);
  EXPECT_EQ(block.device.temperature_c, 41);
  EXPECT_EQ(block.device.power_w, 412.5);
  EXPECT_EQ(block.device.event_reasons, 0x8000000000000004u);
  EXPECT_EQ(block.device.queue_timeouts, 1);
  EXPECT_FALSE(reply.value().blocks.at(1).has_device);
  const Result<TimeReply> again = time_reply_from_json(to_json(reply.value()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(again.value()), to_json(reply.value()));
  EXPECT_FALSE(to_json(again.value())["blocks"][1].contains("device")) << "a processor has none";
}

TEST(Protocol, ListingsAndLoadedModulesComeThrough) {
  const Result<ListingReply> listing = listing_reply_from_json(
      parse_json(R"({"files":[{"kind":"ptx","name":"rows","path":"/t/0.ptx"}],"tools":["/b/nvdisasm"],"missing":"x"})")
          .value());
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_EQ(listing.value().files.at(0).kind, "ptx");
  EXPECT_EQ(to_json(listing_reply_from_json(to_json(listing.value())).value()), to_json(listing.value()));
  EXPECT_FALSE(listing_reply_from_json(parse_json(R"({"files":[{"kind":"ptx"}]})").value()).ok()) << "without a path";
  const HelloReply lacking{
      .protocol = 1, .worker = "w", .missing = {{"openblas", "not here", "get it"}, {"x", "y", ""}}};
  EXPECT_EQ(to_json(hello_reply_from_json(to_json(lacking)).value()), to_json(lacking));
  EXPECT_EQ(hello_reply_from_json(to_json(lacking)).value().missing.at(0).help, "get it");
  PrepareReply reply;
  EXPECT_FALSE(to_json(reply).contains("loaded"));
  reply.inputs_sha256 = "ab";
  reply.modules = {"/w/mine.py"};
  reply.packages = {{"numbers", "1", "ab"}};
  const Result<PrepareReply> again = prepare_reply_from_json(to_json(reply));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().modules, reply.modules);
  EXPECT_EQ(again.value().packages.at(0).sha256, "ab");
  const Result<HelloReply> hello =
      hello_reply_from_json(parse_json(R"({"protocol":1,"worker":"w","can":["listing"]})").value());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello.value().can, std::vector<std::string>{"listing"});
}

TEST(Protocol, AStateOfAnotherKindIsRefusedByName) {
  const Result<TimeReply> clock = reply_with(R"({"sm_mhz_clock":"fast"})");
  ASSERT_FALSE(clock.ok());
  EXPECT_NE(clock.error().message.find("in `device`: `sm_mhz_clock` is \"fast\""), std::string::npos)
      << clock.error().message;
  EXPECT_FALSE(reply_with("7").ok());
  EXPECT_TRUE(reply_with("{}").ok());
}

/// One run of an arm whose blocks had these clocks.
ArmRun run_of(const std::vector<DeviceState>& states) {
  ArmRun run;
  for (const DeviceState& state : states) {
    Block block;
    block.seconds = {1e-5};
    block.launches = 1;
    block.has_device = true;
    block.device = state;
    run.timed.blocks.push_back(block);
  }
  return run;
}

Arm arm_of(const std::string& name) {
  Arm arm;
  arm.name = name;
  return arm;
}

TEST(Protocol, TheDevicesStateStandsBesideTheReading) {
  PairRecord pair;
  pair.runs = {
      run_of({{1980, 1980, 3201, 40, 300, 0, 0}, {1500, 1530, 3201, 47, 690, 4, 0}, {1970, 1965, 3201, 46, 650, 8, 2}}),
      run_of({})};
  pair.runs[1].arm = 1;
  Block plain;
  plain.seconds = {1e-5};
  plain.launches = 1;
  pair.runs[1].timed.blocks = {plain};
  ledger::PairsArtifact artifact;
  append_pair(pair, {arm_of("a"), arm_of("b")}, &artifact);
  ASSERT_EQ(artifact.pairs.at(0).readings.size(), 2u);
  const ledger::Facts& facts = artifact.pairs[0].readings[0].facts;
  EXPECT_EQ(ledger::fact(facts, "sm mhz"), "1970.0");
  EXPECT_EQ(ledger::fact(facts, "sm mhz by nvml"), "1965");
  EXPECT_EQ(ledger::fact(facts, "gpu temperature C"), "47");
  EXPECT_EQ(ledger::fact(facts, "gpu power W"), "690");
  EXPECT_EQ(ledger::fact(facts, "throttle reasons"), "0xc");
  EXPECT_EQ(ledger::fact(facts, "queue timeouts"), "2");
  EXPECT_EQ(ledger::fact(artifact.pairs[0].readings[1].facts, "sm mhz"), "") << "the other arm said nothing";
}

TEST(Protocol, WhatPreheatingGaveStandsBesideTheReading) {
  TimeReply reply;
  reply.blocks = run_of({{}}).timed.blocks;
  EXPECT_FALSE(to_json(reply).contains("preheat"));
  reply.preheat = {2.5, true, 1965.5, 52, 610};
  const Result<TimeReply> again = time_reply_from_json(to_json(reply));
  ASSERT_TRUE(again.ok()) << again.error().message;
  PairRecord pair;
  pair.runs = {run_of({{}})};
  pair.runs[0].timed = again.value();
  ledger::PairsArtifact artifact;
  append_pair(pair, {arm_of("a")}, &artifact);
  const ledger::Facts& facts = artifact.pairs.at(0).readings.at(0).facts;
  EXPECT_EQ(ledger::fact(facts, "preheat s"), "2.5");
  EXPECT_EQ(ledger::fact(facts, "after preheat"), "steady, 1965.5 MHz, 52 C, 610 W");
}

TEST(Protocol, TheModeStandsBesideEachReading) {
  PairRecord pair;
  pair.runs = {run_of({{}}), run_of({{}})};
  pair.runs[1].arm = 1;
  pair.runs[0].timed.mode = Mode::back_to_back;
  pair.runs[0].timed.copies = 13;
  pair.runs[0].timed.blocks[0].seconds = {2e-6};
  pair.runs[0].timed.blocks[0].launches = 500;
  ledger::PairsArtifact artifact;
  append_pair(pair, {arm_of("a"), arm_of("b")}, &artifact);
  const ledger::Reading &row = artifact.pairs.at(0).readings.at(0), &single = artifact.pairs[0].readings.at(1);
  EXPECT_EQ(row.mode, "back_to_back");
  EXPECT_EQ(ledger::fact(row.facts, "copies in turn"), "13");
  ASSERT_EQ(row.blocks.size(), 1u);
  EXPECT_EQ(row.blocks[0].launches, 500);
  EXPECT_DOUBLE_EQ(row.blocks[0].seconds, 1e-3);
  EXPECT_EQ(single.mode, "single");
  EXPECT_EQ(ledger::fact(single.facts, "copies in turn"), "");
  artifact.timer = timer_text(Mode::back_to_back);
  EXPECT_TRUE(ledger::is_back_to_back(artifact));
  artifact.timer = timer_text(Mode::single);
  EXPECT_FALSE(ledger::is_back_to_back(artifact));
}

}  // namespace
}  // namespace hc::bench
