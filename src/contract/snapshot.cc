// Exporting, hashing and removing a frozen tree.
#include "contract/snapshot.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "contract/faults.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSnapshotSchema = "hillclimb.snapshot/1";

/// What is hashed of one file: its kind (`file`, `program`, `link`) and its content or target.
struct Entry {
  std::string kind, sha256;
  int64_t bytes = 0;
  bool operator==(const Entry& other) const { return kind == other.kind && sha256 == other.sha256; }
};
using Entries = std::map<std::string, Entry>;

std::string manifest_path(const std::string& folder) { return folder + ".manifest.json"; }

std::string absolute(const std::string& folder) {
  std::string path = fs::absolute(folder).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Copies one file or link and hashes what was written, not what is read later.
Result<Entry> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return file_error(to.parent_path().string(), error.message());
  if (fs::is_symlink(from)) {
    const std::string target = fs::read_symlink(from, error).string();
    if (!error) fs::create_symlink(target, to, error);
    if (error) return file_error(to.string(), error.message());
    return Entry{"link", sha256_hex(target), 0};
  }
  std::string why;
  const std::optional<std::string> text = read_file(from.string(), &why);
  if (!text) return file_error(from.string(), why);
  const bool program = (fs::status(from, error).permissions() & fs::perms::owner_exec) != fs::perms::none;
  if (const std::string failed = write_file_atomic(to.string(), *text); !failed.empty())
    return file_error(to.string(), failed);
  ::chmod(to.c_str(), program ? 0555 : 0444);
  return Entry{program ? "program" : "file", sha256_hex(*text), static_cast<int64_t>(text->size())};
}

/// Copies a repository below `prefix`; a submodule is a repository of its own.
Status copy_repository(const Git& git, const std::string& target, const std::string& prefix, Entries* entries) {
  std::vector<std::string> paths = HC_TRY(git.list({"ls-files", "-z", "--cached", "--others", "--exclude-standard"}));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (const std::string& path : paths) {
    const fs::path from = fs::path(git.top()) / path;
    if (fs::is_directory(fs::symlink_status(from))) {
      const Result<Git> inner = Git::open(from.string());
      // an empty folder stands for a submodule that was not fetched
      if (inner.ok() && inner.value().top() != git.top()) {
        HC_TRY(copy_repository(inner.value(), target, prefix + path + "/", entries));
      }
      continue;
    }
    if (!fs::exists(fs::symlink_status(from))) continue;  // deleted in the work tree
    (*entries)[prefix + path] = HC_TRY(copy_one(from, fs::path(target) / (prefix + path)));
  }
  return success();
}

std::string hash_of(const Entries& entries) {
  std::string text;
  for (const auto& [path, entry] : entries) text += fmt::format("{} {} {}\n", entry.kind, entry.sha256, path);
  return sha256_hex(text);
}

/// The same facts read back from the exported folder.
Result<Entries> read_back(const std::string& folder) {
  Entries entries;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    const std::string path = it->path().lexically_relative(folder).string();
    if (it->is_symlink()) {
      entries[path] = {"link", sha256_hex(fs::read_symlink(it->path()).string()), 0};
    } else if (it->is_directory()) {
      if (it->path().filename() == "__pycache__") it.disable_recursion_pending();
    } else {
      std::string why;
      const std::optional<std::string> text = read_file(it->path().string(), &why);
      if (!text) return file_error(it->path().string(), why);
      const bool program = (it->status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      entries[path] = {program ? "program" : "file", sha256_hex(*text), static_cast<int64_t>(text->size())};
    }
  }
  if (error) return file_error(folder, error.message());
  return entries;
}

/// Folders last and from the inside out, since nothing can be made in a read-only one.
void make_read_only(const std::string& folder) {
  std::vector<fs::path> folders{folder};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) folders.push_back(entry.path());
  }
  for (auto it = folders.rbegin(); it != folders.rend(); ++it) ::chmod(it->c_str(), 0555);
}

struct Manifest {
  Snapshot snapshot;
  Entries entries;
};

Result<Manifest> read_manifest(const std::string& folder) {
  const std::string path = manifest_path(folder);
  const std::optional<std::string> text = read_file(path);
  const std::optional<Json> json = text ? parse_json(*text) : std::nullopt;
  const auto broken = [&](const std::string& what) {
    return Diagnostic{.code = Code::evidence_broken, .message = fmt::format("the manifest {} {}", path, what)};
  };
  if (!text) return broken("is missing");
  if (!json || json->value("schema", Json()) != kSnapshotSchema || !json->value("files", Json()).is_object())
    return broken("is damaged");
  Manifest m;
  m.snapshot.folder = folder;
  m.snapshot.commit = json->value("commit", "");
  m.snapshot.dirty = json->value("dirty", false);
  m.snapshot.sha256 = json->value("sha256", "");
  m.snapshot.bytes = json->value("bytes", int64_t{0});
  for (const auto& [name, value] : (*json)["files"].items()) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_string())
      return broken("is damaged");
    m.entries[name] = {value[0].get<std::string>(), value[1].get<std::string>(), 0};
  }
  m.snapshot.files = static_cast<int64_t>(m.entries.size());
  if (hash_of(m.entries) != m.snapshot.sha256) return broken("does not have the hash that it names");
  return m;
}

Status write_manifest(const Snapshot& snapshot, const Entries& entries) {
  Json out;
  out["schema"] = kSnapshotSchema;
  out["commit"] = snapshot.commit;
  out["dirty"] = snapshot.dirty;
  out["sha256"] = snapshot.sha256;
  out["bytes"] = snapshot.bytes;
  out["files"] = Json::object();
  for (const auto& [path, entry] : entries) out["files"][path] = {entry.kind, entry.sha256};
  const std::string path = manifest_path(snapshot.folder);
  const std::string why = write_file_atomic(path, out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return why.empty() ? success() : Status(file_error(path, why));
}

}  // namespace

Result<Snapshot> export_snapshot(const Git& git, const std::string& folder) {
  Snapshot snapshot;
  snapshot.folder = absolute(folder);
  if (fs::exists(fs::symlink_status(snapshot.folder))) {
    return file_error(snapshot.folder, "this is there already; a snapshot needs a new folder");
  }
  Entries entries;
  if (const std::string why = make_folders(snapshot.folder); !why.empty()) return file_error(snapshot.folder, why);
  HC_TRY(copy_repository(git, snapshot.folder, "", &entries));
  if (git.knows("HEAD")) snapshot.commit = HC_TRY(git.commit("HEAD"));
  snapshot.dirty = !HC_TRY(git.run({"status", "--porcelain"})).empty();
  snapshot.sha256 = hash_of(entries);
  snapshot.files = static_cast<int64_t>(entries.size());
  for (const auto& [path, entry] : entries) snapshot.bytes += entry.bytes;
  HC_TRY(write_manifest(snapshot, entries));
  make_read_only(snapshot.folder);
  return snapshot;
}

Result<std::vector<std::string>> snapshot_changes(const std::string& folder) {
  const Manifest manifest = HC_TRY(read_manifest(absolute(folder)));
  const Entries now = HC_TRY(read_back(manifest.snapshot.folder));
  std::vector<std::string> out;
  for (const auto& [path, entry] : manifest.entries) {
    const auto it = now.find(path);
    if (it == now.end())
      out.push_back(path + " was removed");
    else if (!(it->second == entry))
      out.push_back(path + " was changed");
  }
  for (const auto& [path, entry] : now) {
    if (!manifest.entries.count(path)) out.push_back(path + " was added");
  }
  return out;
}

Result<Snapshot> read_snapshot(const std::string& folder) { return HC_TRY(read_manifest(absolute(folder))).snapshot; }

Result<std::optional<FrozenTree>> FrozenTree::around(const std::string& path) {
  for (fs::path at = absolute(path); at.has_relative_path(); at = at.parent_path()) {
    if (!file_exists(manifest_path(at.string()))) continue;
    const Manifest manifest = HC_TRY(read_manifest(at.string()));
    FrozenTree out;
    out.folder_ = at.string();
    for (const auto& [name, entry] : manifest.entries) out.hashes_[name] = entry.sha256;
    return std::optional<FrozenTree>(std::move(out));
  }
  return std::optional<FrozenTree>();
}

std::string FrozenTree::refusal(const std::string& path, const std::string& sha256) const {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error) real = absolute(path);
  const fs::path folder = fs::weakly_canonical(folder_, error);
  const std::string inside = real.lexically_relative(folder).string();
  if (!inside.empty() && !inside.starts_with("..")) {
    const auto found = hashes_.find(inside);
    if (found == hashes_.end())
      return fmt::format("{} was added to the snapshot {} since it was exported", path, folder_);
    if (found->second == sha256) return "";
    return fmt::format("{} is not as it was exported with the snapshot {}", path, folder_);
  }
  for (fs::path at = real.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    if (!fs::exists(at / ".git", error)) continue;
    return fmt::format("the module {} is of the checkout {}, and the run is from the snapshot {}", path, at.string(),
                       folder_);
  }
  return "";
}

Status remove_snapshot(const std::string& folder) {
  const std::string path = absolute(folder);
  HC_TRY(read_manifest(path));
  std::error_code error;
  ::chmod(path.c_str(), 0755);
  for (auto it = fs::recursive_directory_iterator(path, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (it->is_directory() && !it->is_symlink()) ::chmod(it->path().c_str(), 0755);
  }
  fs::remove_all(path, error);
  if (!error) fs::remove(manifest_path(path), error);
  return error ? Status(file_error(path, error.message())) : success();
}

}  // namespace hc::contract
