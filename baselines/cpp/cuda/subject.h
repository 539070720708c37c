// What the GPU worker measures: tensors, the ways that were built for them, and the fastest of these.
#pragma once

#include "cuda/way.h"

namespace hc::baselines {

/// A prepare request of the worker protocol with the fields that concern a GPU.
struct SubjectRequest {
  std::string implementation;  ///< cuda-cpp, cub, cute-cpp, cublaslt, cubin, memcpy
  std::string operation;
  std::vector<std::string> args;
  std::string manifest;  ///< cubin: path of a kernel.json
  uint64_t seed = 0;
  Json pinned;  ///< config to take without a search; null: all are tried
  std::string save;
};

/// A prepared subject.
class Subject {
 public:
  /// Builds everything and, when there are several ways, times them all and keeps the fastest that launches.
  static Result<std::unique_ptr<Subject>> make(const Device& device, const Places& places, const std::string& cache,
                                               const SubjectRequest& request);
  /// On the tensors of the last launch, or on the next copy's while they rotate.
  int launch(bench::CuStream stream) {
    if (rotating_) turn();
    return ways_.list[best_]->launch(stream);
  }
  /// From now on launches go over copies of inputs and outputs in turn that together exceed `cache_bytes`; their
  /// number. The copies stay.
  Result<int64_t> rotate(const Device& device, int64_t cache_bytes);
  void stop_rotating() { rotating_ = false; }
  const Call& call() const { return call_; }
  /// Those of the last launch.
  const Tensors& tensors() const { return tensors_; }
  const Ways& ways() const { return ways_; }
  /// The way that runs.
  const Way& way() const { return *ways_.list[best_]; }
  const Json& config() const { return ways_.list[best_]->config(); }
  /// How the way was chosen: how many were tried, with the seconds of the best.
  const Json& search() const { return search_; }

 private:
  Subject() = default;
  Status choose(const Device& device);
  /// The next copy takes the place that the ways look at. Swapping through all of them in order comes round in a cycle.
  void turn() {
    std::swap(tensors_, copies_[next_]);
    next_ = (next_ + 1) % copies_.size();
  }
  Call call_;
  Tensors tensors_;
  std::vector<Tensors> copies_;  ///< further ones
  size_t next_ = 0;              ///< of them
  bool rotating_ = false;
  Ways ways_;
  size_t best_ = 0;
  Json search_;
};

/// Names of all implementations, in the order of the documentation.
const std::vector<std::string>& implementation_names();
/// Whether what an implementation needs is on this machine: its version, or not_available with the fix. Needs no
/// device.
Result<std::string> availability(const std::string& implementation, const Places& places);

}  // namespace hc::baselines
