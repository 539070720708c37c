// Paths of evidence.
#include "cli/evidence.h"

#include "ledger/store.h"

namespace hc::cli {

std::string artifacts_of_goal(const std::string& goal_path) {
  const size_t slash = goal_path.rfind('/');
  return slash == std::string::npos ? "." : goal_path.substr(0, slash);
}

std::string anchor_path(const Context& context, const std::string& artifacts_dir) {
  return context.anchor.empty() ? ledger::anchor_path_for(context.state_folder, artifacts_dir) : context.anchor;
}

}  // namespace hc::cli
