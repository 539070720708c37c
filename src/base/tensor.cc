// Host tensors: aligned memory and the counter-based input generator.
#include "base/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/numeric.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define HC_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HC_WIDE
#endif

namespace hc {
namespace {

using Kind = Distribution::Kind;
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int kLanes = 64;          ///< counters drawn together, so that rounds run in vector registers
constexpr int kBatch = 4 * kLanes;  ///< elements of one draw

/// What turns a random word into a value; see docs/measurement.md, "Inputs".
struct Recipe {
  Kind kind;
  double offset;   ///< uniform: low; const: the value
  double scale;    ///< uniform: (high - low) 2^-24; softmax_like: 2^-46 / row length
  int64_t low;     ///< range
  uint64_t count;  ///< range
};

constexpr float kNormalScale = 0x1.bb6854p-22f;  // 2^-14 / sqrt((4 (256^2 - 1) + 1) / 12)
constexpr int32_t kNormalCenter = 510 * 16384 + 8192;

Recipe make_recipe(const TensorSpec& spec) {
  Distribution d = spec.distribution;
  if (!is_floating(spec.dtype) && d.kind == Kind::normal)
    d = {Kind::range, 0, spec.dtype == DType::boolean ? 2.0 : 100.0};
  Recipe r{d.kind, d.a, 0, 0, 1};
  if (d.kind == Kind::uniform) {
    // Both ends as f32: the product with 24 random bits is then exact in f64, with or without a fused multiply-add.
    const float low = static_cast<float>(d.a);
    r.offset = low;
    r.scale = static_cast<double>(static_cast<float>(d.b) - low) * 0x1p-24;
  } else if (d.kind == Kind::softmax_like) {
    r.scale = 0x1p-46 / static_cast<double>(spec.shape.empty() ? 1 : spec.shape.back());
  } else if (d.kind == Kind::range) {
    r.low = static_cast<int64_t>(d.a);
    r.count = static_cast<uint64_t>(d.b - d.a);
  }
  return r;
}

/// Words of counters first .. first + kLanes - 1 in element order.
HC_WIDE void draw_words(uint64_t first, uint64_t seed, uint32_t stream, uint32_t* words) {
  alignas(64) uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t counter = first + static_cast<uint64_t>(i);
    x0[i] = static_cast<uint32_t>(counter);
    x1[i] = static_cast<uint32_t>(counter >> 32);
    x2[i] = stream;
    x3[i] = 0;
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * x0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * x2[i];
      x0[i] = static_cast<uint32_t>(p1 >> 32) ^ x1[i] ^ k0;
      x1[i] = static_cast<uint32_t>(p1);
      x2[i] = static_cast<uint32_t>(p0 >> 32) ^ x3[i] ^ k1;
      x3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kLanes; ++i) {
    words[4 * i] = x0[i];
    words[4 * i + 1] = x1[i];
    words[4 * i + 2] = x2[i];
    words[4 * i + 3] = x3[i];
  }
}

HC_WIDE void normal_values(const uint32_t* words, float* out) {
  for (int i = 0; i < kBatch; ++i) {
    const uint32_t w = words[i];
    const int32_t bytes = static_cast<int32_t>((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24));
    const int32_t fraction = static_cast<int32_t>(w * 0x9E3779B9u >> 18);
    out[i] = static_cast<float>(bytes * 16384 + fraction - kNormalCenter) * kNormalScale;
  }
}

HC_WIDE void uniform_values(const uint32_t* words, double offset, double scale, float* out) {
  for (int i = 0; i < kBatch; ++i) {
    out[i] = static_cast<float>(offset + scale * static_cast<double>(static_cast<int32_t>(words[i] >> 8)));
  }
}

HC_WIDE void softmax_values(const uint32_t* words, double scale, float* out) {
  for (int i = 0; i < kBatch; ++i) {
    const double u = static_cast<double>(static_cast<int32_t>(words[i] >> 16) + 1);
    out[i] = static_cast<float>(u * u * u * scale);
  }
}

void float_values(const Recipe& r, const uint32_t* words, float* out) {
  switch (r.kind) {
    case Kind::normal:
      return normal_values(words, out);
    case Kind::uniform:
      return uniform_values(words, r.offset, r.scale, out);
    case Kind::softmax_like:
      return softmax_values(words, r.scale, out);
    case Kind::range:
      for (int i = 0; i < kBatch; ++i)
        out[i] = static_cast<float>(r.low + static_cast<int64_t>(words[i] * r.count >> 32));
      return;
    case Kind::constant:
      std::fill(out, out + kBatch, static_cast<float>(r.offset));
      return;
  }
}

HC_WIDE void to_bf16(const float* values, uint16_t* out) {
  for (int i = 0; i < kBatch; ++i) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, values[i]);
    out[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

/// Stores up to kBatch values from element `i` on.
void store_batch(void* data, DType dtype, int64_t i, int64_t count, const float* values) {
  if (dtype == DType::f32) {
    std::memcpy(static_cast<float*>(data) + i, values, static_cast<size_t>(count) * sizeof(float));
  } else if (dtype == DType::bf16) {
    uint16_t bits[kBatch];
    to_bf16(values, bits);
    std::memcpy(static_cast<uint16_t*>(data) + i, bits, static_cast<size_t>(count) * sizeof(uint16_t));
  } else {
    for (int64_t j = 0; j < count; ++j) store_double(data, dtype, i + j, values[j]);
  }
}

void fill_part(void* data, const TensorSpec& spec, uint64_t seed, uint32_t stream, int64_t begin, int64_t end) {
  const Recipe recipe = make_recipe(spec);
  alignas(64) uint32_t words[kBatch];
  alignas(64) float values[kBatch];
  for (int64_t i = begin; i < end; i += kBatch) {
    const int64_t count = std::min<int64_t>(kBatch, end - i);
    draw_words(static_cast<uint64_t>(i) / 4, seed, stream, words);
    if (is_floating(spec.dtype)) {
      float_values(recipe, words, values);
      store_batch(data, spec.dtype, i, count, values);
      continue;
    }
    for (int64_t j = 0; j < count; ++j) {
      const int64_t drawn = recipe.low + static_cast<int64_t>(words[j] * recipe.count >> 32);
      store_int(data, spec.dtype, i + j, recipe.kind == Kind::constant ? static_cast<int64_t>(recipe.offset) : drawn);
    }
  }
}

}  // namespace

void TensorBuffer::Free::operator()(void* p) const { std::free(p); }

TensorBuffer::TensorBuffer(TensorSpec spec) : spec_(std::move(spec)) {
  bytes_ = spec_.span() * dtype_bytes(spec_.dtype);
  const bool large = bytes_ >= 2 * kHugePage;
  const int64_t alignment = large ? kHugePage : 64;
  const int64_t size = std::max<int64_t>(alignment, (bytes_ + alignment - 1) / alignment * alignment);
  data_.reset(std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size)));
  if (data_ && large) madvise(data_.get(), static_cast<size_t>(size), MADV_HUGEPAGE);
}

void TensorBuffer::fill_random(uint64_t seed, uint32_t stream) {
  const int64_t count = spec_.span();
  constexpr int64_t kPerThread = int64_t{1} << 20;
  const int64_t cores = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 16);
  const int64_t parts = std::clamp<int64_t>(count / kPerThread, 1, cores);
  const int64_t step = ((count + parts - 1) / parts + kBatch - 1) / kBatch * kBatch;
  std::vector<std::thread> threads;
  for (int64_t begin = step; begin < count; begin += step) {
    threads.emplace_back(fill_part, data_.get(), std::cref(spec_), seed, stream, begin, std::min(count, begin + step));
  }
  fill_part(data_.get(), spec_, seed, stream, 0, std::min(count, step));
  for (std::thread& thread : threads) thread.join();
}

void TensorBuffer::poison() {
  const int64_t bytes = dtype_bytes(spec_.dtype);
  // 0xFF bytes are NaN in every floating format and neither true nor false; the lowest u8 is an everyday zero, so 0xAB.
  int byte = 0xff;
  if (spec_.dtype == DType::u8) byte = 0xab;
  if (dtype_kind(spec_.dtype) == DTypeKind::signed_int) byte = 0;
  std::memset(data_.get(), byte, static_cast<size_t>(bytes_));
  if (dtype_kind(spec_.dtype) != DTypeKind::signed_int) return;
  auto* p = static_cast<unsigned char*>(data_.get());
  for (int64_t i = bytes - 1; i < bytes_; i += bytes) p[i] = 0x80;
}

}  // namespace hc
