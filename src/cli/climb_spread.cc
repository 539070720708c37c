// Which variants are taken when: one after the other, or those of each GPU beside those of the other GPUs.
#include <fmt/format.h>

#include <thread>

#include "cli/climb.h"
#include "cli/evidence.h"

namespace hc::cli {
namespace {

/// A failure of one variant that does not concern the others: no candidate, a wrong answer, a baseline that will not
/// start.
bool concerns_one_variant(Code code) {
  return code == Code::no_config || code == Code::wrong_answer || code == Code::measurement_failed ||
         code == Code::worker_failed || code == Code::out_of_bounds || code == Code::plan_refused ||
         code == Code::backend_unsupported || code == Code::compile_failed;
}

}  // namespace

std::unique_ptr<Climb> Climb::part() const { return std::make_unique<Climb>(options_, context_); }

/// The number of variants that were not measured.
Result<int> Climb::take_in_turn(const Variants& variants, const std::atomic<bool>* stop) {
  int without = 0;
  for (const contract::TaskVariant* variant : variants) {
    if (stop && *stop) break;
    const Status status = one_variant(*variant);
    if (status.ok()) continue;
    if (!concerns_one_variant(status.error().code)) return status.error();
    ++without;
    progress_.line(fmt::format("{}/{} was not measured:\n{}", task_.name, variant->name, diag::render(status.error())));
  }
  return without;
}

/// The variants by the GPU that they belong to.
Result<std::map<std::string, Climb::Variants>> Climb::shares_of(const Variants& variants) {
  HC_TRY(open_pool());
  std::vector<std::string> names;
  for (const contract::TaskVariant* variant : variants) names.push_back(variant->name);
  const std::map<std::string, std::string> device = HC_TRY(pool_->shard(names));
  std::map<std::string, Variants> shares;
  for (const contract::TaskVariant* variant : variants) shares[device.at(variant->name)].push_back(variant);
  return shares;
}

/// Takes over what the whole has read and agreed; store and devices are opened anew, as each writes on its own.
Status Climb::join(const Climb& whole) {
  task_ = whole.task_;
  goal_ = whole.goal_;
  lock_ = whole.lock_;
  site_ = whole.site_;
  program_sha256_ = whole.program_sha256_;
  again_ = whole.again_;
  beyond_ = whole.beyond_;
  retune_ = whole.retune_;
  keep_nomination_ = whole.keep_nomination_;
  store_ = HC_TRY(ledger::Store::open(options_.artifacts, anchor_path(context_, options_.artifacts)));
  return success();
}

/// One part a GPU, each on a thread of its own under the writer lock of the whole. What concerns all ends every part
/// after the variant that it is at.
Result<int> Climb::take_spread(const std::map<std::string, Variants>& shares) {
  std::atomic<bool> stop{false};
  std::vector<Result<int>> results(shares.size(), 0);
  std::vector<std::thread> threads;
  progress_.done();
  for (const auto& [uuid, variants] : shares) {
    std::string names;
    for (const contract::TaskVariant* variant : variants) names += " " + variant->name;
    progress_.line(fmt::format("{} takes{}", uuid, names));
    threads.emplace_back([this, &variants, &stop, index = threads.size(), &result = results[threads.size()]] {
      Progress::enter(static_cast<int>(index) + 1);
      const std::unique_ptr<Climb> mine = part();
      const Status joined = mine->join(*this);
      result = joined.ok() ? mine->take_in_turn(variants, &stop) : Result<int>(joined.error());
      if (!result.ok()) stop = true;
      progress_.done();
    });
  }
  for (std::thread& thread : threads) thread.join();
  // what the parts wrote
  store_ = HC_TRY(ledger::Store::open(options_.artifacts, anchor_path(context_, options_.artifacts)));
  goal_ = HC_TRY(contract::read_goal(options_.artifacts));
  int without = 0;
  for (const Result<int>& result : results) {
    if (!result.ok()) return result.error();
    without += result.value();
  }
  return without;
}

Result<int> Climb::take_all(const Variants& variants) {
  if (task_.device != "gpu" || variants.size() < 2) return take_in_turn(variants, nullptr);
  const std::map<std::string, Variants> shares = HC_TRY(shares_of(variants));
  if (shares.size() < 2) return take_in_turn(variants, nullptr);
  pool_.reset();  // each part has its own, and they meet in the run's devices.json
  return take_spread(shares);
}

}  // namespace hc::cli
