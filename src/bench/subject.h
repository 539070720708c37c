// What a worker measures: something with inputs that can be launched, reset and looked at.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "bench/protocol.h"
#include "diag/diag.h"

namespace hc::bench {

/// Read-only inputs by text, seed and stream, so that subjects with the same inputs share them.
class InputCache {
 public:
  /// The inputs of a call: one entry per argument, null where the argument is no tensor.
  struct Drawn {
    std::vector<std::shared_ptr<TensorBuffer>> buffers;
    std::string sha256;  ///< of positions and bytes of all tensors
  };
  /// Draws every tensor among the argument texts; the stream is the argument's position.
  Result<Drawn> draw(const std::vector<std::string>& args, uint64_t seed);
  /// Forgets what no subject holds.
  void trim();

 private:
  struct Input {
    std::shared_ptr<TensorBuffer> buffer;
    std::string sha256;
  };
  Result<Input> get(const TensorSpec& spec, uint64_t seed, uint32_t stream);
  std::map<std::string, Input> inputs_;
};

/// A tensor that a launch writes.
struct Output {
  int index = 0;
  std::string name;
  DType dtype = DType::f32;
  int64_t numel = 0;
  const void* data = nullptr;
};

class Subject {
 public:
  virtual ~Subject() = default;
  /// One launch from inputs to outputs; non-zero when it failed.
  virtual int launch() = 0;
  /// Poisons what the kernel allocates, and gives written inputs their first content back.
  virtual void reset() = 0;
  virtual std::vector<Output> outputs() const = 0;
  /// Times itself where it does not run on this processor; nothing where the worker's timer is the right one.
  virtual std::optional<Result<TimeReply>> time(const TimeRequest& /*request*/) { return std::nullopt; }
  const PrepareReply& reply() const { return reply_; }
  /// Its threads are not OpenMP's, so caches are to be evicted by others than OpenMP's, which would spin beside them.
  bool plain_threads() const { return plain_threads_; }

 protected:
  PrepareReply reply_;
  bool plain_threads_ = false;
};

/// Makes the subject of a request. not_available where the machine lacks something, measurement_failed otherwise.
Result<std::unique_ptr<Subject>> make_subject(const PrepareRequest& request, InputCache& inputs);
Result<std::unique_ptr<Subject>> make_artifact_subject(const PrepareRequest& request, InputCache& inputs);
Result<std::unique_ptr<Subject>> make_onednn_subject(const PrepareRequest& request, InputCache& inputs);
/// sum, gemm_nn and gemm_nt in f32.
Result<std::unique_ptr<Subject>> make_openblas_subject(const PrepareRequest& request, InputCache& inputs);
/// copy, memcpy and canary.
Result<std::unique_ptr<Subject>> make_anchor_subject(const PrepareRequest& request, InputCache& inputs);
/// gpu-copy: not_available where no GPU is visible.
Result<std::unique_ptr<Subject>> make_gpu_subject(const PrepareRequest& request);

/// The oneDNN libraries that can be opened: those of the system, then `paths`. Adds to `missing` when there is none.
std::vector<Offer> onednn_offers(const std::vector<std::string>& paths, std::vector<Missing>* missing = nullptr);
/// The system's OpenBLAS; where there is none, nothing, and why in `missing`.
std::vector<Offer> openblas_offers(std::vector<Missing>* missing = nullptr);

}  // namespace hc::bench
