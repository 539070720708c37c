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
  knob::Config config;    ///< every knob of the kernel with the value that was used
  ir::Program program;    ///< tile IR after the passes
  std::string kernel_ir;  ///< text of kernel IR
  std::string source;     ///< C++ text for the system compiler
};

/// The knobs of this kernel for these arguments on this target, with the values that may be legal.
Result<knob::Space> space(const Request& request, const target::Target& target);
/// Head starts for the search: configs that are often good. Never the only ones tried.
Result<std::vector<knob::Config>> seeds(const Request& request, const target::Target& target);
/// plan_refused when the config is illegal. `config` may leave keys out: defaults fill in.
Result<Compiled> compile(const Request& request, const knob::Config& config, const target::Target& target);

/// Tile IR for the config's block sizes and tunables, verified; what compile() starts from and the oracle runs.
Result<ir::Program> tile_ir(const Request& request, const knob::Config& config);

/// A header that generated source includes.
struct Header {
  std::string name;  ///< as the include names it
  std::string text;
};

/// All headers that generated source may include.
std::vector<Header> headers();

/// One text that `show` prints.
struct Stage {
  std::string name;  ///< tree, tile, kernel or source
  std::string text;
};

/// Names of the stages in the order of the pipeline.
const std::vector<std::string>& stage_names();
/// Every stage up to `last` (the end when empty), so that an early stage can be read though a later one refuses.
Result<std::vector<Stage>> stages(const Request& request, const knob::Config& config, const target::Target& target,
                                  const std::string& last);

}  // namespace hc::compile
