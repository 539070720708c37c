// Drives the stages: trace, verify, lower, print; and puts the space together from the front end's and the backend's
// knobs.
#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/cpu.h"
#include "backend/cpu/prelude_text.h"

namespace hc::compile {
namespace {

constexpr std::string_view kBlockSize = "block_size";
constexpr std::string_view kTunable = "tunable";

/// Splits `name[site]`; the site is empty for a kernel knob.
std::pair<std::string, std::string> split_key(const std::string& key) {
  const size_t open = key.find('[');
  if (open == std::string::npos || key.back() != ']') return {key, ""};
  return {key.substr(0, open), key.substr(open + 1, key.size() - open - 2)};
}

/// The part of a config that decides the meaning of the kernel.
lang::Choices front_end_choices(const knob::Config& config) {
  lang::Choices choices;
  for (const auto& [key, value] : config.values()) {
    const auto [name, site] = split_key(key);
    if (name == kBlockSize && !site.empty()) choices.block_sizes[site] = config.get_int(key, 1);
    if (name == kTunable && !site.empty()) choices.tunables[site] = value;
  }
  return choices;
}

knob::Choice block_choice(const ir::Block& block) {
  knob::Choice choice{knob::key(kBlockSize, block.name), std::string(kBlockSize), block.name, {}, ""};
  for (int64_t size = std::max<int64_t>(block.min, 1); size <= block.max; size *= 2) {
    choice.values.push_back(std::to_string(size));
    // A tile that covers the whole extent is the largest that differs from the next.
    if (block.extent > 0 && size >= block.extent) break;
  }
  choice.default_value = std::to_string(block.size);
  if (std::find(choice.values.begin(), choice.values.end(), choice.default_value) == choice.values.end()) {
    choice.values.push_back(choice.default_value);
  }
  return choice;
}

knob::Space space_of(const ir::Program& program, const target::Target& target) {
  knob::Space space;
  for (const ir::Block& block : program.blocks) {
    if (!block.fixed) space.choices.push_back(block_choice(block));
  }
  for (const ir::Tunable& tunable : program.tunables) {
    space.choices.push_back(
        {knob::key(kTunable, tunable.name), std::string(kTunable), tunable.name, tunable.values, tunable.value});
  }
  for (knob::Choice& choice : backend::cpu::choices(program, target)) space.choices.push_back(std::move(choice));
  return space;
}

/// Every knob of the space: the config's value where it has one, else the default.
knob::Config filled(const knob::Space& space, const knob::Config& config) {
  knob::Config all = space.defaults();
  for (const auto& [key, value] : config.values()) all.set(key, value);
  return all;
}

Result<ir::Program> traced(const Request& request, const lang::Choices& choices) {
  ir::Program program = HC_TRY(lang::trace(*request.module, request.kernel, request.args, choices));
  HC_TRY(ir::verify(program));
  return program;
}

}  // namespace

Result<knob::Space> space(const Request& request, const target::Target& target) {
  const ir::Program program = HC_TRY(traced(request, {}));
  return space_of(program, target);
}

Result<std::vector<knob::Config>> seeds(const Request& request, const target::Target& target) {
  const ir::Program program = HC_TRY(traced(request, {}));
  const knob::Space all = space_of(program, target);
  std::vector<knob::Config> out;
  for (const knob::Config& seed : backend::cpu::seeds(program, target)) {
    const knob::Config config = filled(all, seed);
    if (all.check(config).ok() && std::find(out.begin(), out.end(), config) == out.end()) out.push_back(config);
  }
  return out;
}

Result<ir::Program> tile_ir(const Request& request, const knob::Config& config) {
  return traced(request, front_end_choices(config));
}

Result<Compiled> compile(const Request& request, const knob::Config& config, const target::Target& target) {
  // The space is that of the default block sizes: it does not move with the config, so a stored config stays readable.
  const knob::Space all = HC_TRY(space(request, target));
  HC_TRY(all.check(config));
  Compiled compiled;
  compiled.config = filled(all, config);
  compiled.program = HC_TRY(tile_ir(request, compiled.config));
  const ir::KernelProgram lowered = HC_TRY(backend::cpu::lower(compiled.program, compiled.config, target));
  compiled.kernel_ir = ir::print(lowered);
  compiled.source = backend::cpu::print(lowered, target);
  return compiled;
}

std::vector<Header> headers() {
  std::vector<Header> out;
  for (const backend::cpu::PreludeFile* file = backend::cpu::prelude_files(); file->name; ++file) {
    out.push_back({file->name, file->text});
  }
  return out;
}

const std::vector<std::string>& stage_names() {
  static const std::vector<std::string> kNames = {"tree", "tile", "kernel", "source"};
  return kNames;
}

Result<std::vector<Stage>> stages(const Request& request, const knob::Config& config, const target::Target& target,
                                  const std::string& last) {
  std::vector<Stage> out;
  const auto done = [&] { return !last.empty() && out.back().name == last; };
  out.push_back({"tree", HC_TRY(lang::tree_text(*request.module, request.kernel))});
  if (done()) return out;
  if (last == "tile") {
    const ir::Program program = HC_TRY(tile_ir(request, config));
    out.push_back({"tile", ir::print(program)});
    return out;
  }
  const Compiled compiled = HC_TRY(compile(request, config, target));
  out.push_back({"tile", ir::print(compiled.program)});
  out.push_back({"kernel", compiled.kernel_ir});
  if (!done()) out.push_back({"source", compiled.source});
  return out;
}

}  // namespace hc::compile
