// Choosing GPUs on a shared machine, with a made-up NVML: intruders, containers, locks, sticky devices, shards.
#include "bench/devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/subprocess.h"
#include "bench/cuda_driver.h"
#include "bench/fake_worker.h"
#include "bench/gpu_canary.h"
#include "bench/pairing.h"
#include "bench/worker_client.h"

namespace hc::bench {
namespace {

const std::string kFirst = "GPU-11111111-0000-0000-0000-000000000000";
const std::string kSecond = "GPU-22222222-0000-0000-0000-000000000000";

TEST(GpuFacts, AreNamedAndThoseNotKnownAreLeftOut) {
  const GpuFacts known{kFirst, "Example GPU", "580.1", "96.00", 13010, 650, 700, 1980, 41.4};
  const std::vector<std::pair<std::string, std::string>> wanted{{"gpu", "Example GPU"},
                                                                {"gpu driver", "580.1"},
                                                                {"cuda", "13.1"},
                                                                {"gpu power cap W", "650"},
                                                                {"gpu power cap by default W", "700"},
                                                                {"gpu vbios", "96.00"},
                                                                {"gpu uuid", kFirst},
                                                                {"gpu temperature C", "41"},
                                                                {"gpu sm mhz at most", "1980"}};
  EXPECT_EQ(named_facts(known), wanted);
  EXPECT_EQ(named_facts({.uuid = kFirst}), (std::vector<std::pair<std::string, std::string>>{{"gpu uuid", kFirst}}));
}

/// The machine that the fake NVML shows; tests change it while a pool looks at it.
struct FakeMachine {
  std::vector<std::string> uuids{kFirst, kSecond};
  std::map<std::string, GpuState> state;
  std::map<std::string, double> canary_s;
  std::function<void()> on_look;
  int looks = 0, canaries = 0;

  FakeMachine() {
    for (const std::string& uuid : uuids) {
      GpuState idle;
      idle.present = idle.processes_known = true;
      idle.name = "Example GPU";
      idle.utilization = 0;
      idle.temperature_c = 30;
      idle.used_bytes = 4 << 20;
      state[uuid] = idle;
      canary_s[uuid] = 1e-4;
    }
  }
};

class FakeProbe : public GpuProbe {
 public:
  explicit FakeProbe(FakeMachine* machine) : machine_(machine) {}
  std::vector<std::string> uuids() const override { return machine_->uuids; }
  GpuState look(const std::string& uuid) const override {
    ++machine_->looks;
    if (machine_->on_look) machine_->on_look();
    return machine_->state.at(uuid);
  }

 private:
  FakeMachine* machine_;
};

class Devices : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder("devices"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  GpuPoolOptions options() {
    GpuPoolOptions out;
    out.state_path = join_path(folder_, "devices.json");
    out.lock_folder = folder_;
    out.sleep = [this](double seconds) { slept_ += seconds; };
    out.canary = [this](const std::string& uuid) -> Result<CanaryReading> {
      ++machine_.canaries;
      return CanaryReading{1e-9, machine_.canary_s.at(uuid), 0};
    };
    return out;
  }
  GpuPool pool() {
    Result<GpuPool> opened = GpuPool::open(std::make_unique<FakeProbe>(&machine_), options());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(opened).value();
  }
  /// The device that a variant gets, or the error.
  std::string taken(GpuPool& from, const std::string& variant) {
    const Result<GpuLease> lease = from.acquire(variant);
    return lease.ok() ? lease.value().uuid : lease.error().message;
  }

  FakeMachine machine_;
  std::string folder_;
  double slept_ = 0;
};

TEST_F(Devices, TheSameVariantAlwaysGetsTheSameGpuAlsoInALaterProcess) {
  std::string a, b;
  {
    GpuPool first = pool();
    a = taken(first, "a");
    b = taken(first, "b");
    EXPECT_NE(a, b) << "two variants, two GPUs: both are used";
    EXPECT_EQ(taken(first, "a"), a);
  }
  machine_.state[a].temperature_c = 45;  // would be the worse choice now
  GpuPool later = pool();
  EXPECT_EQ(taken(later, "a"), a);
  EXPECT_EQ(taken(later, "b"), b);
  EXPECT_GE(slept_, 2.0) << "utilisation is looked at over at least two seconds";
}

TEST_F(Devices, VariantsAreSpreadEvenlyOverTheGpus) {
  GpuPool p = pool();
  const std::vector<std::string> variants{"a", "b", "c", "d", "e", "f"};
  const std::map<std::string, std::string> shards = p.shard(variants).value();
  EXPECT_EQ(std::count_if(shards.begin(), shards.end(), [](const auto& s) { return s.second == kFirst; }), 3);
  EXPECT_EQ(p.shard(variants).value(), shards);
  for (const std::string& variant : variants) EXPECT_EQ(taken(p, variant), shards.at(variant));
}

TEST_F(Devices, PoolsOfOneRunAgreeThroughItsFile) {
  GpuPool one = pool();
  GpuPool other = pool();
  const std::string a = taken(one, "a");
  ASSERT_TRUE(other.avoid(kSecond, "somebody else used it").ok());
  machine_.canary_s[kFirst] = 0.98e-4;
  EXPECT_EQ(taken(other, "b"), kFirst);
  ASSERT_TRUE(one.avoid(kFirst, "so did another").ok());
  const GpuPool later = pool();
  EXPECT_EQ(later.avoided().size(), 2u) << "what one pool found is not lost by the other's writing";
  GpuPool again = pool();
  const std::string all = taken(again, "a");
  EXPECT_NE(all.find("somebody else used it"), std::string::npos) << all;
  const std::string text = read_file(options().state_path).value();
  EXPECT_NE(text.find(fmt::format("\"a\": \"{}\"", a)), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("\"b\": \"{}\"", kFirst)), std::string::npos) << text;
}

TEST_F(Devices, AWarmGpuIsWaitedForUntilItIsNearItsIdleTemperature) {
  GpuPool p = pool();
  const GpuLease lease = p.acquire("a").value();
  EXPECT_EQ(lease.idle_c, 30);
  machine_.state[lease.uuid].temperature_c = 61;
  machine_.on_look = [this, uuid = lease.uuid] { machine_.state[uuid].temperature_c -= 3; };
  slept_ = 0;
  const CoolDown cooling = p.cool_down(lease, 5, 60);
  EXPECT_TRUE(cooling.reached);
  EXPECT_EQ(cooling.idle_c, 30);
  EXPECT_EQ(cooling.begin_c, 58);
  EXPECT_LE(cooling.end_c, 35);
  EXPECT_EQ(cooling.waited_s, 16);
  EXPECT_EQ(slept_, cooling.waited_s);
  EXPECT_EQ(named_facts(cooling).back().second, "reached in 16 s");
}

TEST_F(Devices, AGpuThatStaysWarmIsMeasuredAllTheSameAndThatIsSaid) {
  GpuPool p = pool();
  const GpuLease lease = p.acquire("a").value();
  machine_.state[lease.uuid].temperature_c = 40;
  const CoolDown cooling = p.cool_down(lease, 5, 60);
  EXPECT_FALSE(cooling.reached);
  EXPECT_EQ(cooling.waited_s, 60);
  EXPECT_EQ(named_facts(cooling).back().second, "not reached in 60 s");
  machine_.state[lease.uuid].temperature_c = 0;
  const CoolDown unknown = p.cool_down(lease, 5, 60);
  EXPECT_EQ(unknown.waited_s, 0) << "nothing to wait for";
  EXPECT_EQ(named_facts(unknown).back().second, "temperature not known");
}

TEST_F(Devices, TheIdleTemperatureIsTheRunsLowest) {
  {
    GpuPool first = pool();
    EXPECT_EQ(first.acquire("a").value().idle_c, 30);
  }
  for (auto& [uuid, state] : machine_.state) state.temperature_c = 48;  // still warm from its own work
  GpuPool later = pool();
  EXPECT_EQ(later.acquire("a").value().idle_c, 30);
}

TEST_F(Devices, ABusyGpuIsNotTakenAndStaysAvoidedForTheRun) {
  machine_.state[kFirst].processes = {{4242, 1ull << 30}};
  GpuPool p = pool();
  EXPECT_EQ(taken(p, "a"), kSecond);
  machine_.state[kFirst].processes.clear();
  EXPECT_EQ(taken(p, "b"), kSecond) << "somebody used the first one in this run";
  GpuPool later = pool();
  EXPECT_EQ(taken(later, "c"), kSecond) << "the same run, another process";
  EXPECT_EQ(later.avoided().at(kFirst), "1 other process uses it");
}

TEST_F(Devices, AForeignProcessThatComesDuringARunEndsTheUseOfItsGpu) {
  GpuPool p = pool();
  std::string had;
  {
    const GpuLease lease = std::move(p.acquire("a")).value();
    had = lease.uuid;
    EXPECT_EQ(p.intruder(lease), "");
    machine_.state[had].processes = {{4242, 1ull << 30}};
    EXPECT_NE(p.intruder(lease), "");
  }
  const GpuLease moved = std::move(p.acquire("a")).value();
  EXPECT_NE(moved.uuid, had);
  EXPECT_EQ(moved.moved_from, had) << "what was measured there must not be pooled with what comes";
  EXPECT_EQ(std::move(p.acquire("b")).value().moved_from, "");
}

TEST_F(Devices, AContextThatOutlivesItsProcessForAMomentIsNoIntruder) {
  GpuPool p = pool();
  const GpuLease lease = std::move(p.acquire("a")).value();
  machine_.state[lease.uuid].processes = {{77, 1ull << 30}};
  const int before = machine_.looks;
  machine_.on_look = [&] {
    if (machine_.looks > before + 2) machine_.state[lease.uuid].processes.clear();
  };
  EXPECT_EQ(p.intruder(lease), "");
  EXPECT_TRUE(p.avoided().empty());
}

TEST_F(Devices, LoadThatOurOwnWorkLeftBehindPassesAndLoadThatStaysDoesNot) {
  machine_.uuids = {kFirst};
  machine_.state[kFirst].utilization = 40;
  const int before = machine_.looks;
  machine_.on_look = [&] {
    if (machine_.looks > before + 5) machine_.state[kFirst].utilization = 0;
  };
  GpuPool p = pool();
  EXPECT_EQ(taken(p, "a"), kFirst);
  EXPECT_TRUE(p.avoided().empty());
  int look = 0;
  machine_.on_look = [&] { machine_.state[kFirst].utilization = ++look % 4 ? 0 : 5; };
  EXPECT_NE(taken(p, "a"), kFirst);
  EXPECT_TRUE(p.avoided().count(kFirst)) << "busy now and then is in use";
}

TEST_F(Devices, InAContainerMemoryLoadAndCanaryTellWhatTheEmptyListDoesNot) {
  machine_.state[kFirst].used_bytes = 70ull << 30;
  GpuPool by_memory = pool();
  EXPECT_EQ(taken(by_memory, "a"), kSecond);
  std::filesystem::remove(options().state_path);

  machine_ = FakeMachine();
  machine_.state[kFirst].utilization = 3;
  GpuPool by_load = pool();
  EXPECT_EQ(taken(by_load, "a"), kSecond);
  std::filesystem::remove(options().state_path);

  machine_ = FakeMachine();
  GpuPool by_canary = pool();
  EXPECT_EQ(taken(by_canary, "a"), kFirst);
  machine_.canary_s[kFirst] = 1.2e-4;  // somebody whom nothing else shows
  EXPECT_EQ(taken(by_canary, "a"), kSecond);
  EXPECT_NE(by_canary.avoided().at(kFirst).find("20.0 % slower"), std::string::npos);
}

TEST_F(Devices, ADeviceWithoutReferenceIsHeldAgainstItsSibling) {
  machine_.canary_s[kSecond] = 1.5e-4;
  GpuPool p = pool();
  EXPECT_EQ(taken(p, "a"), kFirst);
  EXPECT_EQ(taken(p, "b"), kFirst) << "the second one is slower than one of the same kind ought to be";
}

TEST_F(Devices, OwnProcessesAreKnownByPidOrInAContainerByNumber) {
  GpuState state = machine_.state[kFirst];
  GpuRules rules;
  bool foreign = false;
  state.processes = {{10, 1ull << 30}};
  EXPECT_EQ(busy_reason({state}, rules, {10}, 30, &foreign), "");
  state.processes = {{99999, 1ull << 30}};  // the host's name for it
  EXPECT_EQ(busy_reason({state}, rules, {10}, 30, &foreign), "");
  EXPECT_FALSE(foreign);
  state.processes.push_back({99998, 1 << 20});
  EXPECT_NE(busy_reason({state}, rules, {10}, 30, &foreign), "");
  EXPECT_TRUE(foreign);
  state.processes = {{10, 1ull << 30}, {11, 1}};
  EXPECT_EQ(busy_reason({state}, rules, {10}, 30, &foreign), "1 other process uses it");
}

TEST_F(Devices, UnfitDevicesAreRefusedWithoutBeingAvoided) {
  const auto refused = [&](const std::function<void(GpuState*)>& change) {
    machine_ = FakeMachine();
    for (auto& [uuid, state] : machine_.state) change(&state);
    std::filesystem::remove(options().state_path);
    GpuPool p = pool();
    const Result<GpuLease> lease = p.acquire("a");
    EXPECT_TRUE(p.avoided().empty());
    return lease.ok() ? "" : lease.error().message;
  };
  EXPECT_NE(refused([](GpuState* s) { s->present = false; }).find("does not know it"), std::string::npos);
  EXPECT_NE(refused([](GpuState* s) { s->mig = true; }).find("MIG"), std::string::npos);
  EXPECT_NE(refused([](GpuState* s) { s->compute_mode = 2; }).find("forbids"), std::string::npos);
  EXPECT_NE(refused([](GpuState* s) { s->event_reasons = 0x40; }).find("held down"), std::string::npos);
  EXPECT_EQ(refused([](GpuState* s) { s->event_reasons = 0x4; }), "") << "a power cap is normal";
  EXPECT_EQ(refused([](GpuState* s) { s->utilization = -1; }), "") << "unknown is not busy";
  machine_ = FakeMachine();
  std::filesystem::remove(options().state_path);
  machine_.state[kFirst].temperature_c = 70;
  GpuPool p = pool();
  EXPECT_EQ(taken(p, "a"), kSecond);
  EXPECT_EQ(taken(p, "b"), kSecond) << "the first one is still hot";
  machine_.state[kFirst].temperature_c = 40;
  EXPECT_EQ(taken(p, "c"), kFirst);
}

TEST_F(Devices, ALockedGpuIsLeftToItsHolderAndNotAvoided) {
  const std::string path = gpu_lock_path(folder_, kFirst);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  ASSERT_GT(::pwrite(fd, "process 4711\n", 13, 0), 0);
  GpuPool p = pool();
  EXPECT_EQ(taken(p, "a"), kSecond);
  EXPECT_TRUE(p.avoided().empty());
  EXPECT_EQ(read_file(path), "process 4711\n");
  machine_.state[kSecond].utilization = 50;
  const std::string none = taken(p, "b");
  EXPECT_NE(none.find("process 4711"), std::string::npos) << none;
  EXPECT_NE(none.find("50 %"), std::string::npos) << none;
  ::close(fd);
  EXPECT_EQ(taken(p, "b"), kFirst);
}

TEST_F(Devices, TheLockIsHeldAsLongAsTheLeaseAndTakenBeforeTheTest) {
  GpuPool p = pool();
  const std::string path = gpu_lock_path(folder_, kFirst);
  const auto is_locked = [&] {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    const bool held = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    ::close(fd);
    return held;
  };
  machine_.uuids = {kFirst};
  bool locked_while_looking = false;
  {
    const int before = machine_.looks;
    machine_.on_look = [&] { locked_while_looking |= machine_.looks > before + 3 && is_locked(); };
    const Result<GpuLease> lease = p.acquire("a");
    machine_.on_look = {};
    ASSERT_TRUE(lease.ok());
    EXPECT_TRUE(is_locked());
  }
  EXPECT_TRUE(locked_while_looking);
  EXPECT_FALSE(is_locked());
}

TEST_F(Devices, AFailingCanaryRefusesAndSaysWhy) {
  GpuPoolOptions o = options();
  o.canary = [](const std::string&) -> Result<CanaryReading> {
    return Diagnostic{.code = Code::measurement_failed, .message = "no kernel image"};
  };
  GpuPool p = std::move(GpuPool::open(std::make_unique<FakeProbe>(&machine_), o)).value();
  const Result<GpuLease> lease = p.acquire("a");
  ASSERT_FALSE(lease.ok());
  EXPECT_NE(lease.error().message.find("no kernel image"), std::string::npos);
  EXPECT_TRUE(p.avoided().empty());
}

TEST_F(Devices, NoGpuAndDamagedFilesAreSaid) {
  machine_.uuids.clear();
  EXPECT_EQ(GpuPool::open(std::make_unique<FakeProbe>(&machine_), options()).error().code, Code::not_available);
  machine_ = FakeMachine();
  for (const char* text :
       {"", "{", "[]", R"({"schema":"hillclimb.devices/2"})", R"({"schema":"hillclimb.devices/1","variants":{"a":1}})",
        R"({"schema":"hillclimb.devices/1","variants":{},"moved":{},"avoided":{}})"}) {
    ASSERT_EQ(write_file_atomic(options().state_path, text), "");
    const Result<GpuPool> opened = GpuPool::open(std::make_unique<FakeProbe>(&machine_), options());
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.error().code, Code::file_error) << text;
  }
}

TEST_F(Devices, EveryGpuAvoidedLeavesNoShard) {
  GpuPool p = pool();
  ASSERT_TRUE(p.shard({"a"}).ok());
  ASSERT_TRUE(p.avoid(kFirst, "test").ok());
  EXPECT_EQ(p.shard({"a"}).value().at("a"), kSecond);
  EXPECT_EQ(std::move(p.acquire("a")).value().moved_from, kFirst);
  ASSERT_TRUE(p.avoid(kSecond, "test").ok());
  EXPECT_FALSE(p.shard({"a"}).ok());
}

TEST(WorkerEnvironment, CudaVisibleDevicesIsAlwaysSaid) {
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  const std::string folder = make_temp_folder("visible");
  const std::string out = join_path(folder, "seen");
  const std::string script = fmt::format("printf '%s' \"$CUDA_VISIBLE_DEVICES\" > {}; exit 1", out);
  (void)Worker::start({"sh", "-c", script});
  EXPECT_EQ(read_file(out), "") << "without a GPU of its own a worker sees none";
  (void)Worker::start({"sh", "-c", script}, {}, gpu_environment(kSecond));
  EXPECT_EQ(read_file(out), kSecond);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  std::filesystem::remove_all(folder);
}

TEST(GpuCanary, IsBelievedOnlyForTheDeviceThatItWasSentTo) {
  const auto script = [](const std::string& text) { return std::vector<std::string>{"sh", "-c", text}; };
  const std::string numbers = R"("compute_s":5e-10,"memory_s":1e-4,"mid_monotonic_s":1)";
  const auto saying = [&](const std::string& uuid, const std::string& rest) {
    return script(fmt::format("printf '{{\"uuid\":\"%s\",%s}}' \"{}\" '{}'", uuid, rest));
  };
  EXPECT_TRUE(gpu_canary(saying("$CUDA_VISIBLE_DEVICES", numbers), kFirst).ok());
  EXPECT_NE(gpu_canary(saying(kSecond, numbers), kFirst).error().message.find(kSecond), std::string::npos);
  EXPECT_FALSE(gpu_canary(saying(kFirst, R"("compute_s":0,"memory_s":1,"mid_monotonic_s":1)"), kFirst).ok());
  EXPECT_FALSE(gpu_canary(script("echo nonsense"), kFirst).ok());
  EXPECT_NE(gpu_canary(script("echo broken >&2; exit 3"), kFirst).error().message.find("broken"), std::string::npos);
  EXPECT_NE(gpu_canary(script("sleep 5"), kFirst, 0.2).error().message.find("did not end"), std::string::npos);
}

TEST(RealDevices, AnIdleGpuOfThisMachineIsTakenAndItsCanaryAgrees) {
  std::string why;
  if (!cuda_driver(&why)) GTEST_SKIP() << why;
  const std::string program = std::string(HC_BINARY_DIR) + "/hillclimb";
  const std::string folder = make_temp_folder("real-devices");
  GpuPoolOptions options;
  options.state_path = join_path(folder, "devices.json");
  options.lock_folder = folder;
  if (file_exists(program)) {
    options.canary = [&](const std::string& uuid) { return gpu_canary({program, "canary"}, uuid); };
  }
  GpuPool pool = std::move(GpuPool::open(nvml_probe(), options)).value();
  const Result<GpuLease> lease = pool.acquire("a");
  if (!lease.ok()) GTEST_SKIP() << lease.error().message;
  EXPECT_EQ(pool.intruder(lease.value()), "");
  const Result<GpuLease> again = pool.acquire("b");
  ASSERT_TRUE(again.ok()) << "our own canary must not count as somebody else's: " << again.error().message;
  fmt::print("{}\n", *read_file(options.state_path));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hc::bench
