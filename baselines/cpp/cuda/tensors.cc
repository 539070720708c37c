// Draws the inputs on the host, uploads them, and hashes bytes as the Python worker does.
#include "base/hash.h"
#include "cuda/way.h"

namespace hc::baselines {
namespace {

constexpr int64_t kPieceWords = 1 << 16;

void append(std::string* text, uint64_t word) { text->append(reinterpret_cast<const char*>(&word), sizeof word); }

/// Adds a tensor: a weighted sum per full piece, then the words and bytes that are left as they are.
void add_tensor(std::string* text, const char* data, int64_t bytes) {
  const int64_t words = bytes / 8, full = words / kPieceWords;
  for (int64_t piece = 0; piece < full; ++piece) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < kPieceWords; ++i) {
      uint64_t word = 0;
      __builtin_memcpy(&word, data + (piece * kPieceWords + i) * 8, 8);
      sum += word * ((static_cast<uint64_t>(i + 1) * 0x9E3779B1u) | 1u);
    }
    append(text, sum);
  }
  text->append(data + full * kPieceWords * 8, static_cast<size_t>(bytes - full * kPieceWords * 8));
}

}  // namespace

std::string sampled_sha256(const std::vector<std::pair<const void*, int64_t>>& buffers) {
  std::string text;
  for (const auto& [data, bytes] : buffers) add_tensor(&text, static_cast<const char*>(data), bytes);
  return sha256_hex(text);
}

Result<Tensors> make_tensors(const Device& device, const Call& call, uint64_t seed) {
  Tensors made;
  std::vector<std::pair<const void*, int64_t>> buffers;
  for (size_t i = 0; i < call.args.size(); ++i) {
    made.host.emplace_back();
    made.inputs.emplace_back();
    if (!call.args[i].tensor) continue;
    made.host[i] = std::make_shared<TensorBuffer>(*call.args[i].tensor);
    if (!made.host[i]->data()) {
      return Diagnostic{.code = Code::measurement_failed, .message = "no memory for the input " + call.args[i].text};
    }
    made.host[i]->fill_random(seed, static_cast<uint32_t>(i));
    buffers.emplace_back(made.host[i]->data(), made.host[i]->bytes());
    made.inputs[i] = HC_TRY(Memory::take(device, made.host[i]->bytes()));
    HC_TRY(made.inputs[i].upload(made.host[i]->data()));
  }
  for (const TensorSpec& output : call.outputs) {
    made.outputs.push_back(HC_TRY(Memory::take(device, output.numel() * dtype_bytes(output.dtype))));
  }
  made.inputs_sha256 = sampled_sha256(buffers);
  return made;
}

Result<Tensors> copy_tensors(const Device& device, const Tensors& tensors) {
  Tensors made;
  made.host = tensors.host;
  made.inputs_sha256 = tensors.inputs_sha256;
  for (const Memory& input : tensors.inputs) {
    made.inputs.emplace_back();
    if (!input.pointer()) continue;
    made.inputs.back() = HC_TRY(Memory::take(device, input.bytes()));
    HC_TRY(cuda_status("cuMemcpyDtoDAsync",
                       device.cu().cuMemcpyDtoDAsync_v2(made.inputs.back().pointer(), input.pointer(),
                                                        static_cast<size_t>(input.bytes()), nullptr)));
  }
  for (const Memory& output : tensors.outputs) made.outputs.push_back(HC_TRY(Memory::take(device, output.bytes())));
  return made;
}

}  // namespace hc::baselines
