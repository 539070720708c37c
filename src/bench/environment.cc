// Host facts from /proc, /sys and uname; what cannot be read is an empty text or 0.
#include "bench/environment.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "base/json.h"
#include "target/target.h"

namespace hc::bench {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value behind `key :` in a file such as /proc/cpuinfo.
std::string field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::vector<int> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

bool has_flag(const std::string& flags, const std::string& wanted) {
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

/// "virtual machine (KVM)", "container (docker)", "none" as far as it shows.
std::string isolation() {
  if (::access("/.dockerenv", F_OK) == 0) return "container (docker)";
  const std::string container = first_line("/run/systemd/container");
  if (!container.empty()) return "container (" + container + ")";
  if (!has_flag(field("/proc/cpuinfo", "flags"), "hypervisor")) return "none";
  const std::string vendor = first_line("/sys/class/dmi/id/sys_vendor");
  return "virtual machine" + (vendor.empty() ? "" : " (" + vendor + ")");
}

}  // namespace

Json environment() {
  const target::Target host = target::host();
  utsname system{};
  ::uname(&system);
  double load[3] = {0, 0, 0};
  (void)getloadavg(load, 3);
  const std::string frequency = "/sys/devices/system/cpu/cpu0/cpufreq/";
  return {{"cpu", host.name},
          {"cores", host.cores},
          {"affinity", affinity()},
          {"vector_bytes", host.vector_bytes},
          {"l1d_bytes", host.l1d_bytes},
          {"l2_bytes", host.l2_bytes},
          {"l3_bytes", host.l3_bytes},
          {"microcode", field("/proc/cpuinfo", "microcode")},
          {"governor", first_line(frequency + "scaling_governor")},
          {"boost", first_line("/sys/devices/system/cpu/cpufreq/boost")},
          {"mhz", field("/proc/cpuinfo", "cpu MHz")},
          {"memory", field("/proc/meminfo", "MemTotal")},
          {"huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"machine", std::string(system.machine)},
          {"isolation", isolation()},
          {"load", {load[0], load[1], load[2]}}};
}

std::string environment_fingerprint(const Json& environment) {
  Json kept = Json::object();
  for (const char* key : {"cpu", "cores", "affinity", "vector_bytes", "l1d_bytes", "l2_bytes", "l3_bytes", "microcode",
                          "governor", "boost", "memory", "huge_pages", "kernel", "machine", "isolation"}) {
    if (environment.contains(key)) kept[key] = environment[key];
  }
  return kept.dump();
}

}  // namespace hc::bench
