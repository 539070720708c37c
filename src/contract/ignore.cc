// The ignore rule for artifacts.
#include "contract/ignore.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "contract/git.h"

namespace hc::contract {
namespace {

constexpr double kGitLimit = 30;

}  // namespace

Result<std::string> ignore_artifacts(const std::string& artifacts_dir) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(artifacts_dir), error);
  const Result<Git> git = Git::open(folder.parent_path().string());
  if (!git.ok()) return std::string();
  const std::filesystem::path top = std::filesystem::weakly_canonical(git.value().top(), error);
  const std::string relative = folder.lexically_relative(top).string();
  if (relative.empty() || relative.starts_with("..") || relative == ".") return std::string();
  // git itself knows about rules in other files and in folders below
  const RunOutcome asked =
      run_process({"git", "-C", top.string(), "check-ignore", "-q", "--no-index", relative + "/goal.json"}, kGitLimit);
  if (asked.exit_code != 1) return std::string();
  const std::string path = (top / ".gitignore").string();
  std::string text = read_file(path).value_or("");
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += fmt::format("/{}/\n", relative);
  const std::string why = write_file_atomic(path, text);
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path, why)};
  return path;
}

}  // namespace hc::contract
