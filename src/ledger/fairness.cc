// A baseline is held against its own best value, so that nobody wins by slowing it down.
#include "ledger/fairness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace hc::ledger {
namespace {

constexpr double kHandicap = 0.02;       ///< a baseline may be this much slower than it has shown
constexpr double kLooseHandicap = 0.05;  ///< the same where only the candidate is there to be compared with
constexpr double kSureness = 3;          ///< standard errors by which the excess has to be beyond the noise
constexpr size_t kPairsToSpeak = 4;      ///< fewer pairs verify nothing

/// Mean and standard error of a logarithm over pairs.
struct Level {
  double mean = 0, error = 0;
};

Level level_of(const std::vector<double>& logs) {
  const auto n = static_cast<double>(logs.size());
  double sum = 0, squares = 0;
  for (const double x : logs) sum += x;
  const double mean = sum / n;
  for (const double x : logs) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

/// A baseline's speed in one measurement.
struct Speed {
  Level relative;  ///< of baseline over anchor
  Level seconds;
  std::string where;
};

bool has_arm(const PairsArtifact& a, Role role, const std::string& name) {
  return std::any_of(a.arms.begin(), a.arms.end(),
                     [&](const Arm& arm) { return arm.role == role && arm.name == name; });
}

/// The anchor by which two measurements of a variant can be compared: an arm with that role, or a copy, that both have,
/// or else the same candidate; timed in the same way on the same device. Null when there is none.
const Arm* common_anchor(const PairsArtifact& a, const PairsArtifact& b) {
  if (a.timer != b.timer || a.variant_hash != b.variant_hash || !other_device(a, b).empty()) return nullptr;
  for (const Role role : {Role::anchor, Role::ceiling}) {
    for (const Arm& arm : a.arms) {
      if (arm.role == role && arm.varies.empty() && has_arm(b, role, arm.name)) return &arm;
    }
  }
  for (const Arm& arm : a.arms) {
    for (const Arm& other : b.arms) {
      const bool candidates = arm.role == Role::candidate && other.role == Role::candidate && arm.name == other.name;
      if (candidates && arm.source_sha256 == other.source_sha256 && arm.config == other.config) return &arm;
    }
  }
  return nullptr;
}

double log_seconds(const Reading& reading) {
  std::vector<double> times;
  for (const Block& block : reading.blocks) times.push_back(block.seconds / static_cast<double>(block.launches));
  return std::log(median(std::move(times)));
}

const Reading* reading_in(const Pair& pair, const std::string& arm) {
  for (const Reading& r : pair.readings) {
    if (r.arm == arm && !r.blocks.empty()) return &r;
  }
  return nullptr;
}

/// Nothing when the measurement lacks the baseline, has too few pairs or a wrong answer of it.
std::optional<Speed> speed_in(const PairsArtifact& a, const std::string& baseline, const std::string& anchor) {
  if (!has_arm(a, Role::baseline, baseline)) return std::nullopt;
  std::vector<double> relative, seconds;
  for (const Pair& pair : a.pairs) {
    const Reading *own = reading_in(pair, baseline), *other = reading_in(pair, anchor);
    if (!pair.valid || !own || !other) continue;
    if (!own->correct) return std::nullopt;
    seconds.push_back(log_seconds(*own));
    relative.push_back(seconds.back() - log_seconds(*other));
  }
  if (seconds.size() < kPairsToSpeak) return std::nullopt;
  return Speed{level_of(relative), level_of(seconds), fmt::format("{}/{} against {}", a.run, a.name, anchor)};
}

/// Whether `now` is slower than `best` by more than the handicap, beyond the noise of both.
bool beyond(const Level& now, const Level& best, double handicap) {
  const double noise = kSureness * std::hypot(now.error, best.error);
  return now.mean - best.mean - noise > std::log1p(handicap);
}

/// The first module or package of one name that differs between two processes of an arm, or empty.
std::string other_module(const Facts& then, const Facts& now) {
  for (const auto& [name, hash] : then) {
    const std::string today = fact(now, name);
    if (!today.empty() && today != hash) return name;
  }
  return "";
}

}  // namespace

std::vector<std::string> measured_ids(Evidence& evidence, const std::string& variant) {
  std::vector<std::string> out, ignored;
  for (const LedgerLine& line : evidence.view().lines) {
    if (line.kind == "goal") out.clear();
    if (line.kind != "object" || line.variant != variant) continue;
    const std::string* text = evidence.text(line.object, &ignored);
    const Result<std::string> kind = text ? artifact_kind(*text, line.name) : Result<std::string>(Diagnostic{});
    if (kind.ok() && kind.value() == "pairs") out.push_back(line.object);
  }
  return out;
}

std::string changed_program(Evidence& evidence, const std::vector<std::string>& measured, const std::string& baseline) {
  std::vector<std::string> ignored;
  const Arm* first = nullptr;
  const PairsArtifact* where = nullptr;
  for (const std::string& id : measured) {
    const PairsArtifact* a = evidence.pairs(id, &ignored);
    const Arm* now = a ? baseline_of(*a, baseline) : nullptr;
    if (!now || now->worker == kOwnWorker) continue;
    if (!first) {
      first = now;
      where = a;
      continue;
    }
    std::string what = other_module(first->loaded, now->loaded);
    if (what.empty() && first->binary_sha256 == now->binary_sha256) continue;
    if (what.empty()) what = "its files";
    return fmt::format(
        "the baseline {} is not the program it was at first: {} differ between {}/{} and {}/{}; a new run with --fresh "
        "compares with the new one",
        baseline, what, where->run, where->name, a->run, a->name);
  }
  return "";
}

double times_behind(Evidence& evidence, const std::vector<std::string>& measured, const std::string& baseline,
                    const std::string& best) {
  std::vector<std::string> ignored;
  std::vector<double> behind;
  for (const std::string& id : measured) {
    const PairsArtifact* a = evidence.pairs(id, &ignored);
    if (!a || !baseline_of(*a, baseline) || !baseline_of(*a, best)) continue;
    for (const Pair& pair : a->pairs) {
      const Reading *own = reading_in(pair, baseline), *other = reading_in(pair, best);
      if (pair.valid && own && other) behind.push_back(log_seconds(*own) - log_seconds(*other));
    }
  }
  return behind.empty() ? 0 : std::exp(median(std::move(behind)));
}

std::string slower_than_itself(Evidence& evidence, const Lock& lock, const LockedVariant& variant,
                               const std::string& baseline, const std::vector<std::string>& ids) {
  std::vector<std::string> ignored;  // whatever is wrong with an object is said where it is evidence
  const std::vector<std::string> all = measured_ids(evidence, variant.name);
  for (const std::string& id : ids) {
    const PairsArtifact* now = evidence.pairs(id, &ignored);
    for (const std::string& other : now ? all : std::vector<std::string>{}) {
      const PairsArtifact* then = other == id ? nullptr : evidence.pairs(other, &ignored);
      const Arm* anchor = then ? common_anchor(*now, *then) : nullptr;
      if (!anchor || !invalidities(*then, lock).empty()) continue;
      const std::optional<Speed> speed = speed_in(*now, baseline, anchor->name);
      const std::optional<Speed> best = speed_in(*then, baseline, anchor->name);
      const double handicap = anchor->role == Role::candidate ? kLooseHandicap : kHandicap;
      if (!speed || !best || !beyond(speed->relative, best->relative, handicap) ||
          !beyond(speed->seconds, best->seconds, handicap))
        continue;
      return fmt::format(
          "{} was {:.1f} % slower than its own best verified value ({}); a comparison with a handicapped baseline does "
          "not count",
          baseline, 100 * std::expm1(speed->relative.mean - best->relative.mean), best->where);
    }
  }
  return "";
}

}  // namespace hc::ledger
