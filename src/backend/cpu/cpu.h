// The CPU backend: tile IR to kernel IR to vectorised C++ text.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel_ir.h"
#include "ir/tile_ir.h"
#include "knob/knob.h"
#include "target/target.h"

namespace hc::backend::cpu {

/// The backend's knobs for this program (block sizes excluded: those are the front end's), per site.
std::vector<knob::Choice> choices(const ir::Program& program, const target::Target& target);
/// Configs that are often good for this kind of program; they may leave out block sizes.
std::vector<knob::Config> seeds(const ir::Program& program, const target::Target& target);
/// The plan for a config, or plan_refused / backend_unsupported with the op's source line.
Result<ir::KernelProgram> lower(const ir::Program& program, const knob::Config& config, const target::Target& target);
/// C++ text with the entry `extern "C" void hc_call(void* const* storages)`; includes "hc/vector.h" of the prelude.
std::string print(const ir::KernelProgram& program, const target::Target& target);

}  // namespace hc::backend::cpu
