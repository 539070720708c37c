// The frozen tree: an exported copy of a work tree for background runs, which edits and checkouts cannot reach.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/git.h"

namespace hc::contract {

struct Snapshot {
  std::string folder;  ///< absolute
  std::string commit;  ///< HEAD at the time, empty before the first commit
  bool dirty = false;  ///< the work tree differed from that commit
  std::string sha256;  ///< over path, kind and content of every file
  int64_t files = 0, bytes = 0;
};

/// Copies tracked files as they are now, and new ones that are not ignored, to `folder`, which must not exist; files
/// and folders there become read-only, and `FOLDER.manifest.json` beside it lists the hashes. Submodules come along.
Result<Snapshot> export_snapshot(const Git& git, const std::string& folder);
/// What of a snapshot is no longer as it was exported, as sentences, empty if nothing is; folders named `__pycache__`
/// are not looked at. evidence_broken when the manifest is missing or damaged.
Result<std::vector<std::string>> snapshot_changes(const std::string& folder);
/// The record that the manifest holds.
Result<Snapshot> read_snapshot(const std::string& folder);
/// One snapshot with the hashes of its manifest, for asking of many files.
class FrozenTree {
 public:
  /// The snapshot that a file or folder lies in, or nothing; evidence_broken when its manifest is damaged.
  static Result<std::optional<FrozenTree>> around(const std::string& path);
  /// Why a run from this snapshot may not load the file, whose hash is `sha256`, or empty: it lies in another checkout,
  /// or is not as it was exported. What lies in no checkout (packages, caches) may be loaded.
  std::string refusal(const std::string& path, const std::string& sha256) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::map<std::string, std::string> hashes_;  ///< by path within it
};

/// Removes a snapshot with its manifest.
Status remove_snapshot(const std::string& folder);

}  // namespace hc::contract
