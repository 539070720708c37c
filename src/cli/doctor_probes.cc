// The probes of `doctor`.
#include "cli/doctor_probes.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/subprocess.h"
#include "bench/worker_client.h"
#include "cli/subject.h"
#include "runtime/toolchain.h"
#include "target/target.h"

namespace hc::cli {
namespace {

constexpr double kProbeLimit = 20;

std::string size_text(int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

Finding compiler() {
  const Result<runtime::Toolchain> found = runtime::find_toolchain();
  if (!found.ok()) return {"compiler", false, "nothing can be compiled: " + found.error().message, found.error().help};
  return {"compiler", true, fmt::format("{}, {}", found.value().version, found.value().path), ""};
}

Finding openmp() {
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libomp.so"}) {
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      ::dlclose(handle);
      return {"OpenMP", true, name, ""};
    }
  }
  return {"OpenMP", false, "kernels cannot run on more than one core", "apt-get install libgomp1"};
}

void cpu(std::vector<Finding>* out) {
  const target::Target host = target::host();
  out->push_back({"processor", true, fmt::format("{}, {} cores", host.name, host.cores), ""});
  out->push_back({"caches", true,
                  fmt::format("{} L1d, {} L2 per core, {} L3", size_text(host.l1d_bytes), size_text(host.l2_bytes),
                              size_text(host.l3_bytes)),
                  ""});
  out->push_back({"SIMD", true,
                  fmt::format("{} bits{}{}", host.vector_bytes * 8, host.has_f16c ? ", F16C" : "",
                              host.has_avx512_bf16 ? ", AVX512-BF16" : ""),
                  ""});
}

void onednn(const Context& context, std::vector<Finding>* out) {
  const auto offers = bench::discover_offers({context.program, "worker"}, onednn_paths());
  int found = 0;
  if (offers.ok()) {
    for (const bench::Offer& offer : offers.value()) {
      if (offer.implementation != "onednn") continue;
      ++found;
      out->push_back({"oneDNN", true, fmt::format("{}, {}", offer.version, offer.library), ""});
    }
  }
  if (found == 0) {
    out->push_back({"oneDNN", false, "the CPU baselines of the tasks cannot start", "apt-get install libdnnl2"});
  } else if (found == 1) {
    out->push_back({"oneDNN", false, "only one version is measured, where a newer one might be faster",
                    "scripts/fetch_onednn"});
  }
}

std::string python() { return file_exists(".venv/bin/python") ? ".venv/bin/python" : "python3"; }

void python_baselines(std::vector<Finding>* out) {
  const RunOutcome version =
      run_process({python(), "-c", "import platform; print(platform.python_version())"}, kProbeLimit);
  if (!version.ok()) {
    out->push_back({"Python", false, "Python baselines are skipped", "apt-get install python3"});
    return;
  }
  out->push_back({"Python", true, version.out.substr(0, version.out.find('\n')), ""});
  for (const std::string package : {"numpy", "torch", "triton", "helion", "quack"}) {
    const RunOutcome found =
        run_process({python(), "-c",
                     fmt::format("import importlib.util as u, sys; sys.exit(0 if u.find_spec('{}') else 1)", package)},
                    kProbeLimit);
    const bool there = found.ok();
    out->push_back({package, there, there ? "there" : fmt::format("baselines that use {} are skipped", package),
                    there ? "" : fmt::format("pip install {}", package == "quack" ? "quack-kernels" : package)});
  }
}

/// The first of these libraries that opens.
std::string opened(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      ::dlclose(handle);
      return name;
    }
  }
  return "";
}

/// Number of CUDA devices by the driver, or -1 where there is no driver.
int cuda_devices() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return -1;
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  if (!init || !count || init(0) != 0 || count(&devices) != 0) return 0;
  return devices;
}

void gpu(std::vector<Finding>* out) {
  const int devices = cuda_devices();
  out->push_back({"CUDA driver", devices >= 0, devices >= 0 ? "libcuda.so.1" : "GPU tasks are skipped",
                  devices >= 0 ? "" : "install NVIDIA's driver, on a machine with a GPU"});
  const std::string nvrtc = opened({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"});
  out->push_back({"NVRTC", !nvrtc.empty(), nvrtc.empty() ? "nothing can be compiled for a GPU" : nvrtc,
                  nvrtc.empty() ? "pip install nvidia-cuda-nvrtc-cu12" : ""});
  out->push_back({"GPU", devices > 0, devices > 0 ? fmt::format("{} devices", devices) : "nothing can run on a GPU",
                  devices > 0 ? "" : "a machine with an NVIDIA GPU"});
}

void folders(const Context& context, std::vector<Finding>* out) {
  for (const auto& [topic, folder] :
       {std::pair{"cache", context.cache_folder}, std::pair{"state", context.state_folder}}) {
    const std::string why = make_folders(folder);
    out->push_back({topic, why.empty(), why.empty() ? folder : fmt::format("{} cannot be used: {}", folder, why),
                    why.empty() ? "" : "set HILLCLIMB_CACHE or XDG_STATE_HOME to a folder that can be written"});
  }
}

}  // namespace

std::vector<Finding> probe_machine(const Context& context) {
  std::vector<Finding> out;
  out.push_back(compiler());
  cpu(&out);
  out.push_back(openmp());
  onednn(context, &out);
  python_baselines(&out);
  gpu(&out);
  folders(context, &out);
  return out;
}

}  // namespace hc::cli
