// Liveness over regions, then a sweep that renumbers what stays.
#include "lang/cleanup.h"

#include <functional>
#include <vector>

namespace hc::lang {
namespace {

using ir::kNone;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::ValueId;

bool is_loop(OpKind kind) { return kind == OpKind::for_tile || kind == OpKind::for_grid; }
size_t bounds_of(const Op& op) { return op.kind == OpKind::for_tile ? 2 : op.kind == OpKind::for_grid ? 3 : 1; }

class Cleaner {
 public:
  explicit Cleaner(ir::Launch& launch) : launch_(launch), live_(launch.values.size()), alias_(launch.values.size()) {
    for (size_t i = 0; i < alias_.size(); ++i) alias_[i] = static_cast<ValueId>(i);
  }

  bool run() {
    find_pass_through(launch_.body);
    substitute(launch_.body);
    do {
      changed_ = false;
      mark(launch_.body);
    } while (changed_);
    const bool effect = has_effect(launch_.body);
    sweep(launch_.body);
    renumber();
    return effect;
  }

 private:
  bool live(ValueId v) const { return live_[static_cast<size_t>(v)]; }
  void keep(ValueId v) {
    if (live(v)) return;
    live_[static_cast<size_t>(v)] = true;
    changed_ = true;
  }

  ValueId resolve(ValueId v) const {
    while (alias_[static_cast<size_t>(v)] != v) v = alias_[static_cast<size_t>(v)];
    return v;
  }

  /// A carried value whose body yields its own argument is the initial value all along.
  void find_pass_through(Region& region) {
    for (Op& op : region.ops) {
      for (Region& inner : op.regions) find_pass_through(inner);
      if (!is_loop(op.kind)) continue;
      const Op& yield = op.regions[0].ops.back();
      for (size_t i = 0; i < op.results.size(); ++i) {
        const ValueId argument = op.regions[0].args[i + 1];
        if (resolve(yield.operands[i].value) != argument) continue;
        alias_[static_cast<size_t>(argument)] = op.operands[bounds_of(op) + i].value;
        alias_[static_cast<size_t>(op.results[i])] = op.operands[bounds_of(op) + i].value;
      }
    }
  }

  void substitute(Region& region) {
    for (Op& op : region.ops) {
      for (ir::Operand& operand : op.operands) operand.value = resolve(operand.value);
      for (Region& inner : op.regions) substitute(inner);
    }
  }

  static bool has_effect(const Region& region) {
    for (const Op& op : region.ops) {
      if (has_effect(op)) return true;
    }
    return false;
  }
  static bool has_effect(const Op& op) {
    if (op.kind == OpKind::store) return true;
    for (const Region& inner : op.regions) {
      if (has_effect(inner)) return true;
    }
    return false;
  }

  bool needed(const Op& op) const {
    if (has_effect(op)) return true;
    for (ValueId result : op.results) {
      if (live(result)) return true;
    }
    return false;
  }

  void mark(const Region& region) {
    for (auto op = region.ops.rbegin(); op != region.ops.rend(); ++op) {
      if (op->kind != OpKind::yield && needed(*op)) mark_op(*op);
    }
  }

  void mark_op(const Op& op) {
    if (op.regions.empty()) {
      for (const ir::Operand& operand : op.operands) keep(operand.value);
      return;
    }
    const size_t bounds = bounds_of(op);
    for (size_t i = 0; i < bounds; ++i) keep(op.operands[i].value);
    for (const Region& inner : op.regions) {
      const Op& yield = inner.ops.back();
      for (size_t i = 0; i < op.results.size(); ++i) {
        const bool wanted = live(op.results[i]) || (is_loop(op.kind) && live(inner.args[i + 1]));
        if (!wanted) continue;
        keep(op.results[i]);
        keep(yield.operands[i].value);
        if (is_loop(op.kind)) {
          keep(op.operands[bounds + i].value);
          keep(inner.args[i + 1]);
        }
      }
      mark(inner);
    }
  }

  void sweep(Region& region) {
    std::erase_if(region.ops, [&](const Op& op) { return op.kind != OpKind::yield && !needed(op); });
    for (Op& op : region.ops) {
      if (op.regions.empty()) continue;
      const std::vector<ValueId> results = op.results;
      for (Region& inner : op.regions) {
        erase_dead(inner.ops.back().operands, results, 0);
        if (is_loop(op.kind)) erase_dead(inner.args, results, 1);
        sweep(inner);
      }
      if (is_loop(op.kind)) erase_dead(op.operands, results, bounds_of(op));
      erase_dead(op.results, results, 0);
    }
  }

  /// Removes item offset + i where result i is dead.
  template <typename T>
  void erase_dead(std::vector<T>& items, const std::vector<ValueId>& results, size_t offset) const {
    for (size_t i = results.size(); i-- > 0;) {
      if (!live(results[i])) items.erase(items.begin() + static_cast<std::ptrdiff_t>(offset + i));
    }
  }

  void renumber() {
    std::vector<ValueId> number(launch_.values.size(), kNone);
    std::vector<ir::Value> values;
    const auto define = [&](ValueId& v) {
      number[static_cast<size_t>(v)] = static_cast<ValueId>(values.size());
      values.push_back(launch_.values[static_cast<size_t>(v)]);
      v = number[static_cast<size_t>(v)];
    };
    const std::function<void(Region&)> walk = [&](Region& region) {
      for (ValueId& argument : region.args) define(argument);
      for (Op& op : region.ops) {
        for (ir::Operand& operand : op.operands) operand.value = number[static_cast<size_t>(operand.value)];
        for (Region& inner : op.regions) walk(inner);
        for (ValueId& result : op.results) define(result);
      }
    };
    walk(launch_.body);
    launch_.values = std::move(values);
  }

  ir::Launch& launch_;
  std::vector<bool> live_;
  std::vector<ValueId> alias_;
  bool changed_ = false;
};

}  // namespace

bool clean_launch(ir::Launch& launch) { return Cleaner(launch).run(); }

}  // namespace hc::lang
