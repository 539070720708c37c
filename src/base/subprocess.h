// Child processes: one-shot with captured output and a time limit, and long-lived ones spoken to by lines.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hc {

struct RunOutcome {
  int exit_code = -1;      ///< exit status, or -1
  int signal = 0;          ///< the signal that ended it, or 0
  bool timed_out = false;  ///< killed (with its whole process group) at the limit
  std::string out;         ///< standard output
  std::string err;         ///< standard error
  std::string failure;     ///< why it could not be started, or empty
  bool ok() const { return failure.empty() && exit_code == 0 && !timed_out; }
};

/// Runs `argv` (found on PATH) and waits at most `limit_s` seconds. `env` are NAME=VALUE added to the environment.
RunOutcome run_process(const std::vector<std::string>& argv, double limit_s, const std::vector<std::string>& env = {});

/// A child whose standard input and output are lines; its standard error is collected (last 64 KiB).
class LineProcess {
 public:
  LineProcess() = default;
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  /// Returns an empty string, or why it could not be started.
  std::string start(const std::vector<std::string>& argv, const std::vector<std::string>& env = {});
  /// False when the child is gone.
  bool send_line(const std::string& line);
  /// The next line of its standard output, or nothing after `limit_s` or at its end (`ended()` tells which).
  std::optional<std::string> read_line(double limit_s);
  bool ended() const { return ended_; }
  /// Closes its input, waits up to `grace_s`, then kills the process group. Returns exit status, or -signal.
  int stop(double grace_s);
  pid_t pid() const { return pid_; }
  const std::string& err() const { return err_; }

 private:
  bool pump(double limit_s);
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_fd_ = -1;
  bool ended_ = false;
  std::string buffer_;
  std::string err_;
};

/// Seconds of a monotonic clock.
double monotonic_s();

}  // namespace hc
