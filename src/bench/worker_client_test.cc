// The client against workers that die, hang and speak nonsense, and against the real ones.
#include "bench/worker_client.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/fake_worker.h"
#include "bench/screen.h"

namespace hc::bench {
namespace {

constexpr const char* kWorker = HC_BINARY_DIR "/hillclimb-worker";

class WorkerClient : public testing::Test {
 protected:
  std::string folder_ = make_temp_folder("hc-fake");
  std::string log_ = join_path(folder_, "log");
  Limits limits_{1, 1, 1, 1, 1};

  std::vector<std::string> fake(const std::string& first, const std::string& cases) {
    return fake_argv(write_fake_worker(folder_, "worker.sh", first, cases), "fake", log_);
  }
  std::string start_failure(const std::vector<std::string>& argv) {
    const auto worker = Worker::start(argv, limits_);
    if (worker.ok()) return "started";
    EXPECT_EQ(worker.error().code, Code::worker_failed);
    return worker.error().message;
  }
  /// The message of a time call that fails after a good hello.
  std::string time_failure(const std::string& reply, bool alive) {
    const auto worker = Worker::start(fake("", kFakeHello + std::string("\n*) ") + reply + ";;"), limits_);
    if (!worker.ok()) return worker.error().message;
    const auto timed = worker.value()->time({});
    EXPECT_EQ(worker.value()->alive(), alive);
    if (timed.ok()) return "timed";
    EXPECT_EQ(timed.error().code, Code::worker_failed);
    return timed.error().message;
  }
};

#define EXPECT_SAYS(text, part)                            \
  do {                                                     \
    const std::string said = text;                         \
    EXPECT_NE(said.find(part), std::string::npos) << said; \
  } while (0)

TEST_F(WorkerClient, GoodWorkerFromHelloToBye) {
  const auto started = Worker::start(fake("", good_cases()), limits_);
  ASSERT_TRUE(started.ok()) << started.error().message;
  Worker& worker = *started.value();
  EXPECT_EQ(worker.hello().worker, "fake/1");
  const auto prepared = worker.prepare({});
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_EQ(prepared.value().bytes, 8);
  const auto checked = worker.check({});
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  EXPECT_EQ(checked.value().outputs.at(0).sha256, "out");
  const auto timed = worker.time({});
  ASSERT_TRUE(timed.ok()) << timed.error().message;
  EXPECT_EQ(timed.value().blocks.at(0).seconds.size(), 1U);
  EXPECT_TRUE(worker.bye().ok());
  EXPECT_FALSE(worker.alive());
  EXPECT_FALSE(worker.time({}).ok());
}

TEST_F(WorkerClient, NamesEveryWayToFailAtTheStart) {
  EXPECT_SAYS(start_failure({}), "no command line");
  EXPECT_SAYS(start_failure({"/nowhere/worker"}), "cannot be started: /nowhere/worker: No such file");
  EXPECT_SAYS(start_failure(fake("echo library missing >&2; exit 3", "")), "ended with status 3");
  EXPECT_SAYS(start_failure(fake("echo library missing >&2; exit 3", "")), "last words: library missing");
  EXPECT_SAYS(start_failure(fake("kill -SEGV $$", "")), "signal 11 (SIGSEGV)");
  EXPECT_SAYS(start_failure(fake("sleep 30", "")), "gave no answer to hello within 1 s");
  EXPECT_SAYS(start_failure(fake("echo Welcome", good_cases())), "not JSON: `Welcome`");
  EXPECT_SAYS(start_failure(fake("", R"(*) echo '{"ok":true,"op":"hello","protocol":7,"worker":"x"}';;)")),
              "speaks protocol 7, and 1 is needed");
  EXPECT_SAYS(start_failure(fake("", R"(*) echo '{"ok":true,"op":"hello","protocol":1}';;)")), "`worker` is missing");
}

TEST_F(WorkerClient, NamesEveryWayToFailAtTiming) {
  EXPECT_SAYS(time_failure("exit 9", false), "died during time; it ended with status 9");
  EXPECT_SAYS(time_failure("sleep 30", false), "gave no answer to time within 1 s and was killed");
  EXPECT_SAYS(time_failure("echo progress 50%", false), "not JSON: `progress 50%`");
  EXPECT_SAYS(time_failure(R"(echo '{"ok":true,"op":"check","outputs":[]}')", false), "the reply to `check`");
  EXPECT_SAYS(time_failure(R"(echo '[1]')", false), "a JSON object is needed");
  EXPECT_SAYS(time_failure(R"(echo '{"ok":"yes","op":"time"}')", false), "`ok` is \"yes\"");
  EXPECT_SAYS(time_failure(R"(echo '{"ok":true,"op":"time","threads":1,"flush_bytes":0,"blocks":[]}')", false),
              "`blocks` is missing or empty");
  const std::string head = R"(echo '{"ok":true,"op":"time","threads":1,"flush_bytes":0,"blocks":[{"launches":1,)";
  EXPECT_SAYS(time_failure(head + R"("mid_monotonic_s":1,"seconds":[-1]}]}')", false), "not a positive number");
  EXPECT_SAYS(time_failure(head + R"("mid_monotonic_s":1,"seconds":[]}]}')", false), "no readings");
  EXPECT_SAYS(time_failure(head + R"("seconds":[1]}]}')", false), "`mid_monotonic_s` is missing");
  EXPECT_SAYS(time_failure(R"(echo '{"ok":true,"op":"time","mode":"back_to_back","threads":1,"flush_bytes":0,)"
                           R"("blocks":[{"launches":9,"mid_monotonic_s":1,"seconds":[1]}]}')",
                           false),
              "`copies` is missing");
  EXPECT_SAYS(time_failure(R"(echo '{"ok":false,"op":"time","code":"Nonsense","message":"out of paper"}')", true),
              "refused time: out of paper");
}

TEST_F(WorkerClient, RefusalKeepsItsCodeAndFix) {
  const std::string refusal = R"(*'"op":"prepare"'*) echo '{"ok":false,"op":"prepare","code":"NotAvailable",)"
                              R"("message":"no library","help":"get one"}';;)";
  const auto worker = Worker::start(fake("", kFakeHello + std::string("\n") + refusal + "\n" + kFakeBye), limits_);
  ASSERT_TRUE(worker.ok());
  const auto prepared = worker.value()->prepare({});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, Code::not_available);
  EXPECT_EQ(prepared.error().help, "get one");
  EXPECT_TRUE(worker.value()->alive());
  EXPECT_TRUE(worker.value()->bye().ok());
}

/// The referee compares arms by this hash: a reply without it would be found only when the records are judged.
TEST_F(WorkerClient, PrepareNeedsTheHashOfItsInputs) {
  for (const char* hash : {"", R"(,"inputs_sha256":"")", R"(,"inputs_sha256":7)"}) {
    SCOPED_TRACE(hash);
    const std::string reply = R"(*'"op":"prepare"'*) echo '{"ok":true,"op":"prepare","implementation":"fake",)"
                              R"("version":"1","threads":1,"bytes":8)" +
                              std::string(hash) + "}';;";
    const auto worker = Worker::start(fake("", kFakeHello + std::string("\n") + reply + "\n" + kFakeBye), limits_);
    ASSERT_TRUE(worker.ok());
    const auto prepared = worker.value()->prepare({});
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().code, Code::worker_failed);
    EXPECT_SAYS(prepared.error().message, "answered prepare wrongly: `inputs_sha256` is");
    EXPECT_FALSE(worker.value()->alive());
  }
}

TEST_F(WorkerClient, ExitStatusAfterByeCounts) {
  const auto worker =
      Worker::start(fake("", kFakeHello + std::string("\n*) echo '{\"ok\":true,\"op\":\"bye\"}'; exit 4;;")), limits_);
  ASSERT_TRUE(worker.ok());
  const Status bye = worker.value()->bye();
  ASSERT_FALSE(bye.ok());
  EXPECT_SAYS(bye.error().message, "ended with status 4 after bye");
}

std::vector<std::vector<std::string>> example_workers() {
  std::vector<std::vector<std::string>> commands = {{HC_BINARY_DIR "/example_worker"}};
  if (run_process({"python3", "--version"}, 10).ok()) {
    commands.push_back({"python3", HC_SOURCE_DIR "/baselines/python/example_worker.py"});
  }
  return commands;
}

std::vector<float> floats_of(const std::string& path) {
  const std::string bytes = read_file(path).value_or("");
  std::vector<float> out(bytes.size() / sizeof(float));
  memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

TEST_F(WorkerClient, ExampleWorkersComputeOnTheInputsOfEverybody) {
  const std::vector<std::string> args = {"f32[3,37]"};
  const uint64_t seed = 0x123456789ABCDEF;
  const auto own = Worker::start({kWorker}).value();
  const PrepareReply copied = own->prepare({.implementation = "copy", .args = args, .seed = seed}).value();
  const std::vector<float> x = floats_of(own->check({.out_dir = folder_}).value().outputs.at(0).path);
  ASSERT_EQ(x.size(), 111U);
  for (const std::vector<std::string>& command : example_workers()) {
    SCOPED_TRACE(command.back());
    const auto worker = Worker::start(command);
    ASSERT_TRUE(worker.ok()) << worker.error().message;
    EXPECT_EQ(worker.value()->hello().offers.at(0).implementation, "exp");
    const auto prepared = worker.value()->prepare({.implementation = "exp", .args = args, .seed = seed});
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_EQ(prepared.value().inputs_sha256, copied.inputs_sha256);
    EXPECT_EQ(prepared.value().bytes, 888);
    const auto timed = worker.value()->time({.blocks = 2, .min_block_s = 0.001, .warmup_s = 0});
    ASSERT_TRUE(timed.ok()) << timed.error().message;
    EXPECT_EQ(timed.value().blocks.size(), 2U);
    for (const bool run : {true, false}) {
      const auto checked = worker.value()->check({.out_dir = folder_, .run = run});
      ASSERT_TRUE(checked.ok()) << checked.error().message;
      const OutputFile& output = checked.value().outputs.at(0);
      EXPECT_EQ(output.sha256, sha256_hex(read_file(output.path).value_or("")));
      EXPECT_EQ(output.nan_count, 0);
      const std::vector<float> y = floats_of(output.path);
      ASSERT_EQ(y.size(), x.size());
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], std::exp(x[i]), 1e-6 * std::exp(x[i])) << i;
    }
    EXPECT_TRUE(worker.value()->bye().ok());
  }
}

TEST_F(WorkerClient, ExampleWorkersRefuseWhatTheyCannotDo) {
  const std::pair<const char*, const char*> asked[] = {
      {R"({"op":"hello","protocol":7})", "speaks protocol 1"},
      {R"({"op":"hello","protocol":1})", R"("exp")"},
      {R"({"op":"hello",)", R"("op":"")"},
      {R"({"op":"dance"})", "no such op: dance"},
      {R"({"op":"time"})", "nothing is prepared"},
      {R"({"op":"prepare","implementation":"copy","bytes":64})", "`exp` alone, not copy"},
      {R"({"op":"prepare","implementation":"exp","operation":"softmax","args":["f32[8]"]})", "not softmax"},
      {R"({"op":"prepare","implementation":"exp","bytes":0})", "one contiguous f32 tensor"},
      {R"({"op":"prepare","implementation":"exp","args":["bf16[8]"]})", "one contiguous f32 tensor"},
      {R"({"op":"prepare","implementation":"exp","args":["f32[8]=const(1) "]})", "one contiguous f32 tensor"},
      {R"({"op":"prepare","implementation":"exp","args":["f32[8]","f32[8]"]})", "one contiguous f32 tensor"},
      {R"({"op":"prepare","implementation":"exp","args":["f32[8,0]"]})", "one contiguous f32 tensor"},
      {R"({"op":"prepare","implementation":"exp","args":["f32[8]"],"slot":"b"})", "slot `main` alone"},
      {R"({"op":"prepare","implementation":"exp","args":["f32[8]"]})", "inputs_sha256"},
      {R"({"op":"time","mode":"back_to_back"})", "single launches, not back_to_back"},
      {R"({"op":"check","out_dir":"/nowhere/at/all"})", "/nowhere/at/all/0.bin"},
      {R"({"op":"prepare","implementation":"exp","args":["f64[8]"]})", "one contiguous f32 tensor"},
      {R"({"op":"check"})", "nothing is prepared"}};
  for (const std::vector<std::string>& command : example_workers()) {
    SCOPED_TRACE(command.back());
    LineProcess process;
    ASSERT_EQ(process.start(command), "");
    for (const auto& [line, answer] : asked) {
      process.send_line(line);
      const Json reply = parse_json(process.read_line(10).value_or("")).value_or(Json::object());
      SCOPED_TRACE(line);
      EXPECT_SAYS(reply.dump(), answer);
      const bool good = *answer == '"' || std::string(answer) == "inputs_sha256";
      EXPECT_EQ(reply.value("ok", !good), good && std::string(answer) != R"("op":"")") << line;
    }
  }
}

TEST(ExampleWorkers, AreShort) {
  for (const char* path : {"/baselines/cpp/example_worker.cc", "/baselines/python/example_worker.py"}) {
    const std::string text = read_file(std::string(HC_SOURCE_DIR) + path).value_or("");
    EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 30) << path;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 150) << path;
  }
}

/// What our worker answers to one line.
std::string answer_to(const std::string& line, bool hello = true) {
  LineProcess process;
  EXPECT_EQ(process.start({kWorker}), "");
  if (hello) {
    process.send_line(R"({"op":"hello","protocol":1})");
    process.read_line(10);
  }
  process.send_line(line);
  return process.read_line(10).value_or("nothing");
}

TEST(OwnWorker, RefusesWhatItCannotDo) {
  EXPECT_SAYS(answer_to("junk"), "not a JSON object");
  EXPECT_SAYS(answer_to("[1]"), "not a JSON object");
  EXPECT_SAYS(answer_to("{}"), "`op` is missing");
  EXPECT_SAYS(answer_to(R"({"op":"dance"})"), "`dance` is none of hello, prepare, check, time and bye");
  EXPECT_SAYS(answer_to(R"({"op":"time"})"), "nothing is prepared in slot `main`");
  EXPECT_SAYS(answer_to(R"({"op":"check","slot":"other"})"), "nothing is prepared in slot `other`");
  EXPECT_SAYS(answer_to(R"({"op":"prepare"})"), "`implementation` is missing");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"magic"})"), "no implementation `magic`");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"copy","bytes":"many"})"), R"(`bytes` is \"many\")");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"copy"})"), "needs a positive number of `bytes`");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"artifact","manifest":"/nowhere"})"), "cannot be read");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"onednn","operation":"tango"})"), "known are softmax");
  EXPECT_SAYS(answer_to(R"({"op":"prepare","implementation":"onednn","operation":"softmax","library":"/no.so"})"),
              "cannot be opened");
  EXPECT_SAYS(answer_to(R"({"op":"prepare"})", false), "say hello");
  EXPECT_SAYS(answer_to(R"({"op":"hello","protocol":2})", false), "speaks protocol 1, and was asked for 2");
}

TEST(OwnWorker, WhatDrawsNoInputsHasTheHashOfNothing) {
  const auto worker = Worker::start({kWorker}).value();
  const auto canary = worker->prepare({.implementation = "canary"});
  ASSERT_TRUE(canary.ok()) << canary.error().message;
  EXPECT_EQ(canary.value().inputs_sha256, sha256_hex(""));
  for (const char* kind : {"copy", "memcpy"}) {
    const auto copy = worker->prepare({.implementation = kind, .bytes = 64});
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    EXPECT_EQ(copy.value().inputs_sha256, sha256_hex(""));
  }
}

TEST(OwnWorker, CopyCopies) {
  const auto worker = Worker::start({kWorker});
  ASSERT_TRUE(worker.ok()) << worker.error().message;
  // The same bits through streaming stores and memcpy; a size that no vector divides, and threads that get nothing.
  std::vector<std::string> hashes;
  for (const char* kind : {"copy", "memcpy"}) {
    const auto prepared = worker.value()->prepare({.implementation = kind, .bytes = 12289, .seed = 3, .threads = 4});
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_EQ(prepared.value().bytes, 2 * 12289);
    const auto checked = worker.value()->check({});
    ASSERT_TRUE(checked.ok());
    hashes.push_back(checked.value().outputs.at(0).sha256);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(OwnWorker, LaunchesInARowGoOverCopiesThatExceedTheCache) {
  const auto worker = Worker::start({kWorker});
  ASSERT_TRUE(worker.ok()) << worker.error().message;
  TimeRequest request{.blocks = 3, .min_block_s = 0.001, .warmup_s = 0, .mode = Mode::back_to_back};
  request.flush_bytes = 1 << 20;
  ASSERT_TRUE(worker.value()->prepare({.implementation = "memcpy", .bytes = 1 << 16, .threads = 1}).ok());
  const auto before = worker.value()->check({});
  ASSERT_TRUE(before.ok());
  const auto timed = worker.value()->time(request);
  ASSERT_TRUE(timed.ok()) << timed.error().message;
  EXPECT_EQ(timed.value().copies, 9) << "nine times 128 KiB exceed 1 MiB, eight do not";
  ASSERT_EQ(timed.value().blocks.size(), 3U);
  for (const Block& block : timed.value().blocks) EXPECT_EQ(block.seconds.size(), 1U);
  const auto left = worker.value()->check({.run = false});
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left.value().outputs.at(0).sha256, before.value().outputs.at(0).sha256) << "copies have the same inputs";
  ASSERT_TRUE(worker.value()->prepare({.implementation = "memcpy", .bytes = 1 << 20, .threads = 1}).ok());
  const auto large = worker.value()->time(request);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large.value().copies, 1) << "2 MiB exceed the cache by themselves";
  ASSERT_TRUE(worker.value()->prepare({.implementation = "memcpy", .bytes = 64, .threads = 1}).ok());
  const auto tiny = worker.value()->time(request);
  ASSERT_FALSE(tiny.ok());
  EXPECT_SAYS(tiny.error().message, "need 8193 copies");
  request.mode = Mode::single;
  const auto single = worker.value()->time(request);
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single.value().copies, 0);
}

TEST(OwnWorker, OutputsAreWrittenAndPoisonedBefore) {
  const std::string folder = make_temp_folder("hc-outputs");
  const auto worker = Worker::start({kWorker});
  ASSERT_TRUE(worker.ok());
  ASSERT_TRUE(worker.value()->prepare({.implementation = "memcpy", .args = {"f32[64]=const(0.5)"}}).ok());
  const auto checked = worker.value()->check({.out_dir = folder});
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  const auto bytes = read_file(checked.value().outputs.at(0).path);
  ASSERT_TRUE(bytes.has_value());
  ASSERT_EQ(bytes->size(), 256U);
  EXPECT_EQ(reinterpret_cast<const float*>(bytes->data())[63], 0.5F);
  EXPECT_FALSE(worker.value()->check({.out_dir = "/proc/nowhere"}).ok());
}

TEST(Screening, TimesCandidateBesideAnchorAndSurvivesACrash) {
  Screener screener({kWorker}, Limits{});
  screener.set_anchor({.implementation = "memcpy", .bytes = 1 << 24, .threads = 1});
  const ScreenPlan plan{{.blocks = 1, .min_block_s = 0.001, .warmup_s = 0}, 3};
  const auto screened = screener.time({.implementation = "memcpy", .bytes = 1 << 16, .threads = 1}, plan);
  ASSERT_TRUE(screened.ok()) << screened.error().message;
  EXPECT_EQ(screened.value().blocks.size(), 3U);
  EXPECT_EQ(screened.value().anchor_blocks.size(), 3U);
  EXPECT_GT(screened.value().ratio, 1);  // a 256th of the bytes
  const auto refused = screener.time({.implementation = "none"}, plan);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(screener.restarts(), 0);
  const auto again = screener.time({.implementation = "memcpy", .bytes = 1 << 16, .threads = 1}, plan);
  EXPECT_TRUE(again.ok());
}

TEST(Screening, StartsAnotherWorkerAfterADeath) {
  const std::string folder = make_temp_folder("hc-fake");
  const std::string marker = join_path(folder, "died");
  const std::string dying = "*'\"op\":\"time\"'*'\"main\"'*) if [ ! -e " + marker + " ]; then touch " + marker +
                            "; exit 5; fi; " + std::string(kFakeTime).substr(std::string(kFakeTime).find(") ") + 2);
  const std::string script = write_fake_worker(folder, "worker.sh", "", dying + "\n" + good_cases());
  Screener screener(fake_argv(script, "x", join_path(folder, "log")), Limits{});
  screener.set_anchor({});
  EXPECT_FALSE(screener.time({}, {}).ok());
  const auto second = screener.time({}, {});
  EXPECT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(screener.restarts(), 1);
}

}  // namespace
}  // namespace hc::bench
