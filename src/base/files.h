// Files: whole reads, atomic whole writes, folders. Failures are a sentence, empty on success.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hc {

/// The whole file, or nothing; `why` gets the system's words.
std::optional<std::string> read_file(const std::string& path, std::string* why = nullptr);
/// Writes a temporary beside `path`, syncs it and renames it over, so that a killed run or a full disk leaves the old
/// file whole. Returns an empty string, or the reason.
std::string write_file_atomic(const std::string& path, std::string_view text);
/// Creates a folder and its parents. Returns an empty string, or the reason.
std::string make_folders(const std::string& path);
bool file_exists(const std::string& path);
/// A fresh folder under the system's temporary folder.
std::string make_temp_folder(std::string_view prefix);
/// A fresh folder under the system's temporary folder that goes, with what is in it, when this goes.
class TempFolder {
 public:
  explicit TempFolder(std::string_view prefix) : path_(make_temp_folder(prefix)) {}
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  /// Empty when none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
/// Joins with exactly one slash.
std::string join_path(std::string_view a, std::string_view b);
/// Absolute path of the running program.
std::string program_path();

}  // namespace hc
