// The copies: one contiguous part per thread, chosen by what the CPU offers.
#include "bench/copy_kernels.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hc::bench {
namespace {

using PartCopy = void (*)(char* to, const char* from, size_t bytes);

void copy_plain(char* to, const char* from, size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copy_avx512(char* to, const char* from, size_t bytes) {
  const size_t whole = bytes / 256 * 256;
  for (size_t i = 0; i < whole; i += 256) {
    const __m512i a = _mm512_loadu_si512(from + i);
    const __m512i b = _mm512_loadu_si512(from + i + 64);
    const __m512i c = _mm512_loadu_si512(from + i + 128);
    const __m512i d = _mm512_loadu_si512(from + i + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 192), d);
  }
  _mm_sfence();
  std::memcpy(to + whole, from + whole, bytes - whole);
}

__attribute__((target("avx2"))) void copy_avx2(char* to, const char* from, size_t bytes) {
  const size_t whole = bytes / 128 * 128;
  for (size_t i = 0; i < whole; i += 128) {
    for (size_t j = 0; j < 128; j += 32) {
      const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + j));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + j), value);
    }
  }
  _mm_sfence();
  std::memcpy(to + whole, from + whole, bytes - whole);
}

void copy_sse2(char* to, const char* from, size_t bytes) {
  const size_t whole = bytes / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) {
    for (size_t j = 0; j < 64; j += 16) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + j));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + j), value);
    }
  }
  _mm_sfence();
  std::memcpy(to + whole, from + whole, bytes - whole);
}
#endif

struct Choice {
  const char* name;
  PartCopy copy;
};

Choice choose() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {"avx512", copy_avx512};
  if (__builtin_cpu_supports("avx2")) return {"avx2", copy_avx2};
  return {"sse2", copy_sse2};
#else
  return {"memcpy", copy_plain};
#endif
}

const Choice& choice() {
  static const Choice kChoice = choose();
  return kChoice;
}

void in_parts(PartCopy copy, void* to, const void* from, size_t bytes, int threads) {
  const size_t part = ((bytes + static_cast<size_t>(threads) - 1) / static_cast<size_t>(threads) + 4095) / 4096 * 4096;
#pragma omp parallel num_threads(threads)
  {
    const size_t begin = std::min(bytes, part * static_cast<size_t>(omp_get_thread_num()));
    const size_t count = std::min(bytes - begin, part);
    copy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, count);
  }
}

}  // namespace

void streaming_copy(void* to, const void* from, size_t bytes, int threads) {
  in_parts(choice().copy, to, from, bytes, threads);
}

void threaded_memcpy(void* to, const void* from, size_t bytes, int threads) {
  in_parts(copy_plain, to, from, bytes, threads);
}

const char* streaming_copy_kind() { return choice().name; }

}  // namespace hc::bench
