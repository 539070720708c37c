// The machine's lock and its shares, between processes, threads and users.
#include "bench/lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/files.h"
#include "base/subprocess.h"
#include "bench/devices.h"

namespace hc::bench {
namespace {

/// A process that holds the lock until it is told to end.
class Holder {
 public:
  Holder(const std::string& file, bool shared) {
    if (::pipe(ready_) != 0 || ::pipe(done_) != 0) return;
    pid_ = ::fork();
    if (pid_ != 0) {
      char c = 'n';
      holds_ = ::read(ready_[0], &c, 1) == 1 && c == 'y';
      return;
    }
    const auto lock = shared ? MeasurementLock::share(0.2, {}, file) : MeasurementLock::acquire(0.2, {}, file);
    char c = lock.ok() ? 'y' : 'n';
    (void)!::write(ready_[1], &c, 1);
    (void)!::read(done_[0], &c, 1);
    ::_exit(0);
  }
  ~Holder() { end(); }
  void end() {
    if (pid_ <= 0) return;
    (void)!::write(done_[1], "x", 1);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  bool holds() const { return holds_; }
  pid_t pid() const { return pid_; }

 private:
  int ready_[2] = {-1, -1}, done_[2] = {-1, -1};
  pid_t pid_ = -1;
  bool holds_ = false;
};

std::string fresh_file() { return join_path(make_temp_folder("hc-lock"), "lock"); }

TEST(SharedLock, GpuMeasurementsRunBesideEachOtherAndNotBesideTheProcessors) {
  const std::string file = fresh_file();
  Holder one(file, true);
  Holder other(file, true);
  EXPECT_TRUE(one.holds());
  EXPECT_TRUE(other.holds());
  {
    Holder whole(file, false);
    EXPECT_FALSE(whole.holds()) << "a share keeps a measurement on the processor out";
  }
  one.end();
  EXPECT_FALSE(MeasurementLock::acquire(0, {}, file).ok()) << "the second share is still held";
  EXPECT_TRUE(MeasurementLock::share(0, {}, file).ok());
  other.end();
  Holder whole(file, false);
  EXPECT_TRUE(whole.holds());
  std::string heard;
  EXPECT_FALSE(MeasurementLock::share(
                   0.1, [&](const std::string& holder) { heard = holder; }, file)
                   .ok());
  EXPECT_EQ(heard, "process " + std::to_string(whole.pid()));
}

TEST(SharedLock, WhoHoldsItWholeHasItsShareAndNotTheOtherWayRound) {
  const std::string file = fresh_file();
  {
    const auto whole = MeasurementLock::acquire(0, {}, file);
    ASSERT_TRUE(whole.ok());
    EXPECT_TRUE(MeasurementLock::share(0, {}, file).ok());
    // a fork would inherit the holder's own lock
    EXPECT_FALSE(run_process({"flock", "-n", "-s", file, "true"}, 10).ok());
  }
  const auto share = MeasurementLock::share(0, {}, file);
  ASSERT_TRUE(share.ok());
  EXPECT_FALSE(MeasurementLock::acquire(0.1, {}, file).ok());
}

TEST(SharedLock, WaitingForOneFileDoesNotHoldUpAnother) {
  const std::string busy = fresh_file(), idle = fresh_file();
  Holder holder(busy, false);
  ASSERT_TRUE(holder.holds());
  std::thread waiting([&] { EXPECT_FALSE(MeasurementLock::acquire(1.5, {}, busy).ok()); });
  ::usleep(200000);
  const double begin = monotonic_s();
  EXPECT_TRUE(MeasurementLock::acquire(0, {}, idle).ok());
  EXPECT_LT(monotonic_s() - begin, 1.0);
  waiting.join();
}

TEST(SharedLock, EveryGpuHasOneOfItsOwn) {
  EXPECT_NE(gpu_lock_path("/tmp", "GPU-a"), gpu_lock_path("/tmp", "GPU-b"));
  EXPECT_NE(gpu_lock_path("/tmp", "GPU-a"), MeasurementLock::path());
  EXPECT_TRUE(MeasurementLock::path().starts_with("/tmp/")) << "one place for all users";
}

TEST(SharedLock, AnotherUserCanTakeIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const std::string folder = make_temp_folder("hc-lock"), file = join_path(folder, "lock");
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  { ASSERT_TRUE(MeasurementLock::acquire(0, {}, file).ok()); }
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    ::_exit(MeasurementLock::acquire(0, {}, file).ok() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedLock, ALinkInItsPlaceIsNotFollowed) {
  const std::string folder = make_temp_folder("hc-lock"), file = join_path(folder, "lock");
  const std::string target = join_path(folder, "precious");
  ASSERT_EQ(write_file_atomic(target, "text\n"), "");
  ASSERT_EQ(::symlink(target.c_str(), file.c_str()), 0);
  EXPECT_FALSE(MeasurementLock::acquire(0, {}, file).ok());
  EXPECT_EQ(read_file(target).value_or(""), "text\n");
}

}  // namespace
}  // namespace hc::bench
