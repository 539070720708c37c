// Naming of blocks and choice of their sizes.
#include "lang/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hc::lang {
namespace {

bool calls(const ExprPtr& value, std::string_view suffix) {
  return value && value->kind == ExprKind::call && dotted_text(*value->children[0]).ends_with(suffix);
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

int64_t next_power_of_two(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

void Blocks::count(const std::vector<StmtPtr>& body, std::map<std::string, std::set<int>>& lines) {
  for (const StmtPtr& stmt : body) {
    const bool loop = stmt->kind == StmtKind::for_ && calls(stmt->value, "tile");
    const bool registered = stmt->kind == StmtKind::assign && calls(stmt->value, "register_block_size");
    if (loop || registered) {
      for (const std::string& name : assigned_names({std::make_shared<Stmt>(
               Stmt{StmtKind::assign, stmt->span, "", nullptr, stmt->targets, {}, {}, {}, nullptr})})) {
        lines[name].insert(stmt->span.source->line_of(stmt->span.begin));
      }
    }
    count(stmt->body, lines);
    count(stmt->orelse, lines);
  }
}

void Blocks::scan(const std::vector<StmtPtr>& body) {
  std::map<std::string, std::set<int>> lines;
  count(body, lines);
  for (const auto& [name, places] : lines) {
    if (places.size() > 1) repeated_.insert(name);
  }
}

std::string Blocks::name_of(const std::string& base, const Span& span) const {
  if (!repeated_.contains(base)) return base;
  return fmt::format("{}@{}", base, span.source->line_of(span.begin));
}

Result<ir::BlockId> Blocks::make(const void* site, int position, const BlockRequest& request, const Span& span) {
  const auto key = std::make_pair(site, position);
  if (const auto it = sites_.find(key); site != nullptr && it != sites_.end()) {
    ir::Block& known = program_.blocks[static_cast<size_t>(it->second)];
    if (known.extent != request.extent) known.extent = std::max(known.extent, request.extent);
    return it->second;
  }
  ir::Block block;
  block.name = request.name;
  const auto taken = [&] {
    return std::any_of(program_.blocks.begin(), program_.blocks.end(),
                       [&](const ir::Block& b) { return b.name == block.name; });
  };
  for (int i = 2; taken(); ++i) block.name = fmt::format("{}#{}", request.name, i);
  block.extent = request.extent;
  block.min = next_power_of_two(std::max<int64_t>(request.min, 1));
  block.max = std::max(next_power_of_two(std::max<int64_t>(request.max, 1)), block.min);
  block.size = std::clamp(request.default_size, block.min, block.max);
  if (request.fixed_size > 0) {
    block.fixed = true;
    block.size = block.min = block.max = request.fixed_size;
  } else if (const auto chosen = choices_.block_sizes.find(block.name); chosen != choices_.block_sizes.end()) {
    block.size = chosen->second;
    if (!is_power_of_two(block.size) || block.size < block.min || block.size > block.max) {
      return Diagnostic{Code::invalid_config, fmt::format("block size {} of {} is not a power of two in {}..{}",
                                                          block.size, block.name, block.min, block.max)}
          .at(span);
    }
  }
  if (!block.fixed && request.cap > 0) {
    const auto cap = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(request.cap)));
    block.size = std::max(std::min(block.size, cap), block.min);
  }
  program_.blocks.push_back(block);
  const auto id = static_cast<ir::BlockId>(program_.blocks.size() - 1);
  if (site != nullptr) sites_[key] = id;
  return id;
}

}  // namespace hc::lang
