// The GPU worker: protocol 1 over lines, subjects by slot, one device.
#pragma once

#include <map>

#include "bench/serve.h"
#include "cuda/subject.h"

namespace hc::baselines {

/// Answers requests; opens the device at the first that needs it.
class Worker : public bench::Service {
 public:
  Worker(Places places, std::string cache) : places_(std::move(places)), cache_(std::move(cache)) {}

 private:
  Result<Json> dispatch(const std::string& op, const Json& request) override;
  Result<Json> hello(const Json& request) override;
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
};

}  // namespace hc::baselines
