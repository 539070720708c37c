// The system C++ compiler: generated text to a shared object, cached by text, and loading it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diag/diag.h"
#include "runtime/manifest.h"

namespace hc::runtime {

/// The compiler found on this machine ($CXX, c++, g++, clang++), or not_available with how to get one.
struct Toolchain {
  std::string path;
  std::string version;             ///< first line of --version
  std::vector<std::string> flags;  ///< for generated kernels on this machine: -O3 -march=native -fopenmp ...
};
Result<Toolchain> find_toolchain();

/// Headers that generated text includes, written once per content into the cache folder.
struct Header {
  std::string name;
  std::string text;
};

/// Compiles `source` (in a child process, killed after limit_s) into CACHE/<hash of source, headers, flags,
/// compiler>.so; a second call with the same text is a look-up. compile_failed carries the compiler's words.
Result<std::string> build_shared_object(const Toolchain& toolchain, const std::string& source,
                                        const std::vector<Header>& headers, const std::string& cache_folder,
                                        double limit_s);

/// A loaded shared object; unloaded at destruction.
class LoadedKernel {
 public:
  static Result<std::unique_ptr<LoadedKernel>> load(const Manifest& manifest);
  ~LoadedKernel();
  /// storages[i] points to the bytes of manifest.storages[i].
  void call(void* const* storages) const { entry_(storages); }

 private:
  LoadedKernel() = default;
  void* handle_ = nullptr;
  void (*entry_)(void* const*) = nullptr;
};

}  // namespace hc::runtime
