// Screening for a tuner: many candidates in one worker, each beside an anchor timed in the same worker. Nominates only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/worker_client.h"

namespace hc::bench {

struct ScreenPlan {
  TimeRequest time{.blocks = 1, .min_block_s = 0.003, .warmup_s = 0.003};  ///< of each visit
  int rounds = 3;  ///< visits to candidate and anchor, alternating
};

/// Medians in seconds per launch; the raw blocks are beside.
struct Screened {
  double seconds = 0;         ///< candidate
  double anchor_seconds = 0;  ///< 0 without anchor
  double ratio = 0;  ///< anchor / candidate, above 1: the candidate is faster; median over rounds of paired visits
  std::vector<Block> blocks;
  std::vector<Block> anchor_blocks;
  PrepareReply prepared;
};

/// Holds one worker with the anchor in it and starts another when a candidate took it down.
class Screener {
 public:
  Screener(std::vector<std::string> argv, Limits limits, std::vector<std::string> env = {});
  /// The anchor is prepared again in every new worker.
  void set_anchor(PrepareRequest anchor);
  /// Makes the candidate ready, runs it once on poisoned outputs that it writes to `out_dir`.
  Result<CheckReply> check(const PrepareRequest& candidate, const std::string& out_dir);
  /// Times the candidate; it is prepared again unless the call before was check() or time() of an equal request.
  Result<Screened> time(const PrepareRequest& candidate, const ScreenPlan& plan);
  int restarts() const { return restarts_; }

 private:
  Status ready();
  Status hold(const PrepareRequest& candidate);
  std::vector<std::string> argv_;
  Limits limits_;
  std::vector<std::string> env_;
  std::unique_ptr<PrepareRequest> anchor_;
  std::unique_ptr<Worker> worker_;
  std::string held_;  ///< JSON text of the request in slot main
  PrepareReply prepared_;
  bool anchor_held_ = false;
  int restarts_ = -1;
};

}  // namespace hc::bench
