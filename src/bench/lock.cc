// flock on a file in the temporary folder; the system frees it when the holder ends, however it ends.
#include "bench/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/subprocess.h"

namespace hc::bench {
namespace {

constexpr useconds_t kPollMicroseconds = 50000;

std::string holder_of(int fd) {
  char text[200] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  std::string holder(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder.empty() ? "an unknown process" : holder;
}

}  // namespace

/// The open file of a held lock; this process may hold it several times over.
struct MeasurementLock::Held {
  int fd = -1;
  ~Held() {
    if (fd < 0) return;
    (void)!::ftruncate(fd, 0);
    ::close(fd);
  }
};

std::string MeasurementLock::path() { return "/tmp/hillclimb-measure.lock"; }

Result<std::unique_ptr<MeasurementLock>> MeasurementLock::acquire(
    double limit_s, const std::function<void(const std::string&)>& on_wait, const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Held>> all;
  const std::lock_guard<std::mutex> guard(mutex);
  std::unique_ptr<MeasurementLock> lock(new MeasurementLock);
  lock->held_ = all[file].lock();
  if (lock->held_) return lock;
  lock->held_ = HC_TRY(take(limit_s, on_wait, file));
  all[file] = lock->held_;
  return lock;
}

Result<std::shared_ptr<MeasurementLock::Held>> MeasurementLock::take(
    double limit_s, const std::function<void(const std::string&)>& on_wait, const std::string& file) {
  const auto refuse = [&](const std::string& what) {
    return Diagnostic{.code = Code::measurement_failed,
                      .message = "the measurement lock " + file + " cannot be " + what + ": " + std::strerror(errno)};
  };
  auto held = std::make_shared<Held>();
  held->fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (held->fd < 0) return refuse("opened");
  (void)::fchmod(held->fd, 0666);  // for the next user; fails harmlessly where the file is another's
  const double deadline = monotonic_s() + limit_s;
  bool told = false;
  while (::flock(held->fd, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = holder_of(held->fd);
    if (monotonic_s() >= deadline) {
      ::close(std::exchange(held->fd, -1));  // without emptying the holder's file
      return Diagnostic{.code = Code::measurement_failed, .message = "another measurement is running: " + holder}.fix(
          "wait for it, or stop it; " + file + " is its lock");
    }
    if (!told && on_wait) on_wait(holder);
    told = true;
    ::usleep(kPollMicroseconds);
  }
  const std::string text = "process " + std::to_string(::getpid()) + "\n";
  if (::ftruncate(held->fd, 0) != 0 || ::pwrite(held->fd, text.data(), text.size(), 0) < 0) return refuse("written");
  return held;
}

MeasurementLock::~MeasurementLock() = default;

}  // namespace hc::bench
