// Child processes by posix fork/exec, each in a process group of its own so that its children end with it.
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace hc {

double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

struct Child {
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
  std::string failure;
};

[[noreturn]] void exec_child(const std::vector<std::string>& argv, const std::vector<std::string>& env, int in, int out,
                             int err, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const std::string& pair : env) ::putenv(const_cast<char*>(pair.c_str()));
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  ::execvp(args[0], args.data());
  const int failure = errno;
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

Child spawn(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  ::signal(SIGPIPE, SIG_IGN);
  Child child;
  std::array<int, 2> in{}, out{}, err{}, report{};
  if (::pipe2(in.data(), O_CLOEXEC) || ::pipe2(out.data(), O_CLOEXEC) || ::pipe2(err.data(), O_CLOEXEC) ||
      ::pipe2(report.data(), O_CLOEXEC)) {
    child.failure = std::strerror(errno);
    return child;
  }
  child.pid = ::fork();
  if (child.pid == 0) exec_child(argv, env, in[0], out[1], err[1], report[1]);
  const int fork_error = errno;
  for (int fd : {in[0], out[1], err[1], report[1]}) ::close(fd);
  int failure = 0;
  if (child.pid < 0) failure = fork_error;
  else if (::read(report[0], &failure, sizeof failure) == sizeof failure) ::waitpid(child.pid, nullptr, 0);
  ::close(report[0]);
  if (failure != 0) {
    child.failure = argv[0] + ": " + std::strerror(failure);
    for (int fd : {in[1], out[0], err[0]}) ::close(fd);
    return child;
  }
  child.in = in[1];
  child.out = out[0];
  child.err = err[0];
  return child;
}

/// Reads what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  char buffer[1 << 16];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  into.append(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return n > 0;
}

}  // namespace

RunOutcome run_process(const std::vector<std::string>& argv, double limit_s, const std::vector<std::string>& env) {
  RunOutcome outcome;
  Child child = spawn(argv, env);
  if (!child.failure.empty()) {
    outcome.failure = child.failure;
    return outcome;
  }
  ::close(child.in);
  const double deadline = monotonic_s() + limit_s;
  std::array<pollfd, 2> fds = {{{child.out, POLLIN, 0}, {child.err, POLLIN, 0}}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const double left = deadline - monotonic_s();
    if (left <= 0) {
      outcome.timed_out = true;
      ::kill(-child.pid, SIGKILL);
      break;
    }
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min(left * 1000 + 1, 1000.0)));
    if (fds[0].fd >= 0 && fds[0].revents && !drain(fds[0].fd, outcome.out)) fds[0].fd = -1;
    if (fds[1].fd >= 0 && fds[1].revents && !drain(fds[1].fd, outcome.err)) fds[1].fd = -1;
  }
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.out);
  ::close(child.err);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

LineProcess::~LineProcess() {
  if (pid_ > 0) stop(0);
}

std::string LineProcess::start(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  Child child = spawn(argv, env);
  if (!child.failure.empty()) return child.failure;
  pid_ = child.pid;
  in_ = child.in;
  out_ = child.out;
  err_fd_ = child.err;
  ended_ = false;
  buffer_.clear();
  err_.clear();
  return "";
}

bool LineProcess::send_line(const std::string& line) {
  const std::string text = line + "\n";
  size_t done = 0;
  while (in_ >= 0 && done < text.size()) {
    const ssize_t n = ::write(in_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return in_ >= 0;
}

bool LineProcess::pump(double limit_s) {
  std::array<pollfd, 2> fds = {{{out_, POLLIN, 0}, {err_fd_, POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), std::max(0, static_cast<int>(limit_s * 1000))) <= 0) return false;
  if (fds[1].revents && !drain(err_fd_, err_)) {
    ::close(err_fd_);
    err_fd_ = -1;
  }
  constexpr size_t kKept = 1 << 16;
  if (err_.size() > kKept) err_.erase(0, err_.size() - kKept);
  if (fds[0].revents && !drain(out_, buffer_)) ended_ = true;
  return true;
}

std::optional<std::string> LineProcess::read_line(double limit_s) {
  const double deadline = monotonic_s() + limit_s;
  for (;;) {
    const size_t stop = buffer_.find('\n');
    if (stop != std::string::npos) {
      std::string line = buffer_.substr(0, stop);
      buffer_.erase(0, stop + 1);
      return line;
    }
    const double left = deadline - monotonic_s();
    if (ended_ || left <= 0) return std::nullopt;
    pump(std::min(left, 1.0));
  }
}

int LineProcess::stop(double grace_s) {
  if (pid_ <= 0) return -1;
  if (in_ >= 0) ::close(in_);
  in_ = -1;
  const double deadline = monotonic_s() + grace_s;
  int status = 0;
  pid_t done = 0;
  while ((done = ::waitpid(pid_, &status, WNOHANG)) == 0 && monotonic_s() < deadline) {
    if (!ended_) pump(0.01);
    else ::usleep(2000);
  }
  if (done == 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  } else {
    ::kill(-pid_, SIGKILL);  // children that it may have left behind
  }
  while (err_fd_ >= 0 && drain(err_fd_, err_)) {
    pollfd fd = {err_fd_, POLLIN, 0};
    if (::poll(&fd, 1, 0) <= 0) break;
  }
  if (out_ >= 0) ::close(out_);
  if (err_fd_ >= 0) ::close(err_fd_);
  out_ = err_fd_ = -1;
  pid_ = -1;
  ended_ = true;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace hc
