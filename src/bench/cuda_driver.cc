// Opens libcuda and NVML and reads a device's state.
#include "bench/cuda_driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hc::bench {
namespace {

struct Opened {
  CudaDriver table;
  std::string why;
};

Opened open_driver() {
  Opened opened;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    opened.why = "libcuda.so.1 cannot be opened: there is no NVIDIA driver on this machine";
    return opened;
  }
#define X(result, name, arguments)                                                    \
  opened.table.name = reinterpret_cast<result(*) arguments>(::dlsym(library, #name)); \
  if (!opened.table.name) opened.why = "libcuda.so.1 has no " #name ": the driver is too old";
  HC_CUDA_FUNCTIONS(X)
#undef X
  if (opened.why.empty() && opened.table.cuInit(0) != 0) opened.why = "cuInit failed: no usable NVIDIA device";
  return opened;
}

const Opened& driver() {
  static const Opened kOpened = open_driver();
  return kOpened;
}

/// nvmlProcessInfo_t of NVML's version 3 call.
struct ProcessRow {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

/// nvmlMemory_v2_t; `version` is its size and 2 in the high byte.
struct MemoryRow {
  unsigned version = static_cast<unsigned>(sizeof(MemoryRow)) | 2u << 24;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};

/// nvmlMemory_t and nvmlUtilization_t.
struct PlainMemoryRow {
  unsigned long long total = 0, free = 0, used = 0;
};
struct UtilizationRow {
  unsigned gpu = 0, memory = 0;
};

struct NvmlTable {
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*max_clock)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*limit)(void*, unsigned*) = nullptr;
  int (*limits)(void*, unsigned*, unsigned*) = nullptr;
  int (*normal_limit)(void*, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*vbios_version)(void*, char*, unsigned) = nullptr;
  int (*ecc_mode)(void*, int*, int*) = nullptr;
  int (*persistence_mode)(void*, int*) = nullptr;
  int (*compute_mode)(void*, int*) = nullptr;
  int (*mig_mode)(void*, unsigned*, unsigned*) = nullptr;
  int (*processes)(void*, unsigned*, ProcessRow*) = nullptr;
  int (*memory)(void*, MemoryRow*) = nullptr;
  int (*plain_memory)(void*, PlainMemoryRow*) = nullptr;
  int (*utilization)(void*, UtilizationRow*) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, void**) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
};

NvmlTable open_nvml() {
  NvmlTable t;
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return t;
  const auto find = [library](auto& target, const char* name) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(library, name));
  };
  find(t.init, "nvmlInit_v2");
  find(t.by_uuid, "nvmlDeviceGetHandleByUUID");
  find(t.clock, "nvmlDeviceGetClockInfo");
  find(t.max_clock, "nvmlDeviceGetMaxClockInfo");
  find(t.temperature, "nvmlDeviceGetTemperature");
  find(t.power, "nvmlDeviceGetPowerUsage");
  find(t.limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(t.limits, "nvmlDeviceGetPowerManagementLimitConstraints");
  find(t.normal_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  find(t.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(t.driver_version, "nvmlSystemGetDriverVersion");
  find(t.vbios_version, "nvmlDeviceGetVbiosVersion");
  find(t.ecc_mode, "nvmlDeviceGetEccMode");
  find(t.persistence_mode, "nvmlDeviceGetPersistenceMode");
  find(t.compute_mode, "nvmlDeviceGetComputeMode");
  find(t.mig_mode, "nvmlDeviceGetMigMode");
  find(t.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(t.memory, "nvmlDeviceGetMemoryInfo_v2");
  find(t.plain_memory, "nvmlDeviceGetMemoryInfo");
  find(t.utilization, "nvmlDeviceGetUtilizationRates");
  find(t.name, "nvmlDeviceGetName");
  find(t.count, "nvmlDeviceGetCount_v2");
  find(t.by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(t.uuid, "nvmlDeviceGetUUID");
  if (!t.init || t.init() != 0) t = {};
  return t;
}

const NvmlTable& nvml() {
  static const NvmlTable kTable = open_nvml();
  return kTable;
}

/// A call with one unsigned result; 0 when it is missing or fails.
template <typename F, typename... Arguments>
double reading(F function, void* device, Arguments... arguments) {
  unsigned value = 0;
  return function && device && function(device, arguments..., &value) == 0 ? static_cast<double>(value) : 0;
}

constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

}  // namespace

const CudaDriver* cuda_driver(std::string* why) {
  if (driver().why.empty()) return &driver().table;
  if (why) *why = driver().why;
  return nullptr;
}

std::string cuda_error(CuResult result) {
  const char* name = nullptr;
  if (driver().table.cuGetErrorName && driver().table.cuGetErrorName(result, &name) == 0 && name) return name;
  return "CUDA error " + std::to_string(result);
}

std::string cuda_uuid_text(const unsigned char* bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kHex[bytes[i] >> 4];
    out += kHex[bytes[i] & 15];
  }
  return out;
}

std::vector<std::string> cuda_uuids() {
  std::vector<std::string> out;
  const CudaDriver* cu = cuda_driver(nullptr);
  int count = 0;
  if (!cu || cu->cuDeviceGetCount(&count) != 0) return out;
  for (int i = 0; i < count; ++i) {
    CuDevice device = 0;
    unsigned char bytes[16] = {};
    const bool known = cu->cuDeviceGet(&device, i) == 0 && cu->cuDeviceGetUuid_v2(bytes, device) == 0;
    if (known) out.push_back(cuda_uuid_text(bytes));
  }
  return out;
}

Nvml::Nvml(const std::string& uuid) {
  if (!nvml().by_uuid || nvml().by_uuid(uuid.c_str(), &device_) != 0) device_ = nullptr;
}

double Nvml::sm_mhz() const { return reading(nvml().clock, device_, kClockSm); }
double Nvml::memory_mhz() const { return reading(nvml().clock, device_, kClockMemory); }
double Nvml::max_sm_mhz() const { return reading(nvml().max_clock, device_, kClockSm); }
double Nvml::max_memory_mhz() const { return reading(nvml().max_clock, device_, kClockMemory); }
double Nvml::temperature_c() const { return reading(nvml().temperature, device_, kTemperatureGpu); }
double Nvml::power_w() const { return reading(nvml().power, device_) / 1000; }

void Nvml::power_caps(double* now, double* least, double* most, double* normal) const {
  unsigned low = 0, high = 0;
  *now = reading(nvml().limit, device_) / 1000;
  *normal = reading(nvml().normal_limit, device_) / 1000;
  const bool known = nvml().limits && device_ && nvml().limits(device_, &low, &high) == 0;
  *least = known ? low / 1000.0 : 0;
  *most = known ? high / 1000.0 : 0;
}

uint64_t Nvml::event_reasons() const {
  unsigned long long mask = 0;
  return nvml().reasons && device_ && nvml().reasons(device_, &mask) == 0 ? mask : 0;
}

std::string Nvml::driver() const {
  std::array<char, 96> text{};
  return nvml().driver_version && nvml().driver_version(text.data(), text.size()) == 0 ? text.data() : "";
}

std::string Nvml::vbios() const {
  std::array<char, 96> text{};
  return nvml().vbios_version && device_ && nvml().vbios_version(device_, text.data(), text.size()) == 0 ? text.data()
                                                                                                         : "";
}

int Nvml::ecc() const {
  int now = 0, later = 0;
  return nvml().ecc_mode && device_ && nvml().ecc_mode(device_, &now, &later) == 0 ? now : -1;
}

int Nvml::persistence() const {
  int mode = 0;
  return nvml().persistence_mode && device_ && nvml().persistence_mode(device_, &mode) == 0 ? mode : -1;
}

int Nvml::compute_mode() const {
  int mode = 0;
  return nvml().compute_mode && device_ && nvml().compute_mode(device_, &mode) == 0 ? mode : -1;
}

int Nvml::mig() const {
  unsigned now = 0, later = 0;
  return nvml().mig_mode && device_ && nvml().mig_mode(device_, &now, &later) == 0 ? static_cast<int>(now) : -1;
}

bool Nvml::processes(std::vector<NvmlProcess>* list) const {
  list->clear();
  std::vector<ProcessRow> rows(64);
  unsigned count = static_cast<unsigned>(rows.size());
  if (!nvml().processes || !device_ || nvml().processes(device_, &count, rows.data()) != 0) return false;
  for (unsigned i = 0; i < count; ++i) list->push_back({rows[i].pid, rows[i].used_bytes});
  return true;
}

int Nvml::other_processes() const {
  std::vector<NvmlProcess> list;
  if (!processes(&list)) return -1;
  int others = 0;
  // In containers the pids are the host's, so that this process may count as another: callers compare with a reading
  // taken before their context existed.
  for (const NvmlProcess& process : list) others += process.pid != ::getpid();
  return others;
}

uint64_t Nvml::used_bytes() const {
  MemoryRow row;
  if (nvml().memory && device_ && nvml().memory(device_, &row) == 0) return row.used;
  PlainMemoryRow plain;
  if (!nvml().plain_memory || !device_ || nvml().plain_memory(device_, &plain) != 0) return 0;
  return plain.used - std::min(plain.used, plain.total / 100);
}

int Nvml::utilization() const {
  UtilizationRow row;
  return nvml().utilization && device_ && nvml().utilization(device_, &row) == 0 ? static_cast<int>(row.gpu) : -1;
}

std::string Nvml::name() const {
  std::array<char, 96> text{};
  return nvml().name && device_ && nvml().name(device_, text.data(), text.size()) == 0 ? text.data() : "";
}

std::vector<std::string> Nvml::uuids() {
  std::vector<std::string> out;
  unsigned count = 0;
  if (!nvml().count || !nvml().by_index || !nvml().uuid || nvml().count(&count) != 0) return out;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    std::array<char, 96> text{};
    const bool known = nvml().by_index(i, &device) == 0 && nvml().uuid(device, text.data(), text.size()) == 0;
    if (known) out.push_back(text.data());
  }
  return out;
}

}  // namespace hc::bench
