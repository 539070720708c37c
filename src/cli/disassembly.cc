// Reading objdump's output.
#include "cli/disassembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/subprocess.h"

namespace hc::cli {
namespace {

constexpr double kObjdumpLimit = 60;

/// Functions that the compiler driver adds to every shared object.
bool is_start_up(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy", "_start"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.find("@plt") != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// `jne    1180 <hc_call+0x80>` without the address, comments and runs of blanks, so that equal code has equal text.
std::string normalised(std::string_view instruction) {
  if (const size_t comment = instruction.find(" #"); comment != std::string_view::npos)
    instruction = instruction.substr(0, comment);
  if (const size_t comment = instruction.find("\t//"); comment != std::string_view::npos)
    instruction = instruction.substr(0, comment);
  instruction = trimmed(instruction);
  const size_t target = instruction.find('<');
  const std::string_view mnemonic = instruction.substr(0, instruction.find_first_of(" \t"));
  if (target != std::string_view::npos) {
    std::string_view name = instruction.substr(target);
    name = name.substr(0, name.find('+'));
    return fmt::format("{} {}{}", mnemonic, name, name.ends_with('>') ? "" : ">");
  }
  std::string out;
  for (const char c : instruction) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  return out;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
}

/// Whether an operand is a vector register: xmm, ymm, zmm, or AArch64's q and v.
bool names_vector(std::string_view operands) {
  for (const std::string_view word : {"xmm", "ymm", "zmm"}) {
    if (operands.find(word) != std::string_view::npos) return true;
  }
  const std::string_view first = trimmed(operands);
  return first.size() > 1 && (first[0] == 'q' || first[0] == 'v' || first[0] == '{') &&
         (first[0] == '{' || (first[1] >= '0' && first[1] <= '9'));
}

/// One element of a vector register, as in vmovss; vbroadcastss fills all of it.
bool is_scalar(std::string_view mnemonic) {
  return (mnemonic.ends_with("ss") || mnemonic.ends_with("sd")) && mnemonic.find("broadcast") == std::string_view::npos;
}

}  // namespace

std::string_view instruction_class_name(InstructionClass kind) {
  constexpr std::string_view kNames[] = {"vector loads", "vector stores", "streaming stores",
                                         "prefetches",   "fma",           "other"};
  return kNames[static_cast<size_t>(kind)];
}

InstructionClass classify(std::string_view instruction) {
  instruction = trimmed(instruction);
  const size_t space = instruction.find_first_of(" \t");
  const std::string_view mnemonic = instruction.substr(0, space);
  const std::string_view operands = space == std::string_view::npos ? "" : trimmed(instruction.substr(space));
  if (starts_with_any(mnemonic, {"movnt", "vmovnt", "stnp"})) return InstructionClass::streaming_store;
  if (starts_with_any(mnemonic, {"prefetch", "prfm"})) return InstructionClass::prefetch;
  if (starts_with_any(mnemonic, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub", "fmla", "fmls", "fmadd", "fmsub"})) {
    return InstructionClass::fma;
  }
  const size_t bracket = operands.find('[');
  if (bracket == std::string_view::npos || !names_vector(operands)) return InstructionClass::other;
  if (starts_with_any(mnemonic, {"ld", "vgather", "vpgather"})) return InstructionClass::vector_load;
  if (starts_with_any(mnemonic, {"st", "vscatter", "vpscatter"})) return InstructionClass::vector_store;
  if (starts_with_any(mnemonic, {"lea", "adr"}) || is_scalar(mnemonic)) return InstructionClass::other;
  // Intel syntax has the destination first: memory before the first comma is a store
  const size_t comma = operands.find(',');
  return bracket < comma ? InstructionClass::vector_store : InstructionClass::vector_load;
}

Disassembly read_disassembly(std::string_view objdump) {
  Disassembly out;
  bool ours = false;
  for (const std::string& line : lines_of(objdump)) {
    if (line.ends_with(">:")) {
      const size_t open = line.find('<');
      const std::string name = line.substr(open + 1, line.size() - open - 3);
      ours = !is_start_up(name);
      if (ours) out.lines.push_back(name + ":");
      continue;
    }
    const size_t colon = line.find(":\t");
    if (!ours || line.empty() || line[0] != ' ' || colon == std::string::npos) continue;
    const std::string instruction = normalised(std::string_view(line).substr(colon + 2));
    if (instruction.empty() || instruction.starts_with("nop") || instruction.starts_with("data16")) continue;
    out.lines.push_back("  " + instruction);
    ++out.instructions;
    ++out.counts[static_cast<size_t>(classify(instruction))];
  }
  return out;
}

Result<Disassembly> disassemble(const std::string& shared_object) {
  std::vector<std::string> argv = {"objdump", "-d", "--no-show-raw-insn", "-C", "-j", ".text"};
#if defined(__x86_64__)
  argv.insert(argv.end(), {"-M", "intel"});
#endif
  argv.push_back(shared_object);
  const RunOutcome outcome = run_process(argv, kObjdumpLimit, {"LC_ALL=C"});
  if (!outcome.failure.empty()) {
    return Diagnostic{Code::not_available, "objdump is not there: " + outcome.failure}.fix(
        "`apt-get install binutils`");
  }
  if (!outcome.ok()) {
    return Diagnostic{Code::file_error, fmt::format("objdump cannot read {}: {}", shared_object, outcome.err)};
  }
  return read_disassembly(outcome.out);
}

}  // namespace hc::cli
