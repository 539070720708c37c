// `hillclimb docs`: writes the reference pages that follow from tables.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/command.h"
#include "knob/knob.h"

namespace hc::cli {
namespace {

/// Table cells may not hold a bar.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string_view site_sentence(knob::SiteKind site) {
  switch (site) {
    case knob::SiteKind::kernel:
      return "once per kernel";
    case knob::SiteKind::block:
      return "per tile dimension";
    case knob::SiteKind::launch:
      return "per launch";
    case knob::SiteKind::reduction:
      return "per `:` dimension";
    case knob::SiteKind::tensor:
      return "per stored tensor";
    case knob::SiteKind::tunable:
      return "per registered name";
  }
  return "";
}

std::string option_text(const Option& option) {
  return option.value.empty() ? option.name : option.name + " " + option.value;
}

Result<int> docs(const Parsed& parsed, const Context&) {
  const std::string folder = parsed.get("DIR", "docs");
  const std::vector<std::pair<std::string, std::string>> pages = {
      {"cli.md", cli_document()}, {"knobs.md", knobs_document()}, {"errors.md", errors_document()}};
  for (const auto& [name, text] : pages) {
    const std::string path = join_path(folder, name);
    const std::string why = write_file_atomic(path, text);
    if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path, why)};
    fmt::print("{}\n", path);
  }
  return 0;
}

}  // namespace

std::string cli_document() {
  std::string out =
      "# Command line\n\nMade by `hillclimb docs` from the command table; edit the table, not this page.\n\n"
      "| command | does |\n|---|---|\n";
  for (const Command& command : commands()) {
    if (!command.hidden) out += fmt::format("| [`{0}`](#{0}) | {1} |\n", command.name, cell(command.sentence));
  }
  out +=
      "\nExit statuses: `check` and `climb` end with 0 met, 1 unmet, 2 evidence broken, 3 undecided. Everywhere: 64 "
      "the\n"
      "command line is not understood, 65 the input is wrong, 69 something needed is not there, 70 a fault of "
      "hillclimb.\n"
      "\nArguments of kernels: a tensor is `dtype[sizes]`, then `@(strides)` and `=distribution` if wanted:\n"
      "`bf16[4096,2560]`, `i64[4096]=range(0,32000)`, `f32[8,8]@(1,8)=uniform(-1,1)`. Other words are numbers, "
      "`true`,\n"
      "`false`, `None`, `'text'`, `[1,2,3]` and dtypes such as `torch.float32`.\n"
      "\nEnvironment: `HILLCLIMB_CACHE` (compiled kernels; else `$XDG_CACHE_HOME/hillclimb`), `HILLCLIMB_ANCHOR` (the\n"
      "file that remembers the ledger's head; else a file under `$XDG_STATE_HOME/hillclimb`), `CXX` (the compiler).\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += fmt::format("\n## {}\n\n{}\n", command.name, command.sentence);
    if (command.options.empty()) continue;
    out += "\n| option | meaning |\n|---|---|\n";
    for (const Option& option : command.options) {
      out += fmt::format("| `{}` | {} |\n", cell(option_text(option)), cell(option.sentence));
    }
  }
  return out;
}

std::string knobs_document() {
  std::string out =
      "# Knobs\n\nMade by `hillclimb docs` from `src/knob/knobs.def`. A knob with a site is written `name[site]`; "
      "sites\n"
      "carry the names of the kernel's source. `*` means that the kernel decides which values there are: `hillclimb "
      "tune`\n"
      "and a wrong `--set` list them.\n\n| knob | chosen | values | default | meaning |\n|---|---|---|---|---|\n";
  for (const knob::Row& row : knob::rows()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, site_sentence(row.site), cell(row.values),
                       cell(row.default_value), cell(row.sentence));
  }
  return out;
}

std::string errors_document() {
  std::string out =
      "# Diagnostics\n\nMade by `hillclimb docs` from `src/diag/codes.def`.\n\n| code | name | meaning | exit status "
      "|\n"
      "|---|---|---|---|\n";
  const std::vector<diag::Code> codes = {
#define HC_CODE(name, number, slug, sentence) diag::Code::name,
#include "diag/codes.def"
#undef HC_CODE
  };
  for (const diag::Code code : codes) {
    out += fmt::format("| {} | {} | {} | {} |\n", static_cast<int>(code), diag::code_slug(code),
                       cell(diag::code_sentence(code)), diag::exit_status(code));
  }
  return out;
}

const Command& docs_command() {
  static const Command kCommand{"docs",
                                true,
                                "Write docs/cli.md, docs/knobs.md and docs/errors.md from the tables.",
                                {{"DIR", OptionKind::optional_word, "", "The folder; docs if left out."}},
                                docs};
  return kCommand;
}

}  // namespace hc::cli
