// From a config to a shared object with its manifest: lowering in this process, the system compiler in child processes.
#pragma once

#include <string>
#include <vector>

#include "compile/compile.h"
#include "runtime/manifest.h"
#include "runtime/toolchain.h"

namespace hc::tune {

/// One config on its way to a shared object.
struct Built {
  compile::Compiled compiled;
  runtime::Manifest manifest;
  std::string manifest_path;  ///< empty until the shared object is there
  double compile_s = 0;       ///< wall time of the system compiler
};

/// Where things are made and with what.
struct BuildSite {
  target::Target target;
  runtime::Toolchain toolchain;
  std::string cache_folder;
  double limit_s = 120;  ///< for one run of the system compiler
};

/// Lowers and prints; no compiler is started. plan_refused when the config is illegal.
Result<Built> lower(const compile::Request& request, const knob::Config& config, const BuildSite& site);
/// Runs the system compiler and writes the manifest beside the shared object. Safe to call from several threads.
Status make_shared_object(const BuildSite& site, Built* built);
/// lower and make_shared_object.
Result<Built> build(const compile::Request& request, const knob::Config& config, const BuildSite& site);

/// Removes what is in a folder of compiled kernels and is not this one's.
void remove_all_but(const std::string& folder, const Built& keep);

/// Storages of a program as a manifest lists them.
std::vector<runtime::StorageInfo> storage_infos(const ir::Program& program);

}  // namespace hc::tune
