// A stand-in for libcuda.so.1 in tests: device memory is host memory, and the kernels copy and add run on the CPU. It
// measures nothing.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
using Pointer = unsigned long long;

namespace {

double device_ms = 0;  // the stand-in's clock: a launch takes 10 us, a flush nothing
int context_word = 0;
bool blocked = false;     // the timer's blocking kernel runs
bool busy_aside = false;  // work is left on a stream that only the context waits for

struct Function {
  std::string name;
};
struct Event {
  double ms = 0;
};

/// copy(x, out, elements) and add(x, y, out, elements) on f32; other kernels do nothing.
void run(const std::string& name, void** parameters) {
  const auto value = [&](int i) { return *static_cast<uint64_t*>(parameters[i]); };
  const auto floats = [&](int i) { return reinterpret_cast<float*>(value(i)); };
  if (name == "copy") std::memcpy(floats(1), floats(0), value(2) * sizeof(float));
  if (name == "add") {
    for (uint64_t i = 0; i < value(3); ++i) floats(2)[i] = floats(0)[i] + floats(1)[i];
  }
}

}  // namespace

EXPORT int cuInit(unsigned) { return 0; }
EXPORT int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
EXPORT int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_OF_THE_STAND_IN", 0; }
EXPORT int cuDeviceGet(int* device, int) { return *device = 0, 0; }
EXPORT int cuDeviceGetCount(int* count) { return *count = 1, 0; }
EXPORT int cuDeviceGetName(char* name, int size, int) { return std::strncpy(name, "stand-in", size), 0; }
EXPORT int cuDeviceGetUuid_v2(void* uuid, int) { return std::memset(uuid, 0xab, 16), 0; }
EXPORT int cuDeviceGetAttribute(int* value, int which, int) {
  *value = which == 75 ? 9 : which == 76 ? 0 : which == 38 ? 1 << 20 : 4;
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{1} << 30, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &context_word, 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EXPORT int cuCtxGetCurrent(void** context) { return *context = nullptr, 0; }
EXPORT int cuCtxSetCurrent(void*) { return 0; }
EXPORT int cuCtxGetDevice(int* device) { return *device = 0, 0; }
EXPORT int cuCtxSynchronize() {
  if (std::exchange(busy_aside, false)) ::usleep(2000);
  return 0;
}
EXPORT int cuCtxResetPersistingL2Cache() { return 0; }
EXPORT int cuModuleLoadData(void** module, const void*) { return *module = &context_word, 0; }
EXPORT int cuModuleUnload(void*) { return 0; }
EXPORT int cuModuleGetFunction(void** function, void*, const char* name) { return *function = new Function{name}, 0; }
EXPORT int cuFuncSetAttribute(void*, int, int) { return 0; }
EXPORT int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void** parameters, void**) {
  const std::string& name = static_cast<Function*>(function)->name;
  if (!name.starts_with("hc_")) device_ms += 0.01;
  if (name == "hc_empty") device_ms += 0.003;
  // *_aside leaves work on another stream, *_late only in batches of the timer
  blocked = blocked || name == "hc_block";
  busy_aside = busy_aside || name.ends_with("_aside") || (blocked && name.ends_with("_late"));
  run(name.substr(0, std::min(name.find("_aside"), name.find("_late"))), parameters);
  return 0;
}
EXPORT int cuMemAlloc_v2(Pointer* pointer, size_t bytes) {
  *pointer = reinterpret_cast<Pointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *pointer ? 0 : 2;
}
EXPORT int cuMemFree_v2(Pointer pointer) { return std::free(reinterpret_cast<void*>(pointer)), 0; }
EXPORT int cuMemsetD32_v2(Pointer pointer, unsigned value, size_t words) {
  for (size_t i = 0; i < words; ++i) reinterpret_cast<unsigned*>(pointer)[i] = value;
  return 0;
}
EXPORT int cuMemcpyDtoH_v2(void* to, Pointer from, size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
EXPORT int cuMemcpyHtoD_v2(Pointer to, const void* from, size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void*) {
  device_ms += 0.01;
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}
EXPORT int cuMemHostAlloc(void** pointer, size_t bytes, unsigned) { return *pointer = std::calloc(1, bytes), 0; }
EXPORT int cuMemHostGetDevicePointer_v2(Pointer* device, void* host, unsigned) {
  return *device = reinterpret_cast<Pointer>(host), 0;
}
EXPORT int cuMemFreeHost(void* pointer) { return std::free(pointer), 0; }
EXPORT int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
EXPORT int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), 0; }
EXPORT int cuEventRecord(void* event, void*) { return static_cast<Event*>(event)->ms = device_ms, 0; }
EXPORT int cuEventElapsedTime(float* ms, void* from, void* to) {
  return *ms = static_cast<float>(static_cast<Event*>(to)->ms - static_cast<Event*>(from)->ms), 0;
}
EXPORT int cuStreamSynchronize(void*) { return blocked = false, 0; }
