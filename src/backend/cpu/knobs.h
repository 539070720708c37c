// The one place where the CPU backend's knobs are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/cpu/emit.h"
#include "ir/kernel_ir.h"
#include "knob/knob.h"
#include "target/target.h"

namespace hc::backend::cpu {

/// A config's values, checked.
struct Knobs {
  int threads = 1;
  ir::Schedule schedule = ir::Schedule::statically;
  int64_t chunk = 0;
  int vector_bytes = 16;
  int unroll = 1;
  bool recompute = false;
  Prefetch prefetch = Prefetch::none;
  std::vector<bool> streamed;                      ///< by TensorId
  std::map<std::string, std::vector<int>> orders;  ///< by launch name: axes from the outermost in
  std::map<std::string, int64_t> chunks;           ///< reduction_chunk by launch name
  int64_t reduction_chunk(const ir::Launch& launch) const;
  /// The order of a launch's axes; the source's where the config says nothing.
  std::vector<int> order(const ir::Launch& launch) const;
};

/// invalid_config where a value is not among choices(); missing keys mean the default.
Result<Knobs> read_knobs(const ir::Program& program, const knob::Config& config, const target::Target& target);

}  // namespace hc::backend::cpu
