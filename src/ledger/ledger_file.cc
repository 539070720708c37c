// Reading the hash-chained ledger and comparing it with its anchor.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "ledger/json_reader.h"
#include "ledger/ledger_line.h"
#include "ledger/store.h"

namespace hc::ledger {
namespace {

const std::string kZeros(64, '0');

}  // namespace

std::string line_text(const LedgerLine& line) {
  Json out;
  out["schema"] = kLedgerSchema;
  out["seq"] = line.seq;
  out["prev"] = line.prev;
  out["kind"] = line.kind;
  out["time"] = line.time;
  out["run"] = line.run;
  if (!line.object.empty()) out["object"] = line.object;
  if (!line.name.empty()) out["name"] = line.name;
  if (!line.variant.empty()) out["variant"] = line.variant;
  if (!line.purpose.empty()) out["purpose"] = line.purpose;
  if (!line.subject.empty()) out["subject"] = line.subject;
  if (line.opens >= 0) out["opens"] = line.opens;
  if (!line.note.empty()) out["note"] = line.note;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<LedgerLine> parse_line(const std::string& text, const std::string& where) {
  const Json json = HC_TRY(parse_document(text, where, kLedgerSchema));
  std::string failure;
  const JsonReader in(json, "", &failure);
  LedgerLine line;
  line.seq = in.integer("seq");
  line.prev = in.text("prev");
  line.kind = in.text("kind");
  line.time = in.text("time");
  line.run = in.text("run");
  line.object = in.text_or("object", "");
  line.name = in.text_or("name", "");
  line.variant = in.text_or("variant", "");
  line.purpose = in.text_or("purpose", "");
  line.subject = in.text_or("subject", "");
  line.opens = in.integer_or("opens", -1);
  line.note = in.text_or("note", "");
  if (!failure.empty()) return bad_document(where, failure);
  return line;
}

std::string ledger_path(const std::string& artifacts_dir) { return join_path(artifacts_dir, "ledger.jsonl"); }

void extend_view(LedgerView* view, std::string_view text) {
  view->torn.clear();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      view->torn = std::string(text);
      return;
    }
    const std::string one(text.substr(0, end));
    text.remove_prefix(end + 1);
    const std::string where = fmt::format("ledger line {}", view->lines.size() + 1);
    Result<LedgerLine> line = parse_line(one, where);
    if (!line.ok()) {
      view->broken.push_back(line.error().message);
      return;
    }
    const int64_t expected = static_cast<int64_t>(view->lines.size());
    if (line.value().seq != expected) {
      view->broken.push_back(fmt::format("{} has seq {} where {} was expected: a line was removed, added or moved",
                                         where, line.value().seq, expected));
      return;
    }
    if (line.value().prev != view->head()) {
      view->broken.push_back(fmt::format("{} does not continue the chain: the line before it was changed", where));
      return;
    }
    view->hashes.push_back(sha256_hex(one));
    view->lines.push_back(std::move(line).value());
  }
}

std::string LedgerView::head() const { return hashes.empty() ? kZeros : hashes.back(); }

LedgerView read_ledger(const std::string& artifacts_dir) {
  LedgerView view;
  if (!file_exists(ledger_path(artifacts_dir))) return view;
  std::string why;
  const std::optional<std::string> text = read_file(ledger_path(artifacts_dir), &why);
  if (!text) {
    view.broken.push_back(fmt::format("{} cannot be read: {}", ledger_path(artifacts_dir), why));
    return view;
  }
  extend_view(&view, *text);
  return view;
}

std::string anchor_path_for(const std::string& state_folder, const std::string& artifacts_dir) {
  std::error_code error;
  const std::string whole = std::filesystem::weakly_canonical(std::filesystem::absolute(artifacts_dir), error).string();
  return join_path(state_folder, "anchors/" + sha256_hex(whole).substr(0, 32) + ".json");
}

std::string symlinked_folder(const std::string& artifacts_dir) {
  std::string folder = std::filesystem::path(artifacts_dir).lexically_normal().string();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code error;
  if (!std::filesystem::is_symlink(folder, error)) return "";
  return fmt::format(
      "{} is a symlink to {}; the evidence needs a real folder, since its anchor is kept for that folder", folder,
      std::filesystem::read_symlink(folder, error).string());
}

std::string anchor_text(const Anchor& anchor) {
  Json out;
  out["schema"] = "hillclimb.anchor/1";
  out["count"] = anchor.count;
  out["head"] = anchor.head;
  if (!anchor.next.empty()) out["next"] = anchor.next;
  return out.dump() + "\n";
}

std::optional<Anchor> read_anchor(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::optional<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  Anchor anchor{-1, ""};
  const Result<Json> json = parse_document(*text, path, "hillclimb.anchor/1");
  std::string failure;
  if (json.ok()) {
    const JsonReader in(json.value(), "", &failure);
    // anchors written before lines were announced have no `next`, so that no line may lie beyond them
    anchor = {in.integer("count"), in.text("head"), in.text_or("next", "")};
  }
  // a damaged anchor is not a missing one: count -1 makes the comparison say so
  return json.ok() && failure.empty() ? anchor : Anchor{-1, ""};
}

bool begun_anew(const LedgerView& view, const Anchor& anchor) {
  return view.lines.size() == 1 && view.lines[0].kind == "lost" && !anchor.next.empty() &&
         view.hashes[0] == anchor.next;
}

std::vector<std::string> compare_with_anchor(const LedgerView& view, const Anchor& anchor) {
  const int64_t count = static_cast<int64_t>(view.lines.size());
  if (anchor.count < 0) return {"the anchor of the ledger is damaged"};
  if (begun_anew(view, anchor)) return {};
  if (count < anchor.count) {
    return {fmt::format("the ledger has {} lines, but its anchor saw {}: the end was cut off", count, anchor.count)};
  }
  if (anchor.count > 0 && view.hashes[static_cast<size_t>(anchor.count) - 1] != anchor.head) {
    return {fmt::format("ledger line {} is not the one that the anchor saw: the ledger was rewritten", anchor.count)};
  }
  return {};
}

std::string written_past_anchor(const LedgerView& view, const Anchor& anchor) {
  const int64_t count = static_cast<int64_t>(view.lines.size());
  if (anchor.count < 0 || count <= anchor.count || begun_anew(view, anchor)) return "";
  if (count > anchor.count + 1) {
    return fmt::format("the ledger has {} lines and its anchor saw {}: the rest was not written by hillclimb", count,
                       anchor.count);
  }
  if (view.head() == anchor.next) return "";
  const LedgerLine& last = view.lines.back();
  return fmt::format("ledger line {} ({}) lies beyond the anchor, which {}: it was not written by hillclimb", count,
                     last.kind, anchor.next.empty() ? "was told of no further line" : "was told of another line");
}

std::string object_path(const std::string& artifacts_dir, const std::string& id) {
  return join_path(artifacts_dir, "objects/" + id.substr(0, 2) + "/" + id + ".json");
}

Result<std::string> read_object(const std::string& artifacts_dir, const std::string& id) {
  const auto broken = [](std::string message) {
    return Diagnostic{.code = Code::evidence_broken, .message = std::move(message)};
  };
  if (id.size() != 64 || id.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return broken(fmt::format("\"{}\" is not an object id; 64 hexadecimal digits are needed", id));
  }
  std::string why;
  std::optional<std::string> text = read_file(object_path(artifacts_dir, id), &why);
  if (!text) return broken(fmt::format("object {} is missing ({})", id.substr(0, 12), why));
  if (sha256_hex(*text) != id) {
    return broken(fmt::format("object {} was changed: its content hashes to {}", id.substr(0, 12),
                              sha256_hex(*text).substr(0, 12)));
  }
  return std::move(*text);
}

}  // namespace hc::ledger
