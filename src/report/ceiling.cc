// Speeds against the streaming copy of the same run.
#include "report/ceiling.h"

#include <fmt/format.h>

namespace hc::report {

std::string copy_share_text(const Model& model) {
  std::string below;
  bool any = false;
  for (const Row& row : model.rows) {
    if (row.ceiling <= 0 || row.after <= 0) continue;
    any = true;
    if (row.after < kCopyShare * row.ceiling) below += (below.empty() ? "" : ", ") + row.name;
  }
  if (!any) return "";
  if (below.empty()) return fmt::format("No variant is below {} of the streaming copy of the same run.", kCopyShare);
  return fmt::format("Below {} of the streaming copy of the same run: {}.", kCopyShare, below);
}

}  // namespace hc::report
