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

/// Key of every input that is drawn for a task.
inline constexpr uint64_t kInputSeed = 1;

/// A kernel call that can be tuned.
struct Subject {
  std::string file;
  std::string kernel_sha256;  ///< of the file
  compile::Request request;
  std::vector<std::string> arg_texts;
  std::string
      unreadable;  ///< why our own compiler cannot say what the kernel computes, or empty; then it has no request
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
/// Every implementation that could stand for a baseline: one per library where it has several. not_available when none
/// can be started, with how to get one.
Result<std::vector<tune::Contender>> baseline_contenders(const contract::TaskBaseline& baseline,
                                                         const contract::Task& task, const Subject& subject,
                                                         const Context& context);

}  // namespace hc::cli
