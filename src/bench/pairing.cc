// Runs the rounds: one fresh process per arm, canaries between, void rounds repeated.
#include "bench/pairing.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "bench/environment.h"
#include "bench/refusal.h"
#include "ledger/records.h"

namespace hc::bench {
namespace {

constexpr useconds_t kBetweenCanariesMicroseconds = 300000;
constexpr size_t kSteadyCanaries = 10;  ///< about 3 s
constexpr useconds_t kBetweenCalibrationsMicroseconds = 50000;
constexpr double kClockSlack = 1.001;  ///< a device's clock may run this much faster than ours
constexpr int kFailuresInARow = 3;     ///< of one arm: more will not help

double unix_s() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Hashes files, remembering those whose inode, size and time of change are as before.
class FileHasher {
 public:
  /// Empty when the file cannot be read.
  std::string hash(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return "";
    const std::string identity =
        fmt::format("{} {} {} {} {}", path, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    std::string& known = hashes_[identity];
    if (!known.empty()) return known;
    const std::optional<std::string> bytes = read_file(path);
    if (bytes) known = sha256_hex(*bytes);
    return known;
  }

 private:
  std::map<std::string, std::string> hashes_;
};

/// All launches that a worker says it timed.
double reported_seconds(const TimeReply& reply) {
  double sum = 0;
  for (const Block& block : reply.blocks) {
    for (const double seconds : block.seconds) {
      sum += reply.mode == Mode::single ? seconds : seconds * static_cast<double>(block.launches);
    }
  }
  return sum;
}

std::vector<std::string> hashes_of(const CheckReply& reply) {
  std::vector<std::string> hashes;
  for (const OutputFile& output : reply.outputs) hashes.push_back(output.sha256);
  return hashes;
}

bool agree(const std::vector<CanaryReading>& readings, const CanaryReading& middle, const CanaryBand& band) {
  return std::all_of(readings.begin(), readings.end(),
                     [&](const CanaryReading& each) { return within(each, middle, band); });
}

std::string canary_message(const CanaryReading& reading, const CanaryReading& reference, const CanaryBand& band) {
  return fmt::format(
      "the canary moved by {:+.1f} % in compute and {:+.1f} % in memory; {:.1f} and {:.1f} % are the limits",
      100 * (reading.compute_s / reference.compute_s - 1), 100 * (reading.memory_s / reference.memory_s - 1),
      100 * band.compute, 100 * band.memory);
}

/// The machine was more disturbed when the reference was taken than it is now.
bool quieter(const CanaryReading& now, const CanaryReading& reference, const CanaryBand& band) {
  return now.compute_s < reference.compute_s * (1 - band.compute) ||
         now.memory_s < reference.memory_s * (1 - band.memory);
}

class Campaign {
 public:
  Campaign(const std::vector<Arm>& arms, const PairPlan& plan) : arms_(arms), plan_(plan), verdicts_(arms.size()) {}
  CampaignRecord run(const OnPair& on_pair);

 private:
  PairRecord run_pair(int index, int attempt);
  ArmRun run_arm(int arm);
  Status measure(const Arm& arm, int number, ArmRun* run);
  Status judge(Worker& worker, int number, bool timed, ArmRun* run);
  Result<OutputVerdict> verify(Worker& worker, const Arm& arm, bool run_again);
  void look_at_files(const Arm& arm, ArmRun* run);
  bool look_at_modules(int number, ArmRun* run);
  bool hopeless(const PairRecord& pair);
  void settle();
  CanaryReading settled_reference() const;
  void await_quiet();
  bool settled_elsewhere(const std::vector<CanaryReading>& latest) const;
  CanaryReading canary() const { return plan_.canary ? plan_.canary() : run_canary(); }

  const std::vector<Arm>& arms_;
  const PairPlan& plan_;
  FileHasher hasher_;
  std::map<std::string, std::string> modules_;  ///< hash of each module when it was first loaded, by arm and path
  std::vector<std::map<std::vector<std::string>, OutputVerdict>> verdicts_;  ///< per arm, by output hashes
  CanaryReading reference_;
  CanaryBand band_;
  CanaryReading last_canary_;
  double waited_s_ = 0;
  int failures_in_a_row_ = 0;
  int failing_arm_ = -1;
  int first_ = 0;
};

void Campaign::look_at_files(const Arm& arm, ArmRun* run) {
  for (const RunFile& wanted : arm.files) {
    run->files.push_back({wanted.path, hasher_.hash(wanted.path)});
    const std::string& found = run->files.back().sha256;
    if (!found.empty() && (wanted.sha256.empty() || wanted.sha256 == found)) continue;
    run->rule = "hash_mismatch";
    run->message = found.empty()
                       ? wanted.path + " cannot be read"
                       : fmt::format("{} has the hash {}, and {} is needed", wanted.path, found, wanted.sha256);
  }
}

/// Hashes what the worker loaded. A module that changed since an earlier process of the arm, or that may not be loaded
/// at all, voids the round.
bool Campaign::look_at_modules(int number, ArmRun* run) {
  for (const std::string& path : run->prepared.modules) {
    run->loaded.push_back({path, hasher_.hash(path)});
    const std::string& sha256 = run->loaded.back().sha256;
    const auto [first, fresh] = modules_.emplace(fmt::format("{} {}", number, path), sha256);
    if (fresh || first->second == sha256 || !run->rule.empty()) continue;
    run->rule = "hash_mismatch";
    run->message = fmt::format("the module {} is not the one that an earlier process of this run loaded", path);
  }
  if (const std::string why = plan_.outside ? plan_.outside(run->loaded) : ""; !why.empty()) {
    run->rule = "outside_snapshot";
    run->message = why;
  }
  return run->rule.empty();
}

/// Has the outputs written out and judged; their files are removed.
Result<OutputVerdict> Campaign::verify(Worker& worker, const Arm& arm, bool run_again) {
  std::optional<TempFolder> temporary;
  const std::string folder =
      plan_.scratch_dir.empty() ? temporary.emplace("hillclimb-outputs").path() : plan_.scratch_dir;
  const CheckReply outputs =
      HC_TRY(worker.check({.out_dir = folder, .run = run_again, .slot = arm.prepare.slot, .elements = arm.elements}));
  Result<OutputVerdict> verdict = plan_.verify(arm, outputs);
  for (const OutputFile& output : outputs.outputs) ::unlink(output.path.c_str());
  return verdict;
}

/// Hashes the outputs and judges those that are new: of a launch on poisoned memory, or as timing left them.
Status Campaign::judge(Worker& worker, int number, bool timed, ArmRun* run) {
  const Arm& arm = arms_[static_cast<size_t>(number)];
  const CheckReply reply = HC_TRY(worker.check({.out_dir = "", .run = !timed, .slot = arm.prepare.slot}));
  const std::vector<std::string> hashes = hashes_of(reply);
  (timed ? run->output_sha256_timed : run->output_sha256) = hashes;
  if (!plan_.verify) return success();
  auto& known = verdicts_[static_cast<size_t>(number)];
  auto found = known.find(hashes);
  if (found == known.end()) found = known.emplace(hashes, HC_TRY(verify(worker, arm, false))).first;
  const OutputVerdict& verdict = found->second;
  const bool worse = run->verdict.correct && !verdict.correct;
  if (worse || (verdict.correct == run->verdict.correct && verdict.worst_error >= run->verdict.worst_error)) {
    run->verdict = verdict;
  }
  return success();
}

Status Campaign::measure(const Arm& arm, int number, ArmRun* run) {
  std::unique_ptr<Worker> worker = HC_TRY(Worker::start(arm.argv, plan_.limits, arm.env));
  run->pid = worker->pid();
  run->prepared = HC_TRY(worker->prepare(arm.prepare));
  if (!look_at_modules(number, run)) return worker->bye();
  if (plan_.check_outputs) HC_TRY(judge(*worker, number, false, run));
  TimeRequest request = plan_.time;
  request.slot = arm.prepare.slot;
  const double asked_s = monotonic_s();
  run->timed = HC_TRY(worker->time(request));
  run->timing_wall_s = monotonic_s() - asked_s;
  if (const double sum = reported_seconds(run->timed); sum > run->timing_wall_s * kClockSlack) {
    return Diagnostic{.code = Code::worker_failed,
                      .message = fmt::format("the worker reports {:.6g} s of launches, and its answer took {:.6g} s",
                                             sum, run->timing_wall_s)};
  }
  const std::vector<Block>& blocks = run->timed.blocks;
  run->mid_monotonic_s = (blocks.front().mid_monotonic_s + blocks.back().mid_monotonic_s) / 2;
  // launches in place leave nothing to look at: then one more on fresh inputs, after the timing, has to be right
  if (plan_.check_outputs) HC_TRY(judge(*worker, number, !run->prepared.in_place, run));
  return worker->bye();
}

ArmRun Campaign::run_arm(int number) {
  const Arm& arm = arms_[static_cast<size_t>(number)];
  ArmRun run;
  run.arm = number;
  run.start_unix_s = unix_s();
  run.start_monotonic_s = monotonic_s();
  look_at_files(arm, &run);
  if (run.rule.empty()) {
    const Status measured = measure(arm, number, &run);
    if (!measured.ok() && run.rule.empty()) {
      run.rule = "worker_failed";
      run.message = measured.error().message;
    }
  }
  run.end_monotonic_s = monotonic_s();
  return run;
}

PairRecord Campaign::run_pair(int index, int attempt) {
  PairRecord pair;
  pair.index = index;
  pair.attempt = attempt;
  pair.canary_before = last_canary_;
  const int count = static_cast<int>(arms_.size());
  for (int i = 0; i < count && pair.valid; ++i) {
    const int number = (index + first_) % 2 == 0 ? i : count - 1 - i;
    pair.order += static_cast<char>('A' + number);
    pair.runs.push_back(run_arm(number));
    if (pair.runs.back().rule.empty()) continue;
    pair.valid = false;
    pair.rule = pair.runs.back().rule;
    pair.message = arms_[static_cast<size_t>(number)].name + ": " + pair.runs.back().message;
  }
  pair.canary_reference = reference_;
  pair.canary_after = last_canary_ = canary();
  const bool began_well = within(pair.canary_before, reference_, band_);
  if (pair.valid && !(began_well && within(pair.canary_after, reference_, band_))) {
    pair.valid = false;
    pair.rule = "canary";
    pair.message = canary_message(began_well ? pair.canary_after : pair.canary_before, reference_, band_);
  }
  if (const std::string why = plan_.intruder ? plan_.intruder() : ""; !why.empty()) {
    pair.valid = false;
    pair.rule = "foreign_process";
    pair.message = why;
  }
  return pair;
}

/// True when one arm fails again and again, so that repeating is of no use.
bool Campaign::hopeless(const PairRecord& pair) {
  if (pair.valid || pair.rule == "canary" || pair.rule == "foreign_process") {
    failures_in_a_row_ = 0;
    return false;
  }
  const int arm = pair.runs.back().arm;
  failures_in_a_row_ = arm == failing_arm_ ? failures_in_a_row_ + 1 : 1;
  failing_arm_ = arm;
  return failures_in_a_row_ >= kFailuresInARow;
}

/// Takes the reference, and with it the band: the plan's, or the memory rate's own scatter where that is wider. A clock
/// that scatters is a core that is shared: no band is widened for it.
void Campaign::settle() {
  reference_ = settled_reference();
  band_ = {plan_.canary_band, plan_.canary_band};
  if (plan_.calibration_canaries > 0) {
    std::vector<CanaryReading> readings;
    for (int i = 0; i < plan_.calibration_canaries; ++i) {
      ::usleep(kBetweenCalibrationsMicroseconds);
      readings.push_back(canary());
    }
    const CanaryReading middle = median_canary(readings);
    band_.memory = memory_scatter(readings, middle, plan_.canary_band);
    // A memory rate that scatters has no least that comes back: its middle is the reference.
    reference_.memory_s = middle.memory_s;
    reference_.mid_monotonic_s = middle.mid_monotonic_s;
  }
  last_canary_ = reference_;
}

/// The median of the canaries that agree; if none do in time, the least that was seen. Where the memory's scatter is
/// calibrated, the clock alone must agree.
CanaryReading Campaign::settled_reference() const {
  const CanaryBand wanted{plan_.canary_band / 2, plan_.calibration_canaries > 0 ? INFINITY : plan_.canary_band / 2};
  const double deadline = monotonic_s() + plan_.settle_s;
  CanaryReading least{INFINITY, INFINITY, 0};
  std::vector<CanaryReading> latest;
  for (;;) {
    latest.push_back(canary());
    least.compute_s = std::min(least.compute_s, latest.back().compute_s);
    least.memory_s = std::min(least.memory_s, latest.back().memory_s);
    least.mid_monotonic_s = latest.back().mid_monotonic_s;
    if (latest.size() < static_cast<size_t>(plan_.reference_canaries)) continue;
    const CanaryReading middle = median_canary(latest);
    if (agree(latest, middle, wanted)) return middle;
    if (monotonic_s() >= deadline) return least;
    latest.erase(latest.begin());
  }
}

/// After a round that the canary voided: takes the reference anew if the machine is quieter now than it was then,
/// otherwise waits for the disturbance to end, as far as patience goes.
void Campaign::await_quiet() {
  const double begin = monotonic_s();
  std::vector<CanaryReading> latest;
  for (;;) {
    if (quieter(last_canary_, reference_, band_) || settled_elsewhere(latest)) {
      settle();
      return;
    }
    if (within(last_canary_, reference_, band_)) break;
    if (waited_s_ + monotonic_s() - begin >= plan_.patience_s) break;
    ::usleep(kBetweenCanariesMicroseconds);
    last_canary_ = canary();
    latest.push_back(last_canary_);
    if (latest.size() > kSteadyCanaries) latest.erase(latest.begin());
  }
  waited_s_ += monotonic_s() - begin;
}

/// A processor whose neighbours stay busy is slower and as steady as before: it may be measured on, with a reference of
/// its own. A device that is ours alone has no such excuse.
bool Campaign::settled_elsewhere(const std::vector<CanaryReading>& latest) const {
  if (plan_.calibration_canaries == 0 || latest.size() < kSteadyCanaries) return false;
  return agree(latest, median_canary(latest), {plan_.canary_band / 2, band_.memory});
}

const ArmRun* wrong_run(const PairRecord& pair) {
  for (const ArmRun& run : pair.runs) {
    if (!run.verdict.correct) return &run;
  }
  return nullptr;
}

CampaignRecord Campaign::run(const OnPair& on_pair) {
  CampaignRecord record;
  record.environment_open = environment().dump();
  record.opened_at = ledger::utc_now();
  record.opened_monotonic_s = monotonic_s();
  first_ = std::stoi(sha256_hex(plan_.run_id).substr(0, 1), nullptr, 16) & 1;
  settle();
  record.canary_reference = reference_;
  record.canary_band = band_;
  for (int attempt = 0; record.valid_pairs < plan_.pairs;) {
    record.pairs.push_back(run_pair(record.valid_pairs, attempt));
    const PairRecord& pair = record.pairs.back();
    attempt = pair.valid ? 0 : attempt + 1;
    ++(pair.valid ? record.valid_pairs : record.void_pairs);
    const bool disturbed = pair.rule == "canary";
    if (on_pair && !on_pair(pair)) {
      record.stopped = true;
      break;
    }
    if (const ArmRun* wrong = wrong_run(pair)) {
      record.failure = "wrong answer of " + arms_[static_cast<size_t>(wrong->arm)].name + ": " + wrong->verdict.message;
      break;
    }
    const bool taken = pair.rule == "foreign_process";  // the device is avoided from now on
    if (taken || hopeless(pair) || record.void_pairs > plan_.max_invalid) {
      record.failure =
          fmt::format("{} pairs were void, the last by the rule {}: {}", record.void_pairs, pair.rule, pair.message);
      break;
    }
    if (disturbed) await_quiet();
  }
  record.closed_at = ledger::utc_now();
  record.closed_monotonic_s = monotonic_s();
  record.environment_close = environment().dump();
  return record;
}

}  // namespace

std::string combined_sha256(const std::vector<RunFile>& files) {
  if (files.size() == 1) return files[0].sha256;
  std::string list;
  for (const RunFile& file : files) list += file.sha256 + "\n";
  return sha256_hex(list);
}

Result<CampaignRecord> run_pairs(const std::vector<Arm>& arms, const PairPlan& plan, const OnPair& on_pair) {
  if (arms.size() < 2 || arms.size() > 26) {
    return refusal(fmt::format("a comparison has 2 to 26 arms, not {}", arms.size()));
  }
  if (plan.pairs < 1) return refusal(fmt::format("{} pairs cannot be measured; at least one is needed", plan.pairs));
  return Campaign(arms, plan).run(on_pair);
}

}  // namespace hc::bench
