// Conversion of tree-sitter's concrete tree into our abstract syntax.
#include "lang/syntax.h"

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <algorithm>

extern "C" const TSLanguage* tree_sitter_python(void);

namespace hc::lang {
namespace {

constexpr std::string_view kExprNames[] = {
    "name",  "int",   "float", "str",    "fstring",       "bool",   "none",       "ellipsis",    "attribute",
    "index", "slice", "call",  "unary",  "binary",        "logic",  "compare",    "conditional", "tuple",
    "list",  "dict",  "star",  "lambda", "comprehension", "walrus", "unsupported"};
constexpr std::string_view kStmtNames[] = {"expr",  "assign",   "augment", "annotate", "if",
                                           "for",   "while",    "return",  "assert",   "pass",
                                           "break", "continue", "import",  "function", "unsupported"};

std::vector<TSNode> named_children(TSNode node) {
  std::vector<TSNode> out;
  for (uint32_t i = 0; i < ts_node_named_child_count(node); ++i) {
    const TSNode child = ts_node_named_child(node, i);
    if (std::string_view(ts_node_type(child)) != "comment") out.push_back(child);
  }
  return out;
}

std::string_view type_of(TSNode node) { return ts_node_type(node); }

TSNode field(TSNode node, std::string_view name) {
  return ts_node_child_by_field_name(node, name.data(), static_cast<uint32_t>(name.size()));
}

std::vector<TSNode> fields(TSNode node, std::string_view name) {
  std::vector<TSNode> out;
  for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
    const char* text = ts_node_field_name_for_child(node, i);
    const TSNode child = ts_node_child(node, i);
    if (text != nullptr && name == text && type_of(child) != "comment") out.push_back(child);
  }
  return out;
}

/// Value of the escapes that a string's content may hold; unknown ones stay as written.
std::string unescape(std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '\\':
        out += '\\';
        break;
      case '\'':
        out += '\'';
        break;
      case '"':
        out += '"';
        break;
      case '\n':
        break;
      default:
        out += '\\';
        out += raw[i];
    }
  }
  return out;
}

class Converter {
 public:
  explicit Converter(diag::SourcePtr source) : source_(std::move(source)) {}

  std::vector<StmtPtr> block(TSNode node) {
    std::vector<StmtPtr> out;
    for (TSNode child : named_children(node)) out.push_back(statement(child));
    return out;
  }

 private:
  using ExprList = std::vector<ExprPtr>;

  diag::Span span(TSNode node) const { return {source_, ts_node_start_byte(node), ts_node_end_byte(node)}; }
  std::string text(TSNode node) const {
    return source_->text().substr(ts_node_start_byte(node), ts_node_end_byte(node) - ts_node_start_byte(node));
  }

  ExprPtr make(TSNode node, ExprKind kind, std::string value = "", ExprList children = {},
               std::vector<std::string> names = {}) const {
    return std::make_shared<Expr>(Expr{kind, span(node), std::move(value), std::move(children), std::move(names)});
  }

  ExprPtr optional(TSNode node) { return ts_node_is_null(node) ? nullptr : expression(node); }

  ExprList expressions(const std::vector<TSNode>& nodes) {
    ExprList out;
    for (TSNode node : nodes) out.push_back(expression(node));
    return out;
  }

  ExprPtr expression(TSNode node) {
    const std::string_view type = type_of(node);
    if (ExprPtr leaf = literal(node, type)) return leaf;
    if (ExprPtr op = operation(node, type)) return op;
    if (type == "parenthesized_expression") return expression(named_children(node).front());
    if (type == "tuple" || type == "expression_list" || type == "pattern_list" || type == "tuple_pattern") {
      return make(node, ExprKind::tuple, "", expressions(named_children(node)));
    }
    if (type == "list" || type == "list_pattern")
      return make(node, ExprKind::list, "", expressions(named_children(node)));
    if (type == "list_splat" || type == "list_splat_pattern") {
      return make(node, ExprKind::starred, "", expressions(named_children(node)));
    }
    if (type == "attribute") {
      return make(node, ExprKind::attribute, text(field(node, "attribute")), {expression(field(node, "object"))});
    }
    if (type == "subscript") return subscript(node);
    if (type == "slice") return slice(node);
    if (type == "call") return call(node);
    if (type == "lambda") return lambda(node);
    if (type == "dictionary") return dictionary(node);
    if (type == "list_comprehension" || type == "generator_expression") return comprehension(node);
    if (type == "named_expression") {
      return make(node, ExprKind::walrus, text(field(node, "name")), {expression(field(node, "value"))});
    }
    return make(node, ExprKind::unsupported, std::string(type));
  }

  ExprPtr literal(TSNode node, std::string_view type) {
    if (type == "identifier") return make(node, ExprKind::name, text(node));
    if (type == "integer") return make(node, ExprKind::integer, text(node));
    if (type == "float") return make(node, ExprKind::floating, text(node));
    if (type == "true" || type == "false") return make(node, ExprKind::boolean, text(node));
    if (type == "none") return make(node, ExprKind::none);
    if (type == "ellipsis") return make(node, ExprKind::ellipsis);
    if (type == "string") return string(node);
    if (type != "concatenated_string") return nullptr;
    ExprList parts;
    std::string plain;
    bool formatted = false;
    for (TSNode child : named_children(node)) {
      ExprPtr part = string(child);
      formatted = formatted || part->kind == ExprKind::fstring;
      plain += part->text;
      parts.push_back(std::move(part));
    }
    return formatted ? make(node, ExprKind::fstring, "", std::move(parts)) : make(node, ExprKind::string, plain);
  }

  ExprPtr string(TSNode node) {
    std::string plain;
    ExprList parts;
    bool formatted = false;
    for (TSNode child : named_children(node)) {
      const std::string_view type = type_of(child);
      if (type == "string_content") {
        parts.push_back(make(child, ExprKind::string, unescape(text(child))));
        plain += parts.back()->text;
      } else if (type == "interpolation") {
        parts.push_back(expression(field(child, "expression")));
        formatted = true;
      }
    }
    return formatted ? make(node, ExprKind::fstring, "", std::move(parts)) : make(node, ExprKind::string, plain);
  }

  ExprPtr operation(TSNode node, std::string_view type) {
    if (type == "unary_operator") {
      return make(node, ExprKind::unary, text(field(node, "operator")), {expression(field(node, "argument"))});
    }
    if (type == "not_operator") return make(node, ExprKind::unary, "not", {expression(field(node, "argument"))});
    if (type == "binary_operator" || type == "boolean_operator") {
      return make(node, type == "binary_operator" ? ExprKind::binary : ExprKind::boolean_op,
                  text(field(node, "operator")), {expression(field(node, "left")), expression(field(node, "right"))});
    }
    if (type == "comparison_operator") {
      std::vector<std::string> ops;
      for (TSNode op : fields(node, "operators")) {
        std::string word = text(op);
        if (word.starts_with("not") && word != "not in") word = "not in";
        if (word.starts_with("is") && word != "is") word = "is not";
        ops.push_back(std::move(word));
      }
      return make(node, ExprKind::compare, "", expressions(named_children(node)), std::move(ops));
    }
    if (type == "conditional_expression")
      return make(node, ExprKind::conditional, "", expressions(named_children(node)));
    return nullptr;
  }

  ExprPtr subscript(TSNode node) {
    ExprList children{expression(field(node, "value"))};
    for (TSNode item : fields(node, "subscript")) children.push_back(expression(item));
    if (children.size() == 2 && children[1]->kind == ExprKind::tuple) {
      const ExprPtr tuple = children[1];
      children.pop_back();
      children.insert(children.end(), tuple->children.begin(), tuple->children.end());
    }
    return make(node, ExprKind::subscript, "", std::move(children));
  }

  ExprPtr slice(TSNode node) {
    ExprList parts(3);
    size_t position = 0;
    for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
      const TSNode child = ts_node_child(node, i);
      if (type_of(child) == ":") {
        ++position;
      } else if (ts_node_is_named(child) && type_of(child) != "comment" && position < 3) {
        parts[position] = expression(child);
      }
    }
    return make(node, ExprKind::slice, "", std::move(parts));
  }

  ExprPtr call(TSNode node) {
    ExprList children{expression(field(node, "function"))};
    std::vector<std::string> names;
    const TSNode arguments = field(node, "arguments");
    if (type_of(arguments) == "generator_expression") {
      children.push_back(comprehension(arguments));
      names.emplace_back();
      return make(node, ExprKind::call, "", std::move(children), std::move(names));
    }
    for (TSNode argument : named_children(arguments)) {
      const bool keyword = type_of(argument) == "keyword_argument";
      names.push_back(keyword ? text(field(argument, "name")) : "");
      children.push_back(expression(keyword ? field(argument, "value") : argument));
    }
    return make(node, ExprKind::call, "", std::move(children), std::move(names));
  }

  ExprPtr lambda(TSNode node) {
    ExprList children{expression(field(node, "body"))};
    std::vector<std::string> names;
    const TSNode params = field(node, "parameters");
    if (!ts_node_is_null(params)) {
      for (const FunctionParam& param : parameters(params)) {
        names.push_back(param.name);
        children.push_back(param.value);
      }
    }
    return make(node, ExprKind::lambda, "", std::move(children), std::move(names));
  }

  ExprPtr dictionary(TSNode node) {
    ExprList children;
    for (TSNode pair : named_children(node)) {
      if (type_of(pair) != "pair") return make(node, ExprKind::unsupported, std::string(type_of(pair)));
      children.push_back(expression(field(pair, "key")));
      children.push_back(expression(field(pair, "value")));
    }
    return make(node, ExprKind::dict, "", std::move(children));
  }

  ExprPtr comprehension(TSNode node) {
    ExprList children{expression(field(node, "body"))};
    int clauses = 0;
    for (TSNode child : named_children(node)) {
      if (type_of(child) == "for_in_clause") {
        ++clauses;
        children.push_back(expression(field(child, "left")));
        children.push_back(expression(field(child, "right")));
      } else if (type_of(child) == "if_clause") {
        children.push_back(expression(named_children(child).front()));
      }
    }
    if (clauses != 1) return make(node, ExprKind::unsupported, "comprehension with several for clauses");
    return make(node, ExprKind::comprehension, "", std::move(children));
  }

  std::vector<FunctionParam> parameters(TSNode node) {
    std::vector<FunctionParam> out;
    for (TSNode child : named_children(node)) {
      const std::string_view type = type_of(child);
      FunctionParam param;
      param.span = span(child);
      if (type == "identifier") {
        param.name = text(child);
      } else if (type == "default_parameter" || type == "typed_default_parameter") {
        param.name = text(field(child, "name"));
        param.value = expression(field(child, "value"));
      } else if (type == "typed_parameter") {
        const TSNode name = ts_node_named_child(child, 0);
        param.name = text(name);
        param.plain = type_of(name) == "identifier";
      } else {
        param.name = text(child);
        param.plain = false;
      }
      const TSNode annotation = field(child, "type");
      if (!ts_node_is_null(annotation)) param.annotation = text(annotation);
      out.push_back(std::move(param));
    }
    return out;
  }

  FunctionPtr function(TSNode node, std::vector<ExprPtr> decorators) {
    auto out = std::make_shared<Function>();
    out->name = text(field(node, "name"));
    out->params = parameters(field(node, "parameters"));
    const TSNode body = field(node, "body");
    out->body = block(body);
    out->decorators = std::move(decorators);
    out->span = span(node);
    out->span.end = std::max(out->span.begin + 1, ts_node_end_byte(field(node, "parameters")));
    return out;
  }

  StmtPtr statement(TSNode node) {
    Stmt out;
    out.span = span(node);
    const std::string_view type = type_of(node);
    out.text = std::string(type);
    if (type == "expression_statement") {
      const TSNode child = ts_node_named_child(node, 0);
      const std::string_view inner = type_of(child);
      if (inner == "assignment") {
        assignment(child, out);
      } else if (inner == "augmented_assignment") {
        augmented(child, out);
      } else {
        out.kind = StmtKind::expression;
        out.value = named_children(node).size() == 1
                        ? expression(child)
                        : make(node, ExprKind::tuple, "", expressions(named_children(node)));
      }
    } else if (!control(node, type, out)) {
      simple(node, type, out);
    }
    return std::make_shared<Stmt>(std::move(out));
  }

  void assignment(TSNode node, Stmt& out) {
    out.kind = StmtKind::assign;
    const TSNode annotation = field(node, "type");
    TSNode right = field(node, "right");
    out.targets.push_back(expression(field(node, "left")));
    while (!ts_node_is_null(right) && type_of(right) == "assignment") {
      out.targets.push_back(expression(field(right, "left")));
      right = field(right, "right");
    }
    out.value = optional(right);
    if (!ts_node_is_null(annotation)) out.kind = StmtKind::annotated;
  }

  void augmented(TSNode node, Stmt& out) {
    out.kind = StmtKind::augmented;
    out.targets.push_back(expression(field(node, "left")));
    out.value = expression(field(node, "right"));
    out.text = text(field(node, "operator"));
    out.text.pop_back();
  }

  bool control(TSNode node, std::string_view type, Stmt& out) {
    if (type == "if_statement") {
      out.kind = StmtKind::if_;
      out.value = expression(field(node, "condition"));
      out.body = block(field(node, "consequence"));
      out.orelse = alternatives(fields(node, "alternative"), 0);
      return true;
    }
    if (type != "for_statement" && type != "while_statement") return false;
    const bool loop = type == "for_statement";
    out.kind = loop ? StmtKind::for_ : StmtKind::while_;
    if (loop) out.targets.push_back(expression(field(node, "left")));
    out.value = expression(field(node, loop ? "right" : "condition"));
    out.body = block(field(node, "body"));
    const TSNode alternative = field(node, "alternative");
    if (!ts_node_is_null(alternative)) out.orelse = block(field(alternative, "body"));
    return true;
  }

  /// `elif` and `else` clauses from position i as the else branch of the `if` before.
  std::vector<StmtPtr> alternatives(const std::vector<TSNode>& clauses, size_t i) {
    if (i == clauses.size()) return {};
    if (type_of(clauses[i]) == "else_clause") return block(field(clauses[i], "body"));
    Stmt inner;
    inner.kind = StmtKind::if_;
    inner.span = span(clauses[i]);
    inner.value = expression(field(clauses[i], "condition"));
    inner.body = block(field(clauses[i], "consequence"));
    inner.orelse = alternatives(clauses, i + 1);
    return {std::make_shared<Stmt>(std::move(inner))};
  }

  void simple(TSNode node, std::string_view type, Stmt& out) {
    const std::vector<TSNode> children = named_children(node);
    if (type == "return_statement") {
      out.kind = StmtKind::return_;
      if (!children.empty()) out.value = expression(children.front());
    } else if (type == "assert_statement") {
      out.kind = StmtKind::assert_;
      out.value = expression(children.front());
      if (children.size() > 1) out.targets.push_back(expression(children[1]));
    } else if (type == "pass_statement") {
      out.kind = StmtKind::pass;
    } else if (type == "break_statement") {
      out.kind = StmtKind::break_;
    } else if (type == "continue_statement") {
      out.kind = StmtKind::continue_;
    } else if (type == "function_definition" || type == "decorated_definition") {
      definition(node, type, out);
    } else if (type == "import_statement" || type == "import_from_statement" || type == "future_import_statement") {
      import(node, type, out);
    }
  }

  void definition(TSNode node, std::string_view type, Stmt& out) {
    std::vector<ExprPtr> decorators;
    if (type == "decorated_definition") {
      for (TSNode child : named_children(node)) {
        if (type_of(child) == "decorator") decorators.push_back(expression(ts_node_named_child(child, 0)));
      }
      node = field(node, "definition");
    }
    if (type_of(node) != "function_definition") {
      out.text = std::string(type_of(node));
      return;
    }
    out.kind = StmtKind::function;
    out.function = function(node, std::move(decorators));
  }

  void import(TSNode node, std::string_view type, Stmt& out) {
    out.kind = StmtKind::import;
    const TSNode module_node = field(node, "module_name");
    const std::string prefix = ts_node_is_null(module_node) ? "" : text(module_node) + ".";
    for (TSNode name : fields(node, "name")) {
      const bool aliased = type_of(name) == "aliased_import";
      const std::string path = text(aliased ? field(name, "name") : name);
      if (aliased) {
        out.imports.emplace_back(text(field(name, "alias")), prefix + path);
      } else if (type == "import_statement") {
        const std::string root = path.substr(0, path.find('.'));
        out.imports.emplace_back(root, root);
      } else {
        out.imports.emplace_back(path, prefix + path);
      }
    }
  }

  diag::SourcePtr source_;
};

/// The first node that the parser could not make sense of.
TSNode first_error(TSNode node) {
  if (type_of(node) == "ERROR" || ts_node_is_missing(node)) return node;
  for (uint32_t i = 0; i < ts_node_child_count(node); ++i) {
    const TSNode child = ts_node_child(node, i);
    if (ts_node_has_error(child) || ts_node_is_missing(child)) return first_error(child);
  }
  return node;
}

void collect_targets(const Expr& target, std::vector<std::string>& out) {
  if (target.kind == ExprKind::name) {
    if (std::find(out.begin(), out.end(), target.text) == out.end()) out.push_back(target.text);
  } else if (target.kind == ExprKind::tuple || target.kind == ExprKind::list || target.kind == ExprKind::starred) {
    for (const ExprPtr& child : target.children) collect_targets(*child, out);
  }
}

void collect_assigned(const std::vector<StmtPtr>& body, std::vector<std::string>& out) {
  for (const StmtPtr& stmt : body) {
    if (stmt->kind != StmtKind::assert_) {
      for (const ExprPtr& target : stmt->targets) collect_targets(*target, out);
    }
    collect_assigned(stmt->body, out);
    collect_assigned(stmt->orelse, out);
  }
}

}  // namespace

Result<std::vector<StmtPtr>> parse_python(const diag::SourcePtr& source) {
  TSParser* parser = ts_parser_new();
  HC_CHECK(ts_parser_set_language(parser, tree_sitter_python()),
           "the Python grammar does not fit the parser's version");
  TSTree* tree =
      ts_parser_parse_string(parser, nullptr, source->text().data(), static_cast<uint32_t>(source->text().size()));
  const TSNode root = ts_tree_root_node(tree);
  Result<std::vector<StmtPtr>> result = std::vector<StmtPtr>{};
  if (ts_node_has_error(root)) {
    const TSNode bad = first_error(root);
    const diag::Span where{source, ts_node_start_byte(bad), ts_node_end_byte(bad)};
    const std::string what = ts_node_is_missing(bad) ? fmt::format("a {} is missing here", ts_node_type(bad))
                                                     : "the text from here on is not valid Python";
    result = Diagnostic{Code::syntax_error, what}.at(where);
  } else {
    result = Converter(source).block(root);
  }
  ts_tree_delete(tree);
  ts_parser_delete(parser);
  return result;
}

std::vector<std::string> assigned_names(const std::vector<StmtPtr>& body) {
  std::vector<std::string> out;
  collect_assigned(body, out);
  return out;
}

std::string dotted_text(const Expr& expr) {
  if (expr.kind == ExprKind::name) return expr.text;
  if (expr.kind != ExprKind::attribute) return "";
  const std::string base = dotted_text(*expr.children[0]);
  return base.empty() ? "" : base + "." + expr.text;
}

std::string_view expr_kind_name(ExprKind kind) { return kExprNames[static_cast<size_t>(kind)]; }
std::string_view stmt_kind_name(StmtKind kind) { return kStmtNames[static_cast<size_t>(kind)]; }

}  // namespace hc::lang
