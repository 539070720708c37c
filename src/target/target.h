// Facts about the machine that code is made for.
#pragma once

#include <cstdint>
#include <string>

namespace hc::target {

/// A CPU. Bytes; cache sizes as the system reports them for one core (l1d, l2) and for the package (l3).
struct Target {
  std::string name;       ///< model name
  int cores = 1;          ///< that this process may use
  int vector_bytes = 16;  ///< widest SIMD register: 16 (SSE2, NEON), 32 (AVX2), 64 (AVX-512)
  bool has_f16c = false;  ///< hardware f16 <-> f32
  bool has_avx512_bf16 = false;
  int64_t l1d_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t l3_bytes = 0;
};

/// The facts that the text of /proc/cpuinfo states: name and instructions of the first processor; the rest stays
/// default.
Target from_cpuinfo(const std::string& cpuinfo);
/// This machine, from /proc and /sys.
Target host();

}  // namespace hc::target
