// A stand-in for libcublasLt in tests: three algorithms for f32 products on host memory, the last of which is refused.
#include <cstdint>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
struct Descriptor {
  bool transpose_a = false;
};
struct Layout {
  uint64_t rows = 0, columns = 0;
};

}  // namespace

EXPORT size_t cublasLtGetVersion() { return 130000; }
EXPORT int cublasLtCreate(void** handle) { return *handle = new int, 0; }
EXPORT int cublasLtDestroy(void* handle) { return delete static_cast<int*>(handle), 0; }
EXPORT int cublasLtMatmulDescCreate(void** made, int, int) { return *made = new Descriptor, 0; }
EXPORT int cublasLtMatmulDescSetAttribute(void* descriptor, int attribute, const void* value, size_t) {
  int asked = 0;
  std::memcpy(&asked, value, sizeof asked);
  if (attribute == 3) static_cast<Descriptor*>(descriptor)->transpose_a = asked == 1;
  return 0;
}
EXPORT int cublasLtMatmulDescDestroy(void* made) { return delete static_cast<Descriptor*>(made), 0; }
EXPORT int cublasLtMatrixLayoutCreate(void** made, int, uint64_t rows, uint64_t columns, int64_t) {
  return *made = new Layout{rows, columns}, 0;
}
EXPORT int cublasLtMatrixLayoutDestroy(void* made) { return delete static_cast<Layout*>(made), 0; }
EXPORT int cublasLtMatmulPreferenceCreate(void** made) { return *made = new int, 0; }
EXPORT int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) { return 0; }
EXPORT int cublasLtMatmulPreferenceDestroy(void* made) { return delete static_cast<int*>(made), 0; }
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, Heuristic* found,
                                          int* count) {
  for (int i = 0; i < 3; ++i) found[i] = {{{static_cast<uint64_t>(21 + i)}}, 0, i == 2 ? 15 : 0, 1.0f, {}};
  *count = 3;
  return 0;
}
EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value, size_t size,
                                                size_t* written) {
  const uint32_t word = attribute == 0 ? static_cast<uint32_t>(algorithm->data[0]) : 0;
  std::memcpy(value, &word, size);
  *written = size;
  return attribute < 8 ? 0 : 7;
}
EXPORT int cublasLtMatmul(void*, void* descriptor, const void*, const float* a, void* layout_a, const float* b,
                          void* layout_b, const void*, const void*, void*, float* d, void* layout_d, const Algorithm*,
                          void*, size_t, void*) {
  const Layout &la = *static_cast<Layout*>(layout_a), &lb = *static_cast<Layout*>(layout_b);
  const Layout& ld = *static_cast<Layout*>(layout_d);
  const bool transpose = static_cast<Descriptor*>(descriptor)->transpose_a;
  for (uint64_t c = 0; c < ld.columns; ++c) {
    for (uint64_t r = 0; r < ld.rows; ++r) {
      float sum = 0;
      for (uint64_t k = 0; k < lb.rows; ++k) {
        sum += (transpose ? a[r * la.rows + k] : a[k * la.rows + r]) * b[c * lb.rows + k];
      }
      d[c * ld.rows + r] = sum;
    }
  }
  return 0;
}
