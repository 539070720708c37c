// The table of shared options and what becomes of it.
#include "cli/climb_options.h"

#include "cli/workbench.h"

namespace hc::cli {

std::vector<Option> climb_options(const std::vector<Option>& more, const std::string& pairs) {
  std::vector<Option> out = {{"TASK", OptionKind::word, "", "The task file."},
                             {"--variant", OptionKind::many, "NAME", "Only these variants."},
                             {"--fresh", OptionKind::flag, "", "Archive the goal that is there and start a new run."}};
  out.insert(out.end(), more.begin(), more.end());
  const std::vector<Option> rest = {
      {"--seed", OptionKind::one, "N", "Seed of the search; a fresh one is drawn and printed otherwise."},
      {"--candidates", OptionKind::one, "N", "End each tune after N compiled candidates; such a tune cannot pass."},
      {"--seconds", OptionKind::one, "S", "End each tune after S seconds; such a tune cannot pass."},
      {"--pairs", OptionKind::one, "N", "Measure N pairs instead of those " + pairs + "."},
      back_to_back_option(),
      {"--artifacts", OptionKind::one, "DIR", "Where the evidence goes; artifacts if left out."}};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

Result<ClimbOptions> read_climb_options(const Parsed& parsed) {
  ClimbOptions options;
  options.task_path = parsed.get("TASK");
  options.artifacts = parsed.get("--artifacts", options.artifacts);
  options.back_to_back = parsed.has("--back-to-back");
  if (parsed.has("--seed")) options.seed = static_cast<uint64_t>(HC_TRY(parsed.whole("--seed", 0, 0)));
  options.max_candidates = HC_TRY(parsed.whole("--candidates", 0, 1));
  options.max_seconds = static_cast<double>(HC_TRY(parsed.whole("--seconds", 0, 1)));
  options.pairs = static_cast<int>(HC_TRY(parsed.whole("--pairs", 0, 1)));
  return options;
}

}  // namespace hc::cli
