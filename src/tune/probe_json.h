// JSON forms of what a probe is asked and answers; both ends are this program, so missing fields take their defaults.
#pragma once

#include "base/json.h"
#include "tune/probe.h"

namespace hc::tune {

Json to_json(const ProbeSetup& setup);
Json to_json(const ProbeRequest& request);
Json to_json(const ProbeAnswer& answer);
ProbeSetup probe_setup_from_json(const Json& json);
ProbeRequest probe_request_from_json(const Json& json);
ProbeAnswer probe_answer_from_json(const Json& json);

}  // namespace hc::tune
