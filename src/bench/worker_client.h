// A worker process as typed calls with time limits; every way in which it can fail becomes a worker_failed diagnostic.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.h"
#include "bench/protocol.h"
#include "diag/diag.h"

namespace hc::bench {

/// Whether workers get the variable of that name from the referee's environment; those that slow a library down, or
/// come between a process and its clock, they do not.
bool inherited(std::string_view name);

/// Seconds that a worker may take for each kind of call.
struct Limits {
  double hello_s = 30;
  double prepare_s = 120;
  double check_s = 120;
  double time_s = 300;
  double bye_s = 5;
};

/// A started worker that said hello. After a failed call that is fatal it is dead (`alive()`); start another.
class Worker {
 public:
  /// `argv` is the program; `env` are NAME=VALUE added to its environment. Without a CUDA_VISIBLE_DEVICES among them it
  /// sees no GPU (devices.h gives one).
  static Result<std::unique_ptr<Worker>> start(const std::vector<std::string>& argv, const Limits& limits = {},
                                               const std::vector<std::string>& env = {});
  const HelloReply& hello() const { return hello_; }
  Result<PrepareReply> prepare(const PrepareRequest& request);
  Result<CheckReply> check(const CheckRequest& request);
  Result<TimeReply> time(const TimeRequest& request);
  /// Has the prepared subject's code written to files; not_available when the worker said no `listing` in its hello.
  Result<ListingReply> listing(const ListingRequest& request);
  /// Asks it to end and waits; worker_failed when it ended with another status than 0.
  Status bye();
  /// False after it died, hung or spoke nonsense: no further call is answered. A refused request leaves it alive.
  bool alive() const { return alive_; }
  pid_t pid() const { return pid_; }

 private:
  Worker() = default;
  struct Reply;
  Result<std::unique_ptr<Reply>> call(const std::string& op, const std::string& line, double limit_s);
  static Result<std::unique_ptr<Worker>> start_asking(const std::vector<std::string>& argv, const Limits& limits,
                                                      const std::vector<std::string>& env, const std::string& hello);
  friend Result<std::vector<Offer>> discover_offers(const std::vector<std::string>&, const std::vector<std::string>&,
                                                    const std::vector<std::string>&);
  Diagnostic fail(const std::string& what);
  LineProcess process_;
  Limits limits_;
  std::string name_;
  HelloReply hello_;
  pid_t pid_ = -1;
  bool alive_ = false;
};

/// What a worker offers, oneDNN libraries included: those of the system and those at `libraries` (paths).
Result<std::vector<Offer>> discover_offers(const std::vector<std::string>& argv,
                                           const std::vector<std::string>& libraries = {},
                                           const std::vector<std::string>& env = {});

/// argv of our own worker: this very program with the command `worker`.
std::vector<std::string> own_worker();

}  // namespace hc::bench
