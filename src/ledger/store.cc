// Writing evidence: objects, named copies, ledger lines, anchor; and the lock between commands.
#include "ledger/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/hash.h"
#include "ledger/ledger_line.h"

namespace hc::ledger {
namespace {

Diagnostic cannot_write(const std::string& path, const std::string& why) {
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be written: {}", path, why)}.fix(
      "free space or rights, then run the same command again; what was stored so far is kept");
}

Diagnostic broken_ledger(std::string message) {
  return Diagnostic{.code = Code::evidence_broken, .message = std::move(message)};
}

Status refuse_symlink(const std::string& artifacts_dir) {
  const std::string why = symlinked_folder(artifacts_dir);
  if (why.empty()) return success();
  return broken_ledger(why).fix("move the real folder to that place, or name it where the command takes a folder");
}

/// Appends and syncs; on failure the file is cut back to `old_size` so that no torn line stays. Returns errno or 0.
int append_synced(const std::string& path, std::string_view text, off_t old_size) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int failure = 0;
  while (!text.empty() && failure == 0) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) failure = errno;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  if (failure == 0 && ::fsync(fd) != 0) failure = errno;
  if (failure != 0 && ::ftruncate(fd, old_size) != 0) failure = errno;
  ::close(fd);
  return failure;
}

/// Letters, digits, dot, dash and underscore; everything else becomes an underscore.
std::string file_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    out += plain ? c : '_';
  }
  return out.empty() || out.front() == '.' ? "_" + out : out;
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

struct Store::State {
  std::string artifacts_dir, anchor_path;
  LedgerView view;
  size_t known_bytes = 0;  ///< of the ledger file that `view` covers
  std::vector<std::string> repairs;
  std::map<std::string, std::string> names;  ///< object id -> name

  std::string lock_path() const { return join_path(artifacts_dir, ".ledger.lock"); }
  Status refresh();
  Status set_torn_aside();
  Status append_locked(LedgerLine line, std::optional<Anchor> announced_on);
  Status write_anchor(const Anchor& anchor) const;
  Anchor seen() const;
  Status catch_up();
  Status adopt();
  Status check_anchor();
  Result<std::string> link_named(const std::string& run, const std::string& name, const std::string& id,
                                 const std::string& text) const;
  void note_names(size_t from);
};

void Store::State::note_names(size_t from) {
  for (size_t i = from; i < view.lines.size(); ++i) {
    const LedgerLine& line = view.lines[i];
    if (!line.object.empty() && !line.name.empty()) names.emplace(line.object, line.name);
  }
}

/// Takes in what another writer appended since the last look.
Status Store::State::refresh() {
  const std::string path = ledger_path(artifacts_dir);
  if (!file_exists(path))
    return view.lines.empty() ? success() : Status(broken_ledger("the ledger was deleted while it was in use"));
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be read: {}", path, why)};
  if (text->size() < known_bytes) return broken_ledger("the ledger became shorter while it was in use");
  const size_t from = view.lines.size();
  extend_view(&view, std::string_view(*text).substr(known_bytes));
  if (!view.broken.empty()) {
    return broken_ledger(view.broken.front())
        .fix("restore ledger.jsonl from a copy, or move artifacts/ aside and start anew");
  }
  known_bytes = text->size() - view.torn.size();
  note_names(from);
  return success();
}

Status Store::State::set_torn_aside() {
  if (view.torn.empty()) return success();
  std::string aside;
  for (int i = 1; aside.empty() || file_exists(aside); ++i)
    aside = fmt::format("{}.torn-{}", ledger_path(artifacts_dir), i);
  if (const std::string why = write_file_atomic(aside, view.torn); !why.empty()) return cannot_write(aside, why);
  if (::truncate(ledger_path(artifacts_dir).c_str(), static_cast<off_t>(known_bytes)) != 0) {
    return cannot_write(ledger_path(artifacts_dir), std::strerror(errno));
  }
  repairs.push_back(
      fmt::format("the last line of the ledger was torn by a killed run; its {} bytes were set aside in {}",
                  view.torn.size(), aside));
  view.torn.clear();
  return success();
}

Status Store::State::write_anchor(const Anchor& anchor) const {
  if (anchor_path.empty()) return success();
  if (const std::string why = make_folders(parent_of(anchor_path)); !why.empty()) return cannot_write(anchor_path, why);
  if (const std::string why = write_file_atomic(anchor_path, anchor_text(anchor)); !why.empty()) {
    return cannot_write(anchor_path, why);
  }
  return success();
}

Anchor Store::State::seen() const { return {static_cast<int64_t>(view.lines.size()), view.head()}; }

/// Anchors the announced line that a killed run left beyond the anchor; any other was not written by us, and is not
/// made ours. Lines without an anchor are taken over with a line that says so for ever.
Status Store::State::catch_up() {
  const std::optional<Anchor> anchor = read_anchor(anchor_path);
  if (!anchor) return adopt();
  std::vector<std::string> faults = compare_with_anchor(view, *anchor);
  if (std::string past = written_past_anchor(view, *anchor); !past.empty()) faults.push_back(std::move(past));
  if (!faults.empty()) {
    return broken_ledger(faults.front())
        .fix(fmt::format("restore ledger.jsonl from a copy; the anchor is {}", anchor_path));
  }
  if (begun_anew(view, *anchor)) return write_anchor(seen());
  const int64_t count = static_cast<int64_t>(view.lines.size());
  if (count <= anchor->count) return success();
  const LedgerLine& last = view.lines.back();
  LedgerLine line;
  line.kind = "caught_up";
  line.note = fmt::format("ledger line {} ({}) had not reached the anchor when its writer ended", count,
                          last.object.empty() ? last.kind : last.kind + " " + last.object.substr(0, 12));
  repairs.push_back(line.note);
  return append_locked(std::move(line), seen());
}

/// The line is not announced: were its append to fail, the announcement would pass for an anchor of the lines before.
Status Store::State::adopt() {
  if (anchor_path.empty() || view.lines.empty()) return success();
  LedgerLine line;
  line.kind = "adopted";
  line.note = fmt::format(
      "{} ledger lines, head {}, were adopted without an anchor: a rewritten or cut ledger would "
      "not have been noticed then",
      view.lines.size(), view.head().substr(0, 12));
  repairs.push_back(line.note);
  return append_locked(std::move(line), std::nullopt);
}

/// A ledger behind its anchor is refused; one that is gone altogether is begun anew with a line that says so for ever.
Status Store::State::check_anchor() {
  const std::optional<Anchor> anchor = read_anchor(anchor_path);
  // an empty file is what a full disk leaves of the line that was to begin it
  if (!view.lines.empty() || !anchor || anchor->count == 0) return catch_up();
  LedgerLine line;
  line.kind = "lost";
  line.note = anchor->count < 0 ? "an earlier ledger, whose anchor is damaged, is gone from this folder"
                                : fmt::format("an earlier ledger of {} lines, head {}, is gone from this folder",
                                              anchor->count, anchor->head.substr(0, 12));
  repairs.push_back(line.note);
  // the announcement keeps what was lost: were the append to fail, the loss would be forgotten
  return append_locked(std::move(line), anchor->count < 0 ? Anchor{} : *anchor);
}

/// Announces the line to the anchor, appends it, and anchors it; `announced_on` is what the anchor says meanwhile.
Status Store::State::append_locked(LedgerLine line, std::optional<Anchor> announced_on) {
  line.seq = static_cast<int64_t>(view.lines.size());
  line.prev = view.head();
  line.time = utc_now();
  const std::string text = line_text(line);
  const std::string hash = sha256_hex(text);
  if (announced_on) {
    announced_on->next = hash;
    HC_TRY(write_anchor(*announced_on));
  }
  const int failure = append_synced(ledger_path(artifacts_dir), text + "\n", static_cast<off_t>(known_bytes));
  if (failure != 0) return cannot_write(ledger_path(artifacts_dir), std::strerror(failure));
  known_bytes += text.size() + 1;
  view.hashes.push_back(hash);
  view.lines.push_back(std::move(line));
  note_names(view.lines.size() - 1);
  return write_anchor(seen());
}

/// Makes artifacts/<run>/<name>.json a hard link (or copy) of the object; returns `<run>/<name>.json`.
Result<std::string> Store::State::link_named(const std::string& run, const std::string& name, const std::string& id,
                                             const std::string& text) const {
  const std::string folder = join_path(artifacts_dir, file_name(run));
  if (const std::string why = make_folders(folder); !why.empty()) return cannot_write(folder, why);
  for (int i = 1;; ++i) {
    const std::string leaf = file_name(name) + (i == 1 ? "" : fmt::format("-{}", i)) + ".json";
    const std::string path = join_path(folder, leaf);
    if (::link(object_path(artifacts_dir, id).c_str(), path.c_str()) == 0) return file_name(run) + "/" + leaf;
    if (errno == EEXIST) {
      const std::optional<std::string> present = read_file(path);
      if (present && *present == text) return file_name(run) + "/" + leaf;
      continue;
    }
    if (const std::string why = write_file_atomic(path, text); !why.empty()) return cannot_write(path, why);
    ::chmod(path.c_str(), 0444);
    return file_name(run) + "/" + leaf;
  }
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& artifacts_dir, const std::string& anchor_path) {
  HC_TRY(refuse_symlink(artifacts_dir));
  if (const std::string why = make_folders(join_path(artifacts_dir, "objects")); !why.empty()) {
    return cannot_write(artifacts_dir, why);
  }
  auto state = std::make_unique<State>();
  state->artifacts_dir = artifacts_dir;
  state->anchor_path = anchor_path;
  const FileLock lock(state->lock_path());
  if (!lock.held()) return cannot_write(state->lock_path(), std::strerror(errno));
  HC_TRY(state->refresh());
  HC_TRY(state->set_torn_aside());
  HC_TRY(state->check_anchor());
  return Store(std::move(state));
}

Result<int64_t> Store::append(LedgerLine line) {
  const FileLock lock(state_->lock_path());
  if (!lock.held()) return cannot_write(state_->lock_path(), std::strerror(errno));
  HC_TRY(state_->refresh());
  HC_TRY(state_->set_torn_aside());
  HC_TRY(state_->catch_up());
  HC_TRY(state_->append_locked(std::move(line), state_->seen()));
  return state_->view.lines.back().seq;
}

Result<int64_t> Store::run_open(const std::string& run, const std::string& purpose, const std::string& variant,
                                const std::string& subject) {
  LedgerLine line;
  line.kind = "run_open";
  line.run = run;
  line.purpose = purpose;
  line.variant = variant;
  line.subject = subject;
  return append(std::move(line));
}

Status Store::run_close(int64_t open_seq, const std::string& outcome) {
  LedgerLine line;
  line.kind = "run_close";
  if (open_seq >= 0 && open_seq < static_cast<int64_t>(state_->view.lines.size())) {
    line.run = state_->view.lines[static_cast<size_t>(open_seq)].run;
  }
  line.opens = open_seq;
  line.note = outcome;
  HC_TRY(append(std::move(line)));
  return success();
}

Result<std::string> Store::put(const std::string& run, const std::string& name, const std::string& text,
                               const std::string& variant, int64_t open_seq) {
  const std::string id = sha256_hex(text);
  const std::string path = object_path(state_->artifacts_dir, id);
  if (!file_exists(path)) {
    if (const std::string why = make_folders(parent_of(path)); !why.empty()) return cannot_write(path, why);
    if (const std::string why = write_file_atomic(path, text); !why.empty()) return cannot_write(path, why);
    ::chmod(path.c_str(), 0444);
  }
  LedgerLine line;
  line.kind = "object";
  line.run = run;
  line.object = id;
  line.name = HC_TRY(state_->link_named(run, name, id, text));
  line.variant = variant;
  line.opens = open_seq;
  HC_TRY(append(std::move(line)));
  return id;
}

const std::string& Store::artifacts_dir() const { return state_->artifacts_dir; }

std::string Store::named_path(const std::string& id) const {
  const auto it = state_->names.find(id);
  return it == state_->names.end() ? "" : "artifacts/" + it->second;
}

const LedgerView& Store::view() const { return state_->view; }
const std::vector<std::string>& Store::repairs() const { return state_->repairs; }

Result<WriterLock> WriterLock::take(const std::string& artifacts_dir, const std::string& who) {
  HC_TRY(refuse_symlink(artifacts_dir));
  if (const std::string why = make_folders(artifacts_dir); !why.empty()) return cannot_write(artifacts_dir, why);
  const std::string path = join_path(artifacts_dir, ".writer");
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return cannot_write(path, std::strerror(errno));
  WriterLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = read_file(path).value_or("another process");
    return Diagnostic{.code = Code::goal_error,
                      .message = fmt::format("{} is writing the goal of {}",
                                             holder.empty() ? "another process" : holder, artifacts_dir)}
        .fix("wait until it has ended; reading commands (check, status, report) work meanwhile");
  }
  const std::string text = fmt::format("{} (process {}, since {})", who, ::getpid(), utc_now());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) {
    return cannot_write(path, std::strerror(errno));
  }
  return lock;
}

WriterLock::WriterLock(WriterLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
WriterLock::~WriterLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace hc::ledger
