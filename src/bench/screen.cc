// Screening: anchor and candidate in two slots of one worker, visited in turn.
#include "bench/screen.h"

#include <algorithm>

#include "base/json.h"

namespace hc::bench {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

/// Median seconds of one visit; its blocks are added to `into`.
Result<double> visit(Worker& worker, const TimeRequest& request, std::vector<Block>* into) {
  TimeReply reply = HC_TRY(worker.time(request));
  std::vector<double> seconds;
  for (Block& block : reply.blocks) {
    seconds.insert(seconds.end(), block.seconds.begin(), block.seconds.end());
    into->push_back(std::move(block));
  }
  return median(std::move(seconds));
}

}  // namespace

Screener::Screener(std::vector<std::string> argv, Limits limits, std::vector<std::string> env)
    : argv_(std::move(argv)), limits_(limits), env_(std::move(env)) {}

void Screener::set_anchor(PrepareRequest anchor) {
  anchor.slot = "anchor";
  anchor_ = std::make_unique<PrepareRequest>(std::move(anchor));
  anchor_held_ = false;
}

Status Screener::ready() {
  if (!worker_ || !worker_->alive()) {
    worker_.reset();
    held_.clear();
    anchor_held_ = false;
    worker_ = HC_TRY(Worker::start(argv_, limits_, env_));
    ++restarts_;
  }
  if (anchor_ && !anchor_held_) HC_TRY(worker_->prepare(*anchor_));
  anchor_held_ = anchor_ != nullptr;
  return success();
}

Status Screener::hold(const PrepareRequest& candidate) {
  HC_TRY(ready());
  PrepareRequest request = candidate;
  request.slot = "main";
  const std::string text = to_json(request).dump();
  if (text == held_) return success();
  held_.clear();
  prepared_ = HC_TRY(worker_->prepare(request));
  held_ = text;
  return success();
}

Result<CheckReply> Screener::check(const PrepareRequest& candidate, const std::string& out_dir) {
  HC_TRY(hold(candidate));
  return worker_->check({.out_dir = out_dir, .run = true, .slot = "main"});
}

Result<Screened> Screener::time(const PrepareRequest& candidate, const ScreenPlan& plan) {
  HC_TRY(hold(candidate));
  Screened screened;
  screened.prepared = prepared_;
  TimeRequest candidate_time = plan.time;
  TimeRequest anchor_time = plan.time;
  candidate_time.slot = "main";
  anchor_time.slot = "anchor";
  std::vector<double> seconds;
  std::vector<double> anchors;
  std::vector<double> ratios;
  for (int round = 0; round < std::max(1, plan.rounds); ++round) {
    if (anchor_) anchors.push_back(HC_TRY(visit(*worker_, anchor_time, &screened.anchor_blocks)));
    seconds.push_back(HC_TRY(visit(*worker_, candidate_time, &screened.blocks)));
    if (anchor_) ratios.push_back(anchors.back() / seconds.back());
  }
  screened.seconds = median(seconds);
  screened.anchor_seconds = median(anchors);
  screened.ratio = median(ratios);
  return screened;
}

}  // namespace hc::bench
