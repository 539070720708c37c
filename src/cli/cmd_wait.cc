// `hillclimb wait`: until nobody is at work on the goal any more.
#include <fmt/format.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/progress.h"
#include "cli/writing.h"
#include "contract/goal.h"
#include "contract/status.h"

namespace hc::cli {
namespace {

constexpr int kStillAtWork = 3;
constexpr useconds_t kBetweenLooksMicroseconds = 500000;

Result<int> wait(const Parsed& parsed, const Context& context) {
  const std::string artifacts = parsed.get("--artifacts", "artifacts");
  HC_TRY(contract::read_goal(artifacts));
  const double limit = static_cast<double>(HC_TRY(parsed.whole("--seconds", 0, 1)));
  const double begin = monotonic_s();
  std::string holder = contract::live_writer(artifacts);
  {
    Progress progress;
    while (!holder.empty()) {
      if (limit > 0 && monotonic_s() - begin >= limit) break;
      progress.now("waiting for " + holder);
      ::usleep(kBetweenLooksMicroseconds);
      holder = contract::live_writer(artifacts);
    }
  }
  if (!holder.empty()) {
    fmt::print("still at work: {}\n", holder);
    return kStillAtWork;
  }
  fmt::print("{}", contract::status_text(contract::look(artifacts, anchor_path(context, artifacts))));
  return 0;
}

}  // namespace

const Command& wait_command() {
  static const Command kCommand{
      "wait",
      false,
      "Wait until nobody is at work on the goal any more, then show its status: exit 0, or 3 when the time is up.",
      {{"--seconds", OptionKind::one, "S", "Give up waiting after S seconds; no limit if left out."},
       artifacts_option()},
      wait};
  return kCommand;
}

}  // namespace hc::cli
