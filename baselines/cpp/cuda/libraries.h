// Where libraries and headers lie that are opened at run time: folders that were named, then those where installers put
// them.
#pragma once

#include <string>
#include <vector>

#include "diag/diag.h"

namespace hc::baselines {

/// An opened shared library; never closed, as CUDA's libraries keep threads and handles of their own.
struct Library {
  void* handle = nullptr;
  std::string path;  ///< the file that the loader took
  /// The address of an exported function, or null.
  void* symbol(const char* name) const;
};

/// What is looked for, and what to tell a user who does not have it.
struct Wanted {
  std::string title;               ///< "NVRTC"
  std::vector<std::string> names;  ///< file names in the order of preference; for headers: paths that one folder holds all
  std::string fix;                 ///< "pip install nvidia-cuda-nvrtc"
};

/// Folders to search. A folder may hold libraries or headers itself, be a CUDA toolkit, or hold Python packages.
class Places {
 public:
  Places() = default;
  explicit Places(std::vector<std::string> named) : named_(std::move(named)) {}
  /// Searches nowhere but in the named folders: for tests.
  void only_named() { standard_ = false; }
  /// Opens the first library found: in the named folders, by the loader's own rules, in the usual folders.
  /// not_available with the fix when there is none.
  Result<Library> open(const Wanted& wanted) const;
  /// The folder below which all `wanted.names` lie. not_available with the fix when there is none.
  Result<std::string> headers(const Wanted& wanted) const;

 private:
  std::vector<std::string> roots() const;
  std::vector<std::string> named_;
  bool standard_ = true;
};

}  // namespace hc::baselines
