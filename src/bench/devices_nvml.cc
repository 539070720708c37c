// The real devices: visible ones from the CUDA driver, their state from NVML.
#include <fmt/format.h>

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

GpuFacts gpu_facts(const std::string& uuid) {
  GpuFacts facts{.uuid = uuid};
  if (const CudaDriver* cu = cuda_driver(nullptr)) cu->cuDriverGetVersion(&facts.cuda);
  const Nvml nvml(uuid);
  if (!nvml.present()) return facts;
  double least = 0, most = 0;
  nvml.power_caps(&facts.power_cap_w, &least, &most, &facts.power_cap_default_w);
  facts.name = nvml.name();
  facts.driver = nvml.driver();
  facts.vbios = nvml.vbios();
  facts.max_sm_mhz = nvml.max_sm_mhz();
  facts.temperature_c = nvml.temperature_c();
  return facts;
}

std::vector<std::pair<std::string, std::string>> named_facts(const GpuFacts& facts) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, value);
  };
  const auto number = [&](const char* name, double value) {
    if (value > 0) out.emplace_back(name, fmt::format("{:.0f}", value));
  };
  text("gpu", facts.name);
  text("gpu driver", facts.driver);
  if (facts.cuda > 0) text("cuda", fmt::format("{}.{}", facts.cuda / 1000, facts.cuda % 1000 / 10));
  number("gpu power cap W", facts.power_cap_w);
  number("gpu power cap by default W", facts.power_cap_default_w);
  text("gpu vbios", facts.vbios);
  text("gpu uuid", facts.uuid);
  number("gpu temperature C", facts.temperature_c);
  number("gpu sm mhz at most", facts.max_sm_mhz);
  return out;
}

std::vector<std::pair<std::string, std::string>> named_facts(const CoolDown& cooling) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto number = [&](const char* name, double value) {
    if (value > 0) out.emplace_back(name, fmt::format("{:.0f}", value));
  };
  number("gpu idle temperature C", cooling.idle_c);
  number("gpu temperature before cool-down C", cooling.begin_c);
  number("gpu temperature after cool-down C", cooling.end_c);
  const std::string waited = fmt::format("in {:.0f} s", cooling.waited_s);
  const bool known = cooling.idle_c > 0 && cooling.end_c > 0;
  out.emplace_back("gpu cool-down", !known            ? "temperature not known"
                                    : cooling.reached ? "reached " + waited
                                                      : "not reached " + waited);
  return out;
}

std::unique_ptr<GpuProbe> nvml_probe() { return std::make_unique<NvmlProbe>(); }

}  // namespace hc::bench
