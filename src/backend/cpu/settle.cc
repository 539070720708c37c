// Values that cross from one loop to a later one: made anew where that is cheap, otherwise left to be kept in memory.
#include <algorithm>
#include <map>

#include "backend/cpu/loops.h"

namespace hc::backend::cpu {
namespace {

using ir::OpKind;

constexpr int kNever = 1 << 20;  ///< cost of what cannot be made anew
constexpr int kFromMemory = 3;   ///< cost of reading back what is kept
constexpr int kCheap = 7;        ///< up to this cost, making anew beats keeping

int elementwise_cost(OpKind op) {
  switch (op) {
    case OpKind::copy:
    case OpKind::cast:
    case OpKind::promote:
    case OpKind::neg:
    case OpKind::abs:
    case OpKind::add:
    case OpKind::sub:
    case OpKind::mul:
    case OpKind::maximum:
    case OpKind::minimum:
    case OpKind::where:
    case OpKind::eq:
    case OpKind::ne:
    case OpKind::lt:
    case OpKind::le:
    case OpKind::gt:
    case OpKind::ge:
    case OpKind::bitwise_and:
    case OpKind::bitwise_or:
    case OpKind::bitwise_xor:
    case OpKind::bitwise_not:
    case OpKind::logical_not:
      return 1;
    case OpKind::div:
    case OpKind::sqrt:
    case OpKind::rsqrt:
    case OpKind::reciprocal:
    case OpKind::floor:
    case OpKind::ceil:
    case OpKind::round:
    case OpKind::trunc:
      return 5;
    default:
      return 16;
  }
}

class Settler {
 public:
  Settler(Graph& graph, LoopTree& tree, const LoopOptions& options)
      : graph_(graph), tree_(tree), options_(options), written_(written_storages(graph)) {}

  void run() {
    drop_unused();
    find_users();
    for (size_t c = 0; c < tree_.containers.size(); ++c) {
      for (size_t i = 0; i < tree_.containers[c].items.size(); ++i) {
        const Item item = tree_.containers[c].items[i];
        if (item.loop) continue;
        const size_t before = tree_.containers[c].items.size();
        settle(item.id, static_cast<int32_t>(c));
        i += tree_.containers[c].items.size() - before;  // clones stand before the node
      }
    }
    drop_unused();
  }

 private:
  void settle(NodeId n, int32_t at) {
    if (graph_.node(n).kind == NodeKind::relayout) return;  // reads other lanes than its own: from memory only
    current_ = n;
    const std::vector<ValId> reads = graph_.reads(n);
    std::map<ValId, ValId> changes;
    for (ValId v : reads) {
      if (available(v, at)) continue;
      if (cost(v, at, lone_reader(v)) <= (options_.recompute ? kNever - 1 : kCheap)) changes[v] = clone(v, at);
    }
    replace(n, changes);
  }

  bool is_constant(ValId v) const {
    const NodeId def = graph_.val(v).def;
    return def != kNone && graph_.node(def).kind == NodeKind::constant;
  }

  bool available(ValId v, int32_t at) const { return is_constant(v) || tree_.encloses(tree_.home(graph_, v), at); }

  /// Whether everything that reads the value stands in one foreign container, so that making it there saves the first
  /// time.
  bool lone_reader(ValId v) const {
    int32_t where = kNone;
    const int32_t home = tree_.home(graph_, v);
    for (int32_t c : users_[static_cast<size_t>(v)]) {
      if (tree_.encloses(home, c) || (where != kNone && where != c)) return false;
      where = c;
    }
    return true;
  }

  int cost(ValId v, int32_t at, bool moved) const {
    if (available(v, at) || made_.count({v, at})) return 0;
    const Node& node = graph_.node(graph_.val(v).def);
    int own = 0;
    switch (node.kind) {
      case NodeKind::index:
        break;
      case NodeKind::slot_read:
        own = 2;
        break;
      case NodeKind::load:
        if (static_cast<size_t>(node.storage) < written_.size() && written_[static_cast<size_t>(node.storage)]) {
          return kNever;
        }
        own = node.index.values.empty() ? 2 : 4;
        break;
      case NodeKind::elementwise:
        own = moved ? 0 : elementwise_cost(node.op);
        break;
      default:
        return kNever;
    }
    for (ValId arg : graph_.reads(graph_.val(v).def)) {
      if (is_constant(arg)) continue;
      const bool alone = moved && users_[static_cast<size_t>(arg)].size() == 1;
      const int below = cost(arg, at, alone);
      const bool kept = below > kCheap && !(options_.recompute && below < kNever);
      own += kept && !alone ? kFromMemory : below;
      if (own >= kNever) return kNever;
    }
    return own;
  }

  /// The item of container c in which `inner` lies.
  size_t item_towards(int32_t c, int32_t inner) const {
    const std::vector<Item>& items = tree_.at(c).items;
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].loop && tree_.encloses(items[i].id, inner)) return i;
      if (items[i].loop) continue;
      for (BodyId b : graph_.node(items[i].id).bodies) {
        if (tree_.encloses(tree_.body_container[static_cast<size_t>(b)], inner)) return i;
      }
    }
    return items.size();
  }

  /// Outermost container around or at `at` where all axes of a node are open and its operands are to be had.
  int32_t place_for(const Node& node, const std::vector<ValId>& reads, int32_t home, int32_t at) const {
    int32_t best = at;
    const int32_t limit = tree_.common(home, at);
    for (int32_t c = at; c != kNone; c = tree_.at(c).parent) {
      const std::vector<AxisId> open = tree_.open_axes(c);
      bool fits = std::includes(open.begin(), open.end(), node.axes.begin(), node.axes.end());
      for (ValId v : reads) {
        const int32_t source = is_constant(v) ? 0 : tree_.home(graph_, v);
        if (tree_.encloses(source, at) && !tree_.encloses(source, c)) fits = false;
      }
      if (!fits) break;
      best = c;
      if (c == limit) break;
    }
    return best;
  }

  ValId clone(ValId v, int32_t at) {
    if (available(v, at)) return v;
    if (const auto it = made_.find({v, at}); it != made_.end()) return it->second;
    const NodeId def = graph_.val(v).def;
    std::map<ValId, ValId> changes;
    const bool moved = lone_reader(v);
    for (ValId arg : graph_.reads(def)) {
      const bool alone = moved && users_[static_cast<size_t>(arg)].size() == 1;
      const int below = cost(arg, at, alone);
      if (below <= kCheap || (options_.recompute && below < kNever)) changes[arg] = clone(arg, at);
    }
    Node copy = graph_.node(def);
    copy.results.clear();
    const NodeId id = graph_.add_node(copy);
    const ValId fresh = graph_.add_val(graph_.val(v).dtype, graph_.val(v).axes, id);
    graph_.node(id).results = {fresh};
    users_.emplace_back();
    replace(id, changes);
    const int32_t c = place_for(graph_.node(id), graph_.reads(id), tree_.home(graph_, v), at);
    for (ValId arg : graph_.reads(id)) users_[static_cast<size_t>(arg)].push_back(c);
    std::vector<Item>& items = tree_.at(c).items;
    const size_t position = c == at ? current_item(c) : item_towards(c, at);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(position), Item{false, id});
    tree_.node_container.push_back(c);
    made_[{v, at}] = fresh;
    return fresh;
  }

  /// Where the node being settled stands in its container; clones go before it.
  size_t current_item(int32_t c) const {
    const std::vector<Item>& items = tree_.at(c).items;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!items[i].loop && items[i].id == current_) return i;
    }
    return 0;
  }

  void replace(NodeId n, const std::map<ValId, ValId>& changes) {
    if (changes.empty()) return;
    Node& node = graph_.node(n);
    const auto swap = [&](ValId& v) {
      if (const auto it = changes.find(v); it != changes.end()) v = it->second;
    };
    for (ValId& v : node.args) swap(v);
    swap(node.mask);
    for (Index* index : {&node.index, &node.end}) {
      Index changed;
      changed.constant = index->constant;
      changed.lanes = index->lanes;
      for (auto [v, scale] : index->values) {
        swap(v);
        Index term;
        term.values.emplace_back(v, 1);
        changed.add(term, scale);
      }
      *index = std::move(changed);
    }
  }

  void find_users() {
    users_.assign(graph_.vals.size(), {});
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (tree_.node_container[n] == kNone) continue;
      for (ValId v : graph_.reads(static_cast<NodeId>(n))) {
        users_[static_cast<size_t>(v)].push_back(tree_.node_container[n]);
      }
    }
  }

  void drop_unused() {
    std::vector<bool> live(graph_.nodes.size(), false);
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t i = graph_.nodes.size(); i-- > 0;) {
        const auto n = static_cast<NodeId>(i);
        if (live[i] || !(is_root(n) || wanted_[n])) continue;
        live[i] = changed = true;
        for (ValId v : graph_.reads(n)) {
          if (graph_.val(v).def != kNone) wanted_[graph_.val(v).def] = true;
        }
      }
    }
    wanted_.clear();
    for (Container& c : tree_.containers) {
      std::erase_if(c.items, [&](const Item& item) {
        if (item.loop || live[static_cast<size_t>(item.id)]) return false;
        tree_.node_container[static_cast<size_t>(item.id)] = kNone;
        return true;
      });
    }
    for (size_t c = tree_.containers.size(); c-- > 0;) {
      std::erase_if(tree_.containers[c].items,
                    [&](const Item& item) { return item.loop && tree_.at(item.id).items.empty(); });
    }
  }

  /// Nodes that count by themselves: a loop without effect stays too, it is rare and cheap.
  bool is_root(NodeId n) const {
    switch (graph_.node(n).kind) {
      case NodeKind::store:
      case NodeKind::loop:
      case NodeKind::branch:
      case NodeKind::slot_init:
      case NodeKind::slot_write:
        return true;
      default:
        return false;
    }
  }

  Graph& graph_;
  LoopTree& tree_;
  const LoopOptions& options_;
  std::vector<bool> written_;
  std::vector<std::vector<int32_t>> users_;          // by value: containers of its readers
  std::map<std::pair<ValId, int32_t>, ValId> made_;  // by value and container
  std::map<NodeId, bool> wanted_;
  NodeId current_ = kNone;
};

}  // namespace

void settle_values(Graph& graph, LoopTree& tree, const LoopOptions& options) { Settler(graph, tree, options).run(); }

}  // namespace hc::backend::cpu
