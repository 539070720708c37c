// Files: whole reads and atomic writes.
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace hc {

std::optional<std::string> read_file(const std::string& path, std::string* why) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (why) *why = std::strerror(errno);
    return std::nullopt;
  }
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (why) *why = std::strerror(errno);
      ::close(fd);
      return std::nullopt;
    }
    if (n == 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return text;
}

namespace {

/// Writes all of it and syncs; returns errno or 0.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

std::string write_file_atomic(const std::string& path, std::string_view text) {
  std::string pattern = path + ".tmpXXXXXX";
  const int fd = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (fd < 0) return std::strerror(errno);
  ::fchmod(fd, 0644);
  int failure = write_all(fd, text);
  if (::close(fd) != 0 && failure == 0) failure = errno;
  if (failure == 0 && ::rename(pattern.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return "";
  ::unlink(pattern.c_str());
  return std::strerror(failure);
}

std::string make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? error.message() : "";
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string make_temp_folder(std::string_view prefix) {
  const char* base = ::getenv("TMPDIR");
  std::string pattern = join_path(base && *base ? base : "/tmp", std::string(prefix) + "XXXXXX");
  return ::mkdtemp(pattern.data()) ? pattern : std::string();
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string join_path(std::string_view a, std::string_view b) {
  std::string out(a);
  if (!out.empty() && out.back() != '/') out += '/';
  while (!b.empty() && b.front() == '/' && !out.empty()) b.remove_prefix(1);
  return out.append(b);
}

std::string program_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

}  // namespace hc
