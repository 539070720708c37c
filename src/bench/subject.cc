// Inputs shared by subjects, and the choice of the implementation.
#include "bench/subject.h"

#include <omp.h>

#include "base/hash.h"

namespace hc::bench {

Result<InputCache::Input> InputCache::get(const TensorSpec& spec, uint64_t seed, uint32_t stream) {
  const std::string key = to_text(spec) + " " + std::to_string(seed) + " " + std::to_string(stream);
  const auto found = inputs_.find(key);
  if (found != inputs_.end()) return found->second;
  Input input{std::make_shared<TensorBuffer>(spec), ""};
  if (!input.buffer->data() && input.buffer->bytes() > 0) {
    return Diagnostic{.code = Code::measurement_failed, .message = "no memory for the input " + to_text(spec)};
  }
  input.buffer->fill_random(seed, stream);
  const auto* bytes = static_cast<const char*>(input.buffer->data());
  input.sha256 = sha256_hex({bytes, static_cast<size_t>(input.buffer->bytes())});
  inputs_[key] = input;
  return input;
}

Result<InputCache::Drawn> InputCache::draw(const std::vector<std::string>& args, uint64_t seed) {
  Drawn drawn;
  std::string hashes;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string why;
    const std::optional<TensorSpec> spec = tensor_spec_from_text(args[i], &why);
    drawn.buffers.emplace_back();
    if (!spec) continue;
    const Input input = HC_TRY(get(*spec, seed, static_cast<uint32_t>(i)));
    drawn.buffers.back() = input.buffer;
    hashes += std::to_string(i) + ":" + input.sha256 + "\n";
  }
  drawn.sha256 = sha256_hex(hashes);
  return drawn;
}

void InputCache::trim() {
  std::erase_if(inputs_, [](const auto& entry) { return entry.second.buffer.use_count() == 1; });
}

Result<std::unique_ptr<Subject>> make_subject(const PrepareRequest& request, InputCache& inputs) {
  if (request.threads > 0)
    omp_set_num_threads(request.threads);
  else
    omp_set_num_threads(omp_get_num_procs());
  const std::string& name = request.implementation;
  if (name == "artifact") return make_artifact_subject(request, inputs);
  if (name == "onednn") return make_onednn_subject(request, inputs);
  if (name == "openblas") return make_openblas_subject(request, inputs);
  if (name == "copy" || name == "memcpy" || name == "canary") return make_anchor_subject(request, inputs);
  if (name == "gpu-copy") return make_gpu_subject(request);
  return Diagnostic{.code = Code::not_available,
                    .message = "this worker has no implementation `" + name +
                               "`, but artifact, onednn, openblas, copy, memcpy, canary and gpu-copy"};
}

}  // namespace hc::bench
