// A stand-in for libcudnn.so.9 in tests: its softmax and the gradient of it, for rows of f32 in host memory.
#include <algorithm>
#include <cmath>
#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Tensor {
  int n = 0, c = 0, h = 0, w = 0;
};

constexpr int kBadParameter = 2000;

/// Elements of a row that lie next to each other: everything of an image, or C where H and W are one.
int row_of(const Tensor& t, int mode) { return mode == 0 ? t.c * t.h * t.w : t.h * t.w == 1 ? t.c : 0; }

}  // namespace

EXPORT size_t cudnnGetVersion() { return 90000; }
EXPORT const char* cudnnGetErrorString(int) { return "CUDNN_STATUS_OF_THE_STAND_IN"; }
EXPORT int cudnnCreate(void** handle) { return *handle = new int, 0; }
EXPORT int cudnnDestroy(void* handle) { return delete static_cast<int*>(handle), 0; }
EXPORT int cudnnSetStream(void*, void*) { return 0; }
EXPORT int cudnnCreateTensorDescriptor(void** made) { return *made = new Tensor, 0; }
EXPORT int cudnnDestroyTensorDescriptor(void* made) { return delete static_cast<Tensor*>(made), 0; }
EXPORT int cudnnSetTensor4dDescriptor(void* tensor, int format, int type, int n, int c, int h, int w) {
  if (format != 0 || type != 0) return kBadParameter;
  *static_cast<Tensor*>(tensor) = {n, c, h, w};
  return 0;
}
EXPORT int cudnnSoftmaxForward(void*, int algorithm, int mode, const float*, void* descriptor, const float* x,
                               const float*, void*, float* y) {
  const Tensor& t = *static_cast<Tensor*>(descriptor);
  const int row = row_of(t, mode);
  if (algorithm != 1 || row == 0) return kBadParameter;
  for (int r = 0; r < t.n; ++r, x += row, y += row) {
    const float most = *std::max_element(x, x + row);
    double total = 0;
    for (int i = 0; i < row; ++i) total += std::exp(static_cast<double>(x[i] - most));
    for (int i = 0; i < row; ++i) y[i] = static_cast<float>(std::exp(static_cast<double>(x[i] - most)) / total);
  }
  return 0;
}
EXPORT int cudnnSoftmaxBackward(void*, int algorithm, int mode, const float*, void* descriptor, const float* y, void*,
                                const float* dy, const float*, void*, float* dx) {
  const Tensor& t = *static_cast<Tensor*>(descriptor);
  const int row = row_of(t, mode);
  if (algorithm != 1 || row == 0) return kBadParameter;
  for (int r = 0; r < t.n; ++r, y += row, dy += row, dx += row) {
    double along = 0;
    for (int i = 0; i < row; ++i) along += static_cast<double>(y[i]) * dy[i];
    for (int i = 0; i < row; ++i) dx[i] = static_cast<float>(y[i] * (dy[i] - along));
  }
  return 0;
}
