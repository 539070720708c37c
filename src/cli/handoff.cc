// Writing the hand-off folder.
#include "cli/handoff.h"

#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "compile/compile.h"

namespace hc::cli {
namespace {

Status write(const std::string& path, const std::string& text) {
  std::string why = make_folders(path.substr(0, path.rfind('/')));
  if (why.empty()) why = write_file_atomic(path, text);
  if (why.empty()) return success();
  return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path, why)};
}

/// GB/s or TFLOPS of a call.
double rate(const ledger::Work& work, double seconds) {
  if (seconds <= 0) return 0;
  return work.amount / seconds * (work.unit == "GB/s" ? 1e-9 : 1e-12);
}

Json numbers_json(const Handoff& h) {
  const ledger::VariantVerdict& v = h.verdict;
  const ledger::Work& work = h.variant->work;
  Json out;
  out["task"] = h.task->name;
  out["variant"] = v.name;
  out["verdict"] = ledger::verdict_name(v.verdict);
  out["reason"] = v.reason;
  out["needs"] = v.limit;
  out["unit"] = work.unit;
  out["candidate"] = {{"seconds", v.candidate_seconds}, {"rate", rate(work, v.candidate_seconds)}};
  out["baselines"] = Json::array();
  for (const ledger::BaselineVerdict& b : v.baselines) {
    out["baselines"].push_back({{"name", b.name},
                                {"ratio", b.comparison.ratio},
                                {"lcb", b.comparison.lcb},
                                {"ucb", std::isfinite(b.comparison.ucb) ? Json(b.comparison.ucb) : Json(nullptr)},
                                {"pairs", b.comparison.pairs},
                                {"confirmed", b.confirmed},
                                {"seconds", b.seconds},
                                {"rate", rate(work, b.seconds)}});
  }
  return out;
}

std::string compile_line(const Handoff& h) {
  std::string flags;
  for (const std::string& flag : h.toolchain->flags) flags += flag + " ";
  return fmt::format("{} {}-I {}/include -shared -o /tmp/kernel.so {}/kernel.cc", h.toolchain->path, flags, h.folder,
                     h.folder);
}

std::string readme(const Handoff& h) {
  const ledger::VariantVerdict& v = h.verdict;
  std::string inputs;
  for (const contract::TaskInput& input : h.variant->inputs) inputs += fmt::format(" `{}={}`", input.name, input.text);
  return fmt::format(
      "# {task}/{variant}: hand-off\n\n"
      "Verdict {verdict}{reason}. Kernel `{kernel}`, inputs{inputs}. A ratio is baseline time over candidate time; "
      "every\n"
      "baseline has to be reached by at least {limit:.4f}, with its bound.\n\n{table}\n"
      "* `kernel.cc`: the generated source of the stored winner. Edit this file.\n"
      "* `include/`: the headers that it includes. They are not read from here by the command below.\n"
      "* `config.txt`: the winner's knobs. `numbers.json`: the table above unrounded.\n\n"
      "## Rules\n\n"
      "1. Keep the entry and the order and sizes of its storages; the call does everything from inputs to outputs.\n"
      "2. The outputs have to lie inside the oracle's bound on poisoned memory, before timing and after it.\n"
      "3. It is measured in interleaved pairs of fresh processes beside the best baseline and the stored winner.\n"
      "4. A hand-edited kernel never makes the goal met. Parity says what the next pass has to do: a pass or knob "
      "that\n"
      "   serves many kernels, which a cold full tune finds by itself. Falling short with the baseline's structure is\n"
      "   evidence for `hillclimb goal block`.\n\n"
      "## Measure\n\n    {command}\n\n## Compile only\n\n    {compile}\n",
      fmt::arg("task", h.task->name), fmt::arg("variant", v.name), fmt::arg("verdict", ledger::verdict_name(v.verdict)),
      fmt::arg("reason", v.reason.empty() ? "" : " (" + v.reason + ")"), fmt::arg("kernel", h.variant->kernel),
      fmt::arg("inputs", inputs), fmt::arg("limit", v.limit), fmt::arg("table", handoff_table(h)),
      fmt::arg("command", try_command_line(h)), fmt::arg("compile", compile_line(h)));
}

}  // namespace

std::string handoff_table(const Handoff& h) {
  const ledger::VariantVerdict& v = h.verdict;
  const ledger::Work& work = h.variant->work;
  std::string out = fmt::format("| | ms | {} | ratio | bounds |\n|---|--:|--:|--:|---|\n", work.unit);
  out +=
      fmt::format("| candidate | {:.4g} | {:.4g} | | |\n", v.candidate_seconds * 1e3, rate(work, v.candidate_seconds));
  for (const ledger::BaselineVerdict& b : v.baselines) {
    out += fmt::format("| {} | {:.4g} | {:.4g} | {:.4f} | [{:.4f}, {:.4f}] in {} pairs{} |\n", b.name, b.seconds * 1e3,
                       rate(work, b.seconds), b.comparison.ratio, b.comparison.lcb, b.comparison.ucb,
                       b.comparison.pairs, b.confirmed ? "" : ", nominated only");
  }
  return out;
}

std::string handoff_numbers(const Handoff& h) { return numbers_json(h).dump(1) + "\n"; }

std::string handoff_folder(const std::string& artifacts, const std::string& run, const std::string& variant) {
  return fmt::format("{}/{}/handoff/{}", artifacts, run, variant);
}

std::string try_command_line(const Handoff& h) {
  const std::string where = h.artifacts == "artifacts" ? "" : fmt::format(" --artifacts {}", h.artifacts);
  if (h.listing) {
    return fmt::format("hillclimb try {} --variant {} --source {}/{}{}", h.task_path, h.variant->name, h.folder,
                       h.listing->source_file, where);
  }
  return fmt::format("hillclimb try {} --variant {} --source {}/kernel.cc --config {}/config.txt{}", h.task_path,
                     h.variant->name, h.folder, h.folder, where);
}

Status write_handoff(const Handoff& h) {
  HC_TRY(write(join_path(h.folder, "kernel.cc"), h.winner->compiled.source));
  for (const compile::Header& header : compile::headers()) {
    HC_TRY(write(join_path(h.folder, "include/" + header.name), header.text));
  }
  HC_TRY(write(join_path(h.folder, "config.txt"), knob::to_text(h.winner->compiled.config) + "\n"));
  HC_TRY(write(join_path(h.folder, "numbers.json"), handoff_numbers(h)));
  return write(join_path(h.folder, "README.md"), readme(h));
}

}  // namespace hc::cli
