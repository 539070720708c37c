// What the gate remembers between two stops, in a file beside the ledger's anchor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/store.h"

namespace hc::contract {

/// Blocks that one agent session has met since evidence last grew.
struct GateSession {
  std::string id;
  int64_t evidence = 0;  ///< evidence lines at its last block
  int64_t blocks = 0;
};

struct GateState {
  bool damaged = false;    ///< the file is there but cannot be read: nothing in it counts, and a goal is assumed
  bool goal_seen = false;  ///< a goal was there at an earlier stop
  ledger::Anchor head;     ///< the ledger as the last stop saw it: a second anchor
  int64_t calls = 0;
  int64_t give_ups = 0;
  std::vector<GateSession> sessions;  ///< the newest last
  /// The entry of a session, made if it is new; the oldest of more than sixteen are forgotten.
  GateSession* session(const std::string& id);
};

/// An absent file is an empty state.
GateState read_gate_state(const std::string& path);
/// Returns an empty string, or why it could not be written.
std::string write_gate_state(const std::string& path, const GateState& state);

}  // namespace hc::contract
