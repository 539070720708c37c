// Made-up evidence for tests: seeded noise in the shape of a real campaign.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "ledger/goal_file.h"
#include "ledger/judge.h"
#include "ledger/store.h"
#include "ledger/test_noise.h"

namespace hc::ledger::testing {

struct FakeShape {
  std::string name = "a";
  double ratio = 1.05;    ///< true ratio against onednn
  double copy_ratio = 0;  ///< > 0: a streaming-copy arm as well, this much faster than the candidate
  int pairs = 10;
  uint64_t seed = 1;
  double seconds = 0.001;  ///< of the baseline
  double sigma = 0.003;
  int64_t first_pid = 1000;
  std::vector<std::string> anchors{};  ///< arms with that role, each as slow as the baseline
  double before = 0;                   ///< > 0: an earlier nomination with this true ratio becomes the shape's `before`
  std::string timer = "cpu/one-launch/cold";
  std::string empty_s{};  ///< what an empty launch takes in each reading, as a fact
};

inline std::string hash_of(const std::string& text) { return sha256_hex(text); }

inline Lock fake_lock(const std::vector<std::string>& names, const std::string& run = "r1") {
  Lock lock;
  lock.task = "softmax-cpu";
  lock.run = run;
  lock.created = "2026-08-30T10:00:00.000Z";
  lock.kernel = "kernels/softmax.py:softmax";
  lock.task_file = "tasks/softmax-cpu.toml";
  lock.rules_version = kRulesVersion;
  lock.rules_sha256 = rules_sha256();
  for (const std::string& name : names)
    lock.variants.push_back({name, hash_of(name), "x=f32[64,64]", 1.0, {"GB/s", 1e7}});
  lock.baselines.push_back({"onednn", "onednn", R"({"operation":"softmax","source":"softmax_base.cc"})"});
  return lock;
}

inline Arm fake_arm(const std::string& name, Role role) {
  Arm arm;
  arm.name = name;
  arm.role = role;
  arm.worker = name;
  arm.source_sha256 = hash_of(name + " source");
  arm.binary_sha256 = hash_of(name + " binary");
  arm.versions = {{"version", role == Role::candidate ? "0.1.0" : "3.5"}};
  if (role == Role::candidate) arm.config = R"({"block_m":4,"vector":16})";
  return arm;
}

inline Reading fake_reading(const Arm& arm, const FakeShape& shape, double seconds, int index, Noise* noise) {
  Reading r;
  r.arm = arm.name;
  r.pid = shape.first_pid + index;
  r.started_s = 10.0 + 2.0 * index;
  r.mid_s = r.started_s + 1;
  r.wall_s = 1.5;
  const double process = noise->normal(shape.sigma / 2);
  for (int b = 0; b < 7; ++b) r.blocks.push_back({seconds * 10 * std::exp(process + noise->normal(shape.sigma)), 10});
  r.correct = true;
  r.worst_error = 0.25;
  r.binary_sha256 = arm.binary_sha256;
  r.inputs_sha256 = hash_of("inputs " + shape.name);
  if (!shape.empty_s.empty()) r.facts = {{"empty launch s", shape.empty_s}};
  return r;
}

/// A measurement of one candidate against onednn with the true ratio that `shape` says.
inline PairsArtifact fake_pairs(const FakeShape& shape, Purpose purpose, int64_t open_seq,
                                const std::string& run = "r1") {
  PairsArtifact a;
  a.run = run;
  a.name = std::string(purpose_name(purpose)) + "-" + shape.name;
  a.task = "softmax-cpu";
  a.variant = shape.name;
  a.variant_hash = hash_of(shape.name);
  a.purpose = purpose;
  a.open_seq = open_seq;
  a.opened_at = "2026-08-30T10:01:00.000Z";
  a.closed_at = "2026-08-30T10:02:00.000Z";
  a.compiler_sha256 = hash_of("compiler");
  a.kernel_sha256 = hash_of("kernel");
  a.timer = shape.timer;
  a.machine = {{"cpu", "Example CPU 3000"}, {"cores", "2"}, {"os", "Linux 6.1"}, {"compiler", "g++ 12.2.0"}};
  a.input = {{"generator", "philox4x32-10"}, {"seed", "7"}};
  a.work = {"GB/s", 1e7};
  a.arms = {fake_arm("hillclimb", Role::candidate), fake_arm("onednn", Role::baseline)};
  for (const std::string& name : shape.anchors) a.arms.push_back(fake_arm(name, Role::anchor));
  if (shape.copy_ratio > 0) a.arms.push_back(fake_arm("streaming-copy", Role::ceiling));
  Noise noise(shape.seed);
  int index = 0;
  for (int k = 0; k < shape.pairs; ++k) {
    Pair pair;
    for (size_t i = 0; i < a.arms.size(); ++i) {
      const Arm& arm = a.arms[k % 2 ? a.arms.size() - 1 - i : i];
      const double candidate = shape.seconds / shape.ratio;
      const double seconds = arm.role == Role::candidate ? candidate
                             : arm.role == Role::ceiling ? candidate / shape.copy_ratio
                                                         : shape.seconds;
      pair.readings.push_back(fake_reading(arm, shape, seconds, index++, &noise));
    }
    a.pairs.push_back(std::move(pair));
  }
  return a;
}

/// onednn against itself; `shape.ratio` is by how much the second of its arms reads slower.
inline PairsArtifact fake_aa(const FakeShape& shape, int64_t open_seq, const std::string& run = "r1") {
  PairsArtifact a = fake_pairs(shape, Purpose::aa, open_seq, run);
  Arm twin = fake_arm("onednn", Role::baseline);
  twin.name = "onednn, again";
  twin.role = Role::candidate;
  a.arms[0] = twin;
  for (Pair& pair : a.pairs) {
    for (Reading& r : pair.readings) {
      if (r.arm != "hillclimb") continue;
      r.arm = twin.name;
      r.binary_sha256 = twin.binary_sha256;
    }
  }
  return a;
}

/// Announces, stores and ends an A/A record that `change` may have changed; returns its object id.
inline std::string store_aa(Store& store, const FakeShape& shape,
                            const std::function<void(PairsArtifact&)>& change = {}) {
  const Arm arm = fake_arm("onednn", Role::baseline);
  const int64_t open = store.run_open("r1", "aa", shape.name, candidate_subject(arm.source_sha256, arm.config)).value();
  PairsArtifact a = fake_aa(shape, open);
  if (change) change(a);
  const std::string id = store.put("r1", a.name, to_json(a), shape.name, open).value();
  (void)store.run_close(open, "done");
  return id;
}

inline TuneRecord fake_tune(const std::string& variant, const std::string& run = "r1") {
  TuneRecord t;
  t.run = run;
  t.name = "tune-" + variant;
  t.task = "softmax-cpu";
  t.variant = variant;
  t.variant_hash = hash_of(variant);
  t.arm = "hillclimb";
  t.opened_at = "2026-08-30T10:00:00.000Z";
  t.closed_at = "2026-08-30T10:01:00.000Z";
  t.seed = 42;
  t.started_cold = true;
  t.ended_by = "converged";
  t.full = true;
  t.space_size = 4096;
  t.seconds = 12.5;
  t.winner = R"({"vector":16,"block_m":4})";
  t.winner_seconds = 0.00095;
  t.winner_source_sha256 = hash_of("hillclimb source");
  const Outcome outcomes[] = {Outcome::ok, Outcome::refused,      Outcome::ok, Outcome::compile_failed,
                              Outcome::ok, Outcome::wrong_answer, Outcome::ok};
  const char* reasons[] = {"", "block_m 64 exceeds the rows",      "", "the compiler ran out of registers",
                           "", "element 3 lies outside the bound", ""};
  for (int i = 0; i < 7; ++i) {
    Candidate c;
    c.seq = i;
    c.t_s = 1.5 * i;
    c.config = i == 6 ? t.winner : R"({"vector":)" + std::to_string(1 << i) + R"(,"block_m":1})";
    c.origin = i == 0 ? "seed" : "random";
    c.outcome = outcomes[i];
    c.reason = reasons[i];
    c.seconds = c.outcome == Outcome::ok ? 0.002 / (1 + 0.2 * i) : 0;
    t.candidates.push_back(std::move(c));
  }
  return t;
}

/// Tunes and confirms one shape in a store; returns the measurement's object id.
inline std::string confirm_shape(Store& store, const FakeShape& shape, const std::string& run = "r1") {
  const std::string tune =
      store.put(run, "tune-" + shape.name, to_json(fake_tune(shape.name, run)), shape.name, -1).value();
  const Arm arm = fake_arm("hillclimb", Role::candidate);
  const int64_t open =
      store.run_open(run, "confirm", shape.name, candidate_subject(arm.source_sha256, arm.config)).value();
  PairsArtifact a = fake_pairs(shape, Purpose::confirm, open, run);
  a.arms[0].tune = tune;
  const std::string id = store.put(run, a.name, to_json(a), shape.name, open).value();
  (void)store.run_close(open, "done");
  return id;
}

/// A complete goal in `artifacts`: lock, ledger, objects and a goal file whose numbers agree with them.
inline Goal fake_goal(const std::string& artifacts, const std::string& anchor, const std::vector<FakeShape>& shapes,
                      const std::string& recipe = "", int aa_pairs = 0) {
  Store store = Store::open(artifacts, anchor).value();
  std::vector<std::string> names;
  for (const FakeShape& s : shapes) names.push_back(s.name);
  Lock lock = fake_lock(names);
  if (!recipe.empty()) lock.baselines[0].recipe = recipe;
  lock.criteria.aa_pairs = aa_pairs;
  Goal goal;
  goal.task = lock.task;
  goal.run = "r1";
  goal.lock = store.put("r1", "goal.lock", to_json(lock), "", -1).value();
  LedgerLine line;
  line.kind = "goal";
  line.run = "r1";
  line.object = goal.lock;
  line.name = "r1/goal.lock.json";
  (void)store.append(line);
  if (aa_pairs > 0) {
    store_aa(store, {.name = names.front(), .ratio = 1, .pairs = aa_pairs, .seed = 71, .first_pid = 9000});
  }
  for (const FakeShape& s : shapes) {
    GoalShape shape;
    shape.name = s.name;
    if (s.before > 0) {
      FakeShape earlier = s;
      earlier.ratio = s.before;
      earlier.seed += 1000;
      const PairsArtifact a =
          fake_pairs(earlier, Purpose::nominate, store.run_open("r1", "nominate", s.name, "").value());
      shape.before_evidence = {store.put("r1", "before-" + s.name, to_json(a), s.name, a.open_seq).value()};
      shape.before_artifact = store.named_path(shape.before_evidence[0]);
      shape.before_ratio = lowest_ratio(a, lock);
      (void)store.run_close(a.open_seq, "done");
    }
    shape.evidence = {confirm_shape(store, s)};
    Evidence evidence(artifacts, store.view());
    const VariantVerdict v = judge_variant(evidence, lock, s.name, shape.evidence);
    shape.ratio = v.ratio;
    shape.lcb = v.lcb;
    shape.ucb = v.ucb;
    shape.verdict = verdict_name(v.verdict);
    shape.best_baseline = v.best_baseline;
    shape.artifact = store.named_path(shape.evidence.back());
    goal.shapes.push_back(shape);
  }
  (void)write_file_atomic(join_path(artifacts, "goal.json"), to_json(goal));
  return goal;
}

}  // namespace hc::ledger::testing
