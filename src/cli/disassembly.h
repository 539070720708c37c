// Machine code of a compiled kernel as text, counted by class of instruction, and two texts side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diag/diag.h"

namespace hc::cli {

/// Classes that decide the speed of a memory-bound kernel.
enum class InstructionClass : uint8_t { vector_load, vector_store, streaming_store, prefetch, fma, other };
std::string_view instruction_class_name(InstructionClass kind);
inline constexpr size_t kInstructionClasses = 6;

/// Class of an instruction in objdump's text, Intel syntax on x86.
InstructionClass classify(std::string_view instruction);

struct Disassembly {
  std::vector<std::string> lines;  ///< function headings and instructions without addresses
  int64_t counts[kInstructionClasses] = {};
  int64_t instructions = 0;
};

/// Takes objdump's text: the kernel's own functions, without the system's start-up code.
Disassembly read_disassembly(std::string_view objdump);
/// Runs objdump; not_available when there is none.
Result<Disassembly> disassemble(const std::string& shared_object);

/// Both texts line by line, equal lines beside each other, the middle column `<`, `>`, `|` or empty. Stretches of more
/// than `context` equal lines on either side of a difference are left out; -1 keeps everything.
std::string side_by_side(const std::vector<std::string>& left, const std::vector<std::string>& right, size_t width,
                         int context);
/// The lines of a text, without their ends.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace hc::cli
