// Progress: a line that is rewritten on a terminal, plain lines every few seconds otherwise.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace hc::cli {

/// Says what is being done and how long it has been going on; a thread of its own keeps saying it during long steps.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// A line that stays.
  void line(const std::string& text);
  /// What is being done now, by the part that the calling thread belongs to; shown at once on a terminal, else at the
  /// next beat, beside what the other parts do.
  void now(const std::string& text);
  /// The calling thread works on this part from now on; every thread begins in part 0.
  static void enter(int part);
  /// The calling thread's part does nothing any more.
  void done();

 private:
  void beat();
  void show(bool force);
  bool terminal_;
  double start_s_;
  double shown_s_ = 0;
  std::map<int, std::string> current_;  ///< by part
  bool transient_ = false;              ///< a rewritten line stands on the terminal
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

/// `1 variant`, `2 variants`.
std::string counted(size_t count, const std::string& noun);
/// `process N` with the beginning of that process's command line behind it, where it can be read.
std::string named_process(const std::string& holder);

}  // namespace hc::cli
