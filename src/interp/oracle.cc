// The oracle: which tiles reach the elements asked for, and what their steps leave in memory.
#include "interp/oracle.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <unordered_set>

#include "base/numeric.h"
#include "interp/machine.h"
#include "interp/memory.h"
#include "interp/targets.h"

namespace hc::interp {
namespace {

constexpr int64_t kPageLimit = 32 << 10;  ///< pages of results kept without being asked for (16 Mi elements)

bool step_writes(const ir::Program& program, const ir::Region& region, ir::StorageId storage) {
  for (const ir::Op& op : region.ops) {
    if (op.kind == ir::OpKind::store && program.tensor(op.tensor).storage == storage) return true;
    for (const ir::Region& inner : op.regions) {
      if (step_writes(program, inner, storage)) return true;
    }
  }
  return false;
}

/// A tile to run and what of its writes is kept.
struct Plan {
  TileRun tile;
  std::vector<int64_t> positions;
  bool entire = false;
  bool keep_all = false;
};

/// Lanes to run so that the targets are reached in the tile that begins at `begins`.
Plan plan_tile(const ir::Launch& launch, const Slice& slice, const std::vector<int64_t>& positions,
               const std::vector<Target>& targets, bool room) {
  Plan plan;
  plan.positions = positions;
  TileRun& tile = plan.tile;
  for (size_t a = 0; a < positions.size(); ++a) {
    tile.begins.push_back(launch.axes[a].begin + positions[a] * launch.axes[a].step);
  }
  const size_t count = slice.classes().size();
  std::vector<std::set<int64_t>> lanes(count);
  std::map<const ir::Op*, std::set<int64_t>> asked;
  for (const ir::Op* loop : slice.independent_loops()) asked[loop];
  tile.whole.assign(count, slice.any_own());
  for (size_t c = 0; c < count; ++c) tile.whole[c] = tile.whole[c] || slice.classes()[c].whole;
  double extents = 1;
  for (const Target& target : targets) {
    const StoreSite& site = slice.stores()[target.site];
    std::vector<char> covered(count, 0);
    for (size_t d = 0; d < site.indices.size(); ++d) {
      const IndexForm& form = site.indices[d];
      if (!form.known || form.lane_class < 0 || target.at[d] == kAny) continue;
      const auto c = static_cast<size_t>(form.lane_class);
      covered[c] = 1;
      if (form.loop != nullptr) {
        if (!slice.independent(*form.loop)) continue;
        const auto k = form.axis < 0 ? 0 : static_cast<size_t>(positions[static_cast<size_t>(form.axis)]);
        if (asked[form.loop].empty() && k < form.low.size()) extents *= static_cast<double>(form.high[k] - form.low[k]);
        asked[form.loop].insert(target.at[d] - form.add);
        continue;
      }
      const int64_t begin = form.axis < 0 ? 0 : tile.begins[static_cast<size_t>(form.axis)];
      const int64_t lane = target.at[d] - form.add - begin;
      if (lane >= 0 && lane < slice.classes()[c].size) lanes[c].insert(lane);
    }
    const ir::ValueId value = site.op->operands[0].value;
    for (int d = 0; d < launch.type(value).rank(); ++d) {
      const auto c = static_cast<size_t>(slice.lane_class(value, d));
      if (!covered[c]) tile.whole[c] = 1;
    }
  }
  double wanted = 1, all = extents;
  for (const auto& [loop, indices] : asked) wanted *= static_cast<double>(std::max<size_t>(indices.size(), 1));
  for (size_t c = 0; c < count; ++c) {
    if (tile.whole[c] || lanes[c].empty()) continue;
    wanted *= static_cast<double>(lanes[c].size());
    all *= static_cast<double>(slice.classes()[c].size);
  }
  plan.entire = wanted * 2 > all;
  if (plan.entire) tile.whole.assign(count, 1);
  if (!plan.entire) {
    for (const auto& [loop, indices] : asked) tile.asked[loop].assign(indices.begin(), indices.end());
  }
  for (const auto& set : lanes) tile.lanes.emplace_back(set.begin(), set.end());
  // One store alone leaves its final elements whatever lanes run; several may overwrite each other.
  plan.keep_all = room && (plan.entire || slice.stores().size() == 1);
  return plan;
}

}  // namespace

struct Oracle::State {
  const ir::Program& program;
  std::vector<const void*> params;
  int64_t work = 0;

  struct PerStep {
    bool writes = false;
    std::unique_ptr<Slice> slice;
    Outcome outcome;
    std::set<std::vector<int64_t>> whole_runs;
  };
  std::map<std::pair<size_t, ir::StorageId>, PerStep> per_step;

  /// One group of targets: the tiles that may write them and what they see.
  struct Group {
    size_t step;
    ir::StorageId storage;
    std::unordered_set<int64_t> asked;
    std::vector<const void*> initial;  ///< by storage; null where an earlier step writes or nothing is given
  };

  /// What a tile of one step sees; its writes wait in a list.
  struct Port final : MemoryPort {
    State& state;
    const Group& group;
    bool keep_all = false;
    std::vector<std::pair<int64_t, Element>> writes;
    Port(State& s, const Group& g) : state(s), group(g) {}
    const void* initial(ir::StorageId storage) override { return group.initial[static_cast<size_t>(storage)]; }
    Status read(ir::StorageId storage, std::span<const int64_t> offsets, Element* out) override {
      return state.resolve(storage, offsets, group.step, out);
    }
    void write(int64_t offset, const Element& element) override {
      if (keep_all || group.asked.contains(offset)) writes.emplace_back(offset, element);
    }
  };

  PerStep& at(size_t step, ir::StorageId storage);
  Status resolve(ir::StorageId storage, std::span<const int64_t> offsets, size_t steps, Element* out);
  Element initial(ir::StorageId storage, int64_t offset) const;
  Element filled(const ir::Step& step) const;
  Status ensure(size_t step, ir::StorageId storage, const std::vector<int64_t>& offsets);
  Status run_group(Group& group, const AxisChoice& positions, const std::vector<Target>& targets);
  Status run_plans(const Group& group, const std::vector<Plan>& plans, bool parallel);
  bool stands_alone(const Group& group, const Slice& slice) const;
};

Oracle::State::PerStep& Oracle::State::at(size_t step, ir::StorageId storage) {
  const auto [it, fresh] = per_step.try_emplace({step, storage});
  if (fresh) {
    const ir::Step& s = program.steps[step];
    it->second.writes = s.kind == ir::Step::Kind::fill ? program.tensor(s.fill_tensor).storage == storage
                                                       : step_writes(program, s.launch.body, storage);
  }
  return it->second;
}

Element Oracle::State::initial(ir::StorageId storage, int64_t offset) const {
  const ir::Storage& s = program.storage(storage);
  const void* bytes = params[static_cast<size_t>(storage)];
  if (bytes == nullptr) return {kNaN, kInfinite, 0, false};
  if (is_floating(s.dtype)) return {load_double(bytes, s.dtype, offset), 0, 0, false};
  const int64_t exact = load_int(bytes, s.dtype, offset);
  return {static_cast<double>(exact), 0, exact, false};
}

Element Oracle::State::filled(const ir::Step& step) const {
  const DType dtype = program.tensor(step.fill_tensor).dtype;
  if (is_floating(dtype)) return {round_to(dtype, step.fill_value.f), 0, 0, true};
  return {static_cast<double>(step.fill_value.i), 0, step.fill_value.i, true};
}

Status Oracle::State::resolve(ir::StorageId storage, std::span<const int64_t> offsets, size_t steps, Element* out) {
  std::vector<size_t> pending(offsets.size());
  for (size_t k = 0; k < pending.size(); ++k) pending[k] = k;
  for (size_t s = steps; s-- > 0 && !pending.empty();) {
    PerStep& here = at(s, storage);
    if (!here.writes) continue;
    const ir::Step& step = program.steps[s];
    std::vector<size_t> left;
    if (step.kind == ir::Step::Kind::fill) {
      const Element value = filled(step);
      std::vector<int64_t> where;
      for (size_t k : pending) {
        if (coordinates(program.tensor(step.fill_tensor), offsets[k], &where)) {
          out[k] = value;
        } else {
          left.push_back(k);
        }
      }
    } else {
      std::vector<int64_t> unknown;
      for (size_t k : pending) {
        if (here.outcome.known(offsets[k]) == Outcome::Known::no) unknown.push_back(offsets[k]);
      }
      if (!unknown.empty()) HC_TRY(ensure(s, storage, unknown));
      for (size_t k : pending) {
        if (here.outcome.known(offsets[k]) == Outcome::Known::written) {
          out[k] = here.outcome.get(offsets[k]);
        } else {
          left.push_back(k);
        }
      }
    }
    pending = std::move(left);
  }
  for (size_t k : pending) out[k] = initial(storage, offsets[k]);
  return success();
}

Status Oracle::State::ensure(size_t step, ir::StorageId storage, const std::vector<int64_t>& offsets) {
  PerStep& here = at(step, storage);
  const ir::Launch& launch = program.steps[step].launch;
  if (!here.slice) here.slice = std::make_unique<Slice>(program, launch, storage);
  std::map<AxisChoice, std::vector<Target>> groups;
  AxisChoice choice;
  std::vector<int64_t> where;
  for (int64_t offset : offsets) {
    for (size_t site = 0; site < here.slice->stores().size(); ++site) {
      const StoreSite& store = here.slice->stores()[site];
      if (!coordinates(program.tensor(store.op->tensor), offset, &where)) continue;
      if (!choose_axes(launch, *here.slice, store, where, &choice)) continue;
      groups[choice].push_back({offset, site, where});
    }
  }
  for (const auto& [axes, targets] : groups) {
    AxisChoice positions = axes;
    for (size_t a = 0; a < positions.size(); ++a) {
      if (!positions[a].empty()) continue;
      for (int64_t k = 0; k < launch.axes[a].count(); ++k) positions[a].push_back(k);
    }
    Group group{step, storage, {}, {}};
    HC_TRY(run_group(group, positions, targets));
  }
  for (int64_t offset : offsets) {
    if (here.outcome.known(offset) == Outcome::Known::no) here.outcome.mark_untouched(offset);
  }
  return success();
}

/// Whether tiles read nothing but initial parameters, so that they can run at once.
bool Oracle::State::stands_alone(const Group& group, const Slice& slice) const {
  for (const ir::Op* load : slice.live_loads()) {
    const ir::StorageId storage = program.tensor(load->tensor).storage;
    if (group.initial[static_cast<size_t>(storage)] == nullptr) return false;
  }
  return !slice.any_own();
}

Status Oracle::State::run_group(Group& group, const AxisChoice& positions, const std::vector<Target>& targets) {
  PerStep& here = at(group.step, group.storage);
  const ir::Launch& launch = program.steps[group.step].launch;
  for (const Target& target : targets) group.asked.insert(target.offset);
  for (size_t s = 0; s < program.storages.size(); ++s) {
    bool written = false;
    for (size_t step = 0; step < group.step; ++step) {
      written = written || at(step, static_cast<ir::StorageId>(s)).writes;
    }
    group.initial.push_back(written ? nullptr : params[s]);
  }
  const bool parallel = stands_alone(group, *here.slice);
  constexpr size_t kAtOnce = 16;  // bounds the writes that wait
  std::vector<Plan> plans;
  const std::vector<std::vector<int64_t>> tiles = combinations(positions);
  for (size_t t = 0; t < tiles.size(); ++t) {
    if (!here.whole_runs.contains(tiles[t])) {
      plans.push_back(plan_tile(launch, *here.slice, tiles[t], targets, here.outcome.pages() < kPageLimit));
    }
    if (plans.size() < kAtOnce && t + 1 < tiles.size()) continue;
    HC_TRY(run_plans(group, plans, parallel));
    plans.clear();
  }
  return success();
}

Status Oracle::State::run_plans(const Group& group, const std::vector<Plan>& plans, bool parallel) {
  PerStep& here = at(group.step, group.storage);
  const bool integral = !is_floating(program.storage(group.storage).dtype);
  std::vector<Port> ports(plans.size(), Port(*this, group));
  std::vector<Status> statuses(plans.size(), success());
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> lanes = 0;
  const auto run = [&] {
    for (size_t i = next++; i < plans.size(); i = next++) {
      ports[i].keep_all = plans[i].keep_all;
      Machine machine(program, program.steps[group.step].launch, *here.slice, group.storage, ports[i]);
      statuses[i] = machine.run(plans[i].tile);
      lanes += machine.work();
    }
  };
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
  std::vector<std::thread> threads;
  for (size_t t = 1; parallel && t < std::min(cores, plans.size()); ++t) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
  work += lanes;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!statuses[i].ok()) return statuses[i];
    for (const auto& [offset, element] : ports[i].writes) here.outcome.put(offset, element, integral);
    if (plans[i].entire && plans[i].keep_all) here.whole_runs.insert(plans[i].positions);
  }
  return success();
}

Oracle::Oracle(const ir::Program& program, std::vector<const void*> params)
    : state_(new State{program, std::move(params), 0, {}}) {
  state_->params.resize(program.storages.size(), nullptr);
}

Oracle::~Oracle() = default;

Result<std::vector<Element>> Oracle::elements(ir::TensorId tensor, std::span<const int64_t> numbers) {
  const ir::Tensor& t = state_->program.tensor(tensor);
  std::vector<int64_t> offsets;
  offsets.reserve(numbers.size());
  for (int64_t number : numbers) {
    int64_t offset = t.offset;
    for (size_t d = t.shape.size(); d-- > 0;) {
      offset += number % t.shape[d] * t.strides[d];
      number /= t.shape[d];
    }
    offsets.push_back(offset);
  }
  std::vector<Element> out(offsets.size());
  Status status = state_->resolve(t.storage, offsets, state_->program.steps.size(), out.data());
  lane_release();
  if (!status.ok()) return std::move(status).error();
  return out;
}

int64_t Oracle::work() const { return state_->work; }

}  // namespace hc::interp
