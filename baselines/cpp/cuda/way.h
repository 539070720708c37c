// A way to do a call that can be launched; a subject is its tensors with the ways that were built and the one chosen.
#pragma once

#include <memory>
#include <vector>

#include "base/tensor.h"
#include "cuda/call.h"
#include "cuda/device.h"
#include "cuda/nvrtc.h"
#include "cuda/plan.h"

namespace hc::baselines {

/// The tensors of a call on the device, with the inputs' bytes kept on the host for the check.
struct Tensors {
  std::vector<std::shared_ptr<TensorBuffer>> host;  ///< per argument; null where it is no tensor
  std::vector<Memory> inputs;                       ///< per argument; empty where it is no tensor
  std::vector<Memory> outputs;
  std::string inputs_sha256;
};

/// Draws and uploads the inputs, takes memory for the outputs.
Result<Tensors> make_tensors(const Device& device, const Call& call, uint64_t seed);
/// Further inputs with the same bytes and outputs of their own.
Result<Tensors> copy_tensors(const Device& device, const Tensors& tensors);

/// SHA-256 of tensors' bytes in order, by sums over pieces of 512 KiB, as the Python worker computes it on its device
/// (docs/worker-protocol.md).
std::string sampled_sha256(const std::vector<std::pair<const void*, int64_t>>& buffers);

/// One way. `launch` queues the whole call on what its request's tensors hold at that moment.
class Way {
 public:
  virtual ~Way() = default;
  virtual int launch(bench::CuStream stream) = 0;
  /// What tells it from the other ways, and pins it.
  const Json& config() const { return config_; }
  /// The machine code that it launches, or nothing where a library keeps its own.
  virtual const std::string* cubin() const { return nullptr; }

 protected:
  Json config_;
};

/// Ways with what is common to them.
struct Ways {
  std::vector<std::unique_ptr<Way>> list;
  std::string version;
  std::string library;
  std::vector<std::string> refused;  ///< why ways were left out
};

/// What all implementations get.
struct BuildRequest {
  const Device& device;
  const Places& places;
  const Call& call;
  const Tensors& tensors;
  Json pinned;        ///< only the way with this config; null: all
  std::string cache;  ///< folder of compiled kernels, or empty
  std::string save;   ///< folder to write kernel.cubin and kernel.json to, or empty
};

/// The plans that `pinned` leaves.
std::vector<KernelPlan> wanted_plans(std::vector<KernelPlan> plans, const Json& pinned);
/// Include paths of a family's headers, as options. not_available when headers are missing.
Result<std::vector<std::string>> include_options(const Family& family, const Places& places);
/// Compiles the distinct texts of `plans` on all cores; entry i belongs to plan i. Results come from `cache` where they
/// are there.
std::vector<Result<std::string>> compile_plans(const Nvrtc& nvrtc, const std::vector<KernelPlan>& plans,
                                               const std::string& arch, const std::vector<std::string>& includes,
                                               const std::string& cache);
/// Compiles and loads a family's plans.
Result<Ways> family_ways(const Family& family, const BuildRequest& request);
/// The kernel that `manifest` (a kernel.json written by `save`) describes.
Result<Ways> cubin_ways(const std::string& manifest, const BuildRequest& request);
/// cuBLASLt's algorithms for a product.
Result<Ways> cublaslt_ways(const BuildRequest& request);
/// cuDNN's softmax, a way for each order of a row's elements that it knows.
Result<Ways> cudnn_ways(const BuildRequest& request);
/// cuDNN's version where it can be opened; makes no handle. not_available with the fix otherwise.
Result<std::string> cudnn_version(const Places& places);
/// cuBLASLt's version where it can be opened; makes no handle. not_available with the fix otherwise.
Result<std::string> cublaslt_version(const Places& places);

}  // namespace hc::baselines
