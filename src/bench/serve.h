// A worker's side of the protocol: the greeting, one reply to one request, and the loop over lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "diag/diag.h"

namespace hc::bench {

/// What every worker in C++ answers alike; the requests that make it what it is are its own.
class Service {
 public:
  virtual ~Service() = default;
  /// The reply to one request line.
  nlohmann::ordered_json answer(const std::string& line);
  /// Whether `bye` was answered.
  bool done() const { return done_; }

 protected:
  /// What it offers; the protocol's version was compared before.
  virtual Result<nlohmann::ordered_json> hello(const nlohmann::ordered_json& request) = 0;
  /// Every request but hello and bye, once greeted.
  virtual Result<nlohmann::ordered_json> dispatch(const std::string& op, const nlohmann::ordered_json& request) = 0;

 private:
  Result<nlohmann::ordered_json> reply_to(const std::string& op, const nlohmann::ordered_json& request);
  bool greeted_ = false;
  bool done_ = false;
};

/// Reads requests from standard input and answers on what was standard output until `bye` or the end; meanwhile all
/// that a library prints goes to standard error. The exit status: 70 when no reply can be written.
int serve(Service& service);

}  // namespace hc::bench
