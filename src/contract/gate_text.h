// What the gate says, and how each agent wants to hear it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/gate.h"
#include "contract/status.h"

namespace hc::contract {

/// `met`, `unmet`, `stopped`, ... for the ledger.
std::string_view gate_reason_word(GateReason reason);
/// The reply in the agent's dialect; `faults` are the gate's own findings, `blocks` how often this session was blocked
/// since evidence last grew.
GateReply gate_reply(const GateRequest& request, GateReason reason, const Standing& standing,
                     const std::vector<std::string>& faults, int64_t blocks);

}  // namespace hc::contract
