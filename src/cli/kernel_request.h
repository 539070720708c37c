// What `show`, `run` and `build` share: KERNEL.py:name, --args, --set and --config to a compile request and a config.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "compile/compile.h"

namespace hc::cli {

/// A kernel with its arguments and the config asked for.
struct KernelCall {
  std::string file;
  compile::Request request;
  std::vector<std::string> arg_texts;
  knob::Config config;
};

/// The options that read_kernel_call reads, for the command's table.
std::vector<Option> kernel_call_options();
/// file_error, usage, or what the front end says.
Result<KernelCall> read_kernel_call(const Parsed& parsed);
/// `--config FILE|JSON` as the JSON text of a worker's config: the object itself, or the winner of a tune's record.
Result<std::string> read_worker_config(const std::string& word);
/// `--config FILE` with `--set` on top.
Result<knob::Config> read_config(const Parsed& parsed);

}  // namespace hc::cli
