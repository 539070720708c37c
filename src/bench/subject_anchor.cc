// Anchors: the copies of a given number of bytes, and the canary as a subject of its own.
#include <omp.h>

#include "base/hash.h"
#include "bench/canary.h"
#include "bench/copy_kernels.h"
#include "bench/subject.h"

namespace hc::bench {
namespace {

class CopySubject : public Subject {
 public:
  /// Copies `bytes` bytes; they are those of the first tensor argument where there is one of that size.
  CopySubject(const PrepareRequest& request, const InputCache::Drawn& drawn, int64_t bytes)
      : streaming_(request.implementation == "copy"), to_(TensorSpec{DType::u8, {bytes}, {}, {}}) {
    for (const auto& buffer : drawn.buffers) {
      if (!from_ && buffer && buffer->bytes() == bytes) from_ = buffer;
    }
    if (!from_) {
      from_ = std::make_shared<TensorBuffer>(TensorSpec{DType::u8, {bytes}, {}, {}});
      from_->fill_random(request.seed, 0);
    }
    reply_.implementation = request.implementation;
    reply_.version = streaming_ ? streaming_copy_kind() : "memcpy";
    reply_.detail = streaming_ ? "streaming stores" : "one memcpy per thread";
    reply_.threads = request.threads > 0 ? request.threads : omp_get_num_procs();
    reply_.bytes = 2 * bytes;
    reply_.inputs_sha256 = drawn.sha256;
    reset();
  }

  int launch() override {
    const auto count = static_cast<size_t>(to_.bytes());
    if (streaming_)
      streaming_copy(to_.data(), from_->data(), count, reply_.threads);
    else
      threaded_memcpy(to_.data(), from_->data(), count, reply_.threads);
    return 0;
  }

  void reset() override { to_.poison(); }
  std::vector<Output> outputs() const override { return {{0, "to", DType::u8, to_.bytes(), to_.data()}}; }

 private:
  bool streaming_;
  std::shared_ptr<TensorBuffer> from_;
  TensorBuffer to_;
};

class CanarySubject : public Subject {
 public:
  CanarySubject() {
    reply_.implementation = "canary";
    reply_.version = "1";
    reply_.threads = omp_get_max_threads();
    reply_.inputs_sha256 = sha256_hex("");  // it draws none
    run_canary();
  }
  int launch() override {
    run_canary();
    return 0;
  }
  void reset() override {}
  std::vector<Output> outputs() const override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Subject>> make_anchor_subject(const PrepareRequest& request, InputCache& inputs) {
  if (request.implementation == "canary") return std::unique_ptr<Subject>(std::make_unique<CanarySubject>());
  const InputCache::Drawn drawn = HC_TRY(inputs.draw(request.args, request.seed));
  int64_t bytes = request.bytes;
  for (const auto& buffer : drawn.buffers) {
    if (bytes == 0 && buffer) bytes = buffer->bytes();
  }
  if (bytes <= 0) {
    return Diagnostic{.code = Code::measurement_failed,
                      .message = request.implementation + " needs a positive number of `bytes`, or a tensor in `args`"};
  }
  return std::unique_ptr<Subject>(std::make_unique<CopySubject>(request, drawn, bytes));
}

}  // namespace hc::bench
