// The pipeline: kernel and arguments and config and target to generated source, with every stage as text.
#pragma once

#include <string>
#include <vector>

#include "ir/tile_ir.h"
#include "knob/knob.h"
#include "lang/lang.h"
#include "target/target.h"

namespace hc::compile {

/// A kernel of a file with its arguments.
struct Request {
  lang::ModulePtr module;
  std::string kernel;
  std::vector<lang::Arg> args;
};

/// What one compilation made, stage by stage. Text only: runtime turns `source` into code.
struct Compiled {
  ir::Program program;        ///< tile IR after the passes
  std::string kernel_ir;      ///< text of kernel IR
  std::string source;         ///< C++ text for the system compiler
};

/// The knobs of this kernel for these arguments on this target, with the values that may be legal.
Result<knob::Space> space(const Request& request, const target::Target& target);
/// Head starts for the search: configs that are often good. Never the only ones tried.
Result<std::vector<knob::Config>> seeds(const Request& request, const target::Target& target);
/// plan_refused when the config is illegal. `config` may leave keys out: defaults fill in.
Result<Compiled> compile(const Request& request, const knob::Config& config, const target::Target& target);

}  // namespace hc::compile
