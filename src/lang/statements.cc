// `for` statements: which kind of loop they are, and unrolling of those whose items are known.
#include <fmt/format.h>

#include "lang/loops.h"

namespace hc::lang {
namespace {

constexpr std::string_view kTile = "helion.language.tile";
constexpr std::string_view kGrid = "helion.language.grid";
constexpr std::string_view kStaticRange = "helion.language.static_range";
constexpr std::string_view kJaggedTile = "helion.language.jagged_tile";

}  // namespace

bool Tracer::is_device_loop(const Stmt& stmt) const {
  if (stmt.kind != StmtKind::for_ || stmt.value->kind != ExprKind::call) return false;
  const std::string path = library_path(*stmt.value->children[0]);
  return path == kTile || path == kGrid || path == kJaggedTile;
}

Result<Flow> Tracer::exec_for(const Stmt& stmt) {
  if (!stmt.orelse.empty()) {
    return Diagnostic{Code::statement_not_supported, "a loop of a kernel cannot have an else block"}.at(stmt.span);
  }
  const bool is_call = stmt.value->kind == ExprKind::call;
  const std::string path = is_call ? library_path(*stmt.value->children[0]) : "";
  const bool builtin_range =
      is_call && on_device() && dotted_text(*stmt.value->children[0]) == "range" && !module_.find("range");
  if (path == kTile || path == kGrid || path == kStaticRange || path == kJaggedTile)
    return exec_library_loop(stmt, path);
  if (builtin_range) return exec_library_loop(stmt, "range");
  const Value iterable = HC_TRY(eval(*stmt.value));
  if (on_device() && !items_of(iterable)) {
    return Diagnostic{Code::invalid_device_for, fmt::format("a device loop cannot iterate over {}", describe(iterable))}
        .at(stmt.value->span)
        .fix("use hl.tile, hl.grid, range, hl.static_range, or a tuple known when the kernel is compiled");
  }
  return exec_unrolled(stmt, HC_TRY(iterate(iterable, stmt.value->span)));
}

Result<Flow> Tracer::exec_library_loop(const Stmt& stmt, const std::string& path) {
  if (path == kJaggedTile)
    return Diagnostic{Code::unsupported_feature, "hl.jagged_tile is not supported yet"}.at(stmt.value->span);
  Values args;
  std::vector<std::string> names;
  for (size_t i = 1; i < stmt.value->children.size(); ++i) {
    args.push_back(HC_TRY(eval(*stmt.value->children[i])));
    names.push_back(stmt.value->names[i - 1]);
  }
  if (path == kStaticRange) {
    const Value range =
        HC_TRY(call(Value(Symbol{"builtins.range"}), std::move(args), std::move(names), stmt.value->span));
    return exec_unrolled(stmt, HC_TRY(iterate(range, stmt.value->span)));
  }
  if (!on_device() && !device_loops_.contains(&stmt)) {
    return Diagnostic{Code::statement_not_supported, "a device loop must stand at the top level of the kernel"}
        .at(stmt.span)
        .fix("move the loop out of the if or for around it");
  }
  LoopTracer loop(*this, stmt, path == kTile ? LoopKind::tile : LoopKind::grid);
  HC_TRY(loop.read_ranges(args, names));
  if (on_device()) return loop.trace_nested();
  const std::string suffix = device_loops_.size() > 1 ? fmt::format(".{}", launches_) : "";
  ++launches_;
  return loop.trace_launch(program_.name + suffix);
}

Result<Flow> Tracer::exec_unrolled(const Stmt& stmt, const Values& items) {
  for (const Value& item : items) {
    HC_TRY(assign(*stmt.targets[0], item));
    const Flow flow = HC_TRY(exec(stmt.body));
    if (flow == Flow::returned) return flow;
    if (flow == Flow::broke) break;
  }
  return Flow::next;
}

/// Only hl.barrier() may stand between two top-level device loops.
Status Tracer::check_between_loops(const std::vector<StmtPtr>& body) {
  size_t first = body.size(), last = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (!is_device_loop(*body[i])) continue;
    device_loops_.insert(body[i].get());
    first = std::min(first, i);
    last = i;
  }
  for (size_t i = first; i < last && i < body.size(); ++i) {
    const Stmt& stmt = *body[i];
    const bool barrier = stmt.kind == StmtKind::expression && stmt.value->kind == ExprKind::call &&
                         library_path(*stmt.value->children[0]) == "helion.language.barrier";
    if (device_loops_.contains(&stmt) || barrier) continue;
    return Diagnostic{Code::statement_between_loops, "a statement stands between two top-level device loops"}
        .at(stmt.span)
        .fix("move it before the first loop or behind the last");
  }
  return success();
}

}  // namespace hc::lang
