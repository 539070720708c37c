// What a launch of a compiled kernel needs: the shared object, its entry and its storages; no compiler.
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/tensor.h"
#include "diag/diag.h"

namespace hc::runtime {

/// One storage as the entry expects it, in order. Elements, not bytes.
struct StorageInfo {
  std::string name;
  DType dtype = DType::f32;
  int64_t numel = 0;
  int param_index = -1;   ///< tensor argument it holds, or -1 for an allocation of the kernel
  bool written = false;   ///< some step writes it
  bool returned = false;  ///< a returned tensor lies in it
};

/// A compiled kernel on disk. Entry: `extern "C" void NAME(void* const* storages)`; one call does everything from
/// inputs to outputs.
struct Manifest {
  std::string kernel;
  std::string entry = "hc_call";
  std::string shared_object;  ///< absolute path
  std::string source_sha256;
  std::string config;             ///< canonical text
  std::vector<std::string> args;  ///< argument texts, tensors with their distributions
  std::vector<StorageInfo> storages;
};

Json to_json(const Manifest& manifest);  ///< schema "manifest/1"
Result<Manifest> manifest_from_json(const Json& json);

}  // namespace hc::runtime
