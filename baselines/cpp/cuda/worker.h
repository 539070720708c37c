// The GPU worker: protocol 1 over lines, subjects by slot, one device.
#pragma once

#include <map>

#include "cuda/subject.h"

namespace hc::baselines {

/// Answers requests; opens the device at the first that needs it.
class Worker {
 public:
  Worker(Places places, std::string cache) : places_(std::move(places)), cache_(std::move(cache)) {}
  /// The reply to one request line.
  Json answer(const std::string& line);
  /// Whether `bye` was answered.
  bool done() const { return done_; }

 private:
  Result<Json> dispatch(const std::string& op, const Json& request);
  Result<Json> hello(const Json& request);
  Result<Json> prepare(const Json& request);
  Result<Json> check(const Json& request);
  Result<Json> check_ways(Subject& target) const;
  Result<Json> time(const Json& request);
  Result<Json> listing(const Json& request);
  Result<Json> device_facts();
  Result<Subject*> subject(const std::string& slot);
  Status open();
  Places places_;
  std::string cache_;
  std::unique_ptr<Device> device_;
  std::map<std::string, std::unique_ptr<Subject>> slots_;
  bool greeted_ = false;
  bool done_ = false;
};

/// Reads requests from standard input and answers on standard output until `bye` or the end; the exit status.
int serve(Worker& worker);

}  // namespace hc::baselines
