// An exclusive advisory lock on a file, between processes and between threads of one.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace hc {

/// Held for one scope; waits for the other holder. Each lock opens the file anew, so that threads exclude one another
/// too.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// False when the file cannot be made; errno says why.
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace hc
