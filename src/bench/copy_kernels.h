// Streaming-store copy and plain memcpy over threads: the ceilings that memory-bound kernels are held against.
#pragma once

#include <cstddef>

namespace hc::bench {

/// Copies with stores that bypass the caches where the CPU has them (AVX-512, AVX2, SSE2). Both 64-byte aligned.
void streaming_copy(void* to, const void* from, size_t bytes, int threads);
/// One memcpy per thread.
void threaded_memcpy(void* to, const void* from, size_t bytes, int threads);
/// Which instructions streaming_copy uses here: "avx512", "avx2", "sse2", "memcpy".
const char* streaming_copy_kind();

}  // namespace hc::bench
