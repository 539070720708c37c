// Workers that a task names: how they are started, asked to tune and to tell their config.
#pragma once

#include <string>
#include <vector>

#include "cli/subject.h"
#include "contract/task.h"
#include "tune/campaign.h"

namespace hc::cli {

/// Whether our own worker speaks for the baseline: oneDNN, a copy.
bool is_own(const contract::TaskBaseline& baseline);

/// A worker as an arm: command, what it is asked to prepare, every file that decides what it is. not_available when no
/// file of its command is there.
Result<tune::Contender> worker_contender(const contract::TaskBaseline& worker, const contract::Task& task,
                                         const Subject& subject, ledger::Role role);

/// Pins a config that the implementation reported, JSON text: it is what runs and what the evidence names.
void pin_config(tune::Contender* contender, const std::string& config);

/// What a worker answered when it was asked to make itself ready, in a process of its own.
struct Description {
  ledger::Outcome outcome = ledger::Outcome::ok;
  std::string reason;  ///< why it is not ready, or empty
  bench::PrepareReply reply;
  double seconds = 0;  ///< from its start to the answer
  bench::CheckReply outputs;
  std::string folder;  ///< holds the outputs' files, or empty; whoever judges them removes it
};

/// Starts the worker, has it prepare (and tune within `tune_s` seconds, 0 without a limit, negative not at all) and,
/// with `outputs`, run once on poisoned memory and write what came out; then ends it.
Description describe(tune::Contender contender, double tune_s, bool outputs = false);

/// The record of that: the config of an implementation, found by its tuner, pinned or its own choice; or why there is
/// none. The caller fills in run, variant and times.
ledger::TuneRecord describe_record(const tune::Contender& contender, const Description& description, double tune_s);

/// Limits of a worker that imports a framework.
bench::Limits worker_limits();

}  // namespace hc::cli
