// Finds the kernels of a file: decorated functions, and functions wrapped by a call of helion.kernel.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "lang/module.h"

namespace hc::lang {
namespace {

bool is_kernel_path(std::string_view path) {
  return path == "helion.kernel" || path == "helion.jit" || path == "helion.aot_kernel" ||
         path == "helion.experimental.aot_kernel";
}

}  // namespace

Module::Module(diag::SourcePtr source, std::vector<StmtPtr> body) : source_(std::move(source)), body_(std::move(body)) {
  for (const StmtPtr& stmt : body_) bind(*stmt);
}

const Global* Module::find(const std::string& name) const {
  const auto it = globals_.find(name);
  return it == globals_.end() ? nullptr : &it->second;
}

bool Module::is_kernel_maker(const Expr& expr) const {
  const std::string path = dotted_text(expr);
  const size_t dot = path.find('.');
  const Global* root = find(path.substr(0, dot));
  if (root == nullptr || root->kind != Global::Kind::import) return false;
  return is_kernel_path(dot == std::string::npos ? root->path : root->path + path.substr(dot));
}

void Module::add_kernel(const std::string& name, const FunctionPtr& function) {
  std::erase_if(kernels_, [&](const auto& kernel) { return kernel.first == name; });
  kernels_.emplace_back(name, function);
}

FunctionPtr Module::wrapped_function(const Expr& call) const {
  if (call.kind != ExprKind::call || call.children.size() < 2) return nullptr;
  const Expr& callee = *call.children[0];
  const bool direct = is_kernel_maker(callee);
  const bool curried = callee.kind == ExprKind::call && is_kernel_maker(*callee.children[0]);
  if ((!direct && !curried) || call.children[1]->kind != ExprKind::name || !call.names[0].empty()) return nullptr;
  const Global* target = find(call.children[1]->text);
  return target == nullptr ? nullptr : target->function;
}

void Module::bind_value(const std::string& name, const ExprPtr& value) {
  Global global;
  global.value = value;
  if (FunctionPtr function = wrapped_function(*value)) {
    global.kind = Global::Kind::kernel;
    global.function = function;
    add_kernel(name, function);
  } else if (value->kind == ExprKind::name && find(value->text) != nullptr) {
    global = *find(value->text);
  }
  globals_[name] = std::move(global);
}

void Module::bind(const Stmt& stmt) {
  if (stmt.kind == StmtKind::import) {
    for (const auto& [name, path] : stmt.imports) globals_[name] = {Global::Kind::import, nullptr, path, nullptr};
  } else if (stmt.kind == StmtKind::function) {
    const auto& decorators = stmt.function->decorators;
    const bool kernel = std::any_of(decorators.begin(), decorators.end(), [&](const ExprPtr& d) {
      return is_kernel_maker(d->kind == ExprKind::call ? *d->children[0] : *d);
    });
    globals_[stmt.function->name] = {kernel ? Global::Kind::kernel : Global::Kind::function, stmt.function, "",
                                     nullptr};
    if (kernel) add_kernel(stmt.function->name, stmt.function);
  } else if ((stmt.kind == StmtKind::assign || stmt.kind == StmtKind::annotated) && stmt.value) {
    for (const ExprPtr& target : stmt.targets) {
      if (target->kind == ExprKind::name) bind_value(target->text, stmt.value);
    }
  } else if (stmt.kind == StmtKind::if_) {
    // `if TYPE_CHECKING:` and the like bind imports and constants; kernels do not stand under a condition.
    for (const StmtPtr& inner : stmt.body) {
      if (inner->kind == StmtKind::import) bind(*inner);
    }
  }
}

Result<ModulePtr> parse_text(std::string path, std::string text) {
  auto source = std::make_shared<diag::Source>(std::move(path), std::move(text));
  std::vector<StmtPtr> body = HC_TRY(parse_python(source));
  return ModulePtr(std::make_shared<Module>(std::move(source), std::move(body)));
}

Result<ModulePtr> parse_file(const std::string& path) {
  std::string why;
  std::optional<std::string> text = read_file(path, &why);
  if (!text) return Diagnostic{Code::file_error, fmt::format("cannot read {}: {}", path, why)};
  return parse_text(path, std::move(*text));
}

std::vector<Kernel> kernels(const Module& module) {
  std::vector<Kernel> out;
  for (const auto& [name, function] : module.kernels()) {
    Kernel kernel{name, {}, function->span};
    for (const FunctionParam& param : function->params) {
      kernel.params.push_back({param.name, param.annotation, param.value != nullptr});
    }
    out.push_back(std::move(kernel));
  }
  return out;
}

Result<Kernel> find_kernel(const Module& module, std::string_view name) {
  const std::vector<Kernel> all = kernels(module);
  std::string names;
  for (const Kernel& kernel : all) names += (names.empty() ? "" : ", ") + kernel.name;
  if (all.empty()) {
    return Diagnostic{Code::usage, fmt::format("{} has no kernel", module.source()->path())}.fix(
        "decorate a function with @helion.kernel()");
  }
  if (name.empty() && all.size() == 1) return all.front();
  for (const Kernel& kernel : all) {
    if (kernel.name == name) return kernel;
  }
  // A plain function that a call wraps may be named itself.
  for (size_t i = 0; i < all.size(); ++i) {
    if (module.kernels()[i].second->name == name) return all[i];
  }
  if (name.empty()) {
    return Diagnostic{Code::usage, fmt::format("{} has several kernels: {}", module.source()->path(), names)}.fix(
        "name one as FILE.py:KERNEL");
  }
  return Diagnostic{Code::usage, fmt::format("{} has no kernel {}; it has {}", module.source()->path(), name, names)};
}

Result<FunctionPtr> find_function(const Module& module, std::string_view name) {
  const Kernel kernel = HC_TRY(find_kernel(module, name));
  for (const auto& [kernel_name, function] : module.kernels()) {
    if (kernel_name == kernel.name) return function;
  }
  diag::bug("a kernel without a function");
}

}  // namespace hc::lang
