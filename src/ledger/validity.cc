// Rules that a paired measurement has to keep before its numbers count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "ledger/judge.h"

namespace hc::ledger {
namespace {

constexpr size_t kSamplesToCompare = 5;  ///< shorter sample vectors may be equal by chance
/// Above this share of void pairs there is no verdict. It is generous because a shared machine voids many by itself,
/// and voiding is blind to the arms: it costs pairs and favours nobody.
constexpr double kVoidShare = 0.5;
constexpr double kClockSlack = 1.001;   ///< a device's clock may run this much faster than the referee's
constexpr double kCeilingSlack = 1.02;  ///< a reading may not beat the read rate of the same run by more

using Sentences = std::vector<std::string>;

const Arm* find_arm(const PairsArtifact& a, const std::string& name) {
  for (const Arm& arm : a.arms) {
    if (arm.name == name) return &arm;
  }
  return nullptr;
}

void check_arms(const PairsArtifact& a, const std::string& where, Sentences* out) {
  int candidates = 0;
  std::set<std::string> names;
  for (const Arm& arm : a.arms) {
    candidates += arm.role == Role::candidate;
    if (!names.insert(arm.name).second) out->push_back(fmt::format("{} names the arm {} twice", where, arm.name));
  }
  if (candidates != 1) out->push_back(fmt::format("{} has {} candidate arms; one is needed", where, candidates));
}

/// All launches of a reading, which cannot last longer than the request that they answer.
double reported_seconds(const Reading& r) {
  double sum = 0;
  for (const Block& block : r.blocks) sum += block.seconds;
  return sum;
}

void check_reading(const PairsArtifact& a, const Reading& r, const std::string& where, Sentences* out) {
  const Arm* arm = find_arm(a, r.arm);
  if (!arm) {
    out->push_back(fmt::format("{} is of the arm \"{}\", which is not declared", where, r.arm));
    return;
  }
  if (r.blocks.empty()) out->push_back(fmt::format("{} has no timed block", where));
  for (const Block& block : r.blocks) {
    if (!std::isfinite(block.seconds) || block.seconds <= 0 || block.launches < 1) {
      out->push_back(fmt::format("{} has a block of {} s for {} launches; both must be positive", where, block.seconds,
                                 block.launches));
      break;
    }
  }
  if (r.wall_s > 0 && reported_seconds(r) > r.wall_s * kClockSlack) {
    out->push_back(fmt::format("{} reports {:.6g} s of launches, and the referee waited {:.6g} s for it", where,
                               reported_seconds(r), r.wall_s));
  }
  if (r.binary_sha256 != arm->binary_sha256) {
    out->push_back(fmt::format("{} ran a binary whose hash is not the one declared for {}", where, r.arm));
  }
  if (r.inputs_sha256.empty()) out->push_back(fmt::format("{} has no checksum of its inputs", where));
}

/// Whether an arm is given the variant's inputs; a copy or another anchor brings its own.
bool takes_inputs(const Arm* arm) {
  return arm && (arm->role == Role::candidate || arm->role == Role::baseline || !arm->varies.empty());
}

/// How launches were timed is the same for all arms, and what the goal agreed.
void check_mode(const PairsArtifact& a, const Lock& lock, const std::string& where, Sentences* out) {
  const auto words = [](bool back_to_back) { return back_to_back ? "back to back" : "by single launches"; };
  const bool in_a_row = is_back_to_back(a);
  if (in_a_row != lock.back_to_back) {
    out->push_back(fmt::format("{} was timed {}, and the goal agreed to time {}", where, words(in_a_row),
                               words(lock.back_to_back)));
  }
  for (size_t k = 0; k < a.pairs.size(); ++k) {
    for (const Reading& r : a.pairs[k].readings) {
      if (r.mode.empty()) continue;  // records of earlier versions
      if (r.mode != mode_name(in_a_row)) {
        out->push_back(fmt::format("{}, pair {}: {} was timed in the mode {}, and the measurement is in the mode {}",
                                   where, k + 1, r.arm, r.mode, mode_name(in_a_row)));
        return;
      }
      for (const Block& block : r.blocks) {
        if (in_a_row || block.launches == 1) continue;
        out->push_back(fmt::format("{}, pair {}: {} has a block of {} launches among single ones", where, k + 1, r.arm,
                                   block.launches));
        return;
      }
    }
  }
}

/// Every arm once, the same inputs for all that take them.
void check_round(const PairsArtifact& a, const Pair& pair, const std::string& where, Sentences* out) {
  std::set<std::string> seen;
  const Reading* first = nullptr;
  for (const Reading& r : pair.readings) {
    check_reading(a, r, fmt::format("{}, {}", where, r.arm), out);
    if (!seen.insert(r.arm).second) out->push_back(fmt::format("{} has two readings of {}", where, r.arm));
    if (!takes_inputs(find_arm(a, r.arm))) continue;
    if (!first) first = &r;
    if (r.inputs_sha256 != first->inputs_sha256) {
      out->push_back(fmt::format("{}: {} and {} were given different inputs", where, first->arm, r.arm));
    }
  }
  for (const Arm& arm : a.arms) {
    if (!seen.count(arm.name)) out->push_back(fmt::format("{} has no reading of {}", where, arm.name));
  }
}

/// Each reading comes from a process of its own, later than the one before, with samples of its own.
void check_processes(const PairsArtifact& a, const std::string& where, Sentences* out) {
  std::set<std::pair<int64_t, double>> processes;
  std::map<std::vector<double>, size_t> samples;
  double last_mid = -1e300, last_started = -1, last_wall = 0;
  size_t index = 0;
  for (const Pair& pair : a.pairs) {
    ++index;
    for (const Reading& r : pair.readings) {
      if (!pair.valid && r.blocks.empty()) continue;  // it died before it was timed
      if (!processes.emplace(r.pid, r.started_s).second) {
        out->push_back(
            fmt::format("{}, pair {}: process {} serves two readings; each needs a fresh one", where, index, r.pid));
      }
      if (r.mid_s <= last_mid || r.mid_s < r.started_s) {
        out->push_back(
            fmt::format("{}, pair {}: the times of {} are not in the order of the run", where, index, r.arm));
      }
      if (r.wall_s > 0 && last_started >= 0 && r.started_s < last_started + last_wall) {
        out->push_back(
            fmt::format("{}, pair {}: {} began before the reading before it had ended", where, index, r.arm));
      }
      last_started = r.started_s;
      last_wall = r.wall_s;
      last_mid = r.mid_s;
      if (r.blocks.size() < kSamplesToCompare) continue;
      std::vector<double> vector;
      for (const Block& block : r.blocks) vector.push_back(block.seconds);
      const auto [it, fresh] = samples.emplace(std::move(vector), index);
      if (!fresh) {
        out->push_back(fmt::format("{}: pairs {} and {} hold the very same samples", where, it->second, index));
      }
    }
  }
}

/// Who of candidate and baseline ran first has to change from one valid pair to the next.
void check_order(const PairsArtifact& a, const std::string& where, Sentences* out) {
  for (const Arm& arm : a.arms) {
    if (arm.role != Role::baseline) continue;
    int last = -1;
    for (size_t k = 0; k < a.pairs.size(); ++k) {
      if (!a.pairs[k].valid) continue;
      for (const Reading& r : a.pairs[k].readings) {
        const Arm* who = find_arm(a, r.arm);
        if (!who || (who != &arm && who->role != Role::candidate)) continue;
        const int first = who->role == Role::candidate;
        if (first == last) {
          out->push_back(
              fmt::format("{}: the order of candidate and {} does not alternate at pair {}", where, arm.name, k + 1));
          return;
        }
        last = first;
        break;
      }
    }
  }
}

/// Facts that stay the same while one machine in one state is measured on.
constexpr std::string_view kSteadyFacts[] = {"cpu",      "cores",      "affinity",       "governor",
                                             "boost",    "huge_pages", "kernel",         "isolation",
                                             "gpu uuid", "gpu driver", "gpu power cap W"};

/// Facts that say which device it was.
constexpr std::string_view kDeviceFacts[] = {"gpu uuid", "cpu", "cores"};

/// What of the machine changed between begin and end of the run, or empty; an empty end was not recorded.
std::string changed_machine(const PairsArtifact& a) {
  if (a.machine_close.empty()) return "";
  for (const std::string_view key : kSteadyFacts) {
    const std::string open = fact(a.machine, key), close = fact(a.machine_close, key);
    const bool unread = key.starts_with("gpu") && (open.empty() || close.empty());  // a GPU may not answer at times
    if (open == close || unread) continue;
    return fmt::format("the machine changed during the run: {} was \"{}\" and became \"{}\"", key, open, close);
  }
  return "";
}

/// The per-call time of a reading, median over its blocks.
double reading_seconds(const Reading& r) {
  std::vector<double> times;
  for (const Block& block : r.blocks) times.push_back(block.seconds / static_cast<double>(block.launches));
  return median(std::move(times));
}

const Reading* reading_of(const Pair& pair, const std::string& arm) {
  for (const Reading& r : pair.readings) {
    if (r.arm == arm) return &r;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> invalidities(const PairsArtifact& a, const Lock& lock) {
  Sentences out;
  const std::string where = fmt::format("{}/{}", a.run, a.name);
  if (a.task != lock.task) out.push_back(fmt::format("{} is of the task {}, not of {}", where, a.task, lock.task));
  const auto locked = std::find_if(lock.variants.begin(), lock.variants.end(),
                                   [&](const LockedVariant& v) { return v.name == a.variant; });
  if (locked == lock.variants.end()) {
    out.push_back(fmt::format("{} is of the variant {}, which the lock does not have", where, a.variant));
  } else if (locked->hash != a.variant_hash) {
    out.push_back(
        fmt::format("{} measured another kernel, shape or dtype than the locked variant {}", where, a.variant));
  } else if (locked->work.unit != a.work.unit || locked->work.amount != a.work.amount) {
    out.push_back(fmt::format("{} counts another amount of work than the locked variant {}", where, a.variant));
  }
  check_arms(a, where, &out);
  check_mode(a, lock, where, &out);
  size_t valid = 0;
  for (size_t k = 0; k < a.pairs.size(); ++k) {
    const std::string here = fmt::format("{}, pair {}", where, k + 1);
    if (!a.pairs[k].valid) {
      if (a.pairs[k].rule.empty()) out.push_back(fmt::format("{} is void without a rule that says why", here));
      continue;
    }
    ++valid;
    check_round(a, a.pairs[k], here, &out);
  }
  if (valid == 0) out.push_back(fmt::format("{} has no valid pair", where));
  check_processes(a, where, &out);
  check_order(a, where, &out);
  return out;
}

std::string void_refusal(const std::vector<const PairsArtifact*>& artifacts, int* more) {
  size_t pairs = 0, invalid = 0;
  for (const PairsArtifact* a : artifacts) {
    pairs += a->pairs.size();
    for (const Pair& pair : a->pairs) invalid += !pair.valid;
  }
  const double room = kVoidShare * static_cast<double>(pairs);
  if (more) *more = static_cast<int>(std::ceil(std::max(0.0, static_cast<double>(invalid) - room) / kVoidShare));
  if (static_cast<double>(invalid) <= room) return "";
  return fmt::format("{} of {} pairs are void: the machine was too restless", invalid, pairs);
}

std::string refusal(const PairsArtifact& a) {
  const std::string why = reading_refusal(a);
  return why.empty() ? void_refusal({&a}) : why;
}

/// Whether the compared arms of a round were timed by different clocks, or after evicting different amounts; what a
/// record does not hold is not compared.
std::string timed_apart(const PairsArtifact& a, const Pair& pair) {
  const Reading* first = nullptr;
  for (const Reading& r : pair.readings) {
    const Arm* arm = find_arm(a, r.arm);
    if (!takes_inputs(arm) || !(r.mode.empty() || r.mode == "single")) continue;
    if (!first) first = &r;
    for (const char* key : {"clock", "flush bytes"}) {
      const std::string left = fact(first->facts, key), right = fact(r.facts, key);
      if (left.empty() || right.empty() || left == right) continue;
      return fmt::format("{} and {} were not timed alike: {} {} and {}", first->arm, r.arm, key, left, right);
    }
  }
  return "";
}

std::string reading_refusal(const PairsArtifact& a) {
  for (size_t k = 0; k < a.pairs.size(); ++k) {
    if (a.pairs[k].valid) {
      if (std::string apart = timed_apart(a, a.pairs[k]); !apart.empty()) return apart;
    }
    for (const Reading& r : a.pairs[k].readings) {
      const Arm* arm = find_arm(a, r.arm);
      if (!a.pairs[k].valid || !arm) continue;
      if (!r.correct || r.nonfinite > 0) return fmt::format("wrong answer of {} in pair {}", r.arm, k + 1);
      const double bytes = a.work.amount - a.cache_bytes;
      if (a.work.unit != "GB/s" || a.read_gbs <= 0 || bytes <= 0 || !takes_inputs(arm)) continue;
      const double rate = bytes / reading_seconds(r) * 1e-9;
      if (rate > kCeilingSlack * a.read_gbs) {
        return fmt::format(
            "{} claims {:.1f} GB/s beyond its cache in pair {}, above the read rate {:.1f} GB/s of the same run", r.arm,
            rate, k + 1, a.read_gbs);
      }
    }
  }
  return changed_machine(a);
}

std::string other_device(const PairsArtifact& a, const PairsArtifact& b) {
  for (const std::string_view key : kDeviceFacts) {
    const std::string left = fact(a.machine, key), right = fact(b.machine, key);
    if (left != right) return fmt::format("{} \"{}\" and \"{}\"", key, left, right);
  }
  return "";
}

std::vector<PairTimes> pair_times(const PairsArtifact& a, const std::string& baseline) {
  std::vector<PairTimes> out;
  const auto candidate =
      std::find_if(a.arms.begin(), a.arms.end(), [](const Arm& arm) { return arm.role == Role::candidate; });
  if (candidate == a.arms.end()) return out;
  for (const Pair& pair : a.pairs) {
    const Reading* b = reading_of(pair, baseline);
    const Reading* c = reading_of(pair, candidate->name);
    if (!pair.valid || !b || !c) continue;
    out.push_back({std::log(reading_seconds(*b)), std::log(reading_seconds(*c)), b->mid_s, c->mid_s});
  }
  return out;
}

double arm_seconds(const PairsArtifact& a, const std::string& arm) {
  std::vector<double> times;
  for (const Pair& pair : a.pairs) {
    const Reading* r = pair.valid ? reading_of(pair, arm) : nullptr;
    if (r && !r->blocks.empty()) times.push_back(reading_seconds(*r));
  }
  return times.empty() ? 0 : median(std::move(times));
}

}  // namespace hc::ledger
