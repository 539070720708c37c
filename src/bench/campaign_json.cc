// The campaign as JSON, and as the ledger's evidence.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/subprocess.h"
#include "bench/pairing.h"
#include "bench/timer.h"
#include "ledger/records.h"
#include "ledger/statistics.h"

namespace hc::bench {
namespace {

Json files_json(const std::vector<RunFile>& files) {
  Json list = Json::array();
  for (const RunFile& file : files) list.push_back({{"path", file.path}, {"sha256", file.sha256}});
  return list;
}

Json run_json(const ArmRun& run) {
  return {{"arm", std::string(1, static_cast<char>('A' + run.arm))},
          {"pid", run.pid},
          {"start_unix_s", run.start_unix_s},
          {"start_monotonic_s", run.start_monotonic_s},
          {"mid_monotonic_s", run.mid_monotonic_s},
          {"timing_wall_s", run.timing_wall_s},
          {"end_monotonic_s", run.end_monotonic_s},
          {"files", files_json(run.files)},
          {"loaded", files_json(run.loaded)},
          {"prepared", to_json(run.prepared)},
          {"timed", to_json(run.timed)},
          {"check",
           {{"correct", run.verdict.correct},
            {"worst_error", run.verdict.worst_error},
            {"nonfinite", run.verdict.nonfinite},
            {"message", run.verdict.message},
            {"output_sha256", run.output_sha256},
            {"output_sha256_timed", run.output_sha256_timed}}},
          {"rule", run.rule},
          {"message", run.message}};
}

Json arm_json(const Arm& arm, size_t number) {
  return {{"arm", std::string(1, static_cast<char>('A' + number))},
          {"name", arm.name},
          {"role", arm.role},
          {"argv", arm.argv},
          {"env", arm.env},
          {"prepare", to_json(arm.prepare)},
          {"files", files_json(arm.files)}};
}

Json plan_json(const PairPlan& plan) {
  return {{"run_id", plan.run_id},
          {"pairs", plan.pairs},
          {"max_invalid", plan.max_invalid},
          {"time", to_json(plan.time)},
          {"canary_band", plan.canary_band},
          {"calibration_canaries", plan.calibration_canaries},
          {"check_outputs", plan.check_outputs}};
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

ledger::Role role_of(const std::string& name) {
  for (const ledger::Role role : {ledger::Role::candidate, ledger::Role::anchor, ledger::Role::ceiling}) {
    if (ledger::role_name(role) == name) return role;
  }
  return ledger::Role::baseline;
}

/// The device's state over the blocks of a run: the usual clock, the most heat and power, and every reason for which
/// the clocks were ever held down.
void add_device_facts(const std::vector<Block>& blocks, ledger::Facts* facts) {
  std::vector<double> measured, reported;
  double temperature = 0, power = 0;
  uint64_t reasons = 0;
  int64_t timeouts = 0;
  for (const Block& block : blocks) {
    if (!block.has_device) continue;
    measured.push_back(block.device.sm_mhz_clock);
    reported.push_back(block.device.sm_mhz_nvml);
    temperature = std::max(temperature, block.device.temperature_c);
    power = std::max(power, block.device.power_w);
    reasons |= block.device.event_reasons;
    timeouts += block.device.queue_timeouts;
  }
  if (measured.empty()) return;
  facts->emplace_back("sm mhz", fmt::format("{:.1f}", ledger::median(measured)));
  facts->emplace_back("sm mhz by nvml", fmt::format("{}", ledger::median(reported)));
  facts->emplace_back("gpu temperature C", fmt::format("{}", temperature));
  facts->emplace_back("gpu power W", fmt::format("{}", power));
  facts->emplace_back("throttle reasons", fmt::format("{:#x}", reasons));
  std::string each;
  for (const Block& block : blocks) {
    const auto& d = block.device;
    if (!block.has_device) continue;
    each += fmt::format("{}{:.1f} {} {} {:#x}", each.empty() ? "" : ", ", d.sm_mhz_clock, d.temperature_c, d.power_w,
                        d.event_reasons);
  }
  facts->emplace_back("each block's sm mhz, C, W and throttle reasons", each);
  if (timeouts > 0) facts->emplace_back("queue timeouts", fmt::format("{}", timeouts));
}

/// The worst block of a run, so that one disturbed block shows.
ledger::Facts facts_of(const ArmRun& run) {
  double mhz = 0;
  double load = 0;
  int64_t involuntary = 0;
  for (const Block& block : run.timed.blocks) {
    mhz = mhz == 0 ? block.mhz : std::min(mhz, block.mhz);
    load = std::max(load, block.load1);
    involuntary += block.involuntary_switches;
  }
  ledger::Facts facts{{"mhz", fmt::format("{}", mhz)},
                      {"load", fmt::format("{}", load)},
                      {"involuntary context switches", fmt::format("{}", involuntary)},
                      {"flush bytes", fmt::format("{}", run.timed.flush_bytes)},
                      {"clock", run.timed.clock},
                      {"threads", fmt::format("{}", run.timed.threads)},
                      {"version", run.prepared.version},
                      {"detail", run.prepared.detail},
                      {"empty launch s", fmt::format("{}", run.timed.empty_s)}};
  if (run.prepared.in_place) facts.emplace_back(std::string(ledger::kInPlaceFact), "yes");
  if (run.timed.copies > 0) facts.emplace_back("copies in turn", fmt::format("{}", run.timed.copies));
  if (const Preheat& heat = run.timed.preheat; heat.seconds > 0) {
    facts.emplace_back("preheat s", fmt::format("{}", heat.seconds));
    facts.emplace_back("after preheat", fmt::format("{}, {:.1f} MHz, {} C, {} W", heat.steady ? "steady" : "not steady",
                                                    heat.sm_mhz_clock, heat.temperature_c, heat.power_w));
  }
  add_device_facts(run.timed.blocks, &facts);
  return facts;
}

ledger::Reading reading_of(const ArmRun& run, const std::vector<Arm>& arms) {
  ledger::Reading reading;
  reading.arm = arms[static_cast<size_t>(run.arm)].name;
  reading.pid = run.pid;
  reading.started_s = run.start_monotonic_s;
  reading.mid_s = run.mid_monotonic_s;
  reading.wall_s = run.timing_wall_s;
  for (const Block& block : run.timed.blocks) {
    const bool single = run.timed.mode == Mode::single;
    for (const double seconds : block.seconds) {
      const int64_t launches = single ? 1 : block.launches;
      reading.blocks.push_back({seconds * static_cast<double>(launches), launches});
    }
  }
  reading.correct = run.verdict.correct;
  reading.worst_error = run.verdict.worst_error;
  reading.nonfinite = run.verdict.nonfinite;
  reading.binary_sha256 = combined_sha256(run.files);
  reading.inputs_sha256 = run.prepared.inputs_sha256;
  reading.mode = mode_name(run.timed.mode);
  reading.facts = facts_of(run);
  return reading;
}

/// An arm as it was found in its first complete run.
ledger::Arm ledger_arm(const CampaignRecord& record, const Arm& arm, int number) {
  ledger::Arm out;
  out.name = arm.name;
  out.role = role_of(arm.role);
  out.worker = joined(arm.argv);
  out.config = to_json(arm.prepare).dump();
  for (const PairRecord& pair : record.pairs) {
    for (const ArmRun& run : pair.runs) {
      if (run.arm != number || run.timed.blocks.empty()) continue;
      out.binary_sha256 = combined_sha256(run.files);
      out.source_sha256 = run.prepared.version;
      out.versions = {{"implementation", run.prepared.implementation},
                      {"version", run.prepared.version},
                      {"library", run.prepared.library},
                      {"detail", run.prepared.detail}};
      for (const RunFile& file : run.loaded) out.loaded.emplace_back(file.path, file.sha256);
      for (const LoadedPackage& one : run.prepared.packages) {
        out.loaded.emplace_back(fmt::format("{} {}", one.name, one.version), one.sha256);
      }
      return out;
    }
  }
  return out;
}

}  // namespace

Json to_json(const PairRecord& pair) {
  Json runs = Json::array();
  for (const ArmRun& run : pair.runs) runs.push_back(run_json(run));
  return {{"index", pair.index},
          {"attempt", pair.attempt},
          {"order", pair.order},
          {"valid", pair.valid},
          {"rule", pair.rule},
          {"message", pair.message},
          {"canary_before", to_json(pair.canary_before)},
          {"canary_after", to_json(pair.canary_after)},
          {"canary_reference", to_json(pair.canary_reference)},
          {"runs", runs}};
}

Json to_json(const CampaignRecord& record, const std::vector<Arm>& arms, const PairPlan& plan) {
  Json arm_list = Json::array();
  for (size_t i = 0; i < arms.size(); ++i) arm_list.push_back(arm_json(arms[i], i));
  Json pairs = Json::array();
  for (const PairRecord& pair : record.pairs) pairs.push_back(to_json(pair));
  return {{"schema", "hillclimb.campaign/1"},
          {"opened_at", record.opened_at},
          {"closed_at", record.closed_at},
          {"opened_monotonic_s", record.opened_monotonic_s},
          {"closed_monotonic_s", record.closed_monotonic_s},
          {"plan", plan_json(plan)},
          {"arms", arm_list},
          {"environment", parse_json(record.environment_open).value_or(Json::object())},
          {"environment_close", parse_json(record.environment_close).value_or(Json::object())},
          {"canary_reference", to_json(record.canary_reference)},
          {"canary_band", to_json(record.canary_band)},
          {"valid_pairs", record.valid_pairs},
          {"void_pairs", record.void_pairs},
          {"stopped", record.stopped},
          {"failure", record.failure},
          {"pairs", pairs}};
}

void append_pair(const PairRecord& pair, const std::vector<Arm>& arms, ledger::PairsArtifact* artifact) {
  ledger::Pair out;
  out.valid = pair.valid;
  out.rule = pair.rule;
  const auto canary = [](const CanaryReading& reading) { return ledger::Canary{reading.compute_s, reading.memory_s}; };
  out.before = canary(pair.canary_before);
  out.after = canary(pair.canary_after);
  out.reference = canary(pair.canary_reference);
  for (const ArmRun& run : pair.runs) {
    if (!run.timed.blocks.empty()) out.readings.push_back(reading_of(run, arms));
  }
  artifact->pairs.push_back(std::move(out));
}

std::string timer_text(Mode mode) {
  return mode == Mode::single ? "monotonic/one-launch/cold-l2" : "monotonic/back-to-back";
}

void fill_artifact(const CampaignRecord& record, const std::vector<Arm>& arms, const PairPlan& plan,
                   ledger::PairsArtifact* artifact) {
  artifact->opened_at = record.opened_at;
  artifact->closed_at = record.closed_at;
  artifact->timer = timer_text(plan.time.mode);
  const Json machine = parse_json(record.environment_open).value_or(Json::object());
  for (const auto& [key, value] : machine.items()) artifact->machine.emplace_back(key, shown(value));
  const Json close = parse_json(record.environment_close).value_or(Json::object());
  for (const auto& [key, value] : close.items()) artifact->machine_close.emplace_back(key, shown(value));
  artifact->machine.emplace_back("canary band", fmt::format("compute {:.3f}, memory {:.3f}", record.canary_band.compute,
                                                            record.canary_band.memory));
  artifact->input = {{"generator", "philox4x32-10"}, {"seed", fmt::format("{}", arms[0].prepare.seed)}};
  artifact->arms.clear();
  for (size_t i = 0; i < arms.size(); ++i) {
    artifact->arms.push_back(ledger_arm(record, arms[i], static_cast<int>(i)));
  }
  artifact->pairs.clear();
  for (const PairRecord& pair : record.pairs) append_pair(pair, arms, artifact);
}

}  // namespace hc::bench
