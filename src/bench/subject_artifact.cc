// A kernel of our own compiler: manifest, storages, shared object.
#include <omp.h>

#include <cstring>

#include "base/files.h"
#include "base/json.h"
#include "bench/subject.h"
#include "runtime/manifest.h"
#include "runtime/toolchain.h"

namespace hc::bench {
namespace {

/// A storage with the input it starts from, if it is a parameter's.
struct Held {
  std::shared_ptr<TensorBuffer> buffer;
  std::shared_ptr<TensorBuffer> first;  ///< untouched content of a written parameter
};

class ArtifactSubject : public Subject {
 public:
  static Result<std::unique_ptr<Subject>> make(const PrepareRequest& request, InputCache& inputs);

  int launch() override {
    kernel_->call(pointers_.data());
    return 0;
  }

  void reset() override {
    for (size_t i = 0; i < held_.size(); ++i) {
      Held& held = held_[i];
      if (!manifest_.storages[i].written) continue;
      if (!held.first)
        held.buffer->poison();
      else
        std::memcpy(held.buffer->data(), held.first->data(), static_cast<size_t>(held.buffer->bytes()));
    }
  }

  std::vector<Output> outputs() const override {
    std::vector<Output> list;
    for (size_t i = 0; i < held_.size(); ++i) {
      const runtime::StorageInfo& info = manifest_.storages[i];
      if (!info.written) continue;
      list.push_back({static_cast<int>(i), info.name, info.dtype, info.numel, held_[i].buffer->data()});
    }
    return list;
  }

 private:
  Status hold(const runtime::StorageInfo& info);
  void describe(const PrepareRequest& request);
  runtime::Manifest manifest_;
  std::unique_ptr<runtime::LoadedKernel> kernel_;
  std::vector<Held> held_;
  std::vector<void*> pointers_;
  InputCache::Drawn drawn_;
};

Result<runtime::Manifest> read_manifest(const std::string& path) {
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{.code = Code::file_error, .message = "the manifest " + path + " cannot be read: " + why};
  const std::optional<Json> json = parse_json(*text);
  if (!json) return Diagnostic{.code = Code::file_error, .message = "the manifest " + path + " is not JSON"};
  return runtime::manifest_from_json(*json);
}

Diagnostic misfit(const runtime::StorageInfo& info, const std::string& why) {
  return Diagnostic{.code = Code::measurement_failed, .message = "storage `" + info.name + "`: " + why};
}

Status ArtifactSubject::hold(const runtime::StorageInfo& info) {
  Held held;
  if (info.param_index < 0) {
    held.buffer = std::make_shared<TensorBuffer>(TensorSpec{info.dtype, {info.numel}, {}, {}});
    held.buffer->poison();
  } else {
    const auto at = static_cast<size_t>(info.param_index);
    if (at >= drawn_.buffers.size() || !drawn_.buffers[at]) return misfit(info, "its parameter is given no tensor");
    const TensorSpec& spec = drawn_.buffers[at]->spec();
    if (spec.dtype != info.dtype || spec.span() < info.numel) {
      return misfit(info, "the argument " + to_text(spec) + " does not fit " + std::to_string(info.numel) +
                              " elements of " + std::string(dtype_name(info.dtype)));
    }
    held.buffer = drawn_.buffers[at];
    if (info.written) {
      held.first = held.buffer;
      held.buffer = std::make_shared<TensorBuffer>(spec);
    }
  }
  if (!held.buffer->data() && info.numel > 0) return misfit(info, "no memory for it");
  held_.push_back(std::move(held));
  return success();
}

void ArtifactSubject::describe(const PrepareRequest& request) {
  reply_.implementation = "artifact";
  reply_.version = manifest_.source_sha256;
  reply_.library = manifest_.shared_object;
  reply_.detail = manifest_.kernel + (manifest_.config.empty() ? "" : " " + manifest_.config);
  reply_.threads = request.threads > 0 ? request.threads : omp_get_num_procs();
  reply_.inputs_sha256 = drawn_.sha256;
  for (size_t i = 0; i < held_.size(); ++i) {
    const runtime::StorageInfo& info = manifest_.storages[i];
    if (info.param_index >= 0 || info.returned) reply_.bytes += info.numel * dtype_bytes(info.dtype);
    reply_.in_place |= held_[i].first != nullptr;
  }
}

Result<std::unique_ptr<Subject>> ArtifactSubject::make(const PrepareRequest& request, InputCache& inputs) {
  auto subject = std::make_unique<ArtifactSubject>();
  subject->manifest_ = HC_TRY(read_manifest(request.manifest));
  subject->drawn_ = HC_TRY(inputs.draw(subject->manifest_.args, request.seed));
  for (const runtime::StorageInfo& info : subject->manifest_.storages) HC_TRY(subject->hold(info));
  subject->kernel_ = HC_TRY(runtime::LoadedKernel::load(subject->manifest_));
  for (Held& held : subject->held_) subject->pointers_.push_back(held.buffer->data());
  subject->describe(request);
  subject->reset();
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace

Result<std::unique_ptr<Subject>> make_artifact_subject(const PrepareRequest& request, InputCache& inputs) {
  return ArtifactSubject::make(request, inputs);
}

}  // namespace hc::bench
