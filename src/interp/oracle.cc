// The oracle: which tiles reach the elements asked for, and what their steps leave in memory.
#include "interp/oracle.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/numeric.h"
#include "interp/machine.h"
#include "interp/memory.h"
#include "interp/slice.h"

namespace hc::interp {
namespace {

constexpr int64_t kAny = -1;              ///< position of an axis, or coordinate, that may be any
constexpr int64_t kPageLimit = 32 << 10;  ///< pages of results kept without being asked for (16 Mi elements)

/// Coordinates of a memory offset in a view; kAny along a dimension of stride 0. False when the view has no such
/// element.
bool coordinates(const ir::Tensor& tensor, int64_t offset, std::vector<int64_t>* out) {
  const size_t rank = tensor.shape.size();
  out->assign(rank, 0);
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  int64_t rest = offset - tensor.offset;
  if (rest < 0 || tensor.numel() == 0) return false;
  for (size_t d : order) {
    if (tensor.shape[d] == 1) continue;
    if (tensor.strides[d] == 0) {
      (*out)[d] = kAny;
      continue;
    }
    const int64_t c = rest / tensor.strides[d];
    if (c >= tensor.shape[d]) return false;
    (*out)[d] = c;
    rest -= c * tensor.strides[d];
  }
  return rest == 0;
}

/// An element asked for, at one of the stores that can reach it.
struct Target {
  int64_t offset;
  size_t site;
  std::vector<int64_t> at;  ///< coordinates
};

/// Positions along one axis, by axis; an empty list means any.
using AxisChoice = std::vector<std::vector<int64_t>>;

bool keep_common(std::vector<int64_t>* list, bool* limited, std::vector<int64_t> found) {
  std::sort(found.begin(), found.end());
  if (*limited) {
    std::vector<int64_t> both;
    std::set_intersection(list->begin(), list->end(), found.begin(), found.end(), std::back_inserter(both));
    found = std::move(both);
  }
  *list = std::move(found);
  *limited = true;
  return !list->empty();
}

std::vector<int64_t> positions_of(const ir::GridAxis& axis, const IndexForm& form, int64_t lanes, int64_t coordinate) {
  std::vector<int64_t> found;
  if (!form.table.empty()) {
    for (size_t k = 0; k < form.table.size(); ++k) {
      if (form.table[k] == coordinate) found.push_back(static_cast<int64_t>(k));
    }
    return found;
  }
  const int64_t distance = coordinate - form.add - axis.begin;
  if (distance < 0) return found;
  const int64_t reach = form.lane_class >= 0 ? lanes : 1;
  for (int64_t k = std::min(distance / axis.step, axis.count() - 1); k >= 0 && distance - k * axis.step < reach; --k) {
    found.push_back(k);
  }
  return found;
}

/// Where a target can be written from; false when this store cannot reach it.
bool choose_axes(const ir::Launch& launch, const Slice& slice, const StoreSite& site, const std::vector<int64_t>& at,
                 AxisChoice* choice) {
  choice->assign(launch.axes.size(), {});
  std::vector<char> limited(launch.axes.size(), 0);
  for (size_t d = 0; d < at.size(); ++d) {
    const IndexForm& form = site.indices[d];
    if (!form.known || at[d] == kAny) continue;
    const int64_t lanes = form.lane_class < 0 ? 1 : slice.classes()[static_cast<size_t>(form.lane_class)].size;
    if (form.axis < 0) {
      const int64_t lane = at[d] - form.add;
      if (lane < 0 || lane >= lanes) return false;
      continue;
    }
    const auto axis = static_cast<size_t>(form.axis);
    bool was = limited[axis] != 0;
    if (!keep_common(&(*choice)[axis], &was, positions_of(launch.axes[axis], form, lanes, at[d]))) return false;
    limited[axis] = 1;
  }
  return true;
}

/// Calls fn for every combination of one entry of each list.
template <typename Fn>
Status for_each_combination(const std::vector<std::vector<int64_t>>& lists, Fn fn) {
  std::vector<int64_t> chosen(lists.size());
  std::vector<size_t> index(lists.size(), 0);
  for (const auto& list : lists) {
    if (list.empty()) return success();
  }
  while (true) {
    for (size_t i = 0; i < lists.size(); ++i) chosen[i] = lists[i][index[i]];
    HC_TRY(fn(chosen));
    size_t i = lists.size();
    while (i > 0 && ++index[i - 1] == lists[i - 1].size()) index[--i] = 0;
    if (i == 0) return success();
  }
}

bool step_writes(const ir::Program& program, const ir::Region& region, ir::StorageId storage) {
  for (const ir::Op& op : region.ops) {
    if (op.kind == ir::OpKind::store && program.tensor(op.tensor).storage == storage) return true;
    for (const ir::Region& inner : op.regions) {
      if (step_writes(program, inner, storage)) return true;
    }
  }
  return false;
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

  /// What a tile of one step sees.
  struct Port final : MemoryPort {
    State& state;
    size_t step;
    ir::StorageId target;
    Outcome& outcome;
    bool integral;
    bool keep_all = false;
    std::unordered_set<int64_t> asked;
    Port(State& s, size_t at, ir::StorageId t, Outcome& o)
        : state(s), step(at), target(t), outcome(o), integral(!is_floating(s.program.storage(t).dtype)) {}
    const void* initial(ir::StorageId storage) override {
      for (size_t s = 0; s < step; ++s) {
        if (state.at(s, storage).writes) return nullptr;
      }
      return state.params[static_cast<size_t>(storage)];
    }
    Status read(ir::StorageId storage, std::span<const int64_t> offsets, Element* out) override {
      return state.resolve(storage, offsets, step, out);
    }
    void write(int64_t offset, const Element& element) override {
      if (keep_all || asked.contains(offset)) outcome.put(offset, element, integral);
    }
  };

  PerStep& at(size_t step, ir::StorageId storage) {
    const auto [it, fresh] = per_step.try_emplace({step, storage});
    if (fresh) {
      const ir::Step& s = program.steps[step];
      it->second.writes = s.kind == ir::Step::Kind::fill ? program.tensor(s.fill_tensor).storage == storage
                                                         : step_writes(program, s.launch.body, storage);
    }
    return it->second;
  }

  Status resolve(ir::StorageId storage, std::span<const int64_t> offsets, size_t steps, Element* out);
  Element initial(ir::StorageId storage, int64_t offset) const;
  Element filled(const ir::Step& step) const;
  Status ensure(size_t step, ir::StorageId storage, const std::vector<int64_t>& offsets);
  Status run_group(size_t step, ir::StorageId storage, const std::vector<std::vector<int64_t>>& positions,
                   const std::vector<Target>& targets);
  Status run_tile(size_t step, ir::StorageId storage, const std::vector<int64_t>& positions,
                  const std::vector<Target>& targets, Machine& machine, Port& port);
};

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
    std::vector<std::vector<int64_t>> positions = axes;
    for (size_t a = 0; a < positions.size(); ++a) {
      if (!positions[a].empty()) continue;
      for (int64_t k = 0; k < launch.axes[a].count(); ++k) positions[a].push_back(k);
    }
    HC_TRY(run_group(step, storage, positions, targets));
  }
  for (int64_t offset : offsets) {
    if (here.outcome.known(offset) == Outcome::Known::no) here.outcome.mark_untouched(offset);
  }
  return success();
}

Status Oracle::State::run_group(size_t step, ir::StorageId storage, const std::vector<std::vector<int64_t>>& positions,
                                const std::vector<Target>& targets) {
  PerStep& here = at(step, storage);
  Port port(*this, step, storage, here.outcome);
  for (const Target& target : targets) port.asked.insert(target.offset);
  Machine machine(program, program.steps[step].launch, *here.slice, storage, port);
  Status status = for_each_combination(positions, [&](const std::vector<int64_t>& chosen) {
    return run_tile(step, storage, chosen, targets, machine, port);
  });
  work += machine.work();
  return status;
}

Status Oracle::State::run_tile(size_t step, ir::StorageId storage, const std::vector<int64_t>& positions,
                               const std::vector<Target>& targets, Machine& machine, Port& port) {
  PerStep& here = at(step, storage);
  const Slice& slice = *here.slice;
  const ir::Launch& launch = program.steps[step].launch;
  if (here.whole_runs.contains(positions)) return success();
  TileRun tile;
  for (size_t a = 0; a < positions.size(); ++a) {
    tile.begins.push_back(launch.axes[a].begin + positions[a] * launch.axes[a].step);
  }
  const size_t count = slice.classes().size();
  std::vector<std::set<int64_t>> lanes(count);
  tile.whole.assign(count, slice.any_own());
  for (size_t c = 0; c < count; ++c) tile.whole[c] = tile.whole[c] || slice.classes()[c].whole;
  for (const Target& target : targets) {
    const StoreSite& site = slice.stores()[target.site];
    std::vector<char> covered(count, 0);
    for (size_t d = 0; d < site.indices.size(); ++d) {
      const IndexForm& form = site.indices[d];
      if (!form.known || form.lane_class < 0 || target.at[d] == kAny) continue;
      const int64_t begin = form.axis < 0 ? 0 : tile.begins[static_cast<size_t>(form.axis)];
      const int64_t lane = target.at[d] - form.add - begin;
      const auto c = static_cast<size_t>(form.lane_class);
      covered[c] = 1;
      if (lane >= 0 && lane < slice.classes()[c].size) lanes[c].insert(lane);
    }
    const ir::ValueId value = site.op->operands[0].value;
    for (int d = 0; d < launch.type(value).rank(); ++d) {
      const auto c = static_cast<size_t>(slice.lane_class(value, d));
      if (!covered[c]) tile.whole[c] = 1;
    }
  }
  double asked = 1, all = 1;
  for (size_t c = 0; c < count; ++c) {
    if (tile.whole[c] || lanes[c].empty()) continue;
    asked *= static_cast<double>(lanes[c].size());
    all *= static_cast<double>(slice.classes()[c].size);
  }
  const bool entire = asked * 2 > all;
  if (entire) tile.whole.assign(count, 1);
  for (const auto& set : lanes) tile.lanes.emplace_back(set.begin(), set.end());
  const bool room = here.outcome.pages() < kPageLimit;
  port.keep_all = room && (entire || slice.stores().size() == 1);
  HC_TRY(machine.run(tile));
  if (entire && port.keep_all) here.whole_runs.insert(positions);
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
  HC_TRY(state_->resolve(t.storage, offsets, state_->program.steps.size(), out.data()));
  return out;
}

int64_t Oracle::work() const { return state_->work; }

}  // namespace hc::interp
