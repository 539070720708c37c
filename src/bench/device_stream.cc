// Buffers and launches of the referee's own kernels.
#include "bench/device_stream.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "bench/device_kernels.h"

namespace hc::bench {
namespace {

constexpr unsigned kThreads = 512;
constexpr int64_t kTileBytes = 16 * 4 * static_cast<int64_t>(kThreads);
constexpr unsigned kPattern = 0x3f9d70a4, kPoison = 0xdeadbeef;
constexpr unsigned kCopyBlocksPerSm = 8;

}  // namespace

Result<std::unique_ptr<DeviceStream>> DeviceStream::open(int64_t bytes, bool two_buffers) {
  std::unique_ptr<DeviceStream> out(new DeviceStream);
  if (const char* why = hillclimb_timer_cuda_open(0, &out->timer_)) {
    return Diagnostic{.code = Code::not_available, .message = why};
  }
  std::string why;
  out->cu_ = cuda_driver(&why);
  HC_TRY(out->take(bytes / kTileBytes * kTileBytes, two_buffers));
  return out;
}

Status DeviceStream::take(int64_t bytes, bool two_buffers) {
  const auto failed = [](const char* what, CuResult code) {
    return Diagnostic{.code = Code::measurement_failed, .message = fmt::format("{}: {}", what, cuda_error(code))};
  };
  bytes_ = bytes;
  const auto size = static_cast<size_t>(bytes);
  if (const CuResult r = cu_->cuModuleLoadData(&module_, kDevicePtx)) return failed("the anchor's kernels", r);
  if (const CuResult r = cu_->cuModuleGetFunction(&read_, module_, "hc_read")) return failed("hc_read", r);
  if (const CuResult r = cu_->cuModuleGetFunction(&copy_, module_, "hc_copy")) return failed("hc_copy", r);
  if (const CuResult r = cu_->cuMemAlloc_v2(&sink_, 16)) return failed("cuMemAlloc", r);
  if (const CuResult r = cu_->cuMemAlloc_v2(&from_, size)) return failed("cuMemAlloc", r);
  if (two_buffers) {
    if (const CuResult r = cu_->cuMemAlloc_v2(&to_, size)) return failed("cuMemAlloc", r);
  }
  if (const CuResult r = cu_->cuMemsetD32_v2(from_, kPattern, size / 4)) return failed("cuMemsetD32", r);
  if (const CuResult r = cu_->cuCtxSynchronize()) return failed("cuCtxSynchronize", r);
  return success();
}

DeviceStream::~DeviceStream() {
  if (!timer_) return;
  for (const CuPointer buffer : {from_, to_, sink_}) {
    if (buffer) cu_->cuMemFree_v2(buffer);
  }
  if (module_) cu_->cuModuleUnload(module_);
  hillclimb_timer_cuda_close(timer_);
}

int DeviceStream::copy(CuStream stream) {
  CuPointer from = from_, to = to_;
  auto vectors = static_cast<uint64_t>(bytes_ / 16);
  std::array<void*, 3> arguments = {&from, &to, &vectors};
  const auto blocks = static_cast<unsigned>(hillclimb_timer_cuda_facts(timer_)->multiprocessors) * kCopyBlocksPerSm;
  return cu_->cuLaunchKernel(copy_, blocks, 1, 1, kThreads, 1, 1, 0, stream, arguments.data(), nullptr);
}

int DeviceStream::read(CuStream stream, int blocks_per_sm) {
  CuPointer from = from_, sink = sink_;
  auto vectors = static_cast<uint64_t>(bytes_ / 16);
  std::array<void*, 3> arguments = {&from, &vectors, &sink};
  const auto blocks = static_cast<unsigned>(hillclimb_timer_cuda_facts(timer_)->multiprocessors * blocks_per_sm);
  return cu_->cuLaunchKernel(read_, blocks, 1, 1, kThreads, 1, 1, 0, stream, arguments.data(), nullptr);
}

bool DeviceStream::poison() {
  return cu_->cuMemsetD32_v2(to_, kPoison, static_cast<size_t>(bytes_ / 4)) == 0 && cu_->cuCtxSynchronize() == 0;
}

bool DeviceStream::copied() {
  std::array<unsigned, 4> first{}, last{};
  if (cu_->cuCtxSynchronize() != 0 || cu_->cuMemcpyDtoH_v2(first.data(), to_, sizeof first) != 0) return false;
  if (cu_->cuMemcpyDtoH_v2(last.data(), to_ + static_cast<CuPointer>(bytes_) - sizeof last, sizeof last) != 0) {
    return false;
  }
  for (const std::array<unsigned, 4>& words : {first, last}) {
    for (const unsigned word : words) {
      if (word != kPattern) return false;
    }
  }
  return true;
}

}  // namespace hc::bench
