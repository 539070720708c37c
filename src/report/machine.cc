// Which facts of the evidence name the machine, and in what order.
#include "report/machine.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hc::report {
namespace {

/// The order in which a GPU is named, before the processor.
constexpr std::string_view kGpuFacts[] = {"gpu",
                                          "gpu driver",
                                          "cuda",
                                          "gpu power cap W",
                                          "gpu power cap by default W",
                                          "gpu vbios",
                                          "gpu uuid",
                                          "gpu sm mhz at most",
                                          "gpu temperature C"};

/// Position among the GPU's facts, or behind them all.
size_t fact_rank(const std::string& name) {
  return static_cast<size_t>(std::find(std::begin(kGpuFacts), std::end(kGpuFacts), name) - std::begin(kGpuFacts));
}

}  // namespace

int cooling_column(const std::string& name) {
  constexpr std::string_view kNames[] = {"gpu idle temperature C", "gpu temperature before cool-down C",
                                         "gpu temperature after cool-down C", "gpu cool-down"};
  const auto* at = std::find(std::begin(kNames), std::end(kNames), name);
  return at == std::end(kNames) ? -1 : static_cast<int>(at - std::begin(kNames));
}

void add_machine_fact(const std::string& name, const std::string& value, ledger::Facts* machine) {
  // the known-good config, a GPU's copy rate and the temperatures before a run are each measurement's own
  if (value.empty() || name.starts_with("known-good") || name == "driver copy GB/s" || cooling_column(name) >= 0)
    return;
  const auto known = std::find_if(machine->begin(), machine->end(), [&](const auto& f) { return f.first == name; });
  if (known == machine->end()) {
    machine->emplace_back(name, value);
  } else if (fact_rank(name) < std::size(kGpuFacts) && name != "gpu temperature C" &&
             (", " + known->second + ", ").find(", " + value + ", ") == std::string::npos) {
    known->second += ", " + value;
  }
}

void order_machine(ledger::Facts* machine) {
  const auto of_gpu = [](const auto& fact) { return fact_rank(fact.first) < std::size(kGpuFacts); };
  if (std::none_of(machine->begin(), machine->end(), of_gpu)) return;
  for (const char* name : {"gpu", "gpu driver", "cuda", "gpu power cap W", "gpu vbios"}) {
    if (ledger::fact(*machine, name).empty()) machine->emplace_back(name, "not recorded");
  }
  std::stable_sort(machine->begin(), machine->end(),
                   [](const auto& a, const auto& b) { return fact_rank(a.first) < fact_rank(b.first); });
}

}  // namespace hc::report
