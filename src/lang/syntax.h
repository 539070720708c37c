// The abstract syntax of the Python that kernels use, with spans; syntax that we do not model stays as a named node.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diag.h"

namespace hc::lang {

struct Expr;
struct Stmt;
using ExprPtr = std::shared_ptr<const Expr>;
using StmtPtr = std::shared_ptr<const Stmt>;

enum class ExprKind : uint8_t {
  name,      ///< text
  integer,   ///< text
  floating,  ///< text
  string,    ///< text: the value
  fstring,   ///< children: string parts and expressions
  boolean,   ///< text: True or False
  none,
  ellipsis,
  attribute,    ///< children[0], text: the attribute
  subscript,    ///< children[0] indexed by the others
  slice,        ///< children: start, stop, step; null where left out
  call,         ///< children[0] called with the others; names[i] belongs to children[i + 1]
  unary,        ///< text: operator, including "not"
  binary,       ///< text: operator
  boolean_op,   ///< text: and, or
  compare,      ///< names: operators between the children
  conditional,  ///< children: value, condition, alternative
  tuple,
  list,
  dict,           ///< children: key, value, key, value, ...
  starred,        ///< children[0]
  lambda,         ///< names: parameters; children: body, then defaults (null where none)
  comprehension,  ///< children: element, target, iterable, conditions...
  walrus,         ///< text: name; children[0]
  unsupported,    ///< text: the grammar's name of the construct
};

struct Expr {
  ExprKind kind = ExprKind::unsupported;
  diag::Span span;
  std::string text;
  std::vector<ExprPtr> children;
  std::vector<std::string> names;
};

struct FunctionParam {
  std::string name;
  std::string annotation;
  ExprPtr value;  ///< default, or null
  diag::Span span;
  bool plain = true;  ///< false for *args, **kwargs and the / and * markers
};

struct Function {
  std::string name;
  std::vector<FunctionParam> params;
  std::vector<StmtPtr> body;
  std::vector<ExprPtr> decorators;
  diag::Span span;  ///< from def to the colon
};
using FunctionPtr = std::shared_ptr<const Function>;

enum class StmtKind : uint8_t {
  expression,  ///< value
  assign,      ///< targets..., value
  augmented,   ///< targets[0], text: operator without "=", value
  annotated,   ///< targets[0], value or null
  if_,         ///< value: condition, body, orelse
  for_,        ///< targets[0], value: iterable, body, orelse
  while_,      ///< value: condition, body, orelse
  return_,     ///< value or null
  assert_,     ///< value, targets[0]: the message or absent
  pass,
  break_,
  continue_,
  import,       ///< imports
  function,     ///< function
  unsupported,  ///< text: the grammar's name of the statement
};

struct Stmt {
  StmtKind kind = StmtKind::unsupported;
  diag::Span span;
  std::string text;
  ExprPtr value;
  std::vector<ExprPtr> targets;
  std::vector<StmtPtr> body;
  std::vector<StmtPtr> orelse;
  /// Name bound and the dotted path that it stands for.
  std::vector<std::pair<std::string, std::string>> imports;
  FunctionPtr function;
};

/// The statements of a Python file, or syntax_error at the first place that does not parse.
Result<std::vector<StmtPtr>> parse_python(const diag::SourcePtr& source);

/// Names that statements assign, nested bodies included, in order of appearance.
std::vector<std::string> assigned_names(const std::vector<StmtPtr>& body);

/// Dotted text of a name or attribute chain ("hl.tile"), empty for anything else.
std::string dotted_text(const Expr& expr);

std::string_view expr_kind_name(ExprKind kind);
std::string_view stmt_kind_name(StmtKind kind);

}  // namespace hc::lang
