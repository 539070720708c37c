// Opens the device through the timer and moves bytes to and from it.
#include "cuda/device.h"

#include <utility>

namespace hc::baselines {

Status cuda_status(const char* call, int result) {
  if (result == 0) return success();
  return Diagnostic{.code = Code::measurement_failed, .message = std::string(call) + ": " + bench::cuda_error(result)};
}

Result<std::unique_ptr<Device>> Device::open() {
  std::unique_ptr<Device> device(new Device);
  std::string why;
  device->cu_ = bench::cuda_driver(&why);
  if (!device->cu_) {
    return Diagnostic{.code = Code::not_available, .message = why}.fix("run on a machine with an NVIDIA driver");
  }
  if (const char* failed = hillclimb_timer_cuda_open(0, &device->timer_)) {
    return Diagnostic{.code = Code::not_available, .message = failed};
  }
  return device;
}

std::string Device::arch() const {
  const int sm = facts().sm;
  return "sm_" + std::to_string(sm) + (sm >= 90 ? "a" : "");
}

Status Device::wait() const { return cuda_status("cuCtxSynchronize", cu_->cuCtxSynchronize()); }

Result<Memory> Memory::take(const Device& device, int64_t bytes) {
  Memory made;
  const auto rounded = static_cast<size_t>((bytes + 255) / 256 * 256);
  const int failed = device.cu().cuMemAlloc_v2(&made.pointer_, rounded > 0 ? rounded : 256);
  if (failed) {
    return Diagnostic{
        .code = Code::measurement_failed,
        .message = "no device memory for " + std::to_string(bytes) + " bytes: " + bench::cuda_error(failed)};
  }
  made.cu_ = &device.cu();
  made.bytes_ = bytes;
  return made;
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(cu_, other.cu_);
  std::swap(pointer_, other.pointer_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (pointer_) cu_->cuMemFree_v2(pointer_);
}

Status Memory::upload(const void* from) const {
  return cuda_status("cuMemcpyHtoD", cu_->cuMemcpyHtoD_v2(pointer_, from, static_cast<size_t>(bytes_)));
}

Status Memory::download(void* to) const {
  return cuda_status("cuMemcpyDtoH", cu_->cuMemcpyDtoH_v2(to, pointer_, static_cast<size_t>(bytes_)));
}

Status Memory::poison() const {
  const auto words = static_cast<size_t>((bytes_ + 255) / 256 * 64);
  return cuda_status("cuMemsetD32", cu_->cuMemsetD32_v2(pointer_, 0xffffffffu, words));
}

}  // namespace hc::baselines
