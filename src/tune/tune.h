// One tune of one kernel call: space, seeds, search, record.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/build.h"
#include "tune/cpu_evaluator.h"
#include "tune/history.h"
#include "tune/search.h"

namespace hc::tune {

/// What is tuned and under which rules.
struct TuneRequest {
  EvaluatorSetup setup;
  SearchOptions options;
  bool cold = true;           ///< no history, an empty folder for compiled kernels
  std::string history_path;   ///< empty: nothing is remembered
  std::string kernel_sha256;  ///< of the kernel file
  std::function<void(const SearchProgress&)> on_generation;
};

struct TuneOutcome {
  SearchResult result;
  Built winner;           ///< built in the setup's cache folder
  double space_size = 0;  ///< number of configs
  double seconds = 0;     ///< wall time of the tune
  int repeated_batches = 0;
  std::string history_trouble;  ///< why nothing was remembered, or empty
};

/// no_config when not a single candidate came through; its notes count why they fell. file_error when a candidate could
/// not be written, as on a full disk.
Result<TuneOutcome> tune(const TuneRequest& request);
/// The record of a tune as evidence; the caller fills in names, hashes and times that only it knows.
ledger::TuneRecord to_record(const TuneRequest& request, const TuneOutcome& outcome);
/// A fresh seed from the system.
uint64_t fresh_seed();

}  // namespace hc::tune
