// Code of a GPU kernel as text: PTX and SASS read into lines and counted by class of instruction, cubins disassembled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diag/diag.h"

namespace hc::cli {

/// Classes of GPU instructions, by the table gpu_instructions.def.
enum class GpuClass : uint8_t {
#define HC_GPU_CLASS(name, text) name,
#define HC_TYPE(suffix, kind)
#define HC_PTX(opcode, modifier, kind)
#define HC_SASS(opcode, modifier, kind)
#include "cli/gpu_instructions.def"
#undef HC_GPU_CLASS
#undef HC_TYPE
#undef HC_PTX
#undef HC_SASS
};
inline constexpr size_t kGpuClasses = static_cast<size_t>(GpuClass::other) + 1;
std::string_view gpu_class_name(GpuClass kind);

/// Class of a PTX instruction, its guard `@%p1` and semicolon allowed; other where the table has no row.
GpuClass classify_ptx(std::string_view instruction);
/// The same of a SASS instruction.
GpuClass classify_sass(std::string_view instruction);

struct GpuCode {
  std::vector<std::string> lines;  ///< headings of kernels, labels and instructions; no directives, addresses, encoding
  int64_t counts[kGpuClasses] = {};
  int64_t instructions = 0;
};

/// Takes the text of a PTX module.
GpuCode read_ptx(std::string_view text);
/// Takes what `nvdisasm -c` or `cuobjdump -sass` prints; NOPs, which only pad, are left out.
GpuCode read_sass(std::string_view text);
/// Appends another kernel's code.
void append(const GpuCode& more, GpuCode* out);

/// Disassembles a cubin by the first of nvdisasm and cuobjdump that there is: among `tools` (paths), on PATH, under
/// CUDA_HOME, in /usr/local/cuda. not_available names what was looked for.
Result<GpuCode> disassemble_cubin(const std::string& cubin, const std::vector<std::string>& tools);

}  // namespace hc::cli
