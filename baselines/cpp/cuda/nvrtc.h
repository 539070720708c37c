// NVIDIA's run-time compiler, opened at run time: CUDA C++ text to a cubin.
#pragma once

#include <string>
#include <vector>

#include "cuda/libraries.h"

namespace hc::baselines {

/// NVRTC's published C interface, as far as it is used here. Copies share the opened library.
class Nvrtc {
 public:
  /// not_available with the package's name when it is not there.
  static Result<Nvrtc> open(const Places& places);
  /// "13.0"
  const std::string& version() const { return version_; }
  const std::string& path() const { return library_.path; }
  /// The cubin of `source` for `arch` ("sm_90a"). compile_failed with the compiler's log otherwise. May be called from
  /// several threads.
  Result<std::string> compile(const std::string& source, const std::string& arch,
                              const std::vector<std::string>& options) const;

 private:
  Library library_;
  std::string version_;
};

}  // namespace hc::baselines
