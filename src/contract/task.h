// Task files: what is optimised, on which variants, against which baselines, under which criteria.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/expression.h"
#include "diag/diag.h"
#include "ledger/records.h"

namespace hc::contract {

/// One parameter of the kernel: its name and the argument text of the command line's syntax, `f32[4096,2560]` or
/// `1e-5`.
struct TaskInput {
  std::string name;
  std::string text;
  Span span;
};

struct TaskVariant {
  std::string name;
  Parameters parameters;
  std::string kernel;             ///< path of the kernel's file, `:name` appended when the task gives one
  std::string kernel_file;        ///< the path alone, as found
  std::string kernel_name;        ///< empty: the only kernel of the file
  std::vector<TaskInput> inputs;  ///< expanded, in the order of the task file
  ledger::Work work;              ///< bytes or flops of one call
  double target = 1.0;
  std::string hash;  ///< over kernel name, inputs and work
  Span span;
};

/// A program that speaks the worker protocol: a baseline, or the candidate itself.
struct TaskBaseline {
  std::string name;
  std::vector<std::string> worker;                          ///< command and arguments
  std::vector<std::pair<std::string, std::string>> recipe;  ///< every other key as written, values as JSON text
  /// A recipe key as plain text (strings without quotes), or empty.
  std::string key(std::string_view name) const;
  double tune_seconds = -1;        ///< limit of the worker's own tuner, 0: none; negative: it is not asked to tune
  std::string config;              ///< pinned config as JSON text, or empty
  std::vector<std::string> files;  ///< paths of further files that make it what it is
  std::string family{};            ///< pytorch, cute, triton, cuda or vendor; empty where nobody says
  /// A candidate's further implementations of the same kernel, checked before the first number.
  std::vector<std::string> second;
  Span span;
};

struct TaskScope {
  std::vector<std::string> allow, deny;  ///< path patterns that a change may or may not touch
  std::string test;                      ///< command that must pass on every commit
};

struct TaskEffort {
  double tune_seconds = 0;       ///< limit of one tune; 0 = until it converges
  int64_t max_candidates = 0;    ///< 0 = no limit
  int pairs = 10;                ///< valid pairs of a confirming run
  int nominate_pairs = 3;        ///< pairs of a nomination
  int aa_pairs = 6;              ///< pairs of an A/A calibration, once a day and device; 0 = none
  int blocks = 7;                ///< timed blocks per process
  double block_seconds = 0.005;  ///< least length of a block
  int threads = 0;               ///< CPU backend: 0 = all of this process's
  uint64_t seed = 0;             ///< 0 = a fresh one
  double preheat_seconds = 4;    ///< on a GPU, each process of a confirming run: most until it is steady; 0: none
  bool back_to_back = false;     ///< time launches in a row over rotated inputs instead of single ones
};

struct Task {
  std::string path, name, kernel, backend, description, waive;
  std::string sha256;  ///< of the file's text
  std::vector<TaskVariant> variants;
  std::optional<TaskBaseline> candidate;  ///< a worker in place of our own compiler and tuner
  std::string device = "cpu";             ///< cpu, or gpu: every worker gets one GPU, the same for all of a variant
  std::vector<TaskBaseline> baselines;
  ledger::Criteria criteria;
  TaskScope scope;
  TaskEffort effort;
  const TaskVariant* variant(std::string_view name) const;
};

/// Reads and checks a task file; errors are task_error with the line and caret, and the nearest known key as the fix.
Result<Task> read_task(const std::string& path);
/// The same from text; `path` is for messages and for finding the kernel's file: beside the task file, then in each
/// folder above.
Result<Task> parse_task(const std::string& path, const std::string& text);

}  // namespace hc::contract
