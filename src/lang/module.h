// A parsed Python file: its statements, and what each top-level name stands for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lang/lang.h"
#include "lang/syntax.h"

namespace hc::lang {

/// What a top-level name was last bound to.
struct Global {
  enum class Kind : uint8_t { function, kernel, import, expression } kind = Kind::expression;
  FunctionPtr function;  ///< function, kernel
  std::string path;      ///< import: the dotted path
  ExprPtr value;         ///< expression
};

class Module {
 public:
  explicit Module(diag::SourcePtr source, std::vector<StmtPtr> body);
  const diag::SourcePtr& source() const { return source_; }
  /// Null when the file binds no such name at its top level.
  const Global* find(const std::string& name) const;
  /// Kernels by the name that a user gives, in order of appearance.
  const std::vector<std::pair<std::string, FunctionPtr>>& kernels() const { return kernels_; }

 private:
  void bind(const Stmt& stmt);
  void bind_value(const std::string& name, const ExprPtr& value);
  /// The plain function that a helion.kernel(...)(fn) or helion.kernel(fn, ...) wraps, or null.
  FunctionPtr wrapped_function(const Expr& call) const;
  bool is_kernel_maker(const Expr& expr) const;
  void add_kernel(const std::string& name, const FunctionPtr& function);

  diag::SourcePtr source_;
  std::vector<StmtPtr> body_;
  std::map<std::string, Global> globals_;
  std::vector<std::pair<std::string, FunctionPtr>> kernels_;
};

/// The kernel's function, or a diagnostic that names those there are.
Result<FunctionPtr> find_function(const Module& module, std::string_view name);

}  // namespace hc::lang
