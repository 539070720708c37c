// The CUDA driver and NVML, opened at run time: only the calls that timing needs, declared here from their
// documentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hc::bench {

using CuResult = int;
using CuDevice = int;
using CuContext = void*;
using CuModule = void*;
using CuFunction = void*;
using CuStream = void*;
using CuEvent = void*;
using CuPointer = unsigned long long;

/// Functions of libcuda.so.1 by their exported names.
struct CudaDriver {
#define HC_CUDA_FUNCTIONS(X)                                                                                      \
  X(CuResult, cuInit, (unsigned))                                                                                 \
  X(CuResult, cuDriverGetVersion, (int*))                                                                         \
  X(CuResult, cuGetErrorName, (CuResult, const char**))                                                           \
  X(CuResult, cuDeviceGet, (CuDevice*, int))                                                                      \
  X(CuResult, cuDeviceGetCount, (int*))                                                                           \
  X(CuResult, cuDeviceGetName, (char*, int, CuDevice))                                                            \
  X(CuResult, cuDeviceGetUuid_v2, (void*, CuDevice))                                                              \
  X(CuResult, cuDeviceGetAttribute, (int*, int, CuDevice))                                                        \
  X(CuResult, cuDeviceTotalMem_v2, (size_t*, CuDevice))                                                           \
  X(CuResult, cuDevicePrimaryCtxRetain, (CuContext*, CuDevice))                                                   \
  X(CuResult, cuDevicePrimaryCtxRelease_v2, (CuDevice))                                                           \
  X(CuResult, cuCtxGetCurrent, (CuContext*))                                                                      \
  X(CuResult, cuCtxSetCurrent, (CuContext))                                                                       \
  X(CuResult, cuCtxGetDevice, (CuDevice*))                                                                        \
  X(CuResult, cuCtxSynchronize, ())                                                                               \
  X(CuResult, cuCtxResetPersistingL2Cache, ())                                                                    \
  X(CuResult, cuModuleLoadData, (CuModule*, const void*))                                                         \
  X(CuResult, cuModuleUnload, (CuModule))                                                                         \
  X(CuResult, cuModuleGetFunction, (CuFunction*, CuModule, const char*))                                          \
  X(CuResult, cuFuncSetAttribute, (CuFunction, int, int))                                                         \
  X(CuResult, cuLaunchKernel,                                                                                     \
    (CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuStream, void**, void**)) \
  X(CuResult, cuMemAlloc_v2, (CuPointer*, size_t))                                                                \
  X(CuResult, cuMemFree_v2, (CuPointer))                                                                          \
  X(CuResult, cuMemsetD32_v2, (CuPointer, unsigned, size_t))                                                      \
  X(CuResult, cuMemcpyHtoD_v2, (CuPointer, const void*, size_t))                                                  \
  X(CuResult, cuMemcpyDtoH_v2, (void*, CuPointer, size_t))                                                        \
  X(CuResult, cuMemcpyDtoDAsync_v2, (CuPointer, CuPointer, size_t, CuStream))                                     \
  X(CuResult, cuMemHostAlloc, (void**, size_t, unsigned))                                                         \
  X(CuResult, cuMemHostGetDevicePointer_v2, (CuPointer*, void*, unsigned))                                        \
  X(CuResult, cuMemFreeHost, (void*))                                                                             \
  X(CuResult, cuEventCreate, (CuEvent*, unsigned))                                                                \
  X(CuResult, cuEventDestroy_v2, (CuEvent))                                                                       \
  X(CuResult, cuEventRecord, (CuEvent, CuStream))                                                                 \
  X(CuResult, cuEventElapsedTime, (float*, CuEvent, CuEvent))                                                     \
  X(CuResult, cuStreamSynchronize, (CuStream))
#define X(result, name, arguments) result(*name) arguments = nullptr;
  HC_CUDA_FUNCTIONS(X)
#undef X
};

/// The driver, or null with the reason in `why`.
const CudaDriver* cuda_driver(std::string* why);
/// "CUDA_ERROR_..." of a result.
std::string cuda_error(CuResult result);

/// "GPU-xxxxxxxx-..." of the 16 bytes of a UUID.
std::string cuda_uuid_text(const unsigned char* bytes);
/// UUIDs of the devices that this process may use, as CUDA_VISIBLE_DEVICES says; empty without a driver. Makes no
/// context.
std::vector<std::string> cuda_uuids();

/// A compute process that NVML lists; in a container the pid may be the host's.
struct NvmlProcess {
  int64_t pid = 0;
  uint64_t used_bytes = 0;
};

/// What NVML tells of one device; opened by UUID so that CUDA_VISIBLE_DEVICES cannot confuse it.
class Nvml {
 public:
  /// Null handle when NVML or the device is not there: every reading is then 0 or -1.
  explicit Nvml(const std::string& uuid);
  bool present() const { return device_ != nullptr; }
  double sm_mhz() const;
  double memory_mhz() const;
  double max_sm_mhz() const;
  double max_memory_mhz() const;
  double temperature_c() const;
  double power_w() const;
  /// Power limit in W: enforced now, and the device's minimum, maximum and default.
  void power_caps(double* now, double* least, double* most, double* normal) const;
  uint64_t event_reasons() const;
  std::string driver() const;
  std::string vbios() const;
  int ecc() const;
  int persistence() const;
  int compute_mode() const;
  int mig() const;
  int other_processes() const;
  /// False when the list cannot be read; in a container it may be empty although others compute.
  bool processes(std::vector<NvmlProcess>* list) const;
  /// Memory in use, without what the driver keeps for itself where NVML tells the two apart (otherwise without 1 % of
  /// the total).
  uint64_t used_bytes() const;
  /// Percent of the last sample period in which a kernel ran; -1 unknown.
  int utilization() const;
  std::string name() const;
  /// UUIDs of all devices that NVML knows, whatever CUDA_VISIBLE_DEVICES says.
  static std::vector<std::string> uuids();

 private:
  void* device_ = nullptr;
};

}  // namespace hc::bench
