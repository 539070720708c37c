// The gate's state file.
#include "contract/gate_state.h"

#include "base/files.h"
#include "base/json.h"

namespace hc::contract {
namespace {

constexpr const char* kGateSchema = "hillclimb.gate/1";
constexpr size_t kMaxSessions = 16;

/// The value when it has the type of the fallback; anything else marks the state as damaged.
template <typename T>
T field(const Json& json, const char* name, T fallback, bool* damaged) {
  const auto it = json.find(name);
  if (it == json.end()) return fallback;
  bool fits = false;
  if constexpr (std::is_same_v<T, bool>) fits = it->is_boolean();
  if constexpr (std::is_same_v<T, int64_t>) fits = it->is_number_integer();
  if constexpr (std::is_same_v<T, std::string>) fits = it->is_string();
  if (!fits) *damaged = true;
  return fits ? it->template get<T>() : fallback;
}

GateState damaged_state() {
  GateState state;
  state.damaged = state.goal_seen = true;
  return state;
}

}  // namespace

GateSession* GateState::session(const std::string& id) {
  for (GateSession& one : sessions) {
    if (one.id == id) return &one;
  }
  if (sessions.size() >= kMaxSessions) sessions.erase(sessions.begin());
  sessions.push_back({id, 0, 0});
  return &sessions.back();
}

GateState read_gate_state(const std::string& path) {
  GateState state;
  if (path.empty() || !file_exists(path)) return state;
  const std::optional<std::string> text = read_file(path);
  const std::optional<Json> json = text ? parse_json(*text) : std::nullopt;
  if (!json || !json->is_object() || json->value("schema", Json()) != kGateSchema) return damaged_state();
  bool damaged = false;
  state.goal_seen = field(*json, "goal_seen", false, &damaged);
  state.head.count = field(*json, "count", int64_t{0}, &damaged);
  state.head.head = field(*json, "head", std::string(), &damaged);
  state.calls = field(*json, "calls", int64_t{0}, &damaged);
  state.give_ups = field(*json, "give_ups", int64_t{0}, &damaged);
  const auto list = json->find("sessions");
  if (list != json->end() && list->is_array()) {
    for (const Json& one : *list) {
      if (!one.is_object()) return damaged_state();
      GateSession session;
      session.id = field(one, "id", std::string(), &damaged);
      session.evidence = field(one, "evidence", int64_t{0}, &damaged);
      session.blocks = field(one, "blocks", int64_t{0}, &damaged);
      state.sessions.push_back(std::move(session));
    }
  }
  return damaged ? damaged_state() : state;
}

std::string write_gate_state(const std::string& path, const GateState& state) {
  if (path.empty()) return "";
  Json out;
  out["schema"] = kGateSchema;
  out["goal_seen"] = state.goal_seen;
  out["count"] = state.head.count;
  out["head"] = state.head.head;
  out["calls"] = state.calls;
  out["give_ups"] = state.give_ups;
  out["sessions"] = Json::array();
  for (const GateSession& one : state.sessions) {
    out["sessions"].push_back({{"id", one.id}, {"evidence", one.evidence}, {"blocks", one.blocks}});
  }
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    if (std::string why = make_folders(path.substr(0, slash)); !why.empty()) return why;
  }
  return write_file_atomic(path, out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace hc::contract
