// What a task's variant means for the tuner: a kernel with arguments, and who it is measured against.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "compile/compile.h"
#include "contract/task.h"
#include "tune/campaign.h"
#include "tune/tune.h"

namespace hc::cli {

/// Key of the inputs that are drawn outside of any run: `tune`, `run` and their like repeat themselves.
inline constexpr uint64_t kInputSeed = 1;
/// Key of the inputs that a run draws: the same for all of its arms, another one for every other run. `lock` is the
/// goal's, by id.
uint64_t input_seed_of(const std::string& run, const std::string& lock);

/// A kernel call that can be tuned.
struct Subject {
  std::string file;
  std::string kernel_sha256;  ///< of the file
  compile::Request request;
  std::vector<std::string> arg_texts;
  std::string
      unreadable;  ///< why our own compiler cannot say what the kernel computes, or empty; then it has no request
  uint64_t input_seed = kInputSeed;  ///< key of every input that is drawn for it
};

/// The variant's kernel with its inputs in the order of the kernel's parameters; task_error when a name does not fit.
Result<Subject> subject_of(const contract::TaskVariant& variant);
/// The same for a candidate that is a worker: a kernel that our compiler cannot read is none of its errors, and then
/// the inputs stand in the order of the task file.
Result<Subject> subject_of_worker(const contract::TaskVariant& variant);
/// The same from KERNEL.py:name and argument texts.
Result<Subject> subject_of_call(const std::string& file, const compile::Request& request,
                                const std::vector<std::string>& arg_texts);
/// What the tuner needs for it: machine, compiler, folder for compiled kernels.
tune::EvaluatorSetup evaluator_setup(const Subject& subject, const tune::BuildSite& site, const Context& context,
                                     int threads);

/// Paths of oneDNN libraries outside of the system's folders: virtual environments near the working directory.
std::vector<std::string> onednn_paths();
/// What every implementation of a baseline has: name, role, the recipe as its config, and what is prepared.
tune::Contender base_contender(const contract::TaskBaseline& baseline, const contract::Task& task,
                               const Subject& subject);
/// Every implementation that could stand for a baseline: one per library where it has several. not_available when none
/// can be started, with how to get one.
Result<std::vector<tune::Contender>> baseline_contenders(const contract::TaskBaseline& baseline,
                                                         const contract::Task& task, const Subject& subject,
                                                         const Context& context);

}  // namespace hc::cli
