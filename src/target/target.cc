// Reads the host's facts from /proc/cpuinfo and /sys/devices/system/cpu.
#include "target/target.h"

#include <sched.h>

#include <charconv>
#include <string_view>

#include "base/files.h"

namespace hc::target {
namespace {

std::string first_value(const std::string& cpuinfo, std::string_view field) {
  size_t at = 0;
  while ((at = cpuinfo.find(field, at)) != std::string::npos) {
    if (at == 0 || cpuinfo[at - 1] == '\n') {
      const size_t colon = cpuinfo.find(':', at);
      const size_t stop = cpuinfo.find('\n', at);
      if (colon == std::string::npos || colon > stop) return "";
      const size_t begin = cpuinfo.find_first_not_of(" \t", colon + 1);
      return begin >= stop ? "" : cpuinfo.substr(begin, stop - begin);
    }
    ++at;
  }
  return "";
}

/// Size of cpu0's cache of this level that holds data, or 0.
int64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const auto found = read_file(folder + "/level");
    const auto type = read_file(folder + "/type");
    const auto size = read_file(folder + "/size");
    if (!found || !type || !size) break;
    if (found->substr(0, found->find('\n')) != std::to_string(level) || type->starts_with("Instruction")) continue;
    int64_t value = 0;
    const auto [rest, error] = std::from_chars(size->data(), size->data() + size->size(), value);
    if (error != std::errc()) return 0;
    return value << (*rest == 'K' ? 10 : *rest == 'M' ? 20 : 0);
  }
  return 0;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

Target from_cpuinfo(const std::string& cpuinfo) {
  Target t;
  const std::string flags = " " + first_value(cpuinfo, "flags") + " ";
  const auto has = [&](std::string_view flag) {
    return flags.find(" " + std::string(flag) + " ") != std::string::npos;
  };
  t.name = first_value(cpuinfo, "model name");
  const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  t.vector_bytes = avx512 ? 64 : has("avx2") ? 32 : 16;
  t.has_f16c = has("f16c");
  t.has_avx512_bf16 = has("avx512_bf16");
  return t;
}

Target host() {
  Target t = from_cpuinfo(read_file("/proc/cpuinfo").value_or(""));
  t.cores = usable_cores();
  if (const int64_t bytes = cache_bytes(1)) t.l1d_bytes = bytes;
  if (const int64_t bytes = cache_bytes(2)) t.l2_bytes = bytes;
  t.l3_bytes = cache_bytes(3);
  return t;
}

}  // namespace hc::target
