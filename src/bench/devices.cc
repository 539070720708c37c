// Choosing, holding and giving up GPUs.
#include "bench/devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/json.h"

namespace hc::bench {
namespace {

constexpr uint64_t kHeldDown = 0x8 | 0x40 | 0x80;  ///< hardware slowdown, hardware thermal, power brake
constexpr int kProhibited = 2;                     ///< compute mode
constexpr int kPatience = 4;                       ///< times as many looks as have to be quiet
constexpr int kTeardownLooks = 6;                  ///< a context may outlive its process for a moment
constexpr double kTeardownGap = 0.25;
constexpr double kCoolingGap = 2;  ///< between two looks at the temperature
constexpr const char* kSchema = "hillclimb.devices/1";

/// Processes that are not ours. Own ones whose pid is not in the list have another number there (a container).
size_t foreign_processes(const GpuState& state, const std::vector<int64_t>& own) {
  size_t known = 0;
  for (const GpuProcess& process : state.processes) known += std::count(own.begin(), own.end(), process.pid) > 0;
  const size_t unknown = state.processes.size() - known;
  const size_t hidden = own.size() - std::min(own.size(), known);
  return unknown - std::min(unknown, hidden);
}

/// What the device is or lacks, whoever uses it.
std::string unfit(const GpuState& state) {
  if (!state.present) return "the management library does not know it";
  if (state.mig) return "it is divided into MIG instances";
  if (state.compute_mode == kProhibited) return "its compute mode forbids every process";
  if (state.event_reasons & kHeldDown)
    return fmt::format("its clocks are held down (reasons {:#x})", state.event_reasons);
  return "";
}

/// What somebody else does there.
std::string use(const GpuState& state, const GpuRules& rules, const std::vector<int64_t>& own) {
  if (const size_t others = foreign_processes(state, own)) {
    return fmt::format("{} other {} it", others, others == 1 ? "process uses" : "processes use");
  }
  if (!own.empty()) return "";  // memory and load are partly our own
  if (state.used_bytes > rules.max_used_bytes) {
    return fmt::format("{} MiB of its memory are in use", state.used_bytes >> 20);
  }
  if (state.utilization > 0) return fmt::format("it was busy for {} % of the last moment", state.utilization);
  return "";
}

Diagnostic damaged(const std::string& path, const std::string& why) {
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{} {}", path, why)}.fix(
      "remove it; variants then get their GPUs anew and what was measured before must not be pooled with what comes");
}

Result<std::map<std::string, std::string>> texts(const Json& json, const std::string& path, const char* key) {
  std::map<std::string, std::string> out;
  const auto part = json.find(key);
  if (part == json.end() || !part->is_object()) return damaged(path, fmt::format("has no object `{}`", key));
  for (const auto& [name, value] : part->items()) {
    if (!value.is_string()) return damaged(path, fmt::format("has something other than text in `{}`", key));
    out[name] = value.get<std::string>();
  }
  return out;
}

}  // namespace

std::string busy_reason(const std::vector<GpuState>& looks, const GpuRules& rules, const std::vector<int64_t>& own,
                        double coolest_c, bool* foreign) {
  *foreign = false;
  for (const GpuState& state : looks) {
    std::string why = unfit(state);
    if (!why.empty()) return why;
    why = use(state, rules, own);
    *foreign = !why.empty();
    if (*foreign) return why;
  }
  if (looks.empty()) return "it was not looked at";
  const double warm = looks.back().temperature_c;
  if (warm > rules.cool_c && warm > coolest_c + rules.spread_c) {
    return fmt::format("it is at {:.0f} C, and the coolest one at {:.0f} C", warm, coolest_c);
  }
  return "";
}

std::vector<std::string> gpu_environment(const std::string& uuid) {
  return {"CUDA_VISIBLE_DEVICES=" + uuid, "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
}

std::string gpu_lock_path(const std::string& folder, const std::string& uuid) {
  return join_path(folder, "hillclimb-" + uuid + ".lock");
}

Result<GpuPool> GpuPool::open(std::unique_ptr<GpuProbe> probe, GpuPoolOptions options) {
  GpuPool pool(std::move(probe), std::move(options));
  pool.uuids_ = pool.probe_->uuids();
  if (pool.uuids_.empty()) {
    return Diagnostic{.code = Code::not_available, .message = "no GPU is visible to this process"}.fix(
        "`nvidia-smi -L` lists what the driver knows; CUDA_VISIBLE_DEVICES may hide some");
  }
  HC_TRY(pool.recall());
  return pool;
}

/// Takes over what the run's file says, but for the variants that got their device from this pool.
Status GpuPool::recall() {
  const std::string& path = options_.state_path;
  const std::optional<std::string> text = path.empty() ? std::nullopt : read_file(path);
  if (!text) return success();
  const std::optional<Json> json = parse_json(*text);
  if (!json || !json->is_object()) return damaged(path, "is not JSON");
  if (json->value("schema", "") != kSchema) return damaged(path, fmt::format("is not of the schema {}", kSchema));
  for (auto& [key, mine] : {std::pair{"variants", &sticky_}, {"moved", &moved_}}) {
    for (auto& [variant, uuid] : HC_TRY(texts(*json, path, key))) {
      if (!changed_.count(variant)) (*mine)[variant] = uuid;
    }
  }
  avoided_.merge(HC_TRY(texts(*json, path, "avoided")));
  const auto canaries = json->find("canaries");
  if (canaries == json->end() || !canaries->is_object()) return damaged(path, "has no object `canaries`");
  for (const auto& [uuid, reading] : canaries->items()) {
    const CanaryReading stored = HC_TRY(canary_from_json(reading));
    CanaryReading& mine = reference_.try_emplace(uuid, stored).first->second;
    mine.compute_s = std::min(mine.compute_s, stored.compute_s);
    mine.memory_s = std::min(mine.memory_s, stored.memory_s);
  }
  const Json idle = json->value("idle_c", Json::object());  // files of earlier versions have none
  for (const auto& [uuid, value] : idle.items()) {
    if (!value.is_number()) return damaged(path, "has something other than numbers in `idle_c`");
    note_idle(uuid, value.get<double>());
  }
  return success();
}

/// A first lease may find the device still warm from somebody else's work; later ones may know better.
void GpuPool::note_idle(const std::string& uuid, double temperature_c) {
  if (temperature_c <= 0) return;
  double& least = idle_c_.try_emplace(uuid, temperature_c).first->second;
  least = std::min(least, temperature_c);
}

CoolDown GpuPool::cool_down(const GpuLease& lease, double near_c, double most_s) const {
  CoolDown out;
  out.idle_c = lease.idle_c;
  out.begin_c = out.end_c = probe_->look(lease.uuid).temperature_c;
  const auto known = [&] { return out.idle_c > 0 && out.end_c > 0; };
  const auto near = [&] { return out.end_c <= out.idle_c + near_c; };
  while (known() && !near() && out.waited_s < most_s) {
    sleep(kCoolingGap);
    out.waited_s += kCoolingGap;
    out.end_c = probe_->look(lease.uuid).temperature_c;
  }
  out.reached = known() && near();
  return out;
}

Status GpuPool::save() {
  if (options_.state_path.empty()) return success();
  const FileLock lock(options_.state_path + ".lock");
  HC_TRY(recall());
  Json canaries = Json::object();
  for (const auto& [uuid, reading] : reference_) canaries[uuid] = to_json(reading);
  const Json json{{"schema", kSchema},   {"variants", sticky_},  {"moved", moved_},
                  {"avoided", avoided_}, {"canaries", canaries}, {"idle_c", idle_c_}};
  const std::string why = write_file_atomic(options_.state_path, json.dump(1) + "\n");
  if (!why.empty())
    return Diagnostic{.code = Code::file_error, .message = options_.state_path + " cannot be written: " + why};
  return success();
}

void GpuPool::sleep(double seconds) const {
  if (options_.sleep) return options_.sleep(seconds);
  ::usleep(static_cast<useconds_t>(seconds * 1e6));
}

size_t GpuPool::variants_on(const std::string& uuid) const {
  return static_cast<size_t>(
      std::count_if(sticky_.begin(), sticky_.end(), [&](const auto& entry) { return entry.second == uuid; }));
}

double GpuPool::coolest() const {
  double least = INFINITY;
  for (const std::string& uuid : uuids_) {
    const double now = probe_->look(uuid).temperature_c;
    if (now > 0) least = std::min(least, now);
  }
  return least;
}

/// The variant's own device alone if it may still be used; otherwise those with the fewest variants first.
std::vector<std::string> GpuPool::in_order(const std::string& variant) const {
  const auto own = sticky_.find(variant);
  if (own != sticky_.end() && !avoided_.count(own->second)) return {own->second};
  struct Choice {
    std::string uuid;
    size_t variants;
    double temperature_c;
  };
  std::vector<Choice> choices;
  for (const std::string& uuid : uuids_) {
    if (!avoided_.count(uuid)) choices.push_back({uuid, variants_on(uuid), probe_->look(uuid).temperature_c});
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.variants != b.variants ? a.variants < b.variants : a.temperature_c < b.temperature_c;
  });
  std::vector<std::string> out;
  for (const Choice& choice : choices) out.push_back(choice.uuid);
  return out;
}

std::string GpuPool::look_closely(const std::string& uuid, bool* foreign) const {
  std::string why;
  std::vector<GpuState> quiet;
  for (int i = 0; i < kPatience * options_.rules.samples; ++i) {
    if (i > 0) sleep(options_.rules.sample_gap_s);
    const GpuState now = probe_->look(uuid);
    why = busy_reason({now}, options_.rules, {}, INFINITY, foreign);
    GpuState without_load = now;
    without_load.utilization = -1;
    bool by_more_than_load = false;
    if (!busy_reason({without_load}, options_.rules, {}, INFINITY, &by_more_than_load).empty()) return why;
    // load is that of the last second or so, in which our own work may just have ended
    if (why.empty()) {
      quiet.push_back(now);
    } else {
      quiet.clear();
    }
    if (static_cast<int>(quiet.size()) >= options_.rules.samples) break;
  }
  if (static_cast<int>(quiet.size()) < options_.rules.samples) {
    *foreign = true;
    return why.empty() ? "it was busy now and then" : why;
  }
  return busy_reason(quiet, options_.rules, {}, coolest(), foreign);
}

/// A device without a reference is held against another one of its name.
CanaryReading* GpuPool::reference_for(const std::string& uuid) {
  if (const auto own = reference_.find(uuid); own != reference_.end()) return &own->second;
  const std::string name = probe_->look(uuid).name;
  for (const auto& [other, reading] : reference_) {
    if (!name.empty() && probe_->look(other).name == name) return &(reference_[uuid] = reading);
  }
  return nullptr;
}

/// Somebody whom the lists hide, as in containers, shows in the time of a fixed piece of work.
std::string GpuPool::try_canary(const std::string& uuid, bool* foreign) {
  *foreign = false;
  if (!options_.canary) return "";
  std::string why;
  for (int i = 0; i < options_.rules.canary_tries; ++i) {
    const Result<CanaryReading> reading = options_.canary(uuid);
    if (!reading.ok()) return "its canary failed: " + reading.error().message;
    const CanaryReading& now = reading.value();
    CanaryReading* reference = reference_for(uuid);
    if (!reference) reference = &(reference_[uuid] = now);
    const double slower = std::max(now.compute_s / reference->compute_s, now.memory_s / reference->memory_s) - 1;
    reference->compute_s = std::min(reference->compute_s, now.compute_s);
    reference->memory_s = std::min(reference->memory_s, now.memory_s);
    if (slower <= options_.rules.canary_band) return "";
    why = fmt::format("its canary is {:.1f} % slower than the reference", 100 * slower);
  }
  *foreign = true;
  return why;
}

void GpuPool::assign(const std::string& variant, const std::string& uuid) {
  changed_.insert(variant);
  const auto [own, fresh] = sticky_.try_emplace(variant, uuid);
  if (!fresh && own->second != uuid) moved_[variant] = std::exchange(own->second, uuid);
}

Result<GpuLease> GpuPool::acquire(const std::string& variant) {
  const auto before = sticky_.find(variant);
  const std::string had = before == sticky_.end() ? "" : before->second;
  std::string all;
  for (const auto& [uuid, why] : avoided_) all += fmt::format("; {}: avoided in this run, as {}", uuid, why);
  // when its own device turns out to be in use, the others get their turn in a second round
  for (int round = 0; round < 2; ++round) {
    for (const std::string& uuid : in_order(variant)) {
      GpuLease lease{.uuid = uuid, .variant = variant, .moved_from = {}, .idle_c = 0, .lock = nullptr};
      Result<std::unique_ptr<MeasurementLock>> lock =
          MeasurementLock::acquire(had == uuid ? options_.wait_s : 0, {}, gpu_lock_path(options_.lock_folder, uuid));
      bool foreign = false;
      std::string why = lock.ok() ? look_closely(uuid, &foreign) : lock.error().message;
      if (why.empty()) note_idle(uuid, probe_->look(uuid).temperature_c);  // before the canary heats it
      if (why.empty()) why = try_canary(uuid, &foreign);
      if (why.empty()) {
        assign(variant, uuid);
        HC_TRY(save());
        if (const auto from = moved_.find(variant); from != moved_.end()) lease.moved_from = from->second;
        if (const auto idle = idle_c_.find(uuid); idle != idle_c_.end()) lease.idle_c = idle->second;
        lease.lock = std::move(lock).value();
        return lease;
      }
      all += fmt::format("; {}: {}", uuid, why);
      if (foreign) HC_TRY(avoid(uuid, why));
    }
    if (had.empty() || !avoided_.count(had)) break;
  }
  return Diagnostic{.code = Code::measurement_failed, .message = fmt::format("no GPU is idle for {}{}", variant, all)}
      .fix("wait until one is; a GPU that somebody else used is avoided until the next run");
}

std::string GpuPool::intruder(const GpuLease& lease, const std::vector<int64_t>& own) {
  std::string why;
  for (int i = 0; i < kTeardownLooks; ++i) {
    if (i > 0) sleep(kTeardownGap);
    bool foreign = false;
    GpuState state = probe_->look(lease.uuid);
    state.utilization = -1;  // of the last second, in which our own worker ran
    state.temperature_c = 0;
    why = busy_reason({state}, options_.rules, own, INFINITY, &foreign);
    if (why.empty()) return "";
    if (!foreign) return why;
  }
  (void)avoid(lease.uuid, why);
  return why;
}

Status GpuPool::avoid(const std::string& uuid, const std::string& why) {
  avoided_.try_emplace(uuid, why);
  return save();
}

Result<std::map<std::string, std::string>> GpuPool::shard(const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    const auto own = sticky_.find(variant);
    if (own != sticky_.end() && !avoided_.count(own->second)) continue;
    const std::vector<std::string> order = in_order(variant);
    if (order.empty()) {
      return Diagnostic{.code = Code::measurement_failed, .message = "every GPU is avoided in this run"}.fix(
          "begin a new run when they are idle");
    }
    assign(variant, order.front());
  }
  HC_TRY(save());
  std::map<std::string, std::string> out;
  for (const std::string& variant : variants) out[variant] = sticky_[variant];
  return out;
}

}  // namespace hc::bench
