// Installing and removing hook and playbook.
#include "contract/agent_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "contract/faults.h"
#include "contract/playbook.h"

namespace hc::contract {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHookMark = "# hillclimb gate";  ///< ends our command; a comment to the shell
constexpr const char* kRecordSchema = "hillclimb.agent/1";
constexpr int kTimeoutS = 120;

using Sentences = std::vector<std::string>;

/// How an agent's settings hold a stop hook.
struct Format {
  const char *hook_file, *skill_file, *event;
  bool grouped;  ///< event -> groups -> hooks, rather than event -> hooks
  int timeout;   ///< in the agent's own unit
};

const Format& format_of(Agent agent) {
  static const Format kFormats[] = {
      {".claude/settings.json", ".claude/skills/hillclimb/SKILL.md", "Stop", true, kTimeoutS},
      {".codex/hooks.json", ".agents/skills/hillclimb/SKILL.md", "Stop", true, kTimeoutS},
      {".cursor/hooks.json", ".cursor/skills/hillclimb/SKILL.md", "stop", false, kTimeoutS},
      {".gemini/settings.json", ".gemini/skills/hillclimb/SKILL.md", "AfterAgent", true, kTimeoutS * 1000},
  };
  return kFormats[static_cast<size_t>(agent)];
}

/// One word for the shell, whatever is in it.
std::string in_quotes(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_ours(const Json& hook) {
  return hook.is_object() && hook.value("command", Json()).is_string() &&
         hook["command"].get<std::string>().ends_with(kHookMark);
}

Json our_entry(const AgentInstall& install) {
  const Format& format = format_of(install.agent);
  Json hook;
  if (format.grouped) hook["type"] = "command";
  if (install.agent == Agent::gemini) hook["name"] = "hillclimb-gate";
  hook["command"] = hook_command(install);
  hook["timeout"] = format.timeout;
  // Cursor's own limit on follow-ups is five; ours counts by evidence instead
  if (install.agent == Agent::cursor) hook["loop_limit"] = nullptr;
  if (!format.grouped) return hook;
  Json group;
  group["hooks"] = Json::array({hook});
  return group;
}

/// Takes our hook out of the settings; everything that becomes empty by that goes as well.
void strip(const Format& format, Json* settings) {
  if (!settings->contains("hooks") || !(*settings)["hooks"].is_object()) return;
  Json& hooks = (*settings)["hooks"];
  if (!hooks.contains(format.event) || !hooks[format.event].is_array()) return;
  Json kept = Json::array();
  bool found = false;
  for (Json& entry : hooks[format.event]) {
    if (is_ours(entry)) {
      found = true;
      continue;
    }
    if (entry.is_object() && entry.value("hooks", Json()).is_array()) {
      Json inner = Json::array();
      for (Json& hook : entry["hooks"]) {
        if (!is_ours(hook)) inner.push_back(hook);
      }
      const bool emptied = inner.empty() && !entry["hooks"].empty();
      found = found || inner.size() != entry["hooks"].size();
      if (emptied) continue;
      entry["hooks"] = std::move(inner);
    }
    kept.push_back(entry);
  }
  if (!found) return;
  if (kept.empty()) {
    hooks.erase(format.event);
  } else {
    hooks[format.event] = std::move(kept);
  }
  if (hooks.empty()) settings->erase("hooks");
}

/// Puts our hook behind those that are there; an empty string, or what is in the way.
std::string add(const AgentInstall& install, Json* settings) {
  const Format& format = format_of(install.agent);
  if (install.agent == Agent::cursor && !settings->contains("version")) (*settings)["version"] = 1;
  if (!settings->contains("hooks")) (*settings)["hooks"] = Json::object();
  Json& hooks = (*settings)["hooks"];
  if (!hooks.is_object()) return "`hooks` is not an object";
  if (!hooks.contains(format.event)) hooks[format.event] = Json::array();
  if (!hooks[format.event].is_array()) return fmt::format("`hooks.{}` is not a list", format.event);
  hooks[format.event].push_back(our_entry(install));
  return "";
}

/// What was there before the first installation, kept outside of the project.
struct Record {
  bool found = false;
  bool existed = false;
  std::string original, written_sha256;
};

std::string record_path(const AgentInstall& install, const std::string& file) {
  return join_path(install.records, sha256_hex(file).substr(0, 32) + ".json");
}

Record read_record(const std::string& path) {
  Record record;
  const std::optional<std::string> text = read_file(path);
  const std::optional<Json> json = text ? parse_json(*text) : std::nullopt;
  if (!json || json->value("schema", Json()) != kRecordSchema) return record;
  record.found = true;
  record.existed = json->value("existed", Json()) == true;
  record.original = json->value("original", Json()).is_string() ? (*json)["original"].get<std::string>() : "";
  record.written_sha256 = json->value("written", Json()).is_string() ? (*json)["written"].get<std::string>() : "";
  return record;
}

Status write_record(const std::string& path, const std::string& file, const Record& record) {
  const Json out{{"schema", kRecordSchema},
                 {"file", file},
                 {"existed", record.existed},
                 {"original", record.original},
                 {"written", record.written_sha256}};
  std::string why = make_folders(fs::path(path).parent_path().string());
  // bytes that are not UTF-8 cannot be kept as JSON text; then only our entry is taken out later
  if (why.empty()) why = write_file_atomic(path, out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return why.empty() ? success() : Status(file_error(path, why));
}

Status write_whole(const std::string& path, const std::string& text) {
  std::string why = make_folders(fs::path(path).parent_path().string());
  if (why.empty()) why = write_file_atomic(path, text);
  return why.empty() ? success() : Status(file_error(path, why));
}

/// Removes a file, and the folders above it that are empty then, up to the project.
void remove_file(const std::string& project, const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  for (fs::path folder = fs::path(path).parent_path(); folder.string().size() > project.size();
       folder = folder.parent_path()) {
    if (!fs::is_empty(folder, error) || error) return;
    fs::remove(folder, error);
  }
}

Result<Json> read_settings(const std::string& path, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json(Json::object());
  std::optional<Json> json = parse_json(text);
  if (json && json->is_object()) return std::move(*json);
  return file_error(path, "this is no plain JSON object, and rewriting it could lose something")
      .fix("take out comments and trailing commas, or add the hook by hand; `--print` shows it");
}

/// Keeps what was there before our first entry. When somebody else changed the file since, that original is no longer
/// what a removal should bring back, and only our entry will be taken out.
Status keep_original(const AgentInstall& install, const std::string& path, const std::optional<std::string>& before,
                     bool had_ours, const std::string& written) {
  const std::string kept = record_path(install, path);
  Record record = read_record(kept);
  if (!had_ours) {
    record = {true, before.has_value(), before.value_or(""), ""};
  } else if (!record.found || record.written_sha256 != sha256_hex(*before)) {
    std::error_code error;
    fs::remove(kept, error);
    return success();
  }
  record.written_sha256 = written;
  return write_record(kept, path, record);
}

Status install_hook(const AgentInstall& install, Sentences* said) {
  const std::string path = join_path(install.project, hook_file(install.agent));
  const std::optional<std::string> before = read_file(path);
  if (!before && file_exists(path)) return file_error(path, "this cannot be read");
  Json settings = HC_TRY(read_settings(path, before.value_or("")));
  const std::string as_parsed = settings.dump();
  strip(format_of(install.agent), &settings);
  const bool had_ours = settings.dump() != as_parsed;
  if (const std::string why = add(install, &settings); !why.empty()) return file_error(path, why);
  const std::string text = settings.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (before && *before == text) {
    said->push_back(path + " has the hook already");
    return success();
  }
  HC_TRY(keep_original(install, path, before, had_ours, sha256_hex(text)));
  HC_TRY(write_whole(path, text));
  said->push_back(path + (had_ours ? ": the hook was renewed" : ": the stop hook was added"));
  return success();
}

Status install_skill(const AgentInstall& install, Sentences* said) {
  const std::string path = join_path(install.project, skill_file(install.agent));
  const std::optional<std::string> before = read_file(path);
  if (before && *before == install.playbook) {
    said->push_back(path + " is up to date");
    return success();
  }
  if (before && before->find(kPlaybookMark) == std::string::npos) {
    return file_error(path, "this is there already and was not written by hillclimb").fix("move it aside");
  }
  HC_TRY(write_whole(path, install.playbook));
  said->push_back(path + (before ? ": the playbook was renewed" : ": the playbook was written"));
  return success();
}

Status remove_hook(const AgentInstall& install, Sentences* said) {
  const std::string path = join_path(install.project, hook_file(install.agent));
  const std::string kept = record_path(install, path);
  const std::optional<std::string> now = read_file(path);
  if (!now) {
    said->push_back(path + " is not there");
    return success();
  }
  const Record record = read_record(kept);
  std::error_code error;
  if (record.found && record.written_sha256 == sha256_hex(*now)) {
    if (record.existed) HC_TRY(write_whole(path, record.original));
    if (!record.existed) remove_file(install.project, path);
    fs::remove(kept, error);
    said->push_back(path + " is as it was before");
    return success();
  }
  Json settings = HC_TRY(read_settings(path, *now));
  const std::string as_parsed = settings.dump();
  strip(format_of(install.agent), &settings);
  fs::remove(kept, error);
  if (settings.dump() == as_parsed) {
    said->push_back(path + " has no hook of ours");
    return success();
  }
  const bool only_frame = settings.empty() || (install.agent == Agent::cursor && settings == Json{{"version", 1}});
  if (only_frame) {
    remove_file(install.project, path);
  } else {
    HC_TRY(write_whole(path, settings.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  }
  said->push_back(path + ": the hook was taken out");
  return success();
}

void remove_skill(const AgentInstall& install, Sentences* said) {
  const std::string path = join_path(install.project, skill_file(install.agent));
  const std::optional<std::string> now = read_file(path);
  if (!now) return;
  if (now->find(kPlaybookMark) == std::string::npos) {
    said->push_back(path + " was not written by hillclimb and stays");
    return;
  }
  remove_file(install.project, path);
  said->push_back(path + " was removed");
}

Status check_agent(const AgentInstall& install) {
  if (install.agent == Agent::exit) {
    return Diagnostic{.code = Code::usage, .message = "there is nothing to install for `exit`"}.fix(
        "let a pre-push hook or a required check run `hillclimb gate --agent exit`");
  }
  if (fs::is_directory(install.project)) return success();
  return file_error(install.project, "this is no folder");
}

}  // namespace

std::string hook_file(Agent agent) { return format_of(agent).hook_file; }
std::string skill_file(Agent agent) { return format_of(agent).skill_file; }

std::string hook_command(const AgentInstall& install) {
  const std::string why =
      "hillclimb could not judge the goal, so this turn cannot end; is the program still there? `hillclimb agent "
      "install "
      "--remove` takes this hook out";
  std::string out = install.anchor.empty() ? "" : "HILLCLIMB_ANCHOR=" + in_quotes(install.anchor) + " ";
  out += fmt::format("{} gate --agent {} --artifacts {}", in_quotes(install.program), agent_name(install.agent),
                     in_quotes(join_path(install.project, "artifacts")));
  if (install.agent == Agent::cursor) {
    out += fmt::format(" || echo {}", in_quotes(Json{{"followup_message", why}}.dump()));
  } else {
    out += fmt::format(" || {{ echo {} >&2; exit 2; }}", in_quotes(why));
  }
  return out + " " + kHookMark;
}

Result<Sentences> install_agent(const AgentInstall& install) {
  HC_TRY(check_agent(install));
  Sentences said;
  HC_TRY(install_hook(install, &said));
  HC_TRY(install_skill(install, &said));
  return said;
}

Result<Sentences> remove_agent(const AgentInstall& install) {
  HC_TRY(check_agent(install));
  Sentences said;
  HC_TRY(remove_hook(install, &said));
  remove_skill(install, &said);
  return said;
}

}  // namespace hc::contract
