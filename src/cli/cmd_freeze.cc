// `hillclimb freeze`: an exported copy of the tree for background runs.
#include <fmt/format.h>

#include "cli/command.h"
#include "contract/snapshot.h"

namespace hc::cli {
namespace {

Result<int> freeze(const Parsed& parsed, const Context&) {
  const std::string folder = parsed.get("DIR");
  if (parsed.has("--remove")) {
    HC_TRY(contract::remove_snapshot(folder));
    fmt::print("{} was removed\n", folder);
    return 0;
  }
  if (parsed.has("--check")) {
    const contract::Snapshot snapshot = HC_TRY(contract::read_snapshot(folder));
    const std::vector<std::string> changes = HC_TRY(contract::snapshot_changes(folder));
    for (const std::string& sentence : changes) fmt::print("{}\n", sentence);
    if (changes.empty()) fmt::print("{} is as it was exported ({})\n", folder, snapshot.sha256.substr(0, 16));
    return changes.empty() ? 0 : 2;
  }
  const contract::Git git = HC_TRY(contract::Git::open(parsed.get("--project", ".")));
  const contract::Snapshot made = HC_TRY(contract::export_snapshot(git, folder));
  fmt::print("{} files, {} bytes, of {}{}\n{}\n", made.files, made.bytes,
             made.commit.empty() ? "no commit yet" : made.commit.substr(0, 12), made.dirty ? " with changes" : "",
             made.sha256);
  return 0;
}

}  // namespace

const Command& freeze_command() {
  static const Command kCommand{"freeze",
                                false,
                                "Export the tree as it is into a read-only folder for a background run, and check "
                                "afterwards that it is unchanged.",
                                {{"DIR", OptionKind::word, "", "The folder, which must not exist yet."},
                                 {"--check", OptionKind::flag, "", "Hash it again: exit 0 unchanged, 2 changed."},
                                 {"--remove", OptionKind::flag, "", "Remove it."},
                                 {"--project", OptionKind::one, "DIR", "The repository; this one if left out."}},
                                freeze};
  return kCommand;
}

}  // namespace hc::cli
