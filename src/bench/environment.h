// Facts about the host that stand beside every measurement.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hc::bench {

/// CPU model, cores, affinity, caches, governor and clock where readable, kernel, load, memory, hypervisor or container
/// hint.
nlohmann::ordered_json environment();
/// The parts of environment() that must be equal for two records to be of the same machine and state, as one text.
std::string environment_fingerprint(const nlohmann::ordered_json& environment);

}  // namespace hc::bench
