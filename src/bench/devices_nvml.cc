// The real devices: visible ones from the CUDA driver, their state from NVML.
#include "bench/cuda_driver.h"
#include "bench/devices.h"

namespace hc::bench {
namespace {

class NvmlProbe : public GpuProbe {
 public:
  std::vector<std::string> uuids() const override { return cuda_uuids(); }

  GpuState look(const std::string& uuid) const override {
    GpuState state;
    const Nvml nvml(uuid);
    state.present = nvml.present();
    if (!state.present) return state;
    state.name = nvml.name();
    state.mig = nvml.mig() > 0;
    state.compute_mode = nvml.compute_mode();
    state.used_bytes = nvml.used_bytes();
    state.utilization = nvml.utilization();
    state.temperature_c = nvml.temperature_c();
    state.event_reasons = nvml.event_reasons();
    std::vector<NvmlProcess> processes;
    state.processes_known = nvml.processes(&processes);
    for (const NvmlProcess& process : processes) state.processes.push_back({process.pid, process.used_bytes});
    return state;
  }
};

}  // namespace

std::unique_ptr<GpuProbe> nvml_probe() { return std::make_unique<NvmlProbe>(); }

}  // namespace hc::bench
