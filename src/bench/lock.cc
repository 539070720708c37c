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
  Kind kind = Kind::whole;
  ~Held() {
    if (fd < 0) return;
    // others that share it still hold it, so the text stays
    if (kind == Kind::whole) (void)!::ftruncate(fd, 0);
    ::close(fd);
  }
};

std::string MeasurementLock::path() { return "/tmp/hillclimb-measure.lock"; }

Result<std::unique_ptr<MeasurementLock>> MeasurementLock::acquire(
    double limit_s, const std::function<void(const std::string&)>& on_wait, const std::string& file) {
  return wait_for(Kind::whole, limit_s, on_wait, file);
}

Result<std::unique_ptr<MeasurementLock>> MeasurementLock::share(double limit_s,
                                                                const std::function<void(const std::string&)>& on_wait,
                                                                const std::string& file) {
  return wait_for(Kind::shared, limit_s, on_wait, file);
}

Result<std::unique_ptr<MeasurementLock>> MeasurementLock::wait_for(
    Kind kind, double limit_s, const std::function<void(const std::string&)>& on_wait, const std::string& file) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, Kind>, std::weak_ptr<Held>> all;
  const double deadline = monotonic_s() + limit_s;
  bool told = false;
  for (;; ::usleep(kPollMicroseconds)) {
    std::string holder;
    {
      // not held while waiting: another thread may want another file
      const std::lock_guard<std::mutex> guard(mutex);
      std::unique_ptr<MeasurementLock> lock(new MeasurementLock);
      lock->held_ = all[{file, Kind::whole}].lock();
      if (!lock->held_ && kind == Kind::shared) lock->held_ = all[{file, Kind::shared}].lock();
      if (lock->held_) return lock;
      lock->held_ = HC_TRY(take(kind, file, &holder));
      if (lock->held_) {
        all[{file, kind}] = lock->held_;
        return lock;
      }
    }
    if (monotonic_s() >= deadline) {
      return Diagnostic{.code = Code::measurement_failed, .message = "another measurement is running: " + holder}.fix(
          "wait for it, or stop it; " + file + " is its lock");
    }
    if (!told && on_wait) on_wait(holder);
    told = true;
  }
}

/// Null and `holder` when somebody else has it.
Result<std::shared_ptr<MeasurementLock::Held>> MeasurementLock::take(Kind kind, const std::string& file,
                                                                     std::string* holder) {
  const auto refuse = [&](const std::string& what) {
    return Diagnostic{.code = Code::measurement_failed,
                      .message = "the measurement lock " + file + " cannot be " + what + ": " + std::strerror(errno)};
  };
  auto held = std::make_shared<Held>();
  // first without O_CREAT: in a shared folder a system may forbid that on a file of another user
  held->fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (held->fd < 0 && errno == ENOENT) {
    held->fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  }
  if (held->fd < 0) return refuse("opened");
  held->kind = kind;
  (void)::fchmod(held->fd, 0666);  // for the next user; fails harmlessly where the file is another's
  if (::flock(held->fd, (kind == Kind::whole ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    *holder = holder_of(held->fd);
    ::close(std::exchange(held->fd, -1));  // without emptying the holder's file
    return std::shared_ptr<Held>();
  }
  const std::string text = "process " + std::to_string(::getpid()) + "\n";
  if (::ftruncate(held->fd, 0) != 0 || ::pwrite(held->fd, text.data(), text.size(), 0) < 0) return refuse("written");
  return held;
}

MeasurementLock::~MeasurementLock() = default;

}  // namespace hc::bench
