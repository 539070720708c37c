// Kernel IR to C++: the file with its entry.
#include <fmt/format.h>

#include <map>

#include "backend/cpu/cpp_printer.h"
#include "backend/cpu/cpu.h"

namespace hc::backend::cpu {
namespace {

constexpr int64_t kFillChunk = 1 << 16;  ///< elements that one thread fills at a time

/// Names of the vector types of all launches.
std::string vector_types(const ir::KernelProgram& program) {
  std::map<int, int> width;  // bytes of the narrowest number of so many lanes: what a mask is mostly used with
  std::map<std::string, ir::Reg> types;
  const auto note = [&](ir::Reg reg) {
    if (reg.lanes == 1) return;
    int& bytes = width.emplace(reg.lanes, 8).first->second;
    if (reg.dtype != DType::boolean && dtype_bytes(reg.dtype) <= 4) bytes = 4;
    types.emplace(register_type(reg), reg);
    types.emplace(register_type({DType::boolean, reg.lanes}), ir::Reg{DType::boolean, reg.lanes});
    types.emplace(register_type({DType::i64, reg.lanes}), ir::Reg{DType::i64, reg.lanes});
  };
  for (const ir::KernelStep& step : program.steps) {
    for (const ir::Reg& reg : step.launch.regs) note(reg);
  }
  std::string out;
  for (const auto& [name, reg] : types) {
    out += fmt::format("using {} = {};\n", name, vector_definition(reg, width[reg.lanes]));
  }
  return out;
}

std::string schedule_text(const ir::KernelProgram& program) {
  const std::string kind = program.schedule == ir::Schedule::statically ? "static" : "dynamic";
  return program.chunk > 0 ? fmt::format("schedule({}, {})", kind, program.chunk) : fmt::format("schedule({})", kind);
}

std::string fill_function(const ir::KernelProgram& program, const ir::KernelStep& step, const std::string& name) {
  const ir::Storage& storage = program.storages[static_cast<size_t>(step.fill_storage)];
  const std::string memory = memory_type(storage.dtype);
  std::string value = literal_text(storage.dtype, step.fill_value);
  if (storage.dtype == DType::boolean) value = fmt::format("uint8_t({})", value);
  if (is_floating(storage.dtype) && dtype_bytes(storage.dtype) < 4) {
    value = fmt::format("hcv::f32_to_{}({})", dtype_name(storage.dtype), value);
  }
  return fmt::format(
      "static void {0}(void* const* storages, int64_t tile) {{\n"
      "  {1}* const p = static_cast<{1}*>(storages[{2}]);  // {3}\n"
      "  const {1} value = {4};\n"
      "  const int64_t begin = {5} + tile * {6}, end = begin + {6} < {7} ? begin + {6} : {7};\n"
      "  for (int64_t i = begin; i < end; ++i) p[i] = value;\n"
      "}}\n\n",
      name, memory, step.fill_storage, storage.name, value, step.fill_begin, kFillChunk, step.fill_end);
}

struct StepText {
  std::string name;
  int64_t tiles = 1;
  bool streams = false;
};

std::string entry_text(const ir::KernelProgram& program, const std::vector<StepText>& steps) {
  std::string out = "extern \"C\" void hc_call(void* const* storages) {\n";
  const bool parallel = program.threads > 1;
  const std::string pad = parallel ? "    " : "  ";
  if (parallel) out += fmt::format("#pragma omp parallel num_threads({})\n  {{\n", program.threads);
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepText& step = steps[i];
    if (parallel) out += fmt::format("#pragma omp for {} nowait\n", schedule_text(program));
    out += fmt::format("{}for (int64_t tile = 0; tile < {}; ++tile) {}(storages, tile);\n", pad, step.tiles, step.name);
    if (step.streams) out += fmt::format("{}hcv::stream_fence();\n", pad);
    if (parallel && i + 1 < steps.size()) out += "#pragma omp barrier\n";
  }
  return out + (parallel ? "  }\n}\n" : "}\n");
}

}  // namespace

std::string print(const ir::KernelProgram& program, const target::Target& target) {
  std::string out = fmt::format("// {} for {}: generated.\n#include \"hc/vector.h\"\n\nnamespace {{\n\n", program.name,
                                target.name.empty() ? "this machine" : target.name);
  out += vector_types(program);
  out += '\n';
  std::vector<StepText> steps;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ir::KernelStep& step = program.steps[i];
    StepText text;
    if (step.kind == ir::KernelStep::Kind::fill) {
      text.name = fmt::format("fill_{}", i);
      text.tiles = (step.fill_end - step.fill_begin + kFillChunk - 1) / kFillChunk;
      out += fill_function(program, step, text.name);
    } else {
      text.name = fmt::format("launch_{}", i);
      LaunchPrinter printer(program, step.launch, text.name);
      out += printer.function() + '\n';
      text.tiles = printer.tiles();
      text.streams = printer.streams();
    }
    steps.push_back(std::move(text));
  }
  return out + "}  // namespace\n\n" + entry_text(program, steps);
}

}  // namespace hc::backend::cpu
