// The syntax tree of a kernel as indented text: one statement a line, expressions as nested lists.
#include <fmt/format.h>

#include "lang/module.h"

namespace hc::lang {
namespace {

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

std::string tree(const ExprPtr& expr) {
  if (!expr) return "_";
  switch (expr->kind) {
    case ExprKind::name:
    case ExprKind::integer:
    case ExprKind::floating:
    case ExprKind::boolean:
      return expr->text;
    case ExprKind::string:
      return in_quotes(expr->text);
    default:
      break;
  }
  std::string out = "(" + std::string(expr_kind_name(expr->kind));
  if (!expr->text.empty()) out += " " + expr->text;
  const bool call = expr->kind == ExprKind::call;
  for (size_t i = 0; i < expr->children.size(); ++i) {
    const bool keyword = call && i > 0 && !expr->names[i - 1].empty();
    out += " " + (keyword ? expr->names[i - 1] + "=" : "") + tree(expr->children[i]);
  }
  if (!call && !expr->names.empty()) out += fmt::format(" [{}]", fmt::join(expr->names, " "));
  return out + ")";
}

void print(const std::vector<StmtPtr>& body, int indent, std::string& out);

void print(const Stmt& stmt, int indent, std::string& out) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  out += pad + std::string(stmt_kind_name(stmt.kind));
  if (stmt.kind == StmtKind::augmented || stmt.kind == StmtKind::unsupported) out += " " + stmt.text;
  for (const ExprPtr& target : stmt.targets) out += " " + tree(target);
  if (stmt.value) out += " " + tree(stmt.value);
  for (const auto& [name, path] : stmt.imports) out += fmt::format(" {}={}", name, path);
  if (stmt.function) out += " " + stmt.function->name;
  out += "\n";
  print(stmt.body, indent + 2, out);
  if (!stmt.orelse.empty()) {
    out += pad + "else\n";
    print(stmt.orelse, indent + 2, out);
  }
}

void print(const std::vector<StmtPtr>& body, int indent, std::string& out) {
  for (const StmtPtr& stmt : body) print(*stmt, indent, out);
}

}  // namespace

Result<std::string> tree_text(const Module& module, std::string_view kernel) {
  const FunctionPtr function = HC_TRY(find_function(module, kernel));
  std::string out = "function " + function->name + "\n";
  for (const FunctionParam& param : function->params) {
    out += "  param " + param.name;
    if (!param.annotation.empty()) out += ": " + param.annotation;
    if (param.value) out += " = " + tree(param.value);
    out += "\n";
  }
  print(function->body, 2, out);
  return out;
}

}  // namespace hc::lang
