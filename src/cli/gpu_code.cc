// Reading PTX and SASS.
#include "cli/gpu_code.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/disassembly.h"

namespace hc::cli {
namespace {

constexpr double kDisassemblyLimit = 120;

struct Row {
  std::string_view opcode, modifier;
  GpuClass kind;
};

#define HC_GPU_CLASS(name, text)
#define HC_TYPE(suffix, kind) {suffix, "", GpuClass::kind},
#define HC_PTX(opcode, modifier, kind)
#define HC_SASS(opcode, modifier, kind)
constexpr Row kTypes[] = {
#include "cli/gpu_instructions.def"
};
#undef HC_TYPE
#undef HC_PTX
#define HC_TYPE(suffix, kind)
#define HC_PTX(opcode, modifier, kind) {opcode, modifier, GpuClass::kind},
constexpr Row kPtx[] = {
#include "cli/gpu_instructions.def"
};
#undef HC_PTX
#undef HC_SASS
#define HC_PTX(opcode, modifier, kind)
#define HC_SASS(opcode, modifier, kind) {opcode, modifier, GpuClass::kind},
constexpr Row kSass[] = {
#include "cli/gpu_instructions.def"
};
#undef HC_GPU_CLASS
#undef HC_TYPE
#undef HC_PTX
#undef HC_SASS

std::string_view stripped(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r;").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

/// The mnemonic's parts without the guard: `@%p1 ld.global.v4.b32 {...}` gives ld, global, v4, b32; `::` parts too.
std::vector<std::string_view> parts_of(std::string_view instruction) {
  instruction = stripped(instruction);
  if (instruction.starts_with('@')) {
    instruction = stripped(instruction.substr(std::min(instruction.find_first_of(" \t"), instruction.size())));
  }
  const std::string_view mnemonic = instruction.substr(0, instruction.find_first_of(" \t"));
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin <= mnemonic.size();) {
    const size_t end = std::min(mnemonic.find_first_of(".:", begin), mnemonic.size());
    if (end > begin) out.push_back(mnemonic.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

template <size_t N>
const Row* find_row(const Row (&rows)[N], const std::vector<std::string_view>& parts) {
  if (parts.empty()) return nullptr;
  for (const Row& row : rows) {
    if (row.opcode != parts[0]) continue;
    if (row.modifier.empty() || std::find(parts.begin() + 1, parts.end(), row.modifier) != parts.end()) return &row;
  }
  return nullptr;
}

/// What the last type of a PTX mnemonic says: fma.rn.f32, mad.lo.s32, setp.lt.f16.
GpuClass class_of_type(const std::vector<std::string_view>& parts) {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    for (const Row& row : kTypes) {
      if (row.opcode == *part) return row.kind;
    }
    const char first = part->front();
    const bool number = part->size() > 1 && part->find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (*part == "pred" || (number && (first == 's' || first == 'u' || first == 'b'))) return GpuClass::integer;
  }
  return GpuClass::other;
}

void count(GpuClass kind, std::string line, GpuCode* out) {
  out->lines.push_back("  " + std::move(line));
  ++out->counts[static_cast<size_t>(kind)];
  ++out->instructions;
}

/// `.visible .entry name(` or `.func (...) name(`: the name, or empty.
std::string entry_name(std::string_view line) {
  for (const std::string_view word : {".entry", ".func"}) {
    size_t at = line.find(word);
    if (at == std::string_view::npos) continue;
    std::string_view rest = stripped(line.substr(at + word.size()));
    if (rest.starts_with('(')) rest = stripped(rest.substr(std::min(rest.find(')') + 1, rest.size())));
    return std::string(rest.substr(0, rest.find_first_of("( \t")));
  }
  return "";
}

/// Runs of blanks become one.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  return out;
}

/// A statement of PTX: a label and an instruction, either of which may be missing. Directives and braces are no code.
void read_statement(std::string_view statement, GpuCode* out) {
  statement = stripped(statement);
  while (!statement.empty() && (statement.front() == '{' || statement.front() == '}'))
    statement = stripped(statement.substr(1));
  if (statement.starts_with('$')) {
    const size_t colon = statement.find(':');
    if (colon != std::string_view::npos) {
      out->lines.emplace_back(statement.substr(0, colon + 1));
      return read_statement(statement.substr(colon + 1), out);
    }
  }
  if (statement.empty() || statement.front() == '.' || statement.front() == ')') return;
  count(classify_ptx(statement), squeezed(statement), out);
}

std::string found_tool(const std::string& name, const std::vector<std::string>& tools) {
  for (const std::string& tool : tools) {
    if (tool.substr(tool.rfind('/') + 1) == name && ::access(tool.c_str(), X_OK) == 0) return tool;
  }
  const char* path = ::getenv("PATH");
  const char* home = ::getenv("CUDA_HOME");
  std::string folders = path ? path : "";
  if (home) folders += std::string(":") + home + "/bin";
  folders += ":/usr/local/cuda/bin";
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = join_path(folders.substr(begin, end - begin), name);
    if (end > begin && ::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

}  // namespace

std::string_view gpu_class_name(GpuClass kind) {
#define HC_GPU_CLASS(name, text) text,
#define HC_TYPE(suffix, kind)
#define HC_PTX(opcode, modifier, kind)
#define HC_SASS(opcode, modifier, kind)
  static constexpr std::string_view kNames[] = {
#include "cli/gpu_instructions.def"
  };
#undef HC_GPU_CLASS
#undef HC_TYPE
#undef HC_PTX
#undef HC_SASS
  return kNames[static_cast<size_t>(kind)];
}

GpuClass classify_ptx(std::string_view instruction) {
  const std::vector<std::string_view> parts = parts_of(instruction);
  const Row* row = find_row(kPtx, parts);
  return row ? row->kind : class_of_type(parts);
}

GpuClass classify_sass(std::string_view instruction) {
  const Row* row = find_row(kSass, parts_of(instruction));
  return row ? row->kind : GpuClass::other;
}

GpuCode read_ptx(std::string_view text) {
  GpuCode out;
  bool body = false;
  std::string pending;  // an instruction may stand on several lines
  for (const std::string& whole : lines_of(text)) {
    const std::string_view code = std::string_view(whole).substr(0, whole.find("//"));
    const std::string_view line = stripped(code);
    if (const std::string name = entry_name(line); !name.empty()) {
      out.lines.push_back(name + ":");
      body = false;
      pending.clear();
    }
    if (!body) {
      body = line.starts_with('{') || line.ends_with('{');
      continue;
    }
    if (line.starts_with(".section")) body = false;  // debug information
    const bool ended = code.find(';') != std::string_view::npos || line.ends_with(':') || line == "{" || line == "}";
    if (!ended && pending.empty() && line.starts_with('.')) continue;  // .loc ends without a semicolon
    pending += (pending.empty() ? "" : " ") + std::string(code);
    if (!ended) continue;
    for (size_t begin = 0; begin < pending.size();) {
      const size_t end = std::min(pending.find(';', begin), pending.size());
      read_statement(std::string_view(pending).substr(begin, end - begin), &out);
      begin = end + 1;
    }
    pending.clear();
  }
  return out;
}

GpuCode read_sass(std::string_view text) {
  GpuCode out;
  for (const std::string& whole : lines_of(text)) {
    const std::string_view line = stripped(whole);
    if (const size_t at = line.find("Function :"); at != std::string_view::npos) {
      out.lines.push_back(std::string(stripped(line.substr(at + 10))) + ":");
      continue;
    }
    if (line.starts_with(".text.") && line.ends_with(':')) {
      out.lines.emplace_back(line.substr(6));
      continue;
    }
    if (line.starts_with(".L") && line.ends_with(':')) {
      out.lines.emplace_back(line);
      continue;
    }
    const size_t close = line.find("*/");
    const size_t semicolon = line.find(';');
    if (!line.starts_with("/*") || close == std::string_view::npos) continue;
    const std::string_view code = stripped(
        line.substr(close + 2, semicolon == std::string_view::npos ? std::string_view::npos : semicolon - close - 2));
    // the second half of an encoding has no instruction, only a comment
    if (code.empty() || code.starts_with("/*") || parts_of(code).empty() || parts_of(code)[0] == "NOP") continue;
    count(classify_sass(code), squeezed(code.substr(0, code.find("/*"))), &out);
  }
  return out;
}

void append(const GpuCode& more, GpuCode* out) {
  out->lines.insert(out->lines.end(), more.lines.begin(), more.lines.end());
  for (size_t i = 0; i < kGpuClasses; ++i) out->counts[i] += more.counts[i];
  out->instructions += more.instructions;
}

Result<GpuCode> disassemble_cubin(const std::string& cubin, const std::vector<std::string>& tools) {
  std::string why;
  for (const auto& [name, option] : {std::pair{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}) {
    const std::string tool = found_tool(name, tools);
    if (tool.empty()) continue;
    const RunOutcome outcome = run_process({tool, option, cubin}, kDisassemblyLimit, {"LC_ALL=C"});
    if (outcome.ok()) return read_sass(outcome.out);
    why = fmt::format("{} does not read {}: {}", tool, cubin, outcome.failure.empty() ? outcome.err : outcome.failure);
  }
  if (why.empty()) why = "neither nvdisasm nor cuobjdump is on PATH, under CUDA_HOME or in /usr/local/cuda";
  return Diagnostic{Code::not_available, why}.fix(
      "install the CUDA toolkit, or Triton, whose package brings both and whose worker names them");
}

}  // namespace hc::cli
