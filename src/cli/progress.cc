// The progress line and its heartbeat.
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/files.h"
#include "base/subprocess.h"

namespace hc::cli {
namespace {

constexpr double kTerminalBeat = 0.2;
constexpr double kPlainBeat = 4;
constexpr size_t kWidth = 118;

/// Of the calling thread. Threads that a search starts say what the search does, so they stand in part 0 as it does.
thread_local int part_of_thread = 0;

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress() : terminal_(::isatty(STDOUT_FILENO) != 0), start_s_(monotonic_s()), thread_([this] { beat(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (transient_) std::fputs("\r\033[K", stdout);
  std::fflush(stdout);
}

void Progress::line(const std::string& text) {
  const std::lock_guard guard(mutex_);
  if (transient_) std::fputs("\r\033[K", stdout);
  transient_ = false;
  fmt::print("{:>6}  {}\n", clock_text(monotonic_s() - start_s_), text);
  std::fflush(stdout);
  shown_s_ = monotonic_s();
}

void Progress::now(const std::string& text) {
  const std::lock_guard guard(mutex_);
  current_[part_of_thread] = text;
  show(false);
}

void Progress::enter(int part) { part_of_thread = part; }

void Progress::done() {
  const std::lock_guard guard(mutex_);
  current_.erase(part_of_thread);
}

/// The caller holds the mutex.
void Progress::show(bool force) {
  const double now_s = monotonic_s();
  if (current_.empty() || (!force && now_s - shown_s_ < (terminal_ ? kTerminalBeat : kPlainBeat))) return;
  shown_s_ = now_s;
  std::string all;
  for (const auto& [part, what] : current_) all += (all.empty() ? "" : " | ") + what;
  const std::string text = fmt::format("{:>6}  {}", clock_text(now_s - start_s_), all);
  if (terminal_) {
    fmt::print("\r\033[K{}", text.substr(0, kWidth));
    transient_ = true;
  } else {
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

void Progress::beat() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, std::chrono::duration<double>(terminal_ ? 1.0 : kPlainBeat));
    if (!stop_) show(terminal_);
  }
}

std::string counted(size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string named_process(const std::string& holder) {
  constexpr std::string_view kWord = "process ";
  constexpr size_t kLongest = 80;
  if (!holder.starts_with(kWord)) return holder;
  const std::string id = holder.substr(kWord.size());
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos) return holder;
  std::string line = read_file("/proc/" + id + "/cmdline").value_or("");
  while (!line.empty() && line.back() == '\0') line.pop_back();
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // the words end with zeros
  }
  if (line.empty()) return holder;
  if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
  return fmt::format("{} ({})", holder, line);
}

}  // namespace hc::cli
