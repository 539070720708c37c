// Opens a device for timing and queues the timer's own kernels on it.
#include "bench/timer_cuda_device.h"

#include <algorithm>
#include <cstring>

#include "bench/timer_kernels.h"

namespace hc::bench {
namespace {

constexpr uint64_t kGiveUpNs = 1000000000;  // a blocked queue frees itself after a second
constexpr uint64_t kClockSpinNs = 50000;
constexpr int kAttributeMultiprocessors = 16, kAttributeL2Bytes = 38, kAttributeMajor = 75, kAttributeMinor = 76;

void copy_text(char* to, size_t size, const std::string& from) {
  std::strncpy(to, from.c_str(), size - 1);
  to[size - 1] = 0;
}

int attribute(HillclimbTimerCuda* t, int which) {
  int value = 0;
  t->cu->cuDeviceGetAttribute(&value, which, t->device);
  return value;
}

void read_facts(HillclimbTimerCuda* t) {
  HillclimbTimerDeviceFacts& f = t->facts;
  unsigned char uuid[16] = {};
  t->cu->cuDeviceGetUuid_v2(uuid, t->device);
  t->cu->cuDeviceGetName(f.name, sizeof f.name, t->device);
  copy_text(f.uuid, sizeof f.uuid, cuda_uuid_text(uuid));
  t->nvml = std::make_unique<Nvml>(f.uuid);
  copy_text(f.driver, sizeof f.driver, t->nvml->driver());
  copy_text(f.vbios, sizeof f.vbios, t->nvml->vbios());
  t->cu->cuDriverGetVersion(&f.cuda_driver);
  f.sm = attribute(t, kAttributeMajor) * 10 + attribute(t, kAttributeMinor);
  f.multiprocessors = attribute(t, kAttributeMultiprocessors);
  f.l2_bytes = attribute(t, kAttributeL2Bytes);
  size_t memory = 0;
  t->cu->cuDeviceTotalMem_v2(&memory, t->device);
  f.memory_bytes = static_cast<int64_t>(memory);
  t->nvml->power_caps(&f.power_cap_w, &f.power_cap_min_w, &f.power_cap_max_w, &f.power_cap_default_w);
  f.max_sm_mhz = t->nvml->max_sm_mhz();
  f.max_memory_mhz = t->nvml->max_memory_mhz();
  f.ecc = t->nvml->ecc();
  f.persistence = t->nvml->persistence();
  f.compute_mode = t->nvml->compute_mode();
  f.mig = t->nvml->mig();
  f.other_processes = t->nvml->other_processes();
}

const char* open_context(HillclimbTimerCuda* t, int ordinal) {
  CuContext context = nullptr;
  HC_CU(t, cuCtxGetCurrent(&context));
  if (context) {
    HC_CU(t, cuCtxGetDevice(&t->device));
    return nullptr;
  }
  HC_CU(t, cuDeviceGet(&t->device, ordinal));
  HC_CU(t, cuDevicePrimaryCtxRetain(&context, t->device));
  HC_CU(t, cuCtxSetCurrent(context));
  t->owns_context = true;
  return nullptr;
}

const char* open_kernels(HillclimbTimerCuda* t) {
  HC_CU(t, cuModuleLoadData(&t->module, kTimerPtx));
  HC_CU(t, cuModuleGetFunction(&t->block, t->module, "hc_block"));
  HC_CU(t, cuModuleGetFunction(&t->flush, t->module, "hc_flush"));
  HC_CU(t, cuModuleGetFunction(&t->empty, t->module, "hc_empty"));
  HC_CU(t, cuModuleGetFunction(&t->clock, t->module, "hc_clock"));
  void* flag = nullptr;
  HC_CU(t, cuMemHostAlloc(&flag, 64, 2));  // 2: mapped into the device's address space
  t->flag = static_cast<uint32_t*>(flag);
  HC_CU(t, cuMemHostGetDevicePointer_v2(&t->device_flag, flag, 0));
  HC_CU(t, cuMemAlloc_v2(&t->scratch, 64));
  HC_CU(t, cuMemsetD32_v2(t->scratch, 0, 16));
  t->events.resize(kEventsMax);
  for (CuEvent& event : t->events) HC_CU(t, cuEventCreate(&event, 0));
  return nullptr;
}

}  // namespace

const char* reserve_flush(HillclimbTimerCuda* t, int64_t bytes) {
  if (bytes <= t->flush_capacity) return nullptr;
  if (t->flush_buffer) t->cu->cuMemFree_v2(t->flush_buffer);
  t->flush_capacity = 0;
  HC_CU(t, cuMemAlloc_v2(&t->flush_buffer, static_cast<size_t>(bytes)));
  HC_CU(t, cuMemsetD32_v2(t->flush_buffer, 1, static_cast<size_t>(bytes / 4)));
  HC_CU(t, cuCtxSynchronize());
  t->flush_capacity = bytes;
  return nullptr;
}

const char* queue_flush(HillclimbTimerCuda* t, int64_t bytes, CuStream stream) {
  if (bytes <= 0) return nullptr;
  CuPointer data = t->flush_buffer, sink = t->scratch + 4;
  uint64_t vectors = static_cast<uint64_t>(bytes / 16);
  void* arguments[] = {&data, &vectors, &sink};
  HC_CU(t, cuLaunchKernel(t->flush, static_cast<unsigned>(t->facts.multiprocessors) * 8, 1, 1, 256, 1, 1, 0, stream,
                          arguments, nullptr));
  return nullptr;
}

const char* queue_block(HillclimbTimerCuda* t, CuStream stream) {
  *reinterpret_cast<volatile uint32_t*>(t->flag) = 0;
  CuPointer flag = t->device_flag, gave_up = t->scratch;
  uint64_t limit = kGiveUpNs;
  void* arguments[] = {&flag, &limit, &gave_up};
  HC_CU(t, cuLaunchKernel(t->block, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  return nullptr;
}

void release(HillclimbTimerCuda* t) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  *reinterpret_cast<volatile uint32_t*>(t->flag) = 1;
}

const char* take_gave_up(HillclimbTimerCuda* t, bool* gave_up) {
  uint32_t word = 0;
  HC_CU(t, cuMemcpyDtoH_v2(&word, t->scratch, 4));
  *gave_up = word != 0;
  if (word) HC_CU(t, cuMemsetD32_v2(t->scratch, 0, 1));
  return nullptr;
}

const char* measure_clock(HillclimbTimerCuda* t, CuStream stream, double* mhz) {
  CuPointer out = t->scratch + 16;
  uint64_t spin = kClockSpinNs, words[2] = {};
  void* arguments[] = {&out, &spin};
  HC_CU(t, cuLaunchKernel(t->clock, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  HC_CU(t, cuStreamSynchronize(stream));
  HC_CU(t, cuMemcpyDtoH_v2(words, out, sizeof words));
  *mhz = words[1] ? 1e3 * static_cast<double>(words[0]) / static_cast<double>(words[1]) : 0;
  return nullptr;
}

void read_nvml(HillclimbTimerCuda* t, HillclimbTimerDeviceState* s) {
  s->sm_mhz_nvml = t->nvml->sm_mhz();
  s->memory_mhz = t->nvml->memory_mhz();
  s->temperature_c = t->nvml->temperature_c();
  s->power_w = t->nvml->power_w();
  s->event_reasons |= t->nvml->event_reasons();
}

}  // namespace hc::bench

using namespace hc::bench;

extern "C" {

const char* hillclimb_timer_cuda_open(int32_t ordinal, HillclimbTimerCuda** timer) {
  static thread_local std::string why;
  *timer = nullptr;
  auto t = std::make_unique<HillclimbTimerCuda>();
  t->cu = cuda_driver(&why);
  if (!t->cu) return why.c_str();
  const char* failed = open_context(t.get(), ordinal);
  if (!failed) {
    read_facts(t.get());
    failed = open_kernels(t.get());
  }
  if (failed) {
    why = failed;
    return why.c_str();
  }
  *timer = t.release();
  return nullptr;
}

void hillclimb_timer_cuda_close(HillclimbTimerCuda* t) {
  if (!t) return;
  for (CuEvent event : t->events) t->cu->cuEventDestroy_v2(event);
  if (t->flush_buffer) t->cu->cuMemFree_v2(t->flush_buffer);
  if (t->scratch) t->cu->cuMemFree_v2(t->scratch);
  if (t->flag) t->cu->cuMemFreeHost(t->flag);
  if (t->module) t->cu->cuModuleUnload(t->module);
  if (t->owns_context) {
    t->cu->cuCtxSetCurrent(nullptr);  // the released context must not be found by the next open
    t->cu->cuDevicePrimaryCtxRelease_v2(t->device);
  }
  delete t;
}

const HillclimbTimerDeviceFacts* hillclimb_timer_cuda_facts(const HillclimbTimerCuda* t) { return &t->facts; }

const char* hillclimb_timer_cuda_state(HillclimbTimerCuda* t, HillclimbTimerDeviceState* state) {
  *state = {};
  if (const char* why = measure_clock(t, nullptr, &state->sm_mhz_clock)) return why;
  read_nvml(t, state);
  return nullptr;
}

}  // extern "C"
