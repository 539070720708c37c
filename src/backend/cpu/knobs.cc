// Knobs of the CPU backend: what each site allows, and reading a config.
#include "backend/cpu/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "backend/cpu/cpu.h"
#include "backend/cpu/loops.h"

namespace hc::backend::cpu {
namespace {

using ir::kNone;
using knob::Choice;

constexpr const char* kPrefetch[] = {"none", "last", "two", "all"};  ///< in the order of Prefetch
constexpr size_t kMostAxes = 4;  ///< launches with more axes keep the source's order

void visit_ops(const ir::Region& region, const auto& visit) {
  for (const ir::Op& op : region.ops) {
    visit(op);
    for (const ir::Region& inner : op.regions) visit_ops(inner, visit);
  }
}

/// Tensors that are stored, and not read, by the launches that store them.
std::set<ir::TensorId> streamable(const ir::Program& program) {
  std::set<ir::TensorId> out;
  std::set<ir::StorageId> barred;
  for (const ir::Step& step : program.steps) {
    if (step.kind != ir::Step::Kind::launch) continue;
    std::set<ir::StorageId> read, written;
    visit_ops(step.launch.body, [&](const ir::Op& op) {
      if (op.tensor == kNone) return;
      const ir::StorageId storage = program.tensor(op.tensor).storage;
      if (op.kind == ir::OpKind::load) read.insert(storage);
      if (op.kind != ir::OpKind::store) return;
      written.insert(storage);
      out.insert(op.tensor);
    });
    for (ir::StorageId s : written) {
      if (read.count(s) != 0) barred.insert(s);
    }
  }
  std::erase_if(out, [&](ir::TensorId t) { return barred.count(program.tensor(t).storage) != 0; });
  return out;
}

/// Whether some reduction of a launch runs along another dimension than the last one.
bool reduces_outer(const ir::Launch& launch) {
  bool found = false;
  visit_ops(launch.body, [&](const ir::Op& op) {
    found = found || (op.kind == ir::OpKind::reduce && op.axis + 1 < launch.type(op.operands[0].value).rank());
  });
  return found;
}

std::string order_text(const std::vector<int>& order) { return fmt::format("{}", fmt::join(order, "")); }

std::vector<std::string> orders(size_t axes) {
  std::vector<int> order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::string> out;
  do {
    out.push_back(order_text(order));
  } while (std::next_permutation(order.begin(), order.end()));
  return out;
}

std::vector<std::string> powers(int64_t first, int64_t last) {
  std::vector<std::string> out;
  for (int64_t n = first; n <= last; n *= 2) out.push_back(std::to_string(n));
  return out;
}

/// Sites of one name (views of one tensor, loops of one line) share a choice.
void add(std::vector<Choice>& choices, std::string_view name, std::string_view site, std::vector<std::string> values,
         std::string default_value) {
  std::string key = knob::key(name, site);
  for (const Choice& choice : choices) {
    if (choice.key == key) return;
  }
  choices.push_back(
      {std::move(key), std::string(name), std::string(site), std::move(values), std::move(default_value)});
}

}  // namespace

std::vector<Choice> choices(const ir::Program& program, const target::Target& target) {
  std::vector<Choice> out;
  std::vector<std::string> threads;
  for (int n = 1; n <= target.cores; n = n < 4 ? n + 1 : n + n / 4) threads.push_back(std::to_string(n));
  if (threads.back() != std::to_string(target.cores)) threads.push_back(std::to_string(target.cores));
  const std::string all = threads.back();
  add(out, "threads", "", std::move(threads), all);
  add(out, "schedule", "", {"static", "dynamic"}, "static");
  add(out, "grid_chunk", "", {"0", "1", "2", "4", "8", "16", "64"}, "0");
  add(out, "vector_bytes", "", powers(16, target.vector_bytes), std::to_string(target.vector_bytes));
  add(out, "unroll", "", powers(1, 8), "4");
  add(out, "recompute", "", {"buffer", "recompute"}, "buffer");
  add(out, "prefetch", "", {"none", "last", "two", "all"}, "none");
  for (const ir::Step& step : program.steps) {
    const size_t axes = step.launch.axes.size();
    if (step.kind != ir::Step::Kind::launch || axes < 2 || axes > kMostAxes) continue;
    std::vector<std::string> values = orders(axes);
    const std::string first = values.front();
    add(out, "loop_order", step.launch.name, std::move(values), first);
  }
  for (const ir::Step& step : program.steps) {
    if (step.kind != ir::Step::Kind::launch || !reduces_outer(step.launch)) continue;
    std::vector<std::string> values = powers(target.vector_bytes / 4, target.vector_bytes / 4 * kStripVectors);
    values.insert(values.begin(), "0");
    add(out, "reduction_chunk", step.launch.name, std::move(values), "0");
  }
  for (ir::TensorId t : streamable(program)) {
    add(out, "store", program.tensor(t).name, {"plain", "streaming"}, "plain");
  }
  return out;
}

int64_t Knobs::reduction_chunk(const ir::Launch& launch) const {
  const auto it = chunks.find(launch.name);
  return it == chunks.end() ? 0 : it->second;
}

std::vector<int> Knobs::order(const ir::Launch& launch) const {
  if (const auto it = orders.find(launch.name); it != orders.end()) return it->second;
  std::vector<int> order(launch.axes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Result<Knobs> read_knobs(const ir::Program& program, const knob::Config& config, const target::Target& target) {
  knob::Space space{choices(program, target)};
  Knobs out;
  const auto text = [&](std::string_view name, std::string_view site = "") {
    const std::string key = knob::key(name, site);
    const Choice* choice = space.find(key);
    return choice ? config.get(key, choice->default_value) : std::string();
  };
  knob::Config own;
  for (const auto& [key, value] : config.values()) {
    if (!key.starts_with("block_size") && !key.starts_with("tunable")) own.set(key, value);
  }
  HC_TRY(space.check(own));
  const auto number = [&](std::string_view name) {
    int64_t value = 0;
    const std::string t = text(name);
    std::from_chars(t.data(), t.data() + t.size(), value);
    return value;
  };
  out.threads = static_cast<int>(number("threads"));
  out.schedule = text("schedule") == "static" ? ir::Schedule::statically : ir::Schedule::dynamically;
  out.chunk = number("grid_chunk");
  out.vector_bytes = static_cast<int>(number("vector_bytes"));
  out.unroll = static_cast<int>(number("unroll"));
  const std::string prefetch = text("prefetch");
  for (size_t i = 0; i < std::size(kPrefetch); ++i) {
    if (prefetch == kPrefetch[i]) out.prefetch = static_cast<Prefetch>(i);
  }
  out.recompute = text("recompute") == "recompute";
  out.streamed.assign(program.tensors.size(), false);
  for (const Choice& choice : space.choices) {
    if (choice.name == "store" && text("store", choice.site) == "streaming") {
      for (ir::TensorId t : streamable(program)) {
        if (program.tensor(t).name == choice.site) out.streamed[static_cast<size_t>(t)] = true;
      }
    }
    if (choice.name == "reduction_chunk") {
      out.chunks[choice.site] = config.get_int(choice.key, 0);
    }
    if (choice.name != "loop_order") continue;
    std::vector<int> order;
    for (char c : text("loop_order", choice.site)) order.push_back(c - '0');
    out.orders[choice.site] = std::move(order);
  }
  return out;
}

}  // namespace hc::backend::cpu
