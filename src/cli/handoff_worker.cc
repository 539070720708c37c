// The hand-off folder of a candidate that is a worker.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/handoff.h"

namespace hc::cli {
namespace {

Status write_text(const std::string& path, const std::string& text) {
  const std::string why = write_file_atomic(path, text);
  if (why.empty()) return success();
  return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path, why)};
}

std::string worker_readme(const Handoff& h) {
  const ledger::VariantVerdict& v = h.verdict;
  std::string facts;
  for (const auto& [key, value] : h.listing->facts) facts += fmt::format("* {}: `{}`\n", key, value);
  std::string files;
  for (const bench::ListedFile& file : h.listing->files) {
    if (file.kind != "source") {
      files += fmt::format("* `{}`: {} of {}\n", file.path.substr(file.path.rfind('/') + 1), file.kind, file.name);
    }
  }
  for (const std::string& sentence : h.listing->missing) files += "* not here: " + sentence + "\n";
  return fmt::format(
      "# {task}/{variant}: hand-off\n\n"
      "Verdict {verdict}{reason}. Kernel `{kernel}`. A ratio is baseline time over candidate time; every baseline has "
      "to be\nreached by at least {limit:.4f}, with its bound.\n\n{table}\n"
      "* `{source}`: the source that the worker generates from the stored winner's config. Edit this file.\n"
      "* `numbers.json`: the table above unrounded.\n{files}\n## What ran\n\n{facts}\n## Rules\n\n"
      "1. Keep the function that is called, its name and its arguments; the call does everything from inputs to "
      "outputs.\n"
      "2. The outputs are judged on poisoned memory, before timing and after it, as those of the candidate.\n"
      "3. It is measured in interleaved pairs of fresh processes beside the best baseline and the stored winner.\n"
      "4. A hand-edited kernel never makes the goal met. Parity says what the framework, or the kernel, has to learn;\n"
      "   falling short with the baseline's structure is evidence for `hillclimb goal block`.\n\n"
      "## Measure\n\n    {command}\n",
      fmt::arg("task", h.task->name), fmt::arg("variant", v.name), fmt::arg("verdict", ledger::verdict_name(v.verdict)),
      fmt::arg("reason", v.reason.empty() ? "" : " (" + v.reason + ")"), fmt::arg("kernel", h.variant->kernel),
      fmt::arg("limit", v.limit), fmt::arg("table", handoff_table(h)), fmt::arg("source", h.listing->source_file),
      fmt::arg("files", files), fmt::arg("facts", facts), fmt::arg("command", try_command_line(h)));
}

}  // namespace

Status write_worker_handoff(const Handoff& h) {
  if (h.listing->source.empty()) {
    std::string why;
    for (const std::string& sentence : h.listing->missing) why += (why.empty() ? "" : "; ") + sentence;
    return Diagnostic{Code::not_available, fmt::format("the worker of {} gives no source to edit{}", h.task->name,
                                                       why.empty() ? "" : ": " + why)};
  }
  HC_TRY(write_text(join_path(h.folder, h.listing->source_file), h.listing->source));
  HC_TRY(write_text(join_path(h.folder, "numbers.json"), handoff_numbers(h)));
  return write_text(join_path(h.folder, "README.md"), worker_readme(h));
}

}  // namespace hc::cli
