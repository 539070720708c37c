// Runs measurements through the referee's workers and turns what they said into records.
#include "tune/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "bench/environment.h"
#include "bench/read_rate.h"
#include "tune/search.h"

namespace hc::tune {
namespace {

using ledger::PairsArtifact;

constexpr double kProcessorBand = 0.3;  ///< the other thread of a core costs that much; ours on both cores far more
constexpr int kFirstReads = 3;          ///< of memory, before the first round
constexpr const char* kDeviceAnchor = "device copy";
constexpr const char* kDriverCopy = "driver copy GB/s";
constexpr int kCalibrationCanaries = 16;  ///< about 1.5 s in all

/// Scalars of a JSON object as facts.
ledger::Facts facts_of(const Json& json) {
  ledger::Facts facts;
  for (const auto& [key, value] : json.items()) {
    facts.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return facts;
}

/// The bench's arm; its hash is looked at before each start.
bench::Arm bench_arm(const Contender& contender) {
  bench::Arm arm;
  arm.name = contender.arm.name;
  arm.role = ledger::role_name(contender.arm.role);
  arm.argv = contender.argv;
  arm.prepare = contender.prepare;
  arm.env = contender.env;
  arm.elements = contender.elements;
  arm.files = contender.files;
  if (arm.files.empty()) arm.files = {{contender.binary, contender.arm.binary_sha256}};
  return arm;
}

/// What the contenders say of themselves stands over what the workers said.
void name_arms(const std::vector<Contender>& contenders, PairsArtifact* artifact) {
  for (size_t i = 0; i < contenders.size(); ++i) {
    ledger::Arm arm = contenders[i].arm;
    arm.versions = artifact->arms[i].versions;
    arm.loaded = artifact->arms[i].loaded;
    arm.binary_sha256 = artifact->arms[i].binary_sha256;
    artifact->arms[i] = std::move(arm);
  }
}

/// The record of a measurement before its first round.
PairsArtifact opened(const std::vector<Contender>& contenders, const CampaignPlan& plan) {
  PairsArtifact out;
  out.purpose = plan.purpose;
  out.opened_at = ledger::utc_now();
  out.timer = bench::timer_text(plan.time.mode);
  out.machine = machine_facts();
  out.input = {{"generator", "philox4x32-10"}, {"seed", fmt::format("{}", contenders[0].prepare.seed)}};
  if (plan.read_rate) out.cache_bytes = static_cast<double>(bench::cache_bytes_here());
  for (const Contender& contender : contenders) out.arms.push_back(contender.arm);
  return out;
}

/// The better of two looks at a GPU's memory: before the first round and after the last, while none of ours runs on it.
Status read_device(const CampaignPlan& plan, bench::GpuRates* best, PairsArtifact* artifact) {
  if (!plan.rates) return success();
  const bench::GpuRates now = HC_TRY(plan.rates());
  best->read_gbs = std::max(best->read_gbs, now.read_gbs);
  best->copy_gbs = std::max(best->copy_gbs, now.copy_gbs);
  artifact->read_gbs = best->read_gbs;
  artifact->cache_bytes = static_cast<double>(now.l2_bytes);
  return success();
}

}  // namespace

Contender candidate_contender(const std::string& name, const Built& built, const std::string& program,
                              uint64_t input_seed, int threads) {
  Contender out;
  out.arm.name = name;
  out.arm.role = ledger::Role::candidate;
  out.arm.worker = ledger::kOwnWorker;
  out.arm.source_sha256 = built.manifest.source_sha256;
  out.arm.config = config_json(built.compiled.config);
  out.argv = {program, "worker"};
  out.prepare.manifest = built.manifest_path;
  out.prepare.seed = input_seed;
  out.prepare.threads = threads;
  out.binary = built.manifest.shared_object;
  out.ours = true;
  return out;
}

Contender copy_contender(const std::string& program, double compulsory_bytes, int threads) {
  Contender out;
  out.arm.name = "streaming copy";
  out.arm.role = ledger::Role::ceiling;
  out.arm.worker = ledger::kOwnWorker;
  out.argv = {program, "worker"};
  out.prepare.implementation = "copy";
  out.prepare.bytes = static_cast<int64_t>(compulsory_bytes / 2);
  out.prepare.threads = threads;
  out.binary = program;
  out.checked = false;
  return out;
}

Contender device_anchor(const std::string& program) {
  Contender out;
  out.arm.name = kDeviceAnchor;
  out.arm.role = ledger::Role::anchor;
  out.arm.worker = ledger::kOwnWorker;
  out.argv = {program, "worker"};
  out.prepare.implementation = "gpu-copy";
  out.binary = program;
  out.checked = false;
  return out;
}

Status hash_binary(Contender* contender) {
  std::vector<bench::RunFile> files = contender->files;
  if (files.empty()) files = {{contender->binary, ""}};
  for (bench::RunFile& file : files) {
    std::string why;
    const std::optional<std::string> bytes = read_file(file.path, &why);
    if (!bytes) return Diagnostic{Code::file_error, fmt::format("{} cannot be read: {}", file.path, why)};
    file.sha256 = sha256_hex(*bytes);
  }
  contender->arm.binary_sha256 = bench::combined_sha256(files);
  if (!contender->files.empty()) contender->files = files;
  if (contender->arm.source_sha256.empty()) contender->arm.source_sha256 = contender->arm.binary_sha256;
  return success();
}

Status can_start(const Contender& contender) {
  const std::unique_ptr<bench::Worker> worker = HC_TRY(bench::Worker::start(contender.argv, {}, contender.env));
  HC_TRY(worker->prepare(contender.prepare));
  (void)worker->bye();
  return success();
}

void rename_arm(PairsArtifact* artifact, Contender* contender, const std::string& name) {
  const std::string old = contender->arm.name;
  contender->arm.name = name;
  for (ledger::Arm& arm : artifact->arms) {
    if (arm.name == old) arm.name = name;
  }
  for (ledger::Pair& pair : artifact->pairs) {
    for (ledger::Reading& reading : pair.readings) {
      if (reading.arm == old) reading.arm = name;
    }
  }
}

ledger::Facts machine_facts() { return facts_of(bench::environment()); }

Result<bench::OutputVerdict> OutputJudge::judge(const Contender& contender, const bench::CheckReply& outputs) {
  if (!contender.checked) return bench::OutputVerdict{};
  ProbeRequest request;
  request.config = contender.config.empty() ? config_ : contender.config;
  request.storages = contender.ours;
  request.sampled = !outputs.outputs.empty() && std::all_of(outputs.outputs.begin(), outputs.outputs.end(),
                                                            [](const bench::OutputFile& o) { return o.sampled; });
  for (const bench::OutputFile& output : outputs.outputs) {
    const auto at = static_cast<size_t>(output.index);
    if (request.files.size() <= at) request.files.resize(at + 1);
    request.files[at] = output.path;
  }
  const ProbeAnswer answer = probe_.ask(request);
  if (answer.outcome == ProbeOutcome::ok) return bench::OutputVerdict{true, answer.worst, 0, ""};
  if (answer.outcome == ProbeOutcome::wrong_answer) return bench::OutputVerdict{false, answer.worst, 0, answer.reason};
  return Diagnostic{Code::measurement_failed,
                    fmt::format("the outputs of {} cannot be checked: {}", contender.arm.name, answer.reason)};
}

Result<std::vector<std::vector<int64_t>>> OutputJudge::elements() {
  ProbeRequest request;
  request.config = config_;
  request.numbers = true;
  ProbeAnswer answer = probe_.ask(request);
  if (answer.outcome == ProbeOutcome::ok) return std::move(answer.numbers);
  return Diagnostic{Code::measurement_failed, fmt::format("the oracle has no answer: {}", answer.reason)};
}

Result<PairsArtifact> measure_pairs(const std::vector<Contender>& contenders, const CampaignPlan& plan, Judge& judge) {
  std::vector<bench::Arm> arms;
  for (const Contender& contender : contenders) arms.push_back(bench_arm(contender));
  bench::PairPlan pairs;
  pairs.run_id = plan.run_id;
  pairs.pairs = plan.pairs;
  pairs.max_invalid = plan.pairs;
  // Neighbours of a virtual machine move a core's memory rate by a half from one second to the next; both arms of a
  // pair feel it alike. Only what goes beyond the machine's own scatter voids a pair.
  pairs.canary_band = plan.canary ? pairs.canary_band : kProcessorBand;
  pairs.calibration_canaries = plan.canary ? 0 : kCalibrationCanaries;
  if (plan.canary_band > 0) pairs.canary_band = plan.canary_band;
  pairs.intruder = plan.intruder;
  pairs.outside = plan.outside;
  pairs.reference_canaries = plan.reference_canaries;
  pairs.limits = plan.limits;
  pairs.time = plan.time;
  pairs.canary = plan.canary;
  pairs.verify = [&](const bench::Arm& arm, const bench::CheckReply& outputs) -> Result<bench::OutputVerdict> {
    for (const Contender& contender : contenders) {
      if (contender.arm.name == arm.name) return judge.judge(contender, outputs);
    }
    return bench::OutputVerdict{};
  };
  // The rate of a shared machine's memory moves: it is read again after each round, and the best one counts.
  std::optional<bench::ReadRate> memory;
  if (plan.read_rate) memory.emplace().measure(kFirstReads);
  PairsArtifact so_far = opened(contenders, plan);
  bench::GpuRates device;
  HC_TRY(read_device(plan, &device, &so_far));
  int valid = 0;
  const bench::CampaignRecord record = HC_TRY(bench::run_pairs(arms, pairs, [&](const bench::PairRecord& pair) {
    bench::append_pair(pair, arms, &so_far);
    valid += pair.valid;
    if (memory) so_far.read_gbs = memory->measure(1);
    so_far.closed_at = ledger::utc_now();
    if (plan.on_round) plan.on_round(so_far);
    if (plan.on_pair) plan.on_pair(valid);
    return !(plan.enough && pair.valid && plan.enough(so_far));
  }));
  PairsArtifact artifact;
  artifact.purpose = plan.purpose;
  bench::fill_artifact(record, arms, pairs, &artifact);
  (void)read_device(plan, &device, &so_far);  // the first look stands by itself
  artifact.read_gbs = so_far.read_gbs;
  artifact.cache_bytes = so_far.cache_bytes;
  name_arms(contenders, &artifact);
  if (device.copy_gbs > 0) artifact.machine.emplace_back(kDriverCopy, fmt::format("{}", device.copy_gbs));
  for (const bench::PairRecord& pair : record.pairs) {
    for (const bench::ArmRun& run : pair.runs) {
      if (run.verdict.correct) continue;
      return Diagnostic{Code::wrong_answer,
                        fmt::format("{}: {}", contenders[static_cast<size_t>(run.arm)].arm.name, run.verdict.message)};
    }
  }
  if (record.valid_pairs == 0) {
    return Diagnostic{Code::measurement_failed, fmt::format("no valid pair came together: {}", record.failure)};
  }
  return artifact;
}

}  // namespace hc::tune
