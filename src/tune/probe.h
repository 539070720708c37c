// The probe: one long-lived process per kernel call that checks compiled configs against the oracle, each in a fork of
// its own.
//
// The inputs are drawn and the oracle's answers computed once, before the fork; the fork loads the shared object, runs
// it once on poisoned outputs and compares. A config that crashes or hangs costs its fork, never the tuner.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/subprocess.h"
#include "diag/diag.h"

namespace hc::tune {

/// What is the same for every config that a probe checks.
struct ProbeSetup {
  std::string kernel_file;
  std::string kernel;
  std::vector<std::string> args;  ///< argument texts
  uint64_t seed = 1;              ///< of the inputs
  int64_t samples = 256;          ///< elements compared per output tensor; 0 compares none
  std::string load_folder;        ///< inputs come from NAME.npy there, when not empty
};

/// One config to check.
struct ProbeRequest {
  std::string manifest_path;  ///< run this; empty: see `files` and `oracle`
  /// Files with raw bytes of outputs that somebody else made: dense, by position among the returned tensors, or whole
  /// storages by their number (`storages`). An empty path is an output that was not made.
  std::vector<std::string> files;
  bool storages = false;
  bool sampled = false;     ///< the files hold the sampled elements alone, in the order of `ProbeAnswer::numbers`
  bool numbers = false;     ///< answer which elements are sampled; nothing is run
  bool oracle = false;      ///< the oracle itself makes the outputs (for small tensors)
  std::string config;       ///< canonical text: decides block sizes and so the oracle's program
  double limit_s = 60;      ///< for load and run in the fork
  std::string save_folder;  ///< inputs and outputs are written there as .npy, when not empty
  bool hash = false;        ///< answer with the hashes of the outputs
  bool summary = false;     ///< shape and first values of every returned tensor
};

enum class ProbeOutcome : uint8_t { ok, wrong_answer, crashed, timed_out, failed };

struct ProbeAnswer {
  ProbeOutcome outcome = ProbeOutcome::failed;
  std::string reason;   ///< a sentence, empty when ok
  int64_t checked = 0;  ///< elements compared
  int64_t wrong = 0;
  double worst = 0;                           ///< largest |x - value| / bound
  std::vector<std::string> output_sha256;     ///< of the written storages' bytes, in the manifest's order
  std::vector<std::vector<int64_t>> numbers;  ///< row-major element numbers of the sample, by output
  Json outputs;                               ///< summary: name, dtype, shape, first values
};

/// The side that asks: starts the process and starts it again after it died.
class Probe {
 public:
  /// `program` is the executable whose hidden command `probe` answers.
  Probe(std::string program, ProbeSetup setup) : program_(std::move(program)), setup_(std::move(setup)) {}
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ProbeAnswer ask(const ProbeRequest& request);

 private:
  std::string start();
  std::string program_;
  ProbeSetup setup_;
  std::unique_ptr<LineProcess> process_;
};

/// The side that answers: reads JSON lines from standard input until it ends. Returns the exit status.
int serve_probe();

}  // namespace hc::tune
