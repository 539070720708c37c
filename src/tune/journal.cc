// Appends rounds to their file, and reads back what a run left.
#include "tune/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"

namespace hc::tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".rounds.jsonl";

}  // namespace

Journal::Journal(const std::string& folder, const std::string& name, int64_t open_seq)
    : path_(join_path(folder, fmt::format("{}-{}{}", name, open_seq, kEnding))) {}

Status Journal::append(const ledger::PairsArtifact& so_far) const {
  ledger::PairsArtifact one = so_far;
  one.pairs = {so_far.pairs.back()};
  const std::string line = parse_json(ledger::to_json(one)).value_or(Json::object()).dump() + "\n";
  const auto failed = [&] {
    return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path_, std::strerror(errno))};
  };
  const std::string trouble = make_folders(fs::path(path_).parent_path().string());
  if (!trouble.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", path_, trouble)};
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return failed();
  const ssize_t written = ::write(fd, line.data(), line.size());
  const bool whole = written == static_cast<ssize_t>(line.size());
  if (::close(fd) != 0 || !whole) return failed();
  return success();
}

void Journal::remove() const {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::vector<std::string> journals_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string path = it->path().string();
    if (path.ends_with(kEnding)) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<ledger::PairsArtifact> read_journal(const std::string& path) {
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{Code::file_error, fmt::format("{} cannot be read: {}", path, why)};
  std::optional<ledger::PairsArtifact> out;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    Result<ledger::PairsArtifact> one = ledger::parse_pairs(text->substr(begin, end - begin), path);
    if (!one.ok()) break;  // a write that a full disk cut short
    if (!out) {
      out = std::move(one).value();
      continue;
    }
    for (ledger::Pair& pair : one.value().pairs) out->pairs.push_back(std::move(pair));
    out->closed_at = one.value().closed_at;
    out->read_gbs = std::max(out->read_gbs, one.value().read_gbs);
  }
  if (!out) return Diagnostic{Code::file_error, fmt::format("{} holds no whole round", path)};
  return std::move(*out);
}

void mark_unfinished(ledger::PairsArtifact* artifact, const std::string& prefix, const std::string& rule,
                     const std::string& why) {
  artifact->name = prefix + artifact->name;
  artifact->machine.emplace_back("unfinished", why);
  for (ledger::Pair& pair : artifact->pairs) {
    if (pair.valid) pair.rule = rule;
    pair.valid = false;
  }
}

}  // namespace hc::tune
