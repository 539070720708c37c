// The counter-based generator of all inputs: Philox 4x32-10 (Salmon et al., SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace hc {

/// Four 32-bit words for a 128-bit counter and a 64-bit key, 10 rounds.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace hc
